# shellcheck shell=bash
# Runs that several test files read: the suite on lab:native, lab:kvm and lab:kvm-shadow, with the rows of
# docs/examples/mixed.c, tests/guests/one-more.c and interrupt-once.c in the guest. $TABLE has the rows of one
# vCPU, $PAIRS those of two on the first two machines, which need another boot. Most time goes into booting Linux,
# so each KVM is booted once for each, and takes $SAMPLES of each row; lab:native has two boots and a perturbed one,
# without which `compare` calls nothing better or worse. tests/long/lab.bats has the other boots. Load common too.

ONE_VCPU='^([^ip]|p[^v]|pvc|i[dnr]|io-latency-.*-userspace$)' TWO_VCPUS='^((pv-)?ipi-|io-latency-.*-(spinning|woken)$)'
# Rows that these files add.
# shellcheck disable=SC2034  # lab-machines uses it
ADDED=4 SAMPLES=128

# table: makes the runs unless this build has them already. Their output is in .txt and .log beside them. The
# limits only end hangs: busy hosts take ten times as long.
table() {
    local build
    table_guest
    build=$(cat "$WORLDSWITCH" "$ROOT"/build/vmm/x86_64/vmm "$BUILT/table-guest/guest.elf" "$ROOT"/lab/*.toml \
        "$ROOT"/lab/recipes/*.toml "$ROOT"/build/lab/*/init "$ROOT/tests/e2e/table.bash" | sha256sum | cut -c1-16)
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
    {
        table_run "$TABLE-native" lab:native --boots 2 --perturb 1 --bench "$ONE_VCPU"
        table_run "$TABLE-shadow" lab:kvm-shadow --boots 1 --perturb 0 --samples "$SAMPLES" --bench "$ONE_VCPU"
        table_run "$PAIRS" lab:native,lab:kvm --boots 1 --perturb 0 --samples "$SAMPLES" --bench "$TWO_VCPUS"
    } 9>&- 3>&- &
    runs+=($!)
    table_run "$TABLE" lab:kvm --boots 1 --perturb 0 --samples "$SAMPLES" --bench "$ONE_VCPU" 3>&- &
    runs+=($!)
    for run in "${runs[@]}"; do
        wait "$run"
    done
    # For readers the three runs are one run, though they may have started in different seconds.
    for run in native kvm-shadow; do
        jq --slurpfile run "$TABLE/lab-kvm.json" '.created = $run[0].created' \
            "$TABLE-${run#kvm-}/lab-$run.json" >"$TABLE/lab-$run.json"
    done
    touch "$TABLE.made"
}

# table_run FOLDER PLATFORMS WORDS...
table_run() {
    LIMIT=1700 ws run --on "$2" --guest "$BUILT/table-guest/guest.elf" -o "$1" "${@:3}" \
        >"$1.txt" 2>"$1.log" 9>&- || { cat "$1.log" >&2; return 1; }
}
