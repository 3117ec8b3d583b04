# The x86 machines of the lab: counts within their usual ranges, and one more instruction counted as one; and the same
# counts in two boots of lab:native, and as another user of an ARM machine, whose Linux boots in a quarter of the time.
# Tests that need more boots of KVM on x86 are in tests/long/lab.bats and clock.bats.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common
load table

# What takes 20 s on two idle cores may take ten times as long on busy ones.
LONG=1700

setup_file() {
    fetch_packages --all
    export RUNS=$BATS_FILE_TMPDIR/runs
    mkdir "$RUNS"
    table_guest
    # In parallel with the table: other load must not matter.
    others 3>&- &
    table
    wait
}

# kept NAME COMMAND...: runs a command, and keeps its output and whether it failed for the tests (made).
kept() {
    LIMIT=$LONG "${@:2}" >"$RUNS/$1.txt" 2>"$RUNS/$1.log" || echo "it ended with $?" >"$RUNS/$1.failed"
}

# measure NAME WORDS...: a run; its results are in $RUNS/NAME.
measure() { kept "$1" ws run "${@:2}" -o "$RUNS/$1"; }

# made NAME: checks that the command did not fail.
made() {
    cat "$RUNS/$1.log"
    run ! cat "$RUNS/$1.failed"
}

# All other runs that tests only read, one after another, as each is one thread.
others() {
    one_call_more
    measure before --on lab:kvm-vhe --boots 1 --bench '^(hypercall|in|out)$'
    measure after --on lab:kvm-vhe --boots 1 --bench '^(hypercall|in|out)$' --vmm "$RUNS/vmm/vmm"
}

# Builds a monitor with one more function call on the way of a device access, 7 instructions: save the return
# address, call, two NOPs, return, restore the return address, and jump to the original function.
one_call_more() {
    "$ROOT/tools/pinned/clang" --target=aarch64-linux-gnu -c -o "$RUNS/more.o" -x assembler - <<'CODE'
.globl __wrap_devices_access
__wrap_devices_access: mov x16, x30
bl more
mov x30, x16
b __real_devices_access
more: nop
nop
ret
.section .note.GNU-stack,"",@progbits
CODE
    make -s -C "$ROOT/vmm" ARCH=aarch64 OUT="$RUNS/vmm" \
        LDFLAGS="-static -pthread -Wl,--wrap=devices_access $RUNS/more.o" >&2
}

setup() { common_setup; }

# digits FILE [BOOT]: all samples of a boot.
digits() {
    jq -c --argjson boot "${2:-1}" '.rows[] | [.benchmark, .status, (.metrics[] | select(.unit == "insns").boots[]
        | select(.boot == $boot) | .iterations, .run, .control)]' "$1.json"
}

# between PLATFORM BENCHMARK LEAST MOST: checks a count of the table.
between() {
    local found
    found=$(insns "$TABLE/$1" "$2")
    echo "$1 $2: $found, wanted $3 to $4"
    [ "$found" -ge "$3" ] && [ "$found" -le "$4" ]
}

@test "the table: every row measured, those of two boots exact, with the note on NRIPS" {
    [ "$(jq '[.rows[] | select(.status == "ok" and .exact != true)] | length' "$TABLE/lab-native.json")" -eq 0 ]
    # Another test is of interrupt-once, which fails on an emulator with that fault.
    measured() { jq '[.rows[] | select(.status == "ok" and .benchmark != "interrupt-once")] | length' "$TABLE/$1.json"; }
    [ "$(measured lab-native)" -eq $(($(benchmarks) - 32 - 2 + 1)) ]
    [ "$(measured lab-kvm)" -eq $(($(benchmarks) + ADDED - 10 - 9 - 3)) ]
    [ "$(measured lab-kvm-shadow)" -eq $(($(benchmarks) + ADDED - 10 - 9 - 3)) ]
    [ "$(jq -s '[.[].rows[] | select(.benchmark != "interrupt-once").outcomes[]?.check?.verdict? | select(. == "failed")] | length' \
        "$TABLE"/*.json)" -eq 0 ]
    grep -q "QEMU's SVM has no NRIPS" "$TABLE.txt"
}

