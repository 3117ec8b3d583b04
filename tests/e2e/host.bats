# `worldswitch run apps` in real time: workloads on this host, in namespaces, and in a VM of QEMU's emulator. What is
# measured here is only that it works.

# `run` sets $output and $status.
# shellcheck disable=SC2154

# bats file_tags=live

load common
load host

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    fetch_packages linux
}

setup() { common_setup; }

@test "workloads on the host: times of a unit, and their boots" {
    ws run apps --on host --workload '^(hackbench|tcp-rr)$' --boots 3 -o out --export-json apps.json >table.txt
    cat table.txt
    [ "$(of hackbench host '[.boots, .ns > 1000, .interval != null, .ratio] | @json')" = '[3,true,true,null]' ]
    [ "$(of tcp-rr host '.ns > 5000')" = true ]
    [ "$(result host '.identity.conditions.unit, .identity.subject.runs')" = $'ns\non the host, in namespaces' ]
    grep -q '^hackbench (message) .* host ' table.txt
    # Compared as any times are.
    ws compare --all out:host out:host | grep -q hackbench
    eventually none_entered
}

# part PLATFORM EXPRESSION: a value of a transaction in time.
part() { jq -r ".timed_transactions[] | select(.platform == \"$1\") | $2" apps.json; }

@test "a transaction in time: its parts, which are the whole" {
    # So many, which a capture just holds, that the run's start and end are less than half of it.
    mkdir -p mine/workloads
    sed 's/2000/30000/g' "$ROOT/lab/workloads/tcp-rr.toml" >mine/workloads/a-rr.toml
    ws run apps --lab-dir mine --on host --workload '^a-rr$' --boots 1 -o out --export-json apps.json >table.txt
    cat table.txt
    [ "$(part host '[.parts[] | .part] | @json')" = '["send to recv","recv to send"]' ]
    [ "$(part host '(.parts | map(.share) | add) * 1000 | round')" = 1000 ]
    # The rest is netperf's start and end, whose time is the host's.
    [ "$(part host '.ns / .captured_ns | . > 0.5 and . <= 1')" = true ]
    # A VM's clock is compared with the host's; there is none.
    [ "$(part host .clock_bound_ns)" = null ]
    grep -q '^a-rr (transaction) *host *send to recv ' table.txt
}

@test "a VM of QEMU's emulator, beside the host" {
    # The shell of the VM expands it.
    # shellcheck disable=SC2016
    workload a-sum 'run = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"'
    ws run apps --lab-dir mine --on host,qemu-tcg --workload '^a-sum$' --boots 1 -o out --export-json apps.json >table.txt
    cat table.txt
    [ "$(of a-sum qemu-tcg '.ratio > 1')" = true ]
    grep -q 'qemu-tcg is an emulator' table.txt
}

@test "without root: namespaces of the user's own, in which servers stay who they are" {
    unprivileged tree/target/debug/worldswitch run apps --on host --workload '^(memcached|fork-exec|tcp-rr)$' --boots 1 -o out \
        --export-json apps.json
    [ "$(of memcached host '.ns > 1000')" = true ]
    [ "$(of fork-exec host '.ns > 1000')" = true ]
    # Packets are captured there too.
    [ "$(part host '.parts[0].ns > 1000')" = true ]
}

@test "what a host lacks is said in one line, with the cure" {
    local here=tree/target/debug/worldswitch
    run -1 no_namespaces "$here" apps --on host --workload '^fork-exec$' --boots 1
    only_cure 'run as root, or allow them: sysctl '
    run -1 no_namespaces "$here" apps --on qemu-tcg --workload '^fork-exec$' --boots 1
    only_cure 'run as root, or allow them: sysctl '
    if [ -e /dev/kvm ]; then
        CLOSED=/dev/kvm run -1 unprivileged "$here" apps --on qemu-kvm --workload '^fork-exec$' --boots 1
        only_cure 'no permission to open /dev/kvm: join the group'
    fi
    # Without packages there is no QEMU.
    for on in host qemu-tcg; do
        XDG_CACHE_HOME=$PWD/empty run -1 ws run apps --on "$on" --workload '^fork-exec$' --boots 1
        only_cure 'of which QEMU and all programs are, are not fetched: worldswitch lab fetch '
    done
}

@test "one CPU, which a VM and its clients share, is said with the cure" {
    # No such VM is started.
    run -1 on_one_cpu apps --on qemu-tcg --workload '^fork-exec$' --boots 1
    [[ "$output" == *'a VM and its clients share one CPU: this program can use one CPU ('*'worldswitch doctor)'* ]]
}

@test "a workload that fails is a row with its reason, and one may measure itself" {
    workload a-false 'run = "echo last words; false"'
    workload b-good 'run = "seq 10"'
    # Programs that measure themselves.
    workload c-own 'run = "echo took 7000 ns"'
    workload d-liar 'run = "echo took 7000 days"'
    ws run apps --lab-dir mine --on host --workload '^[abcd]-' --boots 1 --export-json apps.json >/dev/null
    [ "$(of a-false host .why)" = 'run ended with status 1: last words' ]
    [ "$(of b-good host '.ns > 0')" = true ]
    [ "$(of c-own host '.ns == 700')" = true ]
    [ "$(of d-liar host .why)" = 'run ended with status 125: took 7000 days' ]
}

@test "nothing is left behind: after Ctrl-C and after kill -9" {
    workload a-long 'run = "sleep 98765"'
    for signal in INT KILL; do
        # Background jobs ignore SIGINT.
        env --default-signal=INT "$WORLDSWITCH" run apps --lab-dir mine --on host --workload '^a-long$' --boots 1 \
            -o "out-$signal" 3>&- &
        eventually pgrep -f '^sleep 98765'
        kill "-$signal" "$!"
        wait "$!" || true
        eventually none_entered
    done
    eventually none_runs '^sleep 98765'
    no_devices
}

@test "what can't be is said" {
    run -2 ws run apps --on hots
    [[ "$output" == *'choose host'* ]]
    run -1 ws run --on host in
    [[ "$output" == *'worldswitch run apps --on host'* ]]
    run -2 ws run apps --on vmm
    if [ -e /dev/kvm ] && [ "$(ws machines --json | jq -r '.platforms[] | select(.name == "qemu-kvm").note')" != null ]; then
        run -1 ws run apps --on qemu-kvm --workload hackbench
        [[ "$output" == *'software KVM'*'qemu-tcg'* ]]
        run -1 ws run apps --on qemu-kvm-nested --workload hackbench
        only_cure 'software KVM'
        ws machines | grep '^qemu-kvm-nested: not usable here: .*qemu-tcg-nested'
    fi
}
