# shellcheck shell=bash
# Runs that several files of tests read: the suite on lab:native, lab:kvm and lab:kvm-shadow, with the rows of
# docs/examples/mixed.c and tests/guests/one-more.c in the guest. The rows of one vCPU are in $TABLE: two boots,
# in the second of which the host has something else to do, and a perturbed one. Those of two vCPUs, for which
# each machine boots Linux once more, are in $PAIRS: one boot. For common.bash.

THREE=lab:native,lab:kvm,lab:kvm-shadow
ONE_VCPU='^([^i]|i[dnr]|io-latency-.*-userspace$)' TWO_VCPUS='^(ipi-|io-latency-.*-(spinning|woken)$)'
# Rows that the two files add.
# shellcheck disable=SC2034  # lab-machines uses it
ADDED=3

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
    make -s -C "$ROOT/guest" EXTRA_BENCH="$ROOT/docs/examples/mixed.c $ROOT/tests/guests/one-more.c" \
        OUT="$BUILT/table-guest" >&2
}

make_table() {
    rm -rf "$BUILT"/table-????????????????
    mkdir "${TABLE%/*}"
    load_on_second_boot 9>&- 3>&- &
    table_run "$TABLE" --boots 2 --perturb 1 --bench "$ONE_VCPU"
    table_run "$PAIRS" --boots 1 --bench "$TWO_VCPUS"
    touch "$TABLE.made"
    wait
}

table_run() {
    LIMIT=1700 ws run --on "$THREE" --guest "$BUILT/table-guest/guest.elf" -o "$1" "${@:2}" \
        >"$1.txt" 2>"$1.log" 9>&- || { cat "$1.log" >&2; return 1; }
}

# A busy loop beside whatever else there is, and a reader of the machines' records that stands still again and
# again.
load_on_second_boot() {
    local reader loop
    for _ in $(seq 6000); do
        ! grep -qs ' boot 2/' "$TABLE.log" || break
        sleep 0.1
    done
    timeout 1700 sh -c 'while :; do :; done' &
    loop=$!
    until grep -q ' boot 3/' "$TABLE.log" || [ -e "$TABLE.made" ]; do
        reader=$(pgrep -xf "$WORLDSWITCH run .* -o $TABLE .*") || break
        kill -STOP "$reader" && echo stood >>"$TABLE.reader"
        sleep 2
        kill -CONT "$reader"
        sleep 3
    done
    kill "$loop"
}
