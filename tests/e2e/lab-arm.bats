# The ARM machines of the lab: counts are exact, within their usual ranges, and ordered as the architecture
# implies; x86 can be in the same run; a QEMU that lacks something is refused before anything boots.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

# Two boots of each hypervisor; what else differs is how the same kernel starts.
ONCE=lab:arm-native@el2,lab:kvm-nvhe TWICE=lab:arm-native,lab:kvm-vhe,lab:arm-xen
ROWS='^(hypercall(-pending|-fp)?|interrupt-controller-trap|irq-completion|lpi|timer-10ms|read-id-register|in(-fp)?|out|cold-memory-access)$'

setup_file() {
    export TABLE=$BATS_FILE_TMPDIR/table
    export LATENCY=$BATS_FILE_TMPDIR/latency XEN=$BATS_FILE_TMPDIR/xen
    # Runs of one machine each, in parallel with the table: other load must not matter.
    {
        ws run --on lab:kvm-vhe --boots 1 --bench '^(io-latency-.*|vm-switch|out-eventfd)$' -o "$LATENCY"
        ws run --on lab:arm-xen --boots 1 --bench '^(ipi|event-|timer)' -o "$XEN"
    } >"$BATS_FILE_TMPDIR/others.txt" 2>&1 3>&- &
    ws run --on "$ONCE" --boots 1 --bench "$ROWS" -o "$TABLE" >"$TABLE.txt"
    ws run --on "$TWICE" --boots 2 --bench "$ROWS" -o "$TABLE" >"$TABLE.txt"
    wait
}

setup() { common_setup; }

# between PLATFORM BENCHMARK LEAST MOST: checks a count of the table.
between() {
    local found
    found=$(insns "$TABLE/$1" "$2")
    echo "$1 $2: $found, wanted $3 to $4"
    [ "$found" -ge "$3" ] && [ "$found" -le "$4" ]
}

@test "every row is measured, exact over two boots, and nothing failed" {
    for platform in lab-arm-native lab-arm-native@el2 lab-kvm-vhe lab-kvm-nvhe lab-arm-xen; do
        # Without a hypervisor there is no hypercall; Xen's domains have no ITS.
        case $platform in lab-arm-native*) wanted=9 ;; lab-arm-xen) wanted=11 ;; *) wanted=12 ;; esac
        echo "$platform"
        [ "$(jq '[.rows[] | select(.status == "ok" and (.exact or (.metrics[0].boots | length) == 1))] | length' \
            "$TABLE/$platform.json")" -eq "$wanted" ]
    done
    [ "$(jq -s '[.[].rows[].outcomes[].check?.verdict? | select(. == "failed")] | length' "$TABLE"/*.json)" -eq 0 ]
    # No host counts exits there, so traps can't be proved.
    [ "$(jq -r '.rows[] | select(.benchmark == "interrupt-controller-trap").outcomes[0].check.verdict' "$TABLE/lab-arm-native.json")" = unproven ]
    [ "$(jq -r .identity.subject.exception_level "$TABLE/lab-arm-native.json")" = el1 ]
    [ "$(jq -r .identity.subject.exception_level "$TABLE/lab-arm-native@el2.json")" = el2-vhe ]
}

