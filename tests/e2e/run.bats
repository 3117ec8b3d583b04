# `worldswitch run`: the table, the result files, exact counts, and the ways to stop it.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common

# Two whole runs in the lab, side by side. took.txt has the CPU time of each, as elapsed time includes the
# host's other work.
setup_file() {
    export RUNS=$BATS_FILE_TMPDIR
    # The lab's counts do not depend on the host, so tests with the tag live leave these runs out.
    [ -z "${LIVE-}" ] || return 0
    local run TIMEFORMAT='%U %S'
    for run in first second; do
        { time ws run --on lab:native -o "$RUNS/$run" >"$RUNS/$run.txt" 2>"$RUNS/$run.log"; } \
            2>>"$RUNS/took.txt" 3>&- &
    done
    wait
}

setup() { common_setup; }

# A failed test must not leave its run going: bats would wait for it.
teardown() { [ -z "${pid-}" ] || kill -KILL "$pid" 2>/dev/null || true; }

@test "two runs in the lab give the same counts, within 20 s of CPU time per boot" {
    cat "$RUNS/first.log" "$RUNS/second.log"
    cd "$RUNS"
    # Two boots each.
    awk '{ s += $1 + $2 } END { print s, "s"; exit (s > 80) }' took.txt
    digits='[.rows[] | {benchmark, exact, status, metrics}]'
    cmp <(jq "$digits" first/lab-native.json) <(jq "$digits" second/lab-native.json)
    cmp first.txt second.txt || diff first.txt second.txt
    # Every measured row must be exact, and the whole suite must be measured.
    [ "$(jq '[.rows[] | select(.status == "ok")] | length' first/lab-native.json)" -eq $(($(benchmarks) - 32)) ]
    [ "$(jq '[.rows[] | select(.status == "ok" and .exact != true)] | length' first/lab-native.json)" -eq 0 ]
}

