# shellcheck shell=bash
# Runs that several files of tests read: the suite on lab:native, lab:kvm and lab:kvm-shadow, with the rows of
# docs/examples/mixed.c, tests/guests/one-more.c and interrupt-once.c in the guest. The rows of one vCPU are in $TABLE: two boots,
# in the second of which the host has something else to do, and a perturbed one. Booting Linux is most of what a
# boot takes. So shadow paging has one boot and a perturbed one; and the rows of two vCPUs, for which a machine
# boots once more, have one on the other two, in $PAIRS (tests/long/lab.bats has the rest). For common.bash.

ONE_VCPU='^([^i]|i[dnr]|io-latency-.*-userspace$)' TWO_VCPUS='^(ipi-|io-latency-.*-(spinning|woken)$)'
# Rows that these files add.
# shellcheck disable=SC2034  # lab-machines uses it
ADDED=4

# table: makes them where this build's are not there yet. What was said is in .txt and .log beside them. A limit
# only ends what hangs: busy hosts take ten times as long.
table() {
    local build
    table_guest
    build=$(cat "$WORLDSWITCH" "$ROOT"/build/vmm/x86_64/vmm "$BUILT/table-guest/guest.elf" "$ROOT"/lab/*.toml \
        "$ROOT"/lab/recipes/*.toml "$ROOT"/build/lab/*/init | sha256sum | cut -c1-16)
    export TABLE=$BUILT/table-$build/table PAIRS=$BUILT/table-$build/pairs
    {
        flock 9
        [ -e "$TABLE.made" ] || make_table
    } 9>"$BUILT/table.lock"
}

table_guest() {
    guest_with table-guest x86_64 "$ROOT/docs/examples/mixed.c \
        $ROOT/tests/guests/one-more.c $ROOT/tests/guests/interrupt-once.c"
}

make_table() {
    local run runs=()
    rm -rf "$BUILT"/table-????????????????
    mkdir "${TABLE%/*}"
    load_on_second_boot 9>&- 3>&- &
    {
        table_run "$PAIRS" lab:native,lab:kvm --boots 1 --perturb 0 --bench "$TWO_VCPUS"
        # Results of a folder stand in the order in which their runs began: that of the others has.
        eventually test -s "$TABLE.log"
        table_run "$TABLE-shadow" lab:kvm-shadow --boots 1 --perturb 1 --bench "$ONE_VCPU"
    } 9>&- 3>&- &
    runs+=($!)
    table_run "$TABLE" lab:native,lab:kvm --boots 2 --perturb 1 --bench "$ONE_VCPU" 3>&- &
    runs+=($!)
    for run in "${runs[@]}"; do
        wait "$run"
    done
    mv "$TABLE-shadow/"*.json "$TABLE"
    touch "$TABLE.made"
    wait
}

# table_run FOLDER PLATFORMS WORDS...
table_run() {
    LIMIT=1700 ws run -v --on "$2" --guest "$BUILT/table-guest/guest.elf" -o "$1" "${@:3}" \
        >"$1.txt" 2>"$1.log" 9>&- || { cat "$1.log" >&2; return 1; }
}

# boots_over N: the log tells of each launch when it is over.
boots_over() { [ "$(grep -s '^lab:kvm: first record after' "$TABLE.log" | wc -l)" -ge "$1" ]; }

# A busy loop beside whatever else there is, and a reader of the machines' records that stands still again and
# again.
load_on_second_boot() {
    local reader loop
    for _ in $(seq 6000); do
        ! boots_over 1 || break
        sleep 0.1
    done
    timeout 1700 sh -c 'while :; do :; done' &
    loop=$!
    until boots_over 2 || [ -e "$TABLE.made" ]; do
        reader=$(pgrep -xf "$WORLDSWITCH run .* -o $TABLE .*") || break
        kill -STOP "$reader" && echo stood >>"$TABLE.reader"
        sleep 2
        kill -CONT "$reader"
        sleep 3
    done
    kill "$loop"
}