@test "counts are in their ranges: VHE below no VHE, an interrupt's end without an exit, traps within Xen" {
    for row in interrupt-controller-trap read-id-register in out cold-memory-access; do
        between lab-arm-native "$row" 1 1
    done
    for platform in lab-arm-native lab-arm-native@el2 lab-kvm-vhe lab-kvm-nvhe lab-arm-xen; do
        between "$platform" irq-completion 3 3
    done
    between lab-kvm-vhe hypercall 900 1300
    between lab-kvm-nvhe hypercall 1350 1800
    between lab-arm-xen hypercall 400 700
    between lab-kvm-vhe interrupt-controller-trap 1600 2200
    between lab-arm-xen interrupt-controller-trap 550 850
    # What the hypervisor keeps for the guest: a list register; floating point, but only when user space runs.
    between lab-kvm-vhe hypercall-pending 1400 1900
    between lab-arm-xen hypercall-pending 600 800
    for platform in lab-kvm-vhe lab-kvm-nvhe; do
        between "$platform" hypercall-fp $(($(insns "$TABLE/$platform" hypercall) + 30)) \
            $(($(insns "$TABLE/$platform" hypercall) + 80))
        between "$platform" in-fp $(($(insns "$TABLE/$platform" in) + 300)) $(($(insns "$TABLE/$platform" in) + 700))
    done
    for row in hypercall interrupt-controller-trap read-id-register in cold-memory-access; do
        [ "$(insns "$TABLE/lab-kvm-vhe" "$row")" -lt "$(insns "$TABLE/lab-kvm-nvhe" "$row")" ]
    done
    # The monitor's devices are in user space, behind KVM; Xen emulates its devices itself.
    between lab-arm-native lpi 40 60
    between lab-kvm-vhe lpi 3000 4200
    between lab-kvm-vhe timer-10ms 1800 2700
    between lab-kvm-vhe in 5000 6500
    between lab-arm-xen in 600 900
}

@test "no control sample is off its mode, but for a tick of the host: all timed code was executed before" {
    # A tick of KVM's host costs over 10,000 instructions, the first fetch from a page 3,000. A tick may hit any
    # sample; first fetches are in a row's first.
    for platform in lab-arm-native lab-arm-native@el2 lab-kvm-vhe lab-kvm-nvhe lab-arm-xen; do
        jq -r --arg platform "$platform" '.rows[] | .benchmark as $row | .metrics[]? | select(.unit == "insns").boots[].control
            | (group_by(.) | max_by(length)[0]) as $mode | to_entries[]
            | select(.value != $mode and (.key == 0 or .value - $mode < 10000))
            | "\($platform) \($row): control sample \(.key) is \(.value), the others are \($mode)"' "$TABLE/$platform.json"
    done >off.txt
    cat off.txt
    [ ! -s off.txt ]
}

