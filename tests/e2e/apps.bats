# `worldswitch apps`: workloads of a whole Linux, natively and in a VM, on the real packages.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    fetch_packages --newest linux kvm-linux
}

setup() { common_setup; }

# of WORKLOAD PLATFORM EXPRESSION: a value from one line of the table.
of() {
    jq -r "walk(if type == \"number\" then . + 0 else . end)
        | .workloads[] | select(.workload == \"$1\").lines[] | select(.platform == \"$2\") | $3" apps.json
}

@test "TCP_RR natively and in a VM: exact over two boots, its exits by reason, and Dall's ratio" {
    ws apps --workload '^tcp-rr$' --perturb 0 -o "$OUT" --export-json apps.json --export-markdown apps.md >apps.txt
    cat apps.txt
    [ "$(of tcp-rr lab:linux '[.exact, .ratio, .exits] | @json')" = '[true,null,null]' ]
    # 35,000 and 90,000 instructions, and 3.1 exits, give or take what a new kernel may change.
    [ "$(of tcp-rr lab:linux '.insns > 30000 and .insns < 42000')" = true ]
    [ "$(of tcp-rr lab:kvm-linux '.insns > 75000 and .insns < 105000 and .exact')" = true ]
    [ "$(of tcp-rr lab:kvm-linux '.ratio > 2 and .ratio < 2.8 and .published > 1.83 and .published < 1.84')" = true ]
    [ "$(of tcp-rr lab:kvm-linux '.counts.exits > 2 and .counts.exits < 4 and .reasons.npf > 0.5')" = true ]
    grep -q '^| tcp-rr (transaction) | lab:linux |' apps.md
    # Kept results give the same table, and are compared as those of any benchmark.
    ws apps --of "$OUT" >again.txt
    cmp apps.txt again.txt
    ws compare "$OUT:lab:kvm-linux" "$OUT:lab:kvm-linux" | grep -q 'tcp-rr'
}

@test "a workload that fails or whose program is missing is a row with its reason; the others are measured" {
    mkdir -p mine/workloads
    workload() { printf 'summary = "%s"\nunit = "time"\nunits = 10\nplace = "inside"\n%s\n' "$1" "$2" >"mine/workloads/$1.toml"; }
    workload a-missing 'run = "no-such-program"'
    workload b-false 'run = "echo last words; false"'
    workload c-unproved 'run = "true"
proof = "grep -q done /tmp/out"'
    workload d-full 'run = "dd if=/dev/zero of=/tmp/full bs=1M"'
    workload e-good 'run = "seq 10"'
    ws apps --lab-dir mine --on lab:linux --workload '^[a-e]-' --boots 1 --perturb 0 -o "$OUT" --export-json apps.json >apps.txt
    cat apps.txt
    grep -q '^a-missing on lab:linux: .*127.*no-such-program' apps.txt
    grep -q '^b-false on lab:linux: .*status 1.*last words' apps.txt
    grep -q '^c-unproved on lab:linux: proof ' apps.txt
    grep -q '^d-full on lab:linux: .*/tmp is full' apps.txt
    [ "$(of e-good lab:linux '.insns > 0 and .why == null')" = true ]
}

@test "wrong arguments are wrong usage; a workload's mistake is named with its line" {
    run -2 ws apps --on lab:native
    [[ $output == *'lab:native has no applications'* ]]
    run -2 ws apps --workload 'no such workload'
    [[ $output == *'tcp-rr'* ]]
    mkdir -p mine/workloads
    printf 'summary = "x"\nunit = "x"\nunits = 0\nplace = "inside"\nrun = "true"\n' >mine/workloads/x.toml
    run -1 ws apps --lab-dir mine --list
    [[ $output == *'x.toml'*'line 3'* ]]
    run -1 ws lab boot linux --kernel "$GUEST/guest.elf"
    [[ $output == *'boots its own kernel'* ]]
}
