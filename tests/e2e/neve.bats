# The hypervisor (neve/) at EL2 of an emulated ARM machine, with the real guest, and with guests that attack
# it. These tests must pass on the oldest supported QEMU (7.2).

load common
load neve

setup_file() {
    make -s -C "$ROOT/guest" ARCH=aarch64 >&2
    make -s -C "$ROOT/neve" >&2
    guest_with hostile-arm aarch64 "$ROOT/tests/guests/hostile-arm.c"
    lab_qemu
}

setup() {
    common_setup
    neve_setup
    HOSTILE=$BUILT/hostile-arm/guest.img
}

# exact CPUS WORDS: boots the suite's guest in one VM, in units of instructions.
exact() {
    machine "$EXACT" "$1" "cpus=$1 stage2=4k" "${LAB[@]}" \
        -device "$(vm "$GUEST_ARM" 0x50000000 "unit=insns hypercall=kvm doorbell=0xa000008 $2")"
}

@test "one vCPU: every row runs, its exits are counted, and two boots are identical" {
    exact 1 'nonce=ab in=0xa000000'
    cp console.txt first.txt
    exact 1 'nonce=ab in=0xa000000'
    cmp first.txt console.txt
    all_well
    [ "$(records hello | jq -r '"\(.apic) \(.exception_level) \(.hypervisor) \(.cpus)"')" = \
        'gicv3 el1 neve,neve-0.1 1' ]
    grep -q '^@ws1 [0-9a-f]* neve ab 0 ' console.txt
    [ "$(records skip | jq -r .bench | grep -cvE '^(ipi|io-latency|vm-switch|out-eventfd|event-|lpi)')" = 5 ] # those of x86; no eventfds, Xen or ITS here
    # 64 samples of one operation each.
    [ "$(exits hypercall)" = '{"hvc":64}' ]
    [ "$(exits in)" = '{"test_read":64}' ]
    [ "$(exits out)" = '{"uart_write":64}' ]
    [ "$(exits print)" = '{"uart_write":2048}' ]
    [ "$(exits interrupt-controller-trap)" = '{"gicd_read":64}' ]
    [ "$(exits read-id-register)" = '{"read_ID_AA64PFR0_EL1":64}' ]
    [ "$(exits cold-memory-access)" = '{"stage2_fault":64}' ]
    # run and control each send a virtual interrupt; its end takes no exit.
    [ "$(exits irq-completion)" = '{"write_ICC_SGI1R_EL1":128}' ]
    for row in idle read-cache-type pushf-popf write-vector-base write-control-register set-cr3 \
        tlb-invalidate hot-memory-access set-page-table-4k set-page-table-2m; do
        [ "$(exits "$row")" = '{}' ]
    done
}

