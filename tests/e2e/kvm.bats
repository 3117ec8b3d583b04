# The platforms kvm and qemu-kvm on this machine's /dev/kvm, and on machines without it or without
# permission. No test executes a hypercall on a software KVM.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common

setup_file() {
    guest_with software x86_64 "$ROOT/tests/guests/software.c"
}

setup() {
    common_setup
    VMM=$ROOT/build/vmm/x86_64/vmm
}

teardown() {
    # A test's guests are in its own folder, so their paths identify its machines.
    ! pgrep -f -- "--kernel $BATS_TEST_TMPDIR" || return 1
    ! pgrep -f -- "-kernel $BATS_TEST_TMPDIR" || return 1
}

needs_kvm() {
    timeout 30 "$VMM" --probe >probe.json || skip "$(jq -r .reason probe.json)"
}
needs_software() {
    needs_kvm
    jq -e .software probe.json >/dev/null || skip "this machine's KVM runs on hardware"
}
needs_root() { [ "$(id -u)" -eq 0 ] || skip "needs root"; }

# own [GUEST]: copies a guest (by default the suite's) to a path that identifies the test's machines.
own() {
    cp "${1:-$GUEST/guest.elf}" "$BATS_TEST_TMPDIR/guest.elf"
}
run_own() { ws run --guest "$BATS_TEST_TMPDIR/guest.elf" -o "$OUT" "$@"; }
row() { result "$1" ".rows[] | select(.benchmark == \"$2\") | $3"; }

@test "kvm beside qemu-tcg on a software KVM: labelled, measured, no hypercall, 90 s of CPU time" {
    needs_software
    own
    # CPU time, as elapsed time includes the host's other work.
    TIMEFORMAT='%U %S'
    { time LIMIT=500 run_own -v --on kvm,qemu-tcg --boots 1 >table.txt 2>log.txt; } 2>took.txt
    awk '{ print $1 + $2, "s"; exit ($1 + $2 > 90) }' took.txt
    grep -qE '^ +kvm \[1\] +qemu-tcg' table.txt
    grep -qE '^\[1\] a software KVM' table.txt
    grep -q '^kvm: a software KVM' log.txt
    [ "$(result kvm .identity.subject.kvm)" = software ]
    # Every row that needs no hypercall is measured. Some software KVMs do not show which interrupt is in
    # service; then irq-completion fails with this reason.
    [ "$(statuses kvm | grep -vE ' ok$|^irq-completion failed$' | sort | tr '\n' ' ')" = \
        'cpuid-unpaged skip event-channel skip event-channel-unpaged skip event-in skip event-out skip event-send skip event-switch skip hv-hypercall skip hv-reference-counter skip hv-reference-tsc skip hypercall skip hypercall-pending skip hypercall-unpaged skip in-pm-timer skip in-unpaged skip pv-ipi-halted skip pv-ipi-running skip ' ]
    [ "$(row kvm irq-completion .status)" = ok ] ||
        [[ $(row kvm irq-completion .reason) == *' 0 interrupts never came'*'not active before its end'* ]]
    [ "$(statuses kvm | wc -l)" -eq "$(benchmarks)" ]
    [ "$(row kvm hypercall .status)" = skip ]
    [[ $(row kvm hypercall .reason) == *'software KVM'* ]]
    # The command lines of the machines.
    grep -E '^kvm: .*--append' log.txt >lines.txt
    [ "$(wc -l <lines.txt)" -ge 2 ]
    [ "$(grep -c ' hypercall=none ' lines.txt)" -eq "$(wc -l <lines.txt)" ]
    run ! grep -qE 'hypercall=(kvm|xen|hyperv)|[(|]hypercall[|)]' lines.txt
}

