# `worldswitch apps`: workloads of a whole Linux, natively and in a VM, on the real packages.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    make -s -C "$ROOT/lab/agent" ARCH=aarch64 >&2
    fetch_packages --newest linux kvm-linux arm-linux kvm-vhe-linux
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

# One native machine and one VM for all, each booted once, as boots take most of the time: that boots agree, here and
# elsewhere, is what the known numbers show.
@test "TCP_RR natively and in a VM, beside Dall's ratio; a workload that fails is a row with its reason" {
    workload a-missing 'run = "no-such-program"'
    workload b-false 'run = "echo last words; false"'
    workload c-unproved 'run = "true"' 'proof = "grep -q done /tmp/out"'
    workload d-full 'run = "dd if=/dev/zero of=/tmp/full bs=1M"'
    workload e-good 'run = "seq 10"'
    ws apps --lab-dir mine --on lab:linux --workload '^(tcp-rr|[a-e]-.*)$' --boots 1 --perturb 0 -o native >native.txt
    ws apps --on lab:kvm-linux --workload '^tcp-rr$' --boots 1 --perturb 0 -o vm >vm.txt
    ws apps --of native --of vm --export-json apps.json --export-markdown apps.md >apps.txt
    cat apps.txt
    [ "$(of tcp-rr lab:linux '[.ratio, .exits] | @json')" = '[null,null]' ]
    # 35,000 and 90,000 instructions, and 3.1 exits, give or take what a new kernel may change.
    [ "$(of tcp-rr lab:linux '.insns > 30000 and .insns < 42000')" = true ]
    [ "$(of tcp-rr lab:kvm-linux '.insns > 75000 and .insns < 105000')" = true ]
    [ "$(of tcp-rr lab:kvm-linux '.ratio > 2 and .ratio < 2.8 and .published > 1.83 and .published < 1.84')" = true ]
    [ "$(of tcp-rr lab:kvm-linux '.counts.exits > 2 and .counts.exits < 4 and .reasons.npf > 0.5')" = true ]
    grep -q '^| tcp-rr (transaction) | lab:linux |' apps.md
    # Its steps, which cost what the traced run did but for its start and end; the client's is the same on both.
    jq -e '.rows[] | select(.benchmark == "tcp-rr").host[0] | ((.steps | keys == ["recv-to-send", "send-to-recv"] and add > 60e6) and (.steps | add) < .traced)' \
        native/lab-linux.json
    executed native/lab-linux.json tcp-rr 75124147
    jq -e '.rows[] | select(.benchmark == "tcp-rr") | .metrics[0].boots[0] as $cost | .host[0] |
        (.steps | length == 4 and add > 140e6) and (.steps | add) < .traced and
        (.threads | keys == ["other", "qemu", "vcpu0", "vhost"] and add == $cost.run[0] - $cost.control[0])' \
        vm/lab-kvm-linux.json
    executed vm/lab-kvm-linux.json tcp-rr 170398909
    # Results are compared as those of any benchmark.
    ws compare --all vm:lab:kvm-linux vm:lab:kvm-linux | grep -q 'tcp-rr'
    # One row lost, with the reason; the others are measured.
    grep -q '^a-missing on lab:linux: .*127.*no-such-program' apps.txt
    grep -q '^b-false on lab:linux: .*status 1.*last words' apps.txt
    grep -q '^c-unproved on lab:linux: proof ' apps.txt
    grep -q '^d-full on lab:linux: .*/tmp is full' apps.txt
    [ "$(of e-good lab:linux '.insns > 0 and .why == null')" = true ]
}

@test "ARM: TCP_RR natively and in a VM of KVM with VHE, beside each other" {
    ws apps --on lab:arm-linux,lab:kvm-vhe-linux --workload '^tcp-rr$' --boots 1 --perturb 0 -o arm --export-json apps.json
    [ "$(of tcp-rr lab:arm-linux '.insns > 30000 and .insns < 45000')" = true ]
    [ "$(of tcp-rr lab:kvm-vhe-linux '.ratio > 1.9 and .ratio < 2.6')" = true ]
    # Each transaction writes to a device and waits once; the end of an interrupt is no exit.
    [ "$(of tcp-rr lab:kvm-vhe-linux '.counts.exits > 1.5 and .counts.exits < 2.5 and .reasons.dabt > 0.95')" = true ]
    executed arm/lab-arm-linux.json tcp-rr 73990017
    executed arm/lab-kvm-vhe-linux.json tcp-rr 164134616
}

@test "wrong arguments are wrong usage; a workload's mistake is named with its line" {
    run -2 ws apps --on lab:native
    [[ $output == *'lab:native has no applications'* ]]
    run -2 ws apps --workload 'no such workload'
    [[ $output == *'tcp-rr'* ]]
    run -2 ws apps --explain
    [[ $output == *'--workload REGEX, and none was named'* ]]
    run -2 ws apps --explain --workload '^[a-m]'
    [[ $output == *'one to 3 workloads'* ]]
    run -2 ws apps --explain --workload '^tcp-rr$' --on lab:kvm-linux,lab:linux
    [[ $output == *'in this order'* ]]
    run -2 ws apps --explain --workload '^tcp-rr$' --on lab:arm-linux,lab:kvm-vhe-linux
    [[ $output == *'only x86'* ]]
    mkdir -p mine/workloads
    printf 'summary = "x"\nunit = "x"\nunits = 0\nplace = "inside"\nrun = "true"\n' >mine/workloads/x.toml
    run -1 ws apps --lab-dir mine --list
    [[ $output == *'x.toml'*'line 3'* ]]
    run -1 ws lab boot linux --kernel "$GUEST/guest.elf"
    [[ $output == *'boots its own kernel'* ]]
}