@test "two vCPUs: interrupts between them, and two boots are identical" {
    exact 2 'nonce=ab'
    cp console.txt first.txt
    exact 2 'nonce=ab'
    cmp first.txt console.txt
    all_well
    [ "$(records hello | jq .cpus)" = 2 ]
    for row in ipi-halted ipi-running; do
        [ "$(records result | jq -r "select(.bench == \"$row\").check")" = proved ]
        [ "$(exits $row)" = '{"irq_kick":64,"write_ICC_SGI1R_EL1":64}' ]
    done
}

@test "memory in pages of 2 MiB: one fault maps many pages" {
    machine "$EXACT" 1 stage2=2m "${LAB[@]}" -device "$(vm "$GUEST_ARM" 0x50000000 \
        'unit=insns doorbell=0xa000008 bench=^cold')"
    all_well
    [ "$(own hello | jq .stage2_bytes)" = 2097152 ]
    # 64 pages of 4 KiB are in one or two blocks of 2 MiB.
    [ "$(exits cold-memory-access)" = '{"stage2_fault":1}' ]
}

# Only the VM's memory is touched.
@test "on a machine with memory above 512 GiB, which its tables do not reach, neve uses what is below" {
    MACHINE=virt,virtualization=on,gic-version=3,dtb-randomness=off,memory-backend=ram machine "$EXACT" 1 stage2=4k \
        "${LAB[@]}" -object memory-backend-ram,id=ram,size=520G,reserve=off -m 520G \
        -device "$(vm "$GUEST_ARM" 0x50000000 'unit=insns hypercall=kvm bench=^hypercall$')"
    all_well
    [ "$(records result | jq -r .bench)" = hypercall ]
}

# bats test_tags=live
@test "CPUs of ARMv8.0 and the newest, with a thread per CPU" {
    for cpu in cortex-a57 max; do
        machine "$cpu" 2 cpus=2 -device "$(vm "$GUEST_ARM" 0x50000000 'samples=2 hypercall=kvm')"
        all_well
        [ "$(records result | jq -r 'select(.check == "proved").bench' | wc -l)" -ge 13 ]
    done
}

# bats test_tags=live
@test "two VMs side by side have separate lines and record numbers" {
    machine max 3 'cpus=2,1 memory=64,32' \
        -device "$(vm "$GUEST_ARM" 0x58000000 'samples=2 nonce=b bench=^hot')" \
        -device "$(vm "$GUEST_ARM" 0x50000000 'samples=2 nonce=a bench=^ipi')"
    all_well
    [ "$(own hello | jq -c '[.vm, .cpus, .memory_bytes, .first_cpu]' | tr '\n' ' ')" = \
        '[0,2,67108864,0] [1,1,33554432,2] ' ]
    [ "$(grep -c '^@ws1 [0-9a-f]* neve [ab] 1 ' console.txt)" = 2 ]
    [ "$(records result | jq -r .check)" = $'proved\nproved\nproved' ]
    [ "$(grep -cv '^@ws1 ' console.txt)" = 0 ]
}

@test "every interrupt of the virtual timer arrives" {
    for words in cpus=1 cpus=2 'cpus=1 policy=kvm-4.10'; do
        machine "$EXACT" 2 "$words" "${LAB[@]}" \
            -device "$(vm "$HOSTILE" 0x50000000 'unit=insns bench=^timer$')"
        [ "$(records result | jq -r '"\(.check): \(.note)"')" = 'proved: 100 of 100 came' ]
    done
}

# bats test_tags=live
@test "console input reaches the first VM" {
    # Typed when the guest listens: input before a port is set up may be lost, on real machines too.
    # shellcheck disable=SC2094  # console.txt is read while it grows
    { eventually grep -qs '"kind":"begin"' console.txt && printf "typed words, more than the hardware's port holds at once"; } |
        SERIAL=stdio machine max 1 '' -device "$(vm "$HOSTILE" 0x50000000 'samples=1 bench=^typed$')" \
            >console.txt
    [ "$(records result | jq -r .check)" = proved ]
}

# bats test_tags=live
@test "console input before the port is set up does no harm, on this machine's QEMU and on the lab's" {
    for qemu in "$QEMU_ARM" "$BATS_FILE_TMPDIR/qemu"; do
        printf typed | QEMU_ARM=$qemu SERIAL=stdio machine max 1 '' \
            -device "$(vm "$GUEST_ARM" 0x50000000 'samples=1 bench=^hot')" >console.txt
        [ "$(own bye | jq -r .status)" = ok ]
    done
}

@test "accesses that hardware answers with an exception give the guest that exception" {
    machine "$EXACT" 2 cpus=2 "${LAB[@]}" -device "$(vm "$HOSTILE" 0x50000000 \
        'unit=insns bench=^hostile-(load|pair|zero|end|far|hvc|smc|pmu|own)$')"
    [ "$(records fault | jq -r '"\(.bench) \(.name) \(.error % 128)"')" = "hostile-load data-abort 16
hostile-pair data-abort 16
hostile-zero data-abort 80
hostile-end data-abort 16
hostile-far data-abort 16
hostile-hvc undefined 0
hostile-smc undefined 0
hostile-pmu undefined 0
hostile-own undefined 0" ]
    [ "$(own bye | jq -r .status)" = ok ]
}

@test "20,000 random accesses, calls and interrupts, and false doorbell notes do no harm" {
    machine "$EXACT" 2 cpus=2 "${LAB[@]}" -device "$(vm "$HOSTILE" 0x50000000 \
        'unit=insns bench=^hostile-(calls|bell|registers)$')"
    [ "$(records result | jq -r '"\(.bench) \(.check)"')" = "hostile-registers proved
hostile-calls proved
hostile-bell proved" ]
    [ "$(own bye | jq -r .status)" = ok ]
}

# bats test_tags=live
@test "a guest that asks for a reset ends with a record of it" {
    machine max 1 '' -device "$(vm "$HOSTILE" 0x50000000 'samples=1 bench=^hostile-reset')"
    [ "$(own bye | jq -r '"\(.status): \(.why)"')" = 'reset: the guest asked for a reset' ]
}

# bats test_tags=live
@test "a guest that aborts endlessly is ended with the reason, and the other VM ends well" {
    machine max 2 '' \
        -device "$(vm "$HOSTILE" 0x50000000 'samples=1 nonce=a bench=^hostile-tables')" \
        -device "$(vm "$GUEST_ARM" 0x58000000 'nonce=b hypercall=kvm bench=^hypercall$')"
    [ "$(records result | jq -r .bench)" = hypercall ]
    grep -q '^@ws1 [0-9a-f]* neve b 1 .*"status":"ok"' console.txt
    grep -q '^@ws1 [0-9a-f]* neve a 1 .*"status":"error".*takes an exception itself, without end' console.txt
}

# bats test_tags=live
@test "an invalid configuration is reported with what to do, and the machine ends" {
    machine max 1 ''
    grep -q '^neve cannot run: there is no kernel .*guest-loader' console.txt
    machine max 1 'cpus=2' -device "$(vm "$GUEST_ARM" 0x50000000 '')"
    grep -q '^neve cannot run VM 0: .*too few CPUs.*cpus=' console.txt
    machine max 1 'colour=blue' -device "$(vm "$GUEST_ARM" 0x50000000 '')"
    grep -q "^neve cannot run: the command line's word colour=blue is none of " console.txt
    machine max 1 'memory=4000' -device "$(vm "$GUEST_ARM" 0x50000000 '')"
    grep -q '^neve cannot run VM 0: .*memory=' console.txt
    machine max 1 '' -device "$(vm "$ROOT/README.md" 0x50000000 '')"
    grep -q '^neve cannot run VM 0: the kernel is no arm64 Image' console.txt
    MACHINE=virt,gic-version=3 machine max 1 '' -device "$(vm "$GUEST_ARM" 0x50000000 '')"
    grep -q '^neve cannot run here: .*EL2.*virtualization=on' console.txt
    MACHINE=virt,virtualization=on,gic-version=2 machine max 1 '' -device "$(vm "$GUEST_ARM" 0x50000000 '')"
    grep -q '^neve cannot run here: .*GICv3.*gic-version=3' console.txt
}

# QEMU's device tree is at 0x48000000, neve at 0x40200000. RAM ends at 0x80000000.
# bats test_tags=live
@test "a module over the device tree or neve, or outside of memory, is reported, and the machine ends" {
    # Which of both QEMU writes last depends on its version.
    for qemu in "$QEMU_ARM" "$BATS_FILE_TMPDIR/qemu"; do
        for at in 0x48000000 0x47ff0000 0x48000100; do
            QEMU_ARM=$qemu machine max 1 '' -device "$(vm "$GUEST_ARM" $at '')"
            grep -qE "^neve cannot run( here: the device tree at 0x48000000 .*\. If a module overlaps it, load the module|: \
the module at $at overlaps the device tree: load it) at another address\$" console.txt
        done
    done
    # Without any tree.
    timeout 60 "$QEMU_ARM" -machine virt,virtualization=on,gic-version=3 -cpu max -nodefaults -display none -no-reboot \
        -serial file:console.txt -device "loader,file=$NEVE,addr=0x40200000,force-raw=on" \
        -device loader,addr=0x40200000,cpu-num=0
    [ "$(cat console.txt)" = 'neve cannot run here: the boot protocol gave no device tree' ]
    while read -r at why; do
        machine max 1 '' -device "$(vm "$GUEST_ARM" "$at" '')"
        [ "$(cat console.txt)" = "neve cannot run: the module at $at $why: load it at another address" ]
    done <<'END'
0x480f0000 overlaps the device tree
0x40280000 overlaps neve's image
0x7fff0000 is not in the machine's memory
0x90000000 is not in the machine's memory
END
    machine max 1 '' -device "$(vm "$GUEST_ARM" 0x50000000 '')" -device "guest-loader,addr=0x90000000,initrd=$GUEST_ARM"
    grep -q '^neve cannot run: the module at 0x90000000 is not in ' console.txt
    # Not at EL2, where the machine is powered off by HVC.
    MACHINE=virt,gic-version=3 machine max 1 '' -device "$(vm "$GUEST_ARM" 0x48000000 '')"
    grep -q '^neve cannot run here: .*EL2.*virtualization=on' console.txt
}
