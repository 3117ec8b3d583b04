# The lab with a cache rebuilt from the lock file, with the newest kernels, and more boots than tests/e2e has.
# `make test-long` runs it; it needs the network.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common
load ../e2e/table

setup() {
    common_setup
    export LIMIT=900
}

teardown() {
    for pid in ${started-}; do kill "$pid"; done 2>/dev/null || true
}

# All samples of a platform's result.
samples() {
    jq -c '.rows[] | [.benchmark, .status, (.metrics[] | select(.unit == "insns").boots[])]' "$1.json"
}

@test "a cache rebuilt from the lock gives the same counts" {
    # shellcheck disable=SC2030
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    digests() { ws lab show kvm --json | jq -r '.digest, .sets[].digest'; }
    ws lab fetch --newest native kvm kvm-shadow
    digests >a
    ws run --on lab:native,lab:kvm,lab:kvm-shadow --boots 1 -o rebuilt
    use_cache "$BATS_FILE_TMPDIR/user/cache"
    fetch_packages native kvm kvm-shadow
    digests >b
    if ! cmp a b; then
        # The archive has moved on since this cache was filled: what is there in place of the pins stays.
        run ! is_pinned rebuilt/lab-kvm.json
        echo "# recorded: the cache rebuilt has other packages: $(grep -v '^[+-][+-]' <(diff -u a b) | grep -c '^-') digests" >&3
        return
    fi
    ws run --on lab:native,lab:kvm,lab:kvm-shadow --boots 1 -o before
    for platform in lab-native lab-kvm lab-kvm-shadow; do
        samples "before/$platform" >a
        samples "rebuilt/$platform" >b
        [ -s a ]
        cmp a b
    done
}

@test "QEMU as the monitor: exact; exits that KVM handles cost the same, exits to user space more" {
    fetch_packages kvm qemu-kvm
    ws run --on lab:kvm,lab:qemu-kvm --boots 3 --bench '^(hypercall|cpuid|in|out)$' -o "$OUT"
    for platform in lab-kvm lab-qemu-kvm; do
        [ "$(result "$platform" '[.rows[] | select(.status == "ok" and .exact and (.metrics[0].boots | length) == 3)] | length')" -eq 4 ]
    done
    for row in hypercall cpuid in out; do
        ours=$(insns "$OUT/lab-kvm" "$row") qemus=$(insns "$OUT/lab-qemu-kvm" "$row")
        echo "$row: $ours under our monitor, $qemus under QEMU"
        case $row in
        hypercall | cpuid) [ $((qemus - ours)) -lt 100 ] && [ $((ours - qemus)) -lt 100 ] ;;
        in | out) [ "$qemus" -gt $((ours + 500)) ] ;;
        esac
    done
}

@test "Hyper-V's interface and huge pages are there where the machine's name asks for them" {
    fetch_packages kvm
    ws run --on lab:kvm+hyperv=1,lab:kvm+host-pages=2m --boots 2 --bench '^(hypercall|pvclock-read|hv-.*|cold-memory-access)$' -o "$OUT"
    row() { result "lab-kvm+$1" ".rows[] | select(.benchmark == \"$2\") | [.status, .outcomes[].check.verdict] | unique | join(\" \")"; }
    for name in hypercall pvclock-read hv-hypercall hv-reference-counter hv-reference-tsc; do
        [ "$(row hyperv=1 "$name")" = 'ok proved' ]
    done
    [ "$(insns "$OUT/lab-kvm+hyperv=1" hv-hypercall)" -gt "$(insns "$OUT/lab-kvm+hyperv=1" hypercall)" ]
    [ "$(insns "$OUT/lab-kvm+hyperv=1" hv-reference-tsc)" -lt 20 ]
    # One fault brings 512 pages of 4 KiB; most reads find theirs.
    [ "$(row host-pages=2m cold-memory-access)" = 'ok unproven' ]
    [ "$(insns "$OUT/lab-kvm+host-pages=2m" cold-memory-access)" -eq 1 ]
    [ "$(insns "$OUT/lab-kvm+hyperv=1" cold-memory-access)" -gt 4000 ]
}

