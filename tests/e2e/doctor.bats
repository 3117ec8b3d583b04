# `worldswitch doctor` on the host that runs the tests, and its short form in `run`.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

# bats file_tags=live

load common

setup() { common_setup; }

# A part of a finding in doctor.json.
finding() {
    jq -r ".findings[] | select(.id == \"$1\") | $2" doctor.json
}

# The doctor as JSON in doctor.json. Its exit code is 1 if there is a problem, and only then.
examine() {
    local status=0
    ws doctor --json "$@" >doctor.json || status=$?
    [ "$status" -eq "$(jq 'if .worst == "problem" then 1 else 0 end' doctor.json)" ]
}

@test "the report has all groups, no colour unless on a terminal, and an exit code" {
    ws doctor >doctor.txt 2>log.txt || [ "$?" -eq 1 ]
    [ ! -s log.txt ]
    run ! grep -q $'\x1b' doctor.txt
    for group in tools kvm processor host memory; do
        grep -qx "$group" doctor.txt
    done
    grep -qE '^  (ok|note|warning|problem) +frequency governor  ' doctor.txt
    tail -n 1 doctor.txt | grep -qE '^[0-9]+ problems?, [0-9]+ warnings?, [0-9]+ notes?, [0-9]+ ok$'
    { ws --color always doctor || true; } | grep -q $'\x1b'
}

@test "JSON: the version, complete findings, facts as the system reports them" {
    examine
    [ "$(jq -r .schema doctor.json)" = worldswitch-doctor/1 ]
    jq -e '.findings | length == 21 and ([.[].id] | unique | length) == 21' doctor.json
    jq -e '[.findings[] | select((.found | length) == 0 or (.why | length) == 0)] == []' doctor.json
    jq -e 'all(.findings[]; .severity | IN("ok", "note", "warning", "problem"))' doctor.json
    jq -e 'all(.findings[].cure | values; (.here == "no") == (.obstacle != null))' doctor.json
    jq -e '.worst as $worst | any(.findings[]; .severity == $worst)' doctor.json
    [ "$(jq .host.cpus doctor.json)" -eq "$(getconf _NPROCESSORS_ONLN)" ]
    [ "$(jq -r .host.kernel doctor.json)" = "$(uname -r)" ]
    [ "$(finding tools.qemu .severity)" = ok ]
    [ "$(finding tools.guest .severity)" = ok ]
}

@test "the findings on /dev/kvm and the CPU are right" {
    examine
    if [ -r /dev/kvm ] && [ -w /dev/kvm ]; then
        [ "$(finding kvm.device .severity)" = ok ]
    else
        [ "$(finding kvm.device .severity)" != ok ]
    fi
    [ "$(uname -m)" = x86_64 ] || skip 'CPU flags show virtualization on x86 only'
    if grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo; then
        [ "$(finding kvm.hardware .severity)" = ok ]
    else
        [ "$(finding kvm.hardware .severity)" = problem ]
        [ ! -c /dev/kvm ] || finding kvm.hardware .found | grep -q 'software KVM'
    fi
    if grep -qE '^flags.* hypervisor( |$)' /proc/cpuinfo; then
        [ "$(finding host.virtual-machine .severity)" = warning ]
    fi
}

@test "an ordinary user gets the commands with sudo, root without" {
    [ "$(id -u)" -eq 0 ] || skip 'needs root, to become an ordinary user'
    examine
    run ! grep -q sudo doctor.json
    # The program itself may be in a folder that only root can read.
    folder=$(mktemp -d)
    chmod 755 "$folder"
    install -m 755 "$WORLDSWITCH" "$folder/worldswitch"
    setpriv --reuid 65534 --regid 65534 --clear-groups "$folder/worldswitch" doctor --json \
        >doctor.json || [ "$?" -eq 1 ]
    rm -r "$folder"
    [ "$(jq .host.administrator doctor.json)" = false ]
    # Any user may build, list processes, start a shell, or bind it to CPUs.
    jq -r '.findings[].cure.command | values' doctor.json |
        { grep -vE '^(make|taskset|top|newgrp)( |$)' || true; } >commands.txt
    run ! grep -v sudo commands.txt
    if [ -c /dev/kvm ] && [ "$(stat -c %a /dev/kvm)" = 600 ]; then
        # The first PID namespace has this number; another one is reported as a container.
        case $(readlink /proc/self/ns/pid) in
        'pid:[4026531836]') [ "$(finding kvm.device .cure.here)" = root ] ;;
        *) [ "$(finding kvm.device .cure.here)" = no ] ;;
        esac
    fi
}