@test "the same counts in two boots" {
    digits "$TABLE/lab-native" 1 >first.txt
    digits "$TABLE/lab-native" 2 >second.txt
    [ -s first.txt ]
    cmp first.txt second.txt
}

@test "counts are in their ranges and in the expected order" {
    for row in sgdt sldt sidt smsw lgdt hot-memory-access; do
        between lab-kvm "$row" 1 1
        between lab-kvm-shadow "$row" 1 1
    done
    between lab-kvm pushf-popf 2 2
    between lab-kvm hypercall 2700 3400
    between lab-kvm cpuid 2500 3100
    between lab-kvm in 3000 3900
    between lab-kvm out 2950 3850
    between lab-kvm set-cr3 1 1
    between lab-kvm-shadow set-cr3 3000 4000
    between lab-kvm remap-page 3 3
    between lab-kvm-shadow remap-page 5000 7500
    between lab-kvm cold-memory-access 4300 5300
    between lab-kvm-shadow cold-memory-access 6000 7300
    [ "$(insns "$TABLE/lab-kvm" in)" -gt "$(insns "$TABLE/lab-kvm" out)" ]
    [ "$(insns "$TABLE/lab-kvm" print)" -gt "$((32 * $(insns "$TABLE/lab-kvm" out)))" ]
}

@test "KVM counted as many exits as operations, and none for rows without exits" {
    # count BENCHMARK EXPRESSION: operations minus the expression, in all boots.
    count() { value "$TABLE/lab-kvm" "$1" "[.host[] | .operations - ($2)] | unique | tojson"; }
    none() { value "$TABLE/lab-kvm" "$1" '[.host[] | .kvm.exits // 0, (.returns // {} | add // 0)] | unique | tojson'; }
    [ "$(value "$TABLE/lab-kvm" hypercall .host[0].operations)" -eq "$SAMPLES" ]
    for row in hypercall cpuid in out cold-memory-access; do
        # The host's clock may end a turn of the guest.
        [ "$(count "$row" '.kvm.exits - (.kvm.irq_exits // 0)')" = '[0]' ]
    done
    [ "$(count hypercall .kvm.hypercalls)" = '[0]' ]
    [ "$(count in .returns.io)" = '[0]' ]
    [ "$(count out .returns.io)" = '[0]' ]
    [ "$(count print '.returns.io / 32')" = '[0]' ]
    [ "$(count cold-memory-access '.pages_after - .pages_before')" = '[0]' ]
    for row in sgdt sldt sidt lgdt pushf-popf idle; do
        [ "$(none "$row")" = '[0]' ]
        [ "$(value "$TABLE/lab-kvm" "$row" .outcomes[0].check.verdict)" = proved ]
    done
    for row in hypercall cpuid interrupt-controller-trap in out cold-memory-access; do
        [ "$(value "$TABLE/lab-kvm" "$row" .outcomes[0].check.verdict)" = proved ]
    done
    [ "$(value "$TABLE/lab-kvm-shadow" remap-page '.host[0] | .operations - .kvm.invlpg')" -eq 0 ]
}

@test "two vCPUs: IPIs arrive, and are not called a latency" {
    for platform in lab-native lab-kvm; do
        for row in ipi-halted ipi-running; do
            [ "$(value "$PAIRS/$platform" "$row" '[.status, .outcomes[].check.verdict] | unique | join(" ")')" = 'ok proved' ]
            [ "$(value "$PAIRS/$platform" "$row" .conditions.vcpus)" -eq 2 ]
        done
    done
    grep -qE '^[a-z]+ +ipi-halted ' "$PAIRS.txt"
    grep -q 'a path length, not a latency' "$PAIRS.txt"
}

