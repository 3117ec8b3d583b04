# `worldswitch run apps`: workloads of a whole Linux on ARM, natively and in a VM, on the real packages; those on x86 are
# in tests/long/apps.bats.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    make -s -C "$ROOT/lab/agent" ARCH=aarch64 >&2
    fetch_packages arm-linux kvm-vhe-linux
}

setup() { common_setup; }

# of WORKLOAD PLATFORM EXPRESSION: a value from one line of the table.
of() {
    jq -r "walk(if type == \"number\" then . + 0 else . end)
        | .workloads[] | select(.workload == \"$1\").lines[] | select(.platform == \"$2\") | $3" apps.json
}

# workload NAME LINE...: a workload of the user's, which fails in some way or not.
workload() {
    mkdir -p mine/workloads
    printf '%s\n' "summary = \"$1\"" 'unit = "time"' 'units = 10' 'place = "inside"' "${@:2}" >"mine/workloads/$1.toml"
}

# Each machine is booted once, as boots take most of the time: that boots agree, here and elsewhere, is what the
# known numbers show. A VM on ARM costs half of what one on x86 does, which tests/long/apps.bats has.
@test "ARM: TCP_RR natively and in a VM of KVM with VHE, beside each other" {
    ws run apps --on lab:arm-linux --workload '^tcp-rr$' --boots 1 --perturb 0 -o native
    ws run apps --on lab:kvm-vhe-linux --workload '^tcp-rr$' --boots 1 --perturb 0 -o vm
    ws show native vm --export-json apps.json --export-markdown apps.md
    [ "$(of tcp-rr lab:arm-linux '[.ratio, .exits] | @json')" = '[null,null]' ]
    [ "$(of tcp-rr lab:arm-linux '.insns > 30000 and .insns < 45000')" = true ]
    [ "$(of tcp-rr lab:kvm-vhe-linux '.ratio > 1.9 and .ratio < 2.6')" = true ]
    # Each transaction writes to a device and waits once; the end of an interrupt is no exit.
    [ "$(of tcp-rr lab:kvm-vhe-linux '.counts.exits > 1.5 and .counts.exits < 2.5 and .reasons.dabt > 0.95')" = true ]
    grep -q '^| tcp-rr (transaction) | lab:arm-linux |' apps.md
    jq -e '.rows[] | select(.benchmark == "tcp-rr") | .metrics[0].boots[0] as $cost | .host[0] |
        (.threads | .vcpu0 > 0 and .vhost > 0 and add == $cost.run[0] - $cost.control[0])' vm/lab-kvm-vhe-linux.json
    executed native/lab-arm-linux.json tcp-rr 63557121
    executed vm/lab-kvm-vhe-linux.json tcp-rr 144685889
    # Results are compared as those of any benchmark.
    ws compare --all vm:lab:kvm-vhe-linux vm:lab:kvm-vhe-linux | grep -q 'tcp-rr'
}

@test "a workload that fails is a row with its reason, and the others are measured" {
    workload a-missing 'run = "no-such-program"'
    workload b-false 'run = "echo last words; false"'
    workload c-unproved 'run = "true"' 'proof = "grep -q done /tmp/out"'
    workload d-full 'run = "dd if=/dev/zero of=/tmp/full bs=1M"'
    workload e-good 'run = "seq 10"'
    ws run apps --lab-dir mine --on lab:arm-linux --workload '^[a-e]-.*$' --boots 1 --perturb 0 --export-json apps.json >apps.txt
    cat apps.txt
    grep -q '^a-missing on lab:arm-linux: .*127.*no-such-program' apps.txt
    grep -q '^b-false on lab:arm-linux: .*status 1.*last words' apps.txt
    grep -q '^c-unproved on lab:arm-linux: proof ' apps.txt
    grep -q '^d-full on lab:arm-linux: .*/tmp is full' apps.txt
    [ "$(of e-good lab:arm-linux '.insns > 0 and .why == null')" = true ]
}

# Two boots, 10 s of a core. A VM with four vCPUs is in tests/long/apps.bats.
@test "four CPUs natively: they are the servers', and clients have one beside them" {
    mkdir -p mine/workloads
    cat >mine/workloads/a-client.toml <<'END'
summary = "x"
unit = "line"
units = 20
place = "client"
serve = "[ $(busybox nproc) = 4 ]"
run = "[ $(busybox nproc) = 1 ] && seq $UNITS"
END
    cat >mine/workloads/b-inside.toml <<'END'
summary = "x"
unit = "line"
units = 20
place = "inside"
run = "false"
[several_cpus]
run = "[ $CPUS$(busybox nproc) = 44 ] && seq $UNITS"
END
    ws run apps --lab-dir mine --on lab:arm-linux+cpus=4 --workload '^(a-client|b-inside)$' --boots 1 --perturb 0 \
        --export-json apps.json >apps.txt
    cat apps.txt
    for row in a-client b-inside; do
        [ "$(of $row lab:arm-linux+cpus=4 '.insns > 0 and .ratio == null')" = true ]
    done
    grep -q 'Ratios are relative to the native machine with as many CPUs' apps.txt
}

@test "wrong arguments are wrong usage; a workload's mistake is named with its line" {
    run -2 ws run apps --on lab:native
    [[ $output == *'lab:native has no applications'* ]]
    run -2 ws run apps --workload 'no such workload'
    [[ $output == *'tcp-rr'* ]]
    run -2 ws run apps --explain
    [[ $output == *'--workload REGEX, and none was named'* ]]
    run -2 ws run apps --explain --workload '^[a-m]'
    [[ $output == *'one to 3 workloads'* ]]
    run -2 ws run apps --explain --workload '^tcp-rr$' --on lab:kvm-linux,lab:linux
    [[ $output == *'in this order'* ]]
    run -2 ws run apps --explain --workload '^tcp-rr$' --on lab:linux,lab:kvm-vhe-linux
    [[ $output == *'of one architecture'* ]]
    run -2 ws run apps --explain --workload '^tcp-rr$' --on lab:linux,lab:xen-linux
    [[ $output == *'kernels differ'*'lab:arm-linux,lab:arm-xen-linux'* ]]
    run -2 ws run apps --explain --workload '^tcp-rr$' --on lab:arm-linux,lab:kvm-nested-linux
    [[ $output == *'one level of VMs'* ]]
    run -2 ws run apps --explain --workload '^tcp-rr$' --on host,lab:kvm-linux
    [[ $output == *'only machines of the lab'* ]]
    run -2 ws run apps --on lab:kvm-linux+net=elvis+cpus=4
    [[ $output == *"can't be combined"* ]]
    mkdir -p mine/workloads
    printf 'summary = "x"\nunit = "x"\nunits = 0\nplace = "inside"\nrun = "true"\n' >mine/workloads/x.toml
    run -1 ws benchmarks --lab-dir mine --on lab:linux
    [[ $output == *'x.toml'*'line 3'* ]]
    run -1 ws lab boot linux --kernel "$GUEST/guest.elf"
    [[ $output == *'boots its own kernel'* ]]
}