@test "the lab's counts are those of the loops: one instruction is counted as one" {
    while read -r bench cost; do
        [ "$(jq '.rows[] | select(.benchmark == "'"$bench"'").metrics[0].boots[0] |
            [.run, .control] | transpose | map(.[0] - .[1]) | group_by(.) | max_by(length)[0]' \
            "$RUNS/first/lab-native.json")" -eq "$cost" ]
    done <<'COSTS'
idle 0
sgdt 1
sldt 1
cpuid 1
sidt 1
smsw 1
pushf-popf 2
lgdt 1
set-cr3 1
hot-memory-access 1
cold-memory-access 1
in 1
out 1
remap-page 3
print 33
COSTS
}

@test "--apic xapic measures interrupts by memory-mapped registers, with counts of their own" {
    # An interrupt's end: a test, a jump and a write; by the x2APIC also registers, and wrmsr instead of the write.
    ws run --on lab:native --boots 1 --apic xapic --bench '^(irq-completion|self-ipi|ipi-)' -o "$OUT" >table.txt
    [ "$(result lab-native .identity.subject.apic)" = xapic ]
    [ "$(result lab-native '[.rows[] | .status, .outcomes[].check.verdict] | unique | join(" ")')" = 'ok proved' ]
    [ "$(insns "$OUT/lab-native" irq-completion)" -eq 3 ]
    [ "$(jq -r .identity.subject.apic "$RUNS/first/lab-native.json")" = x2apic ]
    [ "$(insns "$RUNS/first/lab-native" irq-completion)" -eq 7 ]
    for row in self-ipi{,-halted,-priority} ipi-{halted,running}; do
        [ "$(insns "$OUT/lab-native" "$row")" -lt "$(insns "$RUNS/first/lab-native" "$row")" ]
    done
    run ws run --on lab:native,lab:arm-native --apic xapic
    [ "$status" -eq 2 ]
    [[ $output == *'--apic is for the benchmark kernel on x86, and lab:arm-native is an ARM machine'* ]]
    # EPYC, as QEMU has it, has no x2APIC.
    run ws run --on lab:native+cpu=EPYC --boots 1 --apic x2apic --bench '^idle$' -o none
    [ "$status" -eq 1 ]
    [[ $output == *"the guest's CPU or firmware does not allow --apic x2apic, so the guest uses xapic: leave it out"* ]]
}

# bats test_tags=live
@test "the default platforms are measured in one run" {
    only_sets qemu
    ws run --boots 1 --samples 3 --bench '^sgdt$' -o "$OUT" >table.txt 2>log.txt
    for platform in $(ws machines --json | jq -r '.platforms[] | select(.default).name'); do
        [ "$(result "${platform/:/-}" '.rows[].status')" = ok ]
        grep -qE " $platform( |\$)" table.txt
    done
    grep -q ' lab:native .* qemu-tcg' table.txt
}

@test "the table has every row, and so has the result file" {
    ws run --on lab:native,qemu-tcg --boots 1 --samples 3 -o "$OUT" >brief.txt 2>log.txt
    head -n 1 brief.txt | grep -q '^In qemu-tcg .* takes .* ticks; the longest exit is '
    run ! grep -q '.\{101\}' brief.txt
    run ! grep -q '^sgdt ' brief.txt
    grep -q "^ *.*worldswitch show $OUT --all " log.txt
    ws show "$OUT" --all >table.txt
    # What neither can have is one line; all others have a row.
    sed -i ':a; N; $!ba; s/,\n */, /g' table.txt
    absent=$(sed -n 's/^Not on these platforms: \(.*\) (why:.*/\1/p' table.txt)
    for row in $(tr -d , <<<"$absent"); do
        run ! grep -qE "(^| )$row +(skip|[0-9])" table.txt
    done
    for row in idle sgdt sldt sidt smsw pushf-popf lgdt set-cr3 hypercall cpuid \
        interrupt-controller-trap irq-completion ipi-halted ipi-running vm-switch hot-memory-access \
        cold-memory-access set-page-table-4k set-page-table-2m remap-page in out print event-channel hypercall-pending \
        event-send {hypercall,cpuid,in,event-channel}-unpaged io-latency-{out,in}-{spinning,woken,userspace} toggle-cr0-wp toggle-cr4-pge \
        write-dr7 tsc-adjust-{read,write} write-gs-base cr8-{read,write} self-ipi{,-halted,-priority,-no-eoi} \
        tsc-deadline{-past,} {in,out}-kernel in-pm-timer out-eventfd mmio-write{,-eventfd}; do
        grep -qE "(^| )${row}[ ,]" table.txt
    done
    [ "$(result qemu-tcg .schema)" = worldswitch-result/1 ]
    [ "$(result qemu-tcg '.rows | length')" -eq "$(benchmarks)" ]
    [ "$(result qemu-tcg '.rows[] | select(.benchmark == "hypercall").status')" = skip ]
}

# bats test_tags=live
@test "on qemu-tcg the first record comes within a second of the start, and its time is reported" {
    ws run -v --on qemu-tcg --boots 10 --bench '^idle$' --samples 2 --iters 10 -o "$OUT" 2>log.txt
    grep -qE 'first record after [0-9]+ ms' log.txt
    [ "$(result qemu-tcg '[.boots[].launches[].first_record_ms] | all(. > 0)')" = true ]
    # The minimum of ten, as the host is shared.
    [ "$(result qemu-tcg '[.boots[].launches[].first_record_ms] | min')" -lt 1000 ]
}

@test "rows that need two CPUs get them, the others get one" {
    ws run --on lab:native --boots 1 --bench 'sgdt|ipi-halted' -o "$OUT" >/dev/null
    [ "$(result lab-native '[.boots[0].launches[].vcpus] | tostring')" = '[1,2]' ]
    [ "$(result lab-native '.rows[] | select(.benchmark == "sgdt").conditions.vcpus')" -eq 1 ]
    [ "$(result lab-native '.rows[] | select(.benchmark == "ipi-halted").conditions.vcpus')" -eq 2 ]
}

@test "exports: JSON, CSV and Markdown" {
    ws run --on lab:native --boots 1 --bench '^s.dt$' -o "$OUT" --export-json t.json \
        --export-csv t.csv --export-markdown t.md >/dev/null
    jq -e . t.json >/dev/null
    [ "$(grep -c . t.csv)" -eq 4 ]
    grep -q '^|' t.md
}

@test "show gives the table again" {
    ws run --on lab:native --boots 1 --bench '^s.dt$' -o "$OUT" >table.txt
    ws show "$OUT" >again.txt
    cmp table.txt again.txt
    ws show "$OUT/lab-native.json" | grep -q sgdt
    ws show "$OUT:lab:native" | grep -q sgdt
}

@test "only data on stdout, no colour unless on a terminal" {
    ws run --on lab:native --boots 1 --bench '^idle$' -o "$OUT" >table.txt 2>log.txt
    run ! grep -q $'\x1b' table.txt
    run ! grep -q $'\x1b' log.txt
}

# own [GUEST]: copies a guest to a path that identifies the test's machines.
own() { cp "${1:-$GUEST/guest.elf}" "$BATS_TEST_TMPDIR/own.elf"; }
machines() { pgrep -f -- "-kernel $BATS_TEST_TMPDIR/own.elf"; }
no_machine() { ! machines; }

# bats test_tags=live
@test "Ctrl-C stops the machine, keeps finished boots, and exits with 1" {
    own
    # In a process group of its own, like a terminal's foreground job; background jobs ignore SIGINT.
    setsid env --default-signal=INT "$WORLDSWITCH" run -v --on qemu-tcg --boots 500 --samples 2 --iters 10 -o "$OUT" \
        --guest "$BATS_TEST_TMPDIR/own.elf" >table.txt 2>log.txt 3>&- &
    pid=$!
    # A boot is two launches; the log has a line when each is over.
    third_is_over() { [ "$(grep -c 'first record after' log.txt)" -ge 3 ]; }
    LIMIT=300 eventually third_is_over
    kill -INT -- "-$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 1 ]
    [ "$(result qemu-tcg .interrupted)" = true ]
    [ "$(result qemu-tcg '.boots | length')" -ge 1 ]
    [ "$(statuses qemu-tcg | grep -c ' ok$')" -ge 10 ]
    ! is_running "$OUT" || false
    no_machine
}

# bats test_tags=live
@test "SIGKILL to the runner ends the machine too" {
    # In a row that never ends there is one machine, until it is killed.
    own "$(planted_guest)"
    "$WORLDSWITCH" run --on qemu-tcg --boots 1 --timeout 600 --bench '^plant-loop$' \
        --guest "$BATS_TEST_TMPDIR/own.elf" -o "$OUT" >table.txt 2>log.txt 3>&- &
    pid=$!
    eventually machines
    kill -KILL "$pid"
    wait "$pid" || true
    eventually no_machine
}

# bats test_tags=live
@test "a QEMU that is killed makes one row fail; the run goes on" {
    guest=$(planted_guest)
    # plant-loop never ends by itself, so the kill finds it running.
    own "$guest"
    # On a terminal the running row is shown at once.
    script -qefc "exec '$WORLDSWITCH' run --on qemu-tcg --boots 1 --guest '$BATS_TEST_TMPDIR/own.elf' --timeout 600 \
        --bench '^(idle|plant-loop|plant-ud)\$' -o '$OUT'" /dev/null >log.txt 2>&1 </dev/null 3>&- &
    pid=$!
    eventually grep -q plant-loop log.txt
    pkill -KILL -f -- "-kernel $BATS_TEST_TMPDIR/own.elf"
    wait "$pid" || true
    statuses qemu-tcg >rows.txt
    grep -qx 'idle ok' rows.txt
    grep -qx 'plant-loop died' rows.txt
    grep -qx 'plant-ud fault' rows.txt
    result qemu-tcg '.rows[] | select(.benchmark == "plant-loop").reason' | grep -qi 'signal 9\|SIGKILL'
}

@test "results are replaced only with --force, and only one run at a time writes into a folder" {
    ws run --on lab:native --boots 1 --bench '^in$' -o "$OUT" >/dev/null
    cp "$OUT/lab-native.json" first.json
    run -1 --separate-stderr ws run --on lab:native --boots 1 --bench '^out$' -o "$OUT"
    [[ $stderr == *"$OUT has results of lab:native already: "*'--force'* ]]
    cmp first.json "$OUT/lab-native.json"
    # Results of another platform may be added.
    ws run --on lab:arm-native --boots 1 --bench '^in$' -o "$OUT" >/dev/null
    ws run --on lab:native --boots 1 --bench '^out$' -o "$OUT" --force >/dev/null
    [ "$(result lab-native '.rows[].benchmark')" = out ]
    # A run that writes into the folder holds its lock.
    run -1 --separate-stderr flock "$OUT" timeout 60 "$WORLDSWITCH" run --on lab:native --boots 1 -o "$OUT" --force
    [[ $stderr == *"another worldswitch writes its results into $OUT: "* ]]
}

@test "a full disk: checked before measuring; if it fills meanwhile, the table is still printed" {
    [ "$(id -u)" -eq 0 ] || skip "needs root, for a small file system of its own"
    mkdir small
    # shellcheck disable=SC2016 # the inner shell expands them
    run -1 --separate-stderr unshare --mount sh -c '
        mount -t tmpfs -o size=16k none small &&
        timeout 60 "$0" run --on lab:native --boots 1 -o small/out; status=$?
        ls -A small small/out >after.txt 2>&1; exit $status' "$WORLDSWITCH"
    [[ $stderr == *'small/out has '*' KiB left, and the results may take '* ]]
    run ! grep -q . <(grep -v -e '^small' -e "small/out': No such" -e '^$' after.txt)
    # The console's records come when the disk is full: it is filled when the runner has made its folder and
    # waits in read(2) for the console.
    boot -kernel "$GUEST/guest.elf" -append 'bench=^sgdt$'
    mkfifo console
    # shellcheck disable=SC2016
    run -1 --separate-stderr timeout 60 unshare --mount sh -c '
        mount -t tmpfs -o size=400k none small || exit 9
        "$0" run --on log:console -o small/out 3>&- &
        exec 9>console
        until [ -d small/out ] && grep -q "^0 0x3 " "/proc/$!/syscall"; do sleep 0.05; done
        cat /dev/zero >small/full 2>/dev/null
        cat console.txt >&9 && exec 9>&-
        wait $!; status=$?
        ls -A small/out >after.txt; exit $status' "$WORLDSWITCH"
    [[ $output == *sgdt* ]]
    [[ $stderr == *'results were not kept: '*'No space left'* ]]
    [ ! -s after.txt ]
}

@test "wrong usage exits with 2" {
    run -2 --separate-stderr ws run --on lab:nativ
    [[ $stderr == *lab:native* ]]
    run -2 --separate-stderr ws run --bench '('
    run -2 --separate-stderr ws frobnicate
    run -2 --separate-stderr ws run --bench nothing-of-that-name --on lab:native
}

@test "no QEMU: an error with the cure" {
    run -1 --separate-stderr ws run --on lab:native --qemu /nonexistent/qemu -o "$OUT"
    [[ $stderr == *qemu* ]]
    [ ! -e "$OUT/lab-native.json" ]
}

@test "benchmarks: those of the image; machines: what each lacks" {
    ws benchmarks --on lab:native,qemu-tcg | grep -q '^set-page-table-2m .* yes$'
    ws benchmarks --on lab:native | grep -q '^hypercall .* no: no hypervisor below answers hypercalls$'
    ws benchmarks --on lab:native,lab:kvm | grep -q '^vm-switch .* only lab:kvm$'
    run -2 --separate-stderr ws benchmarks --on lab:nativ
    ws benchmarks --on lab:kvm --json >list.json
    [ "$(jq '.benchmarks | length' list.json)" -eq 66 ]
    # Only Xen's and Hyper-V's rows can't be measured on it, each with the reason.
    [ "$(jq -c '[.benchmarks[] | select(.platforms[0].usable == false).name]' list.json)" = \
        '["hv-reference-counter","hv-reference-tsc","hv-hypercall","event-channel","event-send","in-unpaged","hypercall-unpaged","cpuid-unpaged","event-channel-unpaged","event-switch","event-out","event-in"]' ]
    jq -e '.benchmarks[] | select(.name == "event-send").platforms[0].why == "it needs Xen"' list.json
    ws machines | grep -q lab:native
    PATH=/nonexistent "$WORLDSWITCH" machines | grep -qi 'not installed'
}