@test "nested and shadow paging: two boots with the same counts, the rows of two vCPUs; with perturbed boots, verdicts" {
    fetch_packages kvm kvm-shadow
    ws run --on lab:kvm,lab:kvm-shadow --boots 2 --perturb 1 -o "$OUT"
    for machine in lab-kvm lab-kvm-shadow; do
        [ "$(result $machine '[.rows[] | select(.status == "ok" and .exact != true and .conditions.vcpus == 1)] | length')" -eq 0 ]
        for row in ipi-halted ipi-running io-latency-{out,in}-{spinning,woken}; do
            [ "$(result $machine ".rows[] | select(.benchmark == \"$row\") | [.conditions.vcpus, .status, .outcomes[].check.verdict] | unique | tostring")" = \
                '[2,"ok","proved"]' ]
        done
    done
    run ws compare "$OUT:lab:kvm" "$OUT:lab:kvm-shadow" --export-json c.json
    echo "$output"
    [ "$status" -eq 3 ]
    for verdict in 'set-cr3 worse' 'cold-memory-access worse' 'sgdt no-change' 'pushf-popf no-change'; do
        jq -e --arg row "${verdict% *}" --arg verdict "${verdict#* }" \
            '.comparisons[0].rows[] | select(.benchmark == $row).verdict == $verdict' c.json
    done
    grep -Eq 'set-cr3 .* worse +[0-9]+ instructions more' <<<"$output"
}

@test "Xen on another CPU model has no invariant TSC: dom0's clock is no measure, and says so" {
    fetch_packages xen
    ws run --on lab:xen+cpu=EPYC --boots 1 --bench '^event-(send|switch)$' -o epyc
    found=$(echo epyc/lab-xen+cpu=*.json)
    [ "$(value "${found%.json}" event-send .status)" = ok ]
    [[ $(value "${found%.json}" event-switch .reason) == *'no invariant TSC'* ]]
}

@test "ARM: KVM without VHE, and Xen's interrupts and events: the same counts in two boots" {
    fetch_packages arm-xen kvm-nvhe
    ws run --on lab:arm-xen --boots 2 --bench '^(ipi|event-|timer)' -o "$OUT"
    ws run --on lab:kvm-nvhe --boots 2 -o "$OUT"
    [ "$(result lab-arm-xen '[.rows[] | select(.status == "ok" and .exact)] | length')" -eq 8 ]
    [ "$(result lab-kvm-nvhe '[.rows[] | select(.status == "ok" and .exact != true and .conditions.vcpus == 1)] | length')" -eq 0 ]
}

@test "the newest kernel of Debian's unstable: measured, exact, proved" {
    fetch_packages linux-unstable
    ws run --on lab:kvm@unstable,lab:kvm-shadow@unstable -o "$OUT"
    for platform in lab-kvm@unstable lab-kvm-shadow@unstable; do
        [ "$(result "$platform" '[.rows[] | select(.status == "ok")] | length')" -eq $(($(benchmarks) - 7)) ]
        [ "$(result "$platform" '[.rows[] | select(.status == "ok" and .exact != true and .conditions.vcpus == 1)] | length')" -eq 0 ]
        for row in hypercall in out; do
            [ "$(result "$platform" ".rows[] | select(.benchmark == \"$row\").outcomes[0].check.verdict")" = proved ]
        done
    done
}

@test "nested ARM virtualization: exact, proved, at least ten times the cost of a guest of one KVM" {
    fetch_packages kvm-nested
    ws run --on lab:kvm-nested --boots 2 --bench '^(hypercall|in|irq-completion)$' -o "$OUT"
    ws run --on lab:kvm-vhe@unstable+cpu=max,lab:kvm-vel2 --boots 2 \
        --bench '^(hypercall|in|irq-completion)$' -o "$OUT"
    for platform in lab-kvm-nested lab-kvm-vel2 lab-kvm-vhe@unstable+cpu=max; do
        [ "$(result "$platform" '[.rows[] | select(.status == "ok" and .exact)] | length')" -eq 3 ]
    done
    [ "$(result lab-kvm-nested '.rows[] | select(.benchmark == "hypercall").outcomes[0].check.verdict')" = proved ]
    [ "$(insns "$OUT/lab-kvm-nested" irq-completion)" -eq 3 ]
    [ "$(insns "$OUT/lab-kvm-nested" hypercall)" -gt $((20 * $(insns "$OUT/lab-kvm-vhe@unstable+cpu=max" hypercall))) ]
    [ "$(insns "$OUT/lab-kvm-nested" in)" -gt $((10 * $(insns "$OUT/lab-kvm-vhe@unstable+cpu=max" in))) ]
    [ "$(insns "$OUT/lab-kvm-vel2" hypercall)" -gt "$(insns "$OUT/lab-kvm-vhe@unstable+cpu=max" hypercall)" ]
}

@test "Xen as a guest hypervisor of KVM: exact, the same with and without resuming" {
    fetch_packages xen-nested arm-xen
    local bench='^(hypercall|interrupt-controller-trap|irq-completion|in|event-channel)$'
    ws run --on lab:xen-nested --boots 2 --bench "$bench" -o "$OUT"
    [ "$(result lab-xen-nested '[.rows[] | select(.status == "ok" and .exact)] | length')" -eq 5 ]
    [ "$(result lab-xen-nested '.identity.facts | [.role, .hypervisor] | join(" ")')" = 'nested-vm xen' ]
    samples "$OUT/lab-xen-nested" >resumed
    ws run --no-resume --on lab:xen-nested,lab:arm-xen --boots 1 --bench "$bench" -o booted
    samples booted/lab-xen-nested | jq -c '.[2].run' >b
    jq -c 'select(.[2].boot == 1)[2].run' resumed | cmp - b
    [ "$(insns "$OUT/lab-xen-nested" irq-completion)" -eq 3 ]
    [ "$(insns "$OUT/lab-xen-nested" hypercall)" -gt $((20 * $(insns booted/lab-arm-xen hypercall))) ]
}

# boots_to TEXT ARGUMENT...: boots a kernel in lab:kvm until its console has the text; teardown ends the
# machine.
boots_to() {
    local text=$1
    shift
    timeout "$LIMIT" "$WORLDSWITCH" lab boot kvm "$@" >console.txt 2>said.txt 3>&- &
    started=$!
    for _ in $(seq 6000); do
        ! grep -q "$text" console.txt || return 0
        kill -0 "$started" 2>/dev/null || break
        sleep 0.1
    done
    cat console.txt said.txt
    return 1
}

@test "another kernel: GRUB, as Debian packages it for PVH" {
    mkdir mine
    cat >mine/packages.toml <<'SET'
["grub-pvh"]
summary = "GRUB as a PVH kernel, beside a program for which the kind of set asks"
kind = "program"
architecture = "x86_64"
suite = "bookworm"
packages = ["grub-xen-host", "grub-common"]
programs = ["grub-file"]
keep = ["usr/lib/grub-xen/grub-i386-xen_pvh.bin"]
SET
    fetch_or_skip --lab-dir mine --cache cache grub-pvh
    fetch_packages kvm
    boots_to 'Found no Xen signature!' \
        --kernel cache/sets/grub-pvh/root/usr/lib/grub-xen/grub-i386-xen_pvh.bin
}

@test "explain: the difference between two kernels adds up to that of the measurements" {
    fetch_packages kvm kvm@6.12
    ws run --on lab:kvm,lab:kvm@6.12 --bench '^hypercall$' --boots 1 -o measured
    ws explain --diff lab:kvm lab:kvm@6.12 --bench hypercall --json >diff.json
    more=$(($(insns measured/lab-kvm@6.12 hypercall) - $(insns measured/lab-kvm hypercall)))
    jq -e --argjson more "$more" '.measured == $more and
        ([.functions[] | .after.own - .before.own] | add) + .guest == .measured + .control + .intercepted' diff.json
}

@test "explain: inlined functions and lines of Debian's KVM, and another build's debug information is refused" {
    fetch_packages kvm kvm@6.12
    fetch_packages --debug kvm
    ws explain hypercall --on lab:kvm --json >with.json
    jq -e '.debug | index("Linux") and index("kvm") and index("kvm_amd")' with.json
    inlined() { jq -r '.functions[] | select(.is_inlined and .module == "kvm").name' with.json; }
    # vcpu_run() and vcpu_enter_guest() are static and called once (arch/x86/kvm/x86.c).
    inlined | grep -qx vcpu_run
    inlined | grep -qx vcpu_enter_guest
    jq -e '[.lines[] | select(.file == "arch/x86/kvm/svm/vmenter.S").instructions] | add > 50' with.json
    # The functions that have symbols are those of an explanation without.
    debug=$(dirname "$(find -L "$LAB_STORE/sets/debug-linux-6.1/root" -name 'vmlinux-*' -type f)")/..
    # Each test has its own.
    # shellcheck disable=SC2031
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/plain
    only_sets qemu linux-6.1 linux-6.12
    ws explain hypercall --on lab:kvm --json >without.json
    for of in with without; do
        jq -c '.sum, .phases, .registers, ([.tree.nodes[].own] | add), ([.tree.nodes[].calls] | add)' $of.json >$of
    done
    cmp with without
    run ws explain hypercall --on lab:kvm@6.12 --debug "$debug"
    [ "$status" -eq 1 ]
    [[ $output == *'vmlinux-6.1'*'it is not of the build that was executed'* ]]
}

@test "a multiboot kernel: the guest's flat image gives the counts of the ELF image; one more instruction is one" {
    guest_with one-more x86_64 "$ROOT/tests/guests/one-more.c $ROOT/tests/guests/one-more.S"
    bench='^(sgdt|hypercall|cpuid$|in$)'
    ws lab boot kvm --kernel "$BUILT/one-more/guest.mb" --append "unit=insns hypercall=kvm bench=$bench" >console.txt
    grep -q '"kind":"bye","status":"ok"' console.txt
    grep -q '"boot":"multiboot"' console.txt
    # flat BENCHMARK: a row's mode of instructions in this boot.
    flat() {
        grep -o '{"kind":"result".*' console.txt | jq -r --arg bench "$1" 'select(.bench == $bench)
            | [.run, .control] | transpose | map(.[0] - .[1]) | group_by(.) | max_by(length)[0]'
    }
    ws run --on lab:kvm --guest "$BUILT/one-more/guest.elf" --boots 1 --bench "$bench" -o elf >/dev/null
    [ "$(jq '[.rows[] | select(.status == "ok")] | length' elf/lab-kvm.json)" -eq "$(grep -c '{"kind":"result"' console.txt)" ]
    for row in sgdt hypercall cpuid in {sgdt,hypercall}-one-more; do
        [ "$(flat "$row")" -eq "$(insns elf/lab-kvm "$row")" ]
    done
    for row in sgdt hypercall; do
        [ $(($(flat $row-one-more) - $(flat $row))) -eq 1 ]
    done
}

@test "a card that the VM has for itself: its interrupt is an exit, with a GICv4 it is none" {
    fetch_packages kvm-assigned
    ws run --on lab:arm-native,lab:kvm-vhe,lab:kvm-assigned,lab:kvm-assigned+gicv4=1 --boots 2 -o out \
        --bench '^lpi(-assigned)?$'
    local card=out/lab-kvm-assigned posted=out/lab-kvm-assigned+gicv4=1
    # 64 exits are the card's; the host's timer ticks in between.
    exits() { jq '.rows[] | select(.benchmark == "lpi-assigned").metrics[] | select(.name == "exits").boots[0].run[0]' "$1.json"; }
    [ "$(exits $card)" -ge 64 ]
    [ "$(exits $posted)" -lt 10 ]
    [ "$(insns $posted lpi-assigned)" -eq "$(insns out/lab-arm-native lpi)" ]
    [ "$(insns $card lpi-assigned)" -gt 1000 ]
    [ "$(jq '[.rows[] | select(.status == "ok" and .exact)] | length' $card.json)" -eq 2 ]
    [ "$(jq '[.rows[] | select(.status == "ok" and .exact)] | length' $posted.json)" -eq 2 ]
    jq -e '.rows[] | select(.benchmark == "lpi-assigned") | .status == "skip" and (.reason | contains("assign="))' out/lab-kvm-vhe.json
    # What is wrong with a device is in the error.
    mkdir -p recipes
    refused() { # refused ADDRESS MESSAGE
        printf 'extends = "kvm-assigned"\nsummary = "another device"\n[monitor]\nkind = "vmm"\n[[monitor.word]]\nword = "assign=%s"\nwhy = "to try it"\n' "$1" \
            >recipes/refused.toml
        run ws run hypercall --lab-dir . --on lab:refused --boots 1
        [ "$status" -ne 0 ]
        [[ $output == *"$2"* ]]
    }
    refused 0000:00:09.0 'there is no such PCI device'
    refused 0000:00:00.0 'BAR 0 of the device'
}

@test "a protected VM: its hypercall costs a little more, its first touch much, and what can't be is a skip" {
    fetch_packages kvm-protected linux-arm64-unstable
    ws run --on lab:kvm-protected@unstable,lab:kvm-protected@unstable+vm=protected --boots 2 -o out \
        --bench '^(hypercall|in|lpi|cold-memory-access|read-id-register|vm-switch)$'
    local protected=out/lab-kvm-protected@unstable+vm=protected other=out/lab-kvm-protected@unstable
    [ "$(insns $protected hypercall)" -gt "$(insns $other hypercall)" ]
    [ "$(insns $protected hypercall)" -lt $(($(insns $other hypercall) + 100)) ]
    [ "$(insns $protected cold-memory-access)" -gt $(($(insns $other cold-memory-access) + 3000)) ]
    [ "$(jq -r '[.rows[] | select(.status == "skip").benchmark] | join(" ")' $protected.json)" = 'read-id-register vm-switch' ]
    [ "$(jq '[.rows[] | select(.status == "ok" and .exact)] | length' $protected.json)" -eq 4 ]
    ws explain hypercall --on lab:kvm-protected@unstable+vm=protected --json >explained.json
    grep -q kvm_handle_pvm_hvc64 explained.json
    # A kernel before 7.1: the cure is in the error.
    run ws run hypercall --on lab:kvm-protected+vm=protected --boots 1
    [ "$status" -ne 0 ]
    [[ $output == *'boot Linux 7.1 or newer with kvm-arm.mode=protected'* ]]
}