@test "missing tools are problems with a cure, and fail the doctor" {
    WORLDSWITCH_DATA=/nonexistent examine --qemu /nonexistent/qemu
    [ "$(finding tools.qemu .severity)" = problem ]
    finding tools.qemu .found | grep -q /nonexistent/qemu
    [ "$(finding tools.guest .severity)" = problem ]
    [ "$(finding tools.guest .cure.command)" = 'make build' ]
    [ "$(jq -r .worst doctor.json)" = problem ]
}

# Loads the host: starts more loops than CPUs, and waits until all of them run.
load_host() {
    local loop
    for loop in $(seq $(($(nproc) + 2))); do
        sh -c 'echo >"$0"; while :; do :; done' "began-$loop" 3>&- &
        loops+=("$!")
    done
    for loop in $(seq "${#loops[@]}"); do eventually [ -s "began-$loop" ]; done
}

loops=()
teardown() {
    [ ${#loops[@]} -eq 0 ] || kill "${loops[@]}" || true
}

@test "run prints the short form if time is measured, but not for the lab alone" {
    load_host
    ws run --on qemu-tcg --boots 1 --samples 2 --bench '^idle$' -o "$OUT" >table.txt 2>log.txt
    run ! grep -q doctor table.txt
    sed -n '/this host disturbs/,/for details: worldswitch doctor$/p' log.txt >short.txt
    grep -q 'load: .* CPU' short.txt
    [ "$(wc -l <short.txt)" -le 5 ]
    tail -n 1 short.txt | grep -q 'for details: worldswitch doctor$'
    # Findings about KVM do not concern TCG.
    run ! grep -qE '/dev/kvm|software KVM' short.txt
    # The result file has the findings.
    result qemu-tcg '.disturbances[] | select(.id == "host.load").severity' | grep -qE 'warning|problem'
    [ "$(result qemu-tcg '[.disturbances[].id | select(startswith("kvm"))] | length')" -eq 0 ]
    ws run --on lab:native --boots 1 --bench '^idle$' -o "$OUT" >/dev/null 2>log.txt
    run ! grep -q doctor log.txt
    [ "$(result lab-native .disturbances)" = null ]
}

@test "on one of several CPUs the doctor says why, and rows that need two are skipped" {
    [ "$(nproc)" -ge 2 ] || skip 'needs two CPUs'
    cpu=$(awk '/^Cpus_allowed_list/ { split($2, a, "[-,]"); print a[1] }' /proc/self/status)
    taskset -c "$cpu" "$WORLDSWITCH" doctor --json >doctor.json || [ "$?" -eq 1 ]
    [ "$(jq .host.usable doctor.json)" -eq 1 ]
    [ "$(finding processor.usable .severity)" = warning ]
    finding processor.usable .found | grep -qF "($cpu); the affinity mask (taskset, CPUAffinity=) leaves out "
    # The cure works.
    cure=$(finding processor.usable .cure.command)
    taskset -c "$cpu" bash -c "$cure; \"\$WORLDSWITCH\" doctor --json" | sed -n '/^{/,$p' >doctor.json
    [ "$(jq .host.usable doctor.json)" -ge 2 ]
    taskset -c "$cpu" "$WORLDSWITCH" run --on qemu-tcg --boots 1 --samples 2 --bench '^(sgdt|ipi-.*)$' -o "$OUT" \
        >table.txt 2>log.txt
    grep -q 'usable CPUs: 1 of ' log.txt
    grep -qF 'needs 2 CPUs at once, but this program can use one CPU' table.txt
    [ "$(result qemu-tcg '[.rows[] | .benchmark + " " + .status] | join(", ")')" = \
        'sgdt ok, ipi-halted skip, ipi-running skip' ]
    # The machine of the lab has its own.
    taskset -c "$cpu" "$WORLDSWITCH" run --on lab:native --boots 1 --bench '^ipi-running$' -o "$OUT" >/dev/null 2>&1
    [ "$(result lab-native '.rows[0].status')" = ok ]
}

@test "wrong usage exits with 2, an output that can't be written with 1" {
    run -2 ws doctor --yaml
    # shellcheck disable=SC2016 # the inner shell expands it
    run -1 --separate-stderr bash -c '"$WORLDSWITCH" doctor >/dev/full'
    [[ $stderr == *'standard output'* ]]
}