@test "KVM counted as many exits as operations" {
    for row in hypercall{,-pending,-fp} interrupt-controller-trap in{,-fp} out read-id-register cold-memory-access; do
        for platform in lab-kvm-vhe lab-kvm-nvhe; do
            [ "$(jq -r ".rows[] | select(.benchmark == \"$row\").outcomes[0].check.verdict" "$TABLE/$platform.json")" = proved ]
        done
    done
    [ "$(jq '.rows[] | select(.benchmark == "hypercall").host[0] | .kvm.hvc_exit_stat == .operations' "$TABLE/lab-kvm-vhe.json")" = true ]
}

@test "I/O latency: the same rows, every stamp within the bound, exits in user space shortest" {
    cat "$BATS_FILE_TMPDIR/others.txt"
    for row in vm-switch out-eventfd io-latency-{out,in}-{spinning,woken,userspace}; do
        [ "$(jq -r --arg bench "$row" '.rows[] | select(.benchmark == $bench)
            | [.status, .outcomes[].check.verdict] | unique | join(" ")' "$LATENCY/lab-kvm-vhe.json")" = 'ok proved' ]
    done
    [ "$(jq -r '[.rows[].outcomes[].check.note // "" | select(test("; 0 stamps outside; clocks differ by -[0-9]+ to [0-9]+ ticks"))]
        | length' "$LATENCY/lab-kvm-vhe.json")" -eq 7 ]
    [ "$(insns "$LATENCY/lab-kvm-vhe" io-latency-out-userspace)" -lt "$(insns "$LATENCY/lab-kvm-vhe" io-latency-out-woken)" ]
    [ "$(insns "$LATENCY/lab-kvm-vhe" io-latency-in-userspace)" -lt "$(insns "$LATENCY/lab-kvm-vhe" io-latency-in-woken)" ]
    local found
    found=$(insns "$LATENCY/lab-kvm-vhe" vm-switch)
    [ "$found" -gt 9000 ] && [ "$found" -lt 14000 ]
    has_one_path "$LATENCY/lab-kvm-vhe" vm-switch
}

@test "another CPU, another kernel, and x86 with its own rows in the same run" {
    ws run --boots 1 --bench '^(hypercall|cpuid|read-id-register)$' -o "$OUT" \
        --on lab:kvm-nvhe+cpu=cortex-a57,lab:kvm-vhe@6.12,lab:native
    [ "$(result lab-native '[.rows[].benchmark] | join(" ")')" = 'hypercall cpuid' ]
    [ "$(result lab-kvm-vhe@6.12 '[.rows[].benchmark] | join(" ")')" = 'read-id-register hypercall' ]
    [ "$(insns "$OUT/lab-kvm-nvhe+cpu=cortex-a57" hypercall)" -gt 1300 ]
    [ "$(insns "$OUT/lab-kvm-vhe@6.12" hypercall)" -ne "$(insns "$TABLE/lab-kvm-vhe" hypercall)" ]
}

@test "protected KVM: EL2 copies the vCPU at each exit" {
    for row in hypercall cold-memory-access; do
        ws explain --diff lab:kvm-nvhe@6.12 lab:kvm-protected --bench "$row" >"$row.txt"
        grep -qE ' 0 > 3  memcpy: gained$' "$row.txt"
    done
}

@test "under Xen: interrupts, the timer and events to another domain, each proved" {
    cat "$BATS_FILE_TMPDIR/others.txt"
    [ "$(jq -r '[.rows[] | .status, .outcomes[].check.verdict] | unique | join(" ")' "$XEN/lab-arm-xen.json")" = 'ok proved' ]
    [ "$(jq '.rows | length' "$XEN/lab-arm-xen.json")" -eq 8 ]
    # A switch to the other domain on the same CPU is part of a round trip.
    [ "$(insns "$XEN/lab-arm-xen" event-switch)" -lt "$(insns "$XEN/lab-arm-xen" event-channel)" ]
    [ "$(insns "$XEN/lab-arm-xen" event-send)" -lt "$(insns "$XEN/lab-arm-xen" event-out)" ]
}

@test "on a GICv2 the guest and the second machine take interrupts too" {
    mkdir -p lab/recipes
    cp "$ROOT"/lab/*.toml lab
    cp "$ROOT"/lab/recipes/*.toml lab/recipes
    printf '%s\n' 'extends = "kvm-vhe"' 'summary = "x"' \
        'emulator.machine = "virt,virtualization=on,gic-version=2,dtb-randomness=off"' >lab/recipes/gicv2.toml
    ws run --lab-dir lab --on lab:gicv2 --boots 1 --bench '^(vm-switch|io-latency-in-userspace|lpi)$' -o gicv2
    [ "$(jq -r .identity.subject.apic gicv2/lab-gicv2.json)" = gicv2 ]
    [ "$(jq -r '[.rows[].outcomes[].check.verdict] | map(. // "skip") | sort | join(" ")' gicv2/lab-gicv2.json)" = 'proved proved skip' ]
}

@test "two machines of one architecture can be compared, of two architectures not" {
    run ws compare "$TABLE:lab:kvm-vhe" "$TABLE:lab:kvm-nvhe"
    # Without perturbed boots there is a difference, but no verdict.
    [ "$status" -eq 4 ]
    grep -Eq '^hypercall .* \+4[0-9]{2} ' <<<"$output"
    ws run --on lab:native --boots 2 --bench '^(in|out)$' -o x86
    run ws compare x86:lab:native "$TABLE:lab:kvm-vhe"
    [ "$status" -eq 1 ]
    [[ $output == *arch* ]]
}

@test "a QEMU that lacks what a machine needs is refused before anything boots, with the cure" {
    cat >qemu <<'QEMU'
#!/bin/sh
case $1 in
--version) echo "QEMU emulator version 7.2.22" ;;
-machine) echo "virt  a machine" ;;
-cpu) echo "  max  neoverse-n1" ;;
*) touch booted ;;
esac
QEMU
    chmod +x qemu
    # The machine's own kernel is fetched on request only, so this recipe uses another.
    mkdir -p lab/recipes
    printf 'extends = "kvm-nested"\nsummary = "x"\nkernel.package = "linux-arm64-6.1"\n' >lab/recipes/nested.toml
    run ws run --lab-dir lab --on lab:nested --qemu "$PWD/qemu"
    [ "$status" -eq 1 ]
    [[ $output == *'QEMU 7.2.22'*'older than 9.0'*'FEAT_NV2'*'--qemu PATH'* ]]
    run ws run --on lab:kvm-vhe --qemu "$QEMU"
    [ "$status" -eq 1 ]
    [[ $output == *'has no -machine virt'*'qemu-system-aarch64'* ]]
    run ws run --on lab:kvm-vhe+cpu=cortex-a99
    [ "$status" -eq 1 ]
    [[ $output == *'has no -cpu cortex-a99'* ]]
    [ ! -e booted ]
    [ ! -e ws-runs ]
}

@test "a machine that needs unstable's kernel reports how to fetch it" {
    mkdir -p empty
    run ws lab show kvm-nested --cache empty
    [ "$status" -eq 0 ]
    [[ $output == *'9.0 or newer'*'FEAT_NV2'*'kvm-arm.mode=nested'*'linux-arm64-unstable (not fetched)'* ]]
    run ws machines --cache empty
    [[ $output == *'lab:kvm-nested: not usable here'*'worldswitch lab fetch'* ]]
}

@test "unknown variants of ARM machines are refused with a list of the known ones" {
    run ws run --on lab:arm-native@el3
    [ "$status" -eq 2 ]
    [[ $output == *'no variant "el3"; it has el2'* ]]
    run ws run --on lab:kvm-vhe@arm64-6.1
    [ "$status" -eq 2 ]
    [[ $output == *'6.1, 6.12, unstable'* ]]
}

@test "a paper's table: its rows, each cell measured or with a reason, beside the paper's numbers" {
    run --separate-stderr env LIMIT=300 "$WORLDSWITCH" run --suite dall2015 --boots 1 \
        --on lab:kvm-vhe,lab:arm-xen -o dall --export-json dall.json
    [ "$status" -eq 0 ]
    [[ $output == *'ARM KVM ['*'ARM Xen ['*'x86 KVM ['*'x86 Xen ['* ]]
    grep -Eq '^Hypercall +hypercall +1,[0-9]{3} +[0-9]{3} \? +6,500 +376 +1,300 +1,228$' <<<"$output"
    grep -Eq '^Virtual IRQ Completion +irq-completion +3 +3 +71 +71 ' <<<"$output"
    [ "$(jq '[.rows[].cells[:2][] | select(.value == null and .notes == [])] | length' dall.json)" -eq 0 ]
    [ "$(jq -c '[.columns[].unit] | unique' dall.json)" = '["cycles","insns"]' ]
    run ws show dall --suite neve2017
    [ "$status" -eq 0 ]
    [[ $output == *'Virtual EOI'*'irq-completion'* ]]
    # Machines of two architectures, with those of `run` replaced.
    run ws run --suite every-kvm --boots 1 --on lab:native,lab:arm-native -o every
    [ "$status" -eq 0 ]
    grep -Eq '^Interprocessor interrupt +ipi-running .* 46 +81$' <<<"$output"
    [[ $output == *'instructions of x86_64 and aarch64 differ'* ]]
    run ws run --suite dall2016
    [ "$status" -eq 2 ]
    [[ $output == *dall2015* ]]
}
