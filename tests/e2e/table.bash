# shellcheck shell=bash
# Runs that several test files read: the suite on lab:native, lab:kvm and lab:kvm-shadow, with the rows of
# docs/examples/mixed.c, tests/guests/one-more.c and interrupt-once.c in the guest. $TABLE has the rows of one
# vCPU: two boots, one after the other, the second with another load on the host, and a perturbed one, without which
# `compare` calls nothing better or worse. Most time goes into booting Linux, so shadow paging has one boot and a
# perturbed one; and the rows of two vCPUs, which need another boot, have one boot on the other two machines, in
# $PAIRS (tests/long/lab.bats has the rest). Load common too.

ONE_VCPU='^([^i]|i[dnr]|io-latency-.*-userspace$)' TWO_VCPUS='^(ipi-|io-latency-.*-(spinning|woken)$)'
# Rows that these files add.
# shellcheck disable=SC2034  # lab-machines uses it
ADDED=4

# table: makes the runs unless this build has them already. Their output is in .txt and .log beside them. The
# limits only end hangs: busy hosts take ten times as long.
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
    guest_with table-guest x86_64 "$ROOT/docs/examples/mixed.c $ROOT/docs/examples/mixed.S \
        $ROOT/tests/guests/one-more.c $ROOT/tests/guests/one-more.S $ROOT/tests/guests/interrupt-once.c"
}

make_table() {
    local run runs=()
    rm -rf "$BUILT"/table-????????????????
    mkdir "${TABLE%/*}"
    load_on_second_boot 9>&- 3>&- &
    {
        table_run "$TABLE-shadow" lab:kvm-shadow --boots 1 --perturb 1 --bench "$ONE_VCPU"
        table_run "$PAIRS" lab:native,lab:kvm --boots 1 --perturb 0 --bench "$TWO_VCPUS"
    } 9>&- 3>&- &
    runs+=($!)
    # On one CPU boots do not run beside each other.
    ON=$(taskset -cp $$ | grep -o '[0-9]*$') table_run "$TABLE" lab:native,lab:kvm --boots 2 --perturb 1 \
        --bench "$ONE_VCPU" 3>&- &
    runs+=($!)
    for run in "${runs[@]}"; do
        wait "$run"
    done
    # For readers the two runs are one run, though they may have started in different seconds.
    jq --slurpfile run "$TABLE/lab-kvm.json" '.created = $run[0].created' "$TABLE-shadow/lab-kvm-shadow.json" \
        >"$TABLE/lab-kvm-shadow.json"
    touch "$TABLE.made"
    wait
}

# table_run FOLDER PLATFORMS WORDS...: on the CPU $ON, if it is set.
table_run() {
    [ -z "${ON-}" ] || taskset -cp "$ON" $BASHPID >/dev/null
    LIMIT=1700 ws run -v --on "$2" --guest "$BUILT/table-guest/guest.elf" -o "$1" "${@:3}" \
        >"$1.txt" 2>"$1.log" 9>&- || { cat "$1.log" >&2; return 1; }
}

# boots_over N: whether N launches of lab:kvm have ended; the log has a line for each.
boots_over() { [ "$(grep -s '^lab:kvm: first record after' "$TABLE.log" | wc -l)" -ge "$1" ]; }

# During the second boot: runs a busy loop, and repeatedly stops the runner, which reads the machines'
# records.
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