# bats test_tags=live
@test "T_cons and T_two: separated by two page sizes, or the figures that prevent it" {
    needs_kvm
    for page in 4k 2m; do
        own
        OUT=$page run_own --on kvm,qemu-tcg --boots 3 --samples 5 --page "$page" \
            --bench '^(hot|cold)-memory-access$' >"$page.txt" 2>log.txt
    done
    model() {
        ws show "$@" --native 4k:qemu-tcg --paging nested --export-json model.json \
            --allow cpu --allow emulator --allow emulator_cpu --allow emulator_machine
    }
    model 4k:kvm 2m:kvm --native 2m:qemu-tcg >model.txt
    apart=$(jq '.models[0].model.separation' model.json)
    if [ "$(jq '.pages | length' <<<"$apart")" -eq 2 ]; then
        # With larger pages walks get shorter (T_two), but building tables costs the same (T_cons).
        jq -e '.why == null and .pages[0].two > .pages[1].two and .pages[0].two_low > 0 and
            all(.pages[]; .cons_low > 0)' <<<"$apart"
        grep -qE '^  with 4 KiB pages of the guest: T_two [0-9.,]+ ' model.txt
    else
        jq -e '.pages == [] and (.why | test("zero|does not fall|not add more|not the same"))' <<<"$apart"
        grep -qE '^  T_cons and T_two apart: not determined: .* -?[0-9.]+ \(-?[0-9.]+ to -?[0-9.]+\)' model.txt
    fi
    # One page size is not enough.
    model 4k:kvm | grep -q 'T_cons and T_two apart: not determined: needs .* two page sizes'
}

@test "qemu-kvm on a software KVM: labelled, no hypercall" {
    needs_software
    own
    run_own -v --on qemu-kvm --boots 1 --bench '^(idle|hypercall|in)$' >table.txt 2>log.txt
    grep -qE '^ +qemu-kvm \[1\]' table.txt
    [ "$(row qemu-kvm in .status)" = ok ]
    [ "$(row qemu-kvm hypercall .status)" = skip ]
    grep -E '^qemu-kvm: .*-append' log.txt >lines.txt
    grep -q -- '-accel kvm' lines.txt
    [ "$(grep -c ' hypercall=none ' lines.txt)" -eq "$(wc -l <lines.txt)" ]
    run ! grep -qE 'hypercall=(kvm|xen|hyperv)|[(|]hypercall[|)]' lines.txt
}

@test "a hypercall in a row from outside the tree is never started on a software KVM" {
    needs_software
    own "$BUILT/software/guest.elf"
    for platform in kvm qemu-kvm; do
        run_own -v --on "$platform" --boots 1 --bench '^soft-' >table.txt 2>log.txt
        [ "$(row "$platform" soft-call .status)" = skip ]
        [[ $(row "$platform" soft-call .reason) == *'software KVM'* ]]
        [ "$(result "$platform" '[.boots[].launches[].asked[]] | index("soft-call")')" = null ]
        run ! grep -q 'soft-call|\||soft-call\|hypercall=kvm' log.txt
        # An instruction that it can't emulate makes only its own row a skip, with its bytes.
        [ "$(row "$platform" soft-lar .status)" = skip ]
        [[ $(row "$platform" soft-lar .reason) == *emulate* ]]
        [ "$(row "$platform" soft-before .status)" = ok ]
        [ "$(row "$platform" soft-after .status)" = ok ]
    done
}

# bats test_tags=live
@test "returns to the monitor and new pages prove rows, on any KVM" {
    needs_kvm
    own
    run_own --on kvm --boots 2 --samples 4 --iters 10 \
        --bench '^(in|out|print|cold-memory-access|sgdt)$' >table.txt 2>log.txt
    for bench in in out print cold-memory-access; do
        [ "$(row kvm "$bench" '[.outcomes[].check.verdict] | unique | join(",")')" = proved ]
    done
    run ! grep -qE '(print|cold-memory-access) .*\?' table.txt
    [ "$(row kvm in '[.host[].returns.io] | unique | tostring')" = '[40]' ]
    [ "$(row kvm out '[.host[].returns.io] | unique | tostring')" = '[40]' ]
    [ "$(row kvm sgdt '[.host[].returns.io] | unique | tostring')" = '[null]' ]
    [ "$(row kvm cold-memory-access '[.host[] | .pages_after - .pages_before] | min')" -ge 40 ]
    [ "$(row kvm in '[.metrics[].name] | tostring')" = '["cost","exits","returns"]' ]
    ws show "$OUT:kvm" | grep -q 'returns to the monitor: io 40'
}

