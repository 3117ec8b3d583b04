# Whole Linux machines on x86: a transaction and its steps, natively and in a VM; and machines whose VM fails: rows are
# lost, each with its reason, and no more than must be.
# `make test-long` runs it.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    fetch_packages linux kvm-linux
}

setup() {
    common_setup
    export LIMIT=900
}

# workload NAME COMMAND: a workload of the user's, inside the VM.
workload() {
    mkdir -p mine/workloads
    printf '%s\n' "summary = \"$1\"" 'unit = "time"' 'units = 10' 'place = "inside"' "run = \"$2\"" >"mine/workloads/$1.toml"
}

# of WORKLOAD PLATFORM EXPRESSION: a value from one line of the table.
of() {
    jq -r "walk(if type == \"number\" then . + 0 else . end)
        | .workloads[] | select(.workload == \"$1\").lines[] | select(.platform == \"$2\") | $3" apps.json
}

# Not in tests/e2e: 65 s of a core.
@test "TCP_RR natively and in a VM, beside Dall's ratio, with its steps" {
    ws run apps --on lab:linux,lab:kvm-linux --workload '^tcp-rr$' --boots 1 --perturb 0 -o out --export-json apps.json
    # 35,000 and 90,000 instructions, and 3.1 exits, give or take what a new kernel may change.
    [ "$(of tcp-rr lab:linux '.insns > 30000 and .insns < 42000')" = true ]
    [ "$(of tcp-rr lab:kvm-linux '.insns > 75000 and .insns < 105000')" = true ]
    [ "$(of tcp-rr lab:kvm-linux '.ratio > 2 and .ratio < 2.8 and .published > 1.83 and .published < 1.84')" = true ]
    [ "$(of tcp-rr lab:kvm-linux '.counts.exits > 2 and .counts.exits < 4 and .reasons.npf > 0.5')" = true ]
    # Its steps, which cost what the traced runs did, but for what the starts and ends of the two differ by.
    jq -e '.rows[] | select(.benchmark == "tcp-rr").host[0] | ((.steps | keys == ["recv-to-send", "send-to-recv"] and add > 30e6) and ((.steps | add) / .traced - 1 | fabs < 0.005))' \
        out/lab-linux.json
    executed out/lab-linux.json tcp-rr 63088834
    jq -e '.rows[] | select(.benchmark == "tcp-rr") | .metrics[0].boots[0] as $cost | .host[0] |
        (.steps | length == 4 and add > 70e6) and ((.steps | add) / .traced - 1 | fabs < 0.005) and
        (.threads | keys == ["other", "qemu", "vcpu0", "vhost"] and add == $cost.run[0] - $cost.control[0])' \
        out/lab-kvm-linux.json
    executed out/lab-kvm-linux.json tcp-rr 147376383
}

# Not in tests/e2e: seven boots of a whole Linux, five with a VM of four vCPUs: 7 minutes of a core.
@test "hackbench on four CPUs and four vCPUs of KVM and of Xen, exactly, and the same from a saved state" {
    fetch_packages xen-linux
    ws run apps --on lab:linux+cpus=4,lab:kvm-linux+cpus=4,lab:xen-linux+cpus=4 --workload '^hackbench$' --boots 2 --perturb 0 --no-resume -o out \
        --export-json apps.json
    [ "$(of hackbench lab:linux+cpus=4 '.exact and .insns > 5000 and .insns < 10000 and .ratio == null')" = true ]
    # Its IPIs are exits.
    [ "$(of hackbench lab:kvm-linux+cpus=4 '.exact and .ratio > 0.9 and .ratio < 1.2 and .reasons.msr > 0.005')" = true ]
    [ "$(of hackbench lab:xen-linux+cpus=4 '.exact and .ratio > 1.1 and .ratio < 1.7')" = true ]
    jq -e '.natives == ["lab:linux+cpus=4"]' apps.json
    booted=$(of hackbench lab:xen-linux+cpus=4 .insns)
    # The VM's CPUs run while dom0 is idle. A state that is saved then can't be resumed, so dom0 pauses the VM.
    ws run apps --on lab:xen-linux+cpus=4 --workload '^hackbench$' --boots 1 --perturb 0 -o resumed --export-json apps.json
    [ "$(of hackbench lab:xen-linux+cpus=4 .insns)" = "$booted" ]
}

# Not in tests/e2e: four launches with the plugin, 2 minutes of a core. That the sums are those of the clock is checked by
# the command.
@test "the functions of two workloads, each in a launch of its own" {
    ws run apps --workload '^(fork-exec|tcp-rr)$' --boots 1 --perturb 0 --explain --export-json apps.json -o out
    jq -e '[.explained[] | .workload] | sort == ["fork-exec", "tcp-rr"]' apps.json
    jq -e '.explained[] | select(.workload == "tcp-rr").functions | map(select(.function | startswith("vhost_"))) | length > 0' apps.json
}

# Not in tests/e2e: a boot of a whole Linux, 15 s of a core.
@test "a workload is counted exactly" {
    workload a-good 'seq 10'
    ws run apps --lab-dir mine --on lab:linux --workload '^a-good$' --boots 1 --perturb 0 -o native
    executed native/lab-linux.json a-good 5045901
}

# Not in tests/e2e: a boot of a whole Linux in a VM of QEMU's emulator, and runs of TCP_RR there: 60 s of two cores.
@test "TCP_RR in time, in a VM of QEMU's emulator: steps on one clock" {
    ws run apps --on qemu-tcg --workload '^tcp-rr$' --boots 1 -o out --export-json apps.json
    # Each of the VM's parts is more than its clock may be off, and all of them are the whole.
    jq -e '.timed_transactions[0] | .clock_bound_ns as $bound | .parts as $parts |
        [$parts[] | select(.within)] as $within | ($within | map(.ns) | add) as $sum |
        ($within | map(.part) == ["recv to VM recv", "VM recv to VM send", "VM send to send"]) and
        ($within | all(.ns > $bound)) and $bound > 0 and
        ($sum - $parts[1].ns | fabs) < 1 and (.ns - $parts[0].ns - $sum | fabs) < 1 and .ns < .captured_ns' apps.json
}

# Not in tests/e2e: two boots of a whole Linux in a VM, 51 s of a core.
@test "a VM that dies in the middle of its workloads loses one row" {
    workload a-before 'seq 10'
    workload b-dies 'echo c >/proc/sysrq-trigger; sleep 5'
    workload c-after 'seq 20'
    ws run apps --lab-dir mine --on lab:kvm-linux --workload '^[abc]-' --boots 1 --perturb 0 -o out >table.txt
    cat table.txt
    [ "$(result lab-kvm-linux '[.rows[] | select(.category == "application") | .benchmark + " " + .status] | join(", ")')" = \
        'a-before ok, b-dies skip, c-after ok' ]
    # Each has a launch of its own.
    [ "$(result lab-kvm-linux '[.boots[0].launches[].asked | join(" ")] | join(", ")')" = 'a-before, b-dies, c-after' ]
    grep -q '^b-dies on lab:kvm-linux: the VM ended too early' table.txt
    for row in a-before c-after; do
        [ "$(value out/lab-kvm-linux "$row" '.metrics[0].boots[0].run[0] > 0')" = true ]
    done
}

# Not in tests/e2e: a boot of a whole Linux in a VM, 25 s of a core. QEMU's main loop has a VM of its own, in which
# nothing is built by this host's compilers.
@test "a read from a disk that QEMU's main loop serves: exits, kicks, instructions" {
    ws run io --on lab:kvm-linux --device '^qemu$' --depth 1 --busy=no --boots 1 -o io --export-json io.json >io.txt
    cat io.txt
    jq -e '.lines[0] | .device == "qemu" and .depth == 1 and (.insns > 95e3 and .insns < 115e3)
        and (.counts.exits > 1.97 and .counts.exits < 2.17)
        and (.reasons.npf > 0.99 and .reasons.npf < 1.01)' io.json
    executed io/lab-kvm-linux.json io-qemu-d1 31791070
}