@test "kvm-unit-tests' exits: the expected number of exits, and one instruction for rows without exits" {
    # exits BENCHMARK COUNTER: exits per operation, in all boots; one more in a boot is an interrupt of the
    # host.
    exits() {
        value "$TABLE/lab-kvm" "$1" "[.host[] | (.kvm.$2 // 0) as \$all | .operations as \$n |
            if \$all % \$n == 1 then (\$all - 1) / \$n else \$all / \$n end] | unique | tojson"
    }
    for row in cr8-read cr8-write write-gs-base write-dr7; do
        between lab-kvm "$row" 1 1
    done
    for row in in-kernel out-kernel out-eventfd mmio-write mmio-write-eventfd mmio-write-eventfd-any tsc-adjust-read tsc-adjust-write; do
        [ "$(exits "$row" exits)" = '[1]' ]
    done
    [ "$(exits toggle-cr0-wp exits)" = '[2]' ]
    [ "$(exits toggle-cr4-pge exits)" = '[2]' ]
    [ "$(exits self-ipi-halted halt_exits)" = '[1]' ]
    for row in self-ipi self-ipi-halted self-ipi-priority self-ipi-no-eoi tsc-deadline-past tsc-deadline; do
        [ "$(exits "$row" irq_injections)" = '[1]' ]
        [ "$(value "$TABLE/lab-kvm" "$row" .outcomes[0].check.verdict)" = proved ]
    done
    # An exit to user space costs more than one handled in the kernel, or by an eventfd that nobody reads.
    [ "$(insns "$TABLE/lab-kvm" in)" -gt "$((2 * $(insns "$TABLE/lab-kvm" in-kernel)))" ]
    [ "$(insns "$TABLE/lab-kvm" out)" -gt "$((2 * $(insns "$TABLE/lab-kvm" out-eventfd)))" ]
    [ "$(insns "$TABLE/lab-kvm" mmio-write)" -gt "$(insns "$TABLE/lab-kvm" mmio-write-eventfd)" ]
    # The end of interrupt costs an exit, which self-ipi-no-eoi leaves out.
    [ "$(insns "$TABLE/lab-kvm" self-ipi)" -gt "$(($(insns "$TABLE/lab-kvm" self-ipi-no-eoi) + 3000))" ]
}

@test "what KVM offers in place of exits: its clock has none, and an IPI by hypercall arrives as one by the APIC" {
    [ "$(value "$TABLE/lab-kvm" pvclock-read '[.host[] | .kvm.exits // 0] | unique | tojson')" = '[0]' ]
    between lab-kvm pvclock-read 15 25
    for row in "$TABLE/lab-kvm pvclock-read" "$PAIRS/lab-kvm pv-ipi-halted" "$PAIRS/lab-kvm pv-ipi-running"; do
        # shellcheck disable=SC2086
        [ "$(value $row '[.status, .outcomes[].check.verdict] | unique | join(" ")')" = 'ok proved' ]
    done
    # Hyper-V's interface is not there unless the machine's name asks for it: tests/long/lab.bats.
    [[ $(value "$TABLE/lab-kvm" hv-hypercall .outcomes[0].reason) == *"does not offer Hyper-V's interface"*hyperv=1* ]]
    # The sender makes one hypercall; KVM's counter is of both vCPUs.
    [ "$(value "$PAIRS/lab-kvm" pv-ipi-running '[.host[] | .kvm.hypercalls - .operations] | unique | tojson')" = '[0]' ]
    [[ $(value "$PAIRS/lab-native" pv-ipi-running .outcomes[0].reason) == *'needs hypercall=kvm'* ]]
}