# bats test_tags=live
@test "I/O latency and VM Switch: every stamp within the bound; with one CPU a skip with the reason" {
    needs_kvm
    own
    run_own --on kvm --boots 1 --samples 3 --iters 2 --bench '^(io-latency|vm-switch)' \
        >table.txt 2>log.txt
    local bench all=(vm-switch io-latency-{out,in}-{spinning,woken,userspace})
    if [ "$(nproc)" -ge 2 ]; then
        for bench in "${all[@]}"; do
            [ "$(row kvm "$bench" '[.status, .outcomes[].check.verdict] | join(" ")')" = 'ok proved' ]
            [[ $(row kvm "$bench" .outcomes[0].check.note) == *'0 stamps outside; clocks differ by '* ]]
        done
    fi
    rm -r "$OUT"
    timeout 240 taskset -c "$(taskset -cp $$ | grep -oE '[0-9]+$')" "$WORLDSWITCH" run \
        --guest "$BATS_TEST_TMPDIR/guest.elf" -o "$OUT" --on kvm --boots 1 --samples 3 --iters 2 \
        --bench '^(io-latency|vm-switch)' >table.txt 2>log.txt
    for bench in vm-switch io-latency-{out,in}-userspace; do
        [ "$(row kvm "$bench" '[.status, .outcomes[].check.verdict] | join(" ")')" = 'ok proved' ]
    done
    for bench in io-latency-{out,in}-{spinning,woken}; do
        [ "$(row kvm "$bench" .status)" = skip ]
        [[ $(row kvm "$bench" .reason) == *'one CPU'* ]]
    done
}

@test "a software KVM is not run by default, and the list says so" {
    needs_software
    own
    only_sets qemu
    run_own --boots 1 --samples 2 --bench '^idle$' >table.txt 2>log.txt
    grep -qE '^note: left out: kvm: a software KVM' log.txt
    grep -qE '^note: left out: qemu-kvm: a software KVM' log.txt
    [ ! -e "$OUT/kvm.json" ]
    [ ! -e "$OUT/qemu-kvm.json" ]
    ws machines | grep -qE '^kvm: usable, and not run by default: a software KVM'
    ws machines --json >list.json
    [ "$(jq '.platforms[] | select(.name == "kvm") | .default' list.json)" = false ]
}

@test "a KVM on hardware is run by default, and its counts prove hypercalls" {
    needs_kvm
    jq -e '.software | not' probe.json >/dev/null || skip "this machine's KVM is a software KVM"
    own
    run_own --boots 2 --bench '^(idle|hypercall|sgdt)$' >table.txt 2>log.txt
    [ "$(row kvm hypercall '[.outcomes[].check.verdict] | unique | join(",")')" = proved ]
    [ "$(row qemu-kvm hypercall .status)" = ok ]
    [ "$(result kvm .identity.subject.kvm)" = hardware ]
}

# bats test_tags=live
@test "after Ctrl-C or a kill of the runner no monitor is left" {
    needs_kvm
    own
    for signal in INT KILL; do
        "$WORLDSWITCH" run --on kvm --boots 500 --guest "$BATS_TEST_TMPDIR/guest.elf" \
            -o "$OUT-$signal" >table.txt 2>log.txt 3>&- &
        pid=$!
        eventually pgrep -P "$pid" -f "$BATS_TEST_TMPDIR/guest.elf"
        kill -"$signal" "$pid"
        wait "$pid" || true
        gone() { ! pgrep -f -- "--kernel $BATS_TEST_TMPDIR"; }
        eventually gone
    done
}

@test "without /dev/kvm: one line with the reason and the cure" {
    needs_root
    # shellcheck disable=SC2016 # the inner shell expands them
    without='mkdir dev && mount --rbind /dev dev && mount -t tmpfs none /dev &&
        for node in null zero urandom; do : >/dev/$node && mount --bind dev/$node /dev/$node; done &&
        ln -s /proc/self/fd/1 /dev/stdout && exec timeout 60 "$0" "$@"'
    run -1 --separate-stderr unshare --mount sh -c "$without" "$WORLDSWITCH" run --on kvm -o "$OUT"
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == 'error: kvm: there is no usable /dev/kvm: '*'load the module'* ]]
    rmdir dev
    run -0 --separate-stderr unshare --mount sh -c "$without" "$WORLDSWITCH" machines
    [[ $output == *'kvm: not usable here: there is no usable /dev/kvm: '* ]]
    [[ $output == *'qemu-kvm: not usable here: there is no usable /dev/kvm'* ]]
}

@test "a /dev/kvm that is something else: one line with the reason" {
    needs_root
    # shellcheck disable=SC2016 # the inner shell expands them
    other='mount --bind /dev/null /dev/kvm && exec timeout 60 "$0" "$@"'
    [ -e /dev/kvm ] || skip "there is no /dev/kvm to cover"
    run -1 --separate-stderr unshare --mount sh -c "$other" "$WORLDSWITCH" run --on kvm -o "$OUT"
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == 'error: kvm: '*/dev/kvm* ]]
}