@test "I/O latency and VM Switch: path lengths, every stamp within the bound, in the expected order" {
    local platform run boots row
    # within RUN BOOTS ROW...: checks that rows are proved in so many boots, with no stamp outside the bound.
    within() {
        run=$1 boots=$2
        for row in "${@:3}"; do
            [ "$(value "$run" "$row" '[.status, .outcomes[].check.verdict] | unique | join(" ")')" = 'ok proved' ]
            value "$run" "$row" '.outcomes[].check.note' >notes.txt
            [ "$(grep -c '; 0 stamps outside; clocks differ by -[0-9]* to [0-9]* ticks' notes.txt)" -eq "$boots" ]
        done
    }
    within "$TABLE/lab-kvm" 1 vm-switch io-latency-{out,in}-userspace
    within "$TABLE/lab-kvm-shadow" 1 vm-switch io-latency-{out,in}-userspace
    within "$PAIRS/lab-kvm" 1 io-latency-{out,in}-{spinning,woken}
    [ "$(value "$TABLE/lab-kvm" vm-switch .conditions.vcpus)" -eq 1 ]
    [ "$(value "$PAIRS/lab-kvm" io-latency-out-spinning .conditions.vcpus)" -eq 2 ]
    for platform in lab-kvm lab-kvm-shadow; do
        [ "$(value "$TABLE/$platform" vm-switch "[.host[] | .kvm.halt_exits == $SAMPLES and .kvm.io_exits == $SAMPLES] | all")" = true ]
        [ "$(value "$TABLE/$platform" io-latency-out-userspace "[.host[].returns.io == $SAMPLES] | all")" = true ]
        # The scheduler does not choose where the guest leaves its CPU.
        has_one_path "$TABLE/$platform" vm-switch
    done
    # The exit alone costs less than waking a thread; an exit to user space is half of OUT.
    between lab-kvm io-latency-out-userspace 1200 2400
    between lab-kvm io-latency-in-userspace 3000 5500
    between lab-kvm vm-switch 9000 14000
    TABLE=$PAIRS between lab-kvm io-latency-out-woken 3500 8000
    [ "$(insns "$PAIRS/lab-kvm" io-latency-out-woken)" -gt "$(insns "$PAIRS/lab-kvm" io-latency-out-spinning)" ]
    [ "$(insns "$PAIRS/lab-kvm" io-latency-in-woken)" -gt "$(insns "$PAIRS/lab-kvm" io-latency-in-spinning)" ]
    # KVM does not poll for a halted vCPU: each halt blocks.
    [ "$(jq '[.rows[].host[]?.kvm.halt_successful_poll // 0] | add' "$TABLE/lab-kvm.json")" -eq 0 ]
    [ "$(jq '[.rows[].host[]?.kvm.halt_successful_poll // 0] | add' "$PAIRS/lab-kvm.json")" -eq 0 ]
    [ "$(value "$PAIRS/lab-kvm" ipi-halted '[.host[].kvm.halt_wakeup == '"$SAMPLES"'] | all')" = true ]
    [[ $(value "$TABLE/lab-native" vm-switch .reason) == *'a device of our own monitor'* ]]
}

@test "the emulator's fault is cured: an interrupt that VMRUN injects arrives once" {
    local once='8 sent, 8 came' uncured='this emulator is not cured of the fault.*svm-interrupt-twice'
    note() { value "$TABLE/$1" interrupt-once '.outcomes[0].check.note'; }
    [ "$(note lab-native)" = "$once" ]
    for platform in lab-kvm lab-kvm-shadow; do
        # The cure may not know a newer emulator. Then every result and table says so.
        if ! is_pinned "$TABLE/$platform.json" && grep -q "$uncured" "$TABLE/$platform.json"; then
            # The table breaks lines.
            tr -s '[:space:]' ' ' <"$TABLE${platform#lab-kvm}.txt" | grep -q "$uncured"
            echo "# recorded: $platform: $uncured: $(note "$platform")" >&3
        else
            [ "$(note "$platform")" = "$once" ]
            run ! grep 'not cured' "$TABLE/$platform.json"
        fi
    done
}

@test "one more instruction in the guest's loop is counted as one" {
    # Rows that ran before change a hypercall by an instruction or two: tests/long/lab.bats has one of few rows.
    [ $(($(insns "$TABLE/lab-kvm" sgdt-one-more) - $(insns "$TABLE/lab-kvm" sgdt))) -eq 1 ]
}

@test "one more function call in the monitor is counted with its instructions, and only in rows that use it" {
    made before
    made after
    for row in in out; do
        [ "$(insns "$RUNS/after/lab-kvm-vhe" $row)" -eq $(($(insns "$RUNS/before/lab-kvm-vhe" $row) + 7)) ]
    done
    [ "$(insns "$RUNS/after/lab-kvm-vhe" hypercall)" -eq "$(insns "$RUNS/before/lab-kvm-vhe" hypercall)" ]
}

@test "the user's own recipes on native and kvm: one is the other's baseline" {
    mkdir -p mine/recipes
    echo 'extends = "native"' >mine/recipes/bare.toml
    echo 'extends = "kvm"' >mine/recipes/mykvm.toml
    ws run --on lab:bare,lab:mykvm --lab-dir mine --bench '^in$' --boots 1 --perturb 0 --json >table.json
    jq -e '[.columns[].baseline] == [0, 0] and .rows[0].cells[1].added > 1000' table.json
}

@test "other counts than seen before: a broken lab, exit code 1" {
    use_cache "$BATS_TEST_TMPDIR/cache"
    ws run --on lab:native --boots 1 --bench '^(in|out)$' -o "$OUT" --force
    ws run --on lab:native --boots 1 --bench '^(in|out)$' -o "$OUT" --force
    seen=("$XDG_CACHE_HOME"/worldswitch/digits/*.json)
    [ "${#seen[@]}" -eq 1 ]
    jq '.rows.in |= (.mode = 7 | .samples |= sub("."; "x"))' "${seen[0]}" >other.json
    mv other.json "${seen[0]}"
    run ws run --on lab:native --boots 1 --bench '^(in|out)$' -o "$OUT" --force
    [ "$status" -eq 1 ]
    [[ $output == *'THE LAB IS BROKEN'*'in: 7 instructions first seen '*', 1 now'* ]]
    [[ $output != *'out: '* ]]
    # The results are kept nevertheless.
    [ "$(insns "$OUT/lab-native" in)" -eq 1 ]
}

@test "an ordinary user, without /dev/kvm and without network, gets the same counts" {
    [ "$(id -u)" -eq 0 ] || skip 'only root can become another user; the other tests ran as an ordinary user'
    unshare -mn true 2>/dev/null || skip 'namespaces are not permitted here'
    mkdir -p mine/data mine/out
    cp -r "$ROOT/lab" "$ROOT/build/guest" "$ROOT/build/vmm" "$ROOT/build/plugin" mine/data
    cp "$WORLDSWITCH" mine
    # In a file system of its own at /mnt, as the user nobody can't reach the tests' folders.
    cat >somebody <<'SCRIPT'
set -e
mount -t tmpfs none /mnt
cp -r mine/. /mnt
mkdir -p /mnt/cache/worldswitch/sets /mnt/dev
mount --bind "$LAB_STORE/sets" /mnt/cache/worldswitch/sets
mount -o remount,bind,ro /mnt/cache/worldswitch/sets
for node in null zero random urandom; do
    : >"/mnt/dev/$node"
    mount --bind "/dev/$node" "/mnt/dev/$node"
done
ln -s /proc/self/fd /mnt/dev/fd
ln -s fd/1 /mnt/dev/stdout
ln -s fd/2 /mnt/dev/stderr
chown 65534:65534 /mnt/out /mnt/cache/worldswitch
mount --rbind /mnt/dev /dev
cd /mnt/out
exec setpriv --reuid=65534 --regid=65534 --clear-groups env -i HOME=/nonexistent PATH=/usr/bin:/bin \
    XDG_CACHE_HOME=/mnt/cache WORLDSWITCH_DATA=/mnt/data sh -c '
        ! [ -e /dev/kvm ] && [ "$(wc -l </proc/net/dev)" -eq 3 ] && [ "$(id -u)" = 65534 ] &&
        /mnt/worldswitch run --on lab:kvm-vhe --boots 1 --bench "^(hypercall|in|out)$" -o result >&2 &&
        cat result/lab-kvm-vhe.json'
SCRIPT
    timeout "$LONG" unshare -mn --propagation private sh somebody >as-nobody.json
    made before
    digits "$RUNS/before/lab-kvm-vhe" >first.txt
    digits as-nobody >second.txt
    [ -s first.txt ]
    cmp first.txt second.txt
}