@test "without permission: one line with the reason and the cure" {
    needs_root
    [ -e /dev/kvm ] || skip "there is no /dev/kvm"
    [ "$(($(stat -c 0%a /dev/kvm) & 06))" -eq 0 ] || skip "/dev/kvm is open to everybody"
    # The user nobody needs copies that it can read, wherever the tree is.
    home=$(mktemp -d)
    cp "$WORLDSWITCH" "$VMM" "$GUEST/guest.elf" "$home"
    chmod 755 "$home" "$home"/*
    nobody() {
        setpriv --reuid=65534 --regid=65534 --clear-groups env -C "$home" TMPDIR=/tmp \
            timeout 60 ./worldswitch "$@" --vmm ./vmm --guest ./guest.elf
    }
    run -1 --separate-stderr nobody run --on kvm -o "$home/out"
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *'no permission to open /dev/kvm: '*'usermod -aG kvm'* ]]
    run -0 --separate-stderr nobody list platforms
    [[ $output == *'kvm: not usable here: no permission to open /dev/kvm'* ]]
    rm -rf "$home"
}

@test "without the monitor: one line with the cure" {
    run -1 --separate-stderr ws run --on kvm --vmm /nonexistent/vmm -o "$OUT"
    [[ $stderr == *'there is no KVM monitor /nonexistent/vmm'* ]]
    cp "$WORLDSWITCH" alone
    run -1 --separate-stderr timeout 60 ./alone run --on kvm --guest "$GUEST/guest.elf" -o "$OUT"
    [[ $stderr == *'make build'* ]]
}

# bats test_tags=live
@test "--pin: kvm and qemu-tcg report it, and every vCPU stayed on its CPU" {
    needs_kvm
    own
    cpu=$(taskset -cp $$ | grep -oE '[0-9]+' | tail -n 1)
    run_own --on kvm,qemu-tcg --pin "$cpu" --boots 1 --samples 3 --iters 10 \
        --bench '^(sgdt|in)$' >table.txt 2>log.txt
    grep -q "pinned to CPUs $cpu" log.txt
    run ! grep -q 'pinning did not hold' log.txt table.txt
    for platform in kvm qemu-tcg; do
        [ "$(result "$platform" .identity.conditions.pinning)" = "$cpu" ]
    done
}

# bats test_tags=live
@test "a vCPU thread that is moved to another CPU is reported with its row" {
    [ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
    own
    mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
        awk -F- '{ for (c = $1; c <= ($2 == "" ? $1 : $2); c++) print c }')
    # If a run ended before its thread was moved, a longer one follows.
    for samples in 200 1000 5000; do
        "$WORLDSWITCH" run --on qemu-tcg --pin "${cpus[0]}" --boots 1 --bench '^(sgdt|in)$' --timeout 600 \
            --samples "$samples" --iters 200000 --guest "$BATS_TEST_TMPDIR/guest.elf" -o "$OUT" \
            >table.txt 2>log.txt 3>&- &
        pid=$!
        move "$pid" "${cpus[0]}" "${cpus[1]}" || echo "with $samples samples it was too late"
        wait "$pid"
        ! grep -q 'pinning did not hold' log.txt || break
    done
    grep -q "pinning did not hold for .*vCPU 0 was pinned to CPU ${cpus[0]}" log.txt
    grep -q 'pinning did not hold' table.txt
    [ "$(result qemu-tcg '[.rows[].host[]?.strayed[]] | length')" -ge 1 ]
}

# move RUN CPU OTHER: finds the thread of the run's machine that is bound to CPU (the vCPU), and moves it to
# OTHER; fails if the machine has ended.
move() {
    local qemu task
    until qemu=$(pgrep -P "$1" -f -- "-kernel $BATS_TEST_TMPDIR/guest.elf"); do
        kill -0 "$1" || return 1
        sleep 0.05
    done
    while kill -0 "$qemu"; do
        for task in "/proc/$qemu"/task/*; do
            if [ "$(taskset -cp "${task##*/}" | sed 's/.*: //')" = "$2" ]; then
                taskset -cp "$3" "${task##*/}"
                return
            fi
        done
        sleep 0.05
    done
    return 1
}
