# Linux and Xen as guest hypervisors at virtual EL2 of neve: Debian's kernel, its KVM with VHE and without,
# worldswitch's monitor as its only program, and the guest as its VM; Xen with the same kernel as dom0. On the lab's QEMU, which has FEAT_NV2.

load common
load neve

setup_file() {
    make -s -C "$ROOT/neve" >&2
    make -s -C "$ROOT/vmm" ARCH=aarch64 >&2
    guest_with read-write aarch64 "$ROOT/tests/guests/read-write.c"
    lab_qemu linux-arm64-6.1 linux-arm64-6.12 xen-arm64-4.20
}

setup() {
    common_setup
    neve_setup
    # shellcheck disable=SC2034
    QEMU_ARM=$BATS_FILE_TMPDIR/qemu
}

# linux VERSION MECHANISM VHE CPUS GUESTS-WORDS: boots neve, Linux with that many CPUs, and the guest with as many.
# Both the monitor and neve count what a row's samples cause.
linux() {
    local kernels
    kernels=$(ws lab list --json | jq -r .cache)/sets/linux-arm64-$1/root/boot
    mkdir -p initramfs/dev
    cp "$ROOT/build/vmm/aarch64/vmm" initramfs/init
    cp "$BUILT/read-write/guest.img" initramfs/guest.img
    printf '%s\n' kernel=/guest.img memory=64 "cpus=$4" below=0xa000008 \
        "append=unit=insns hypercall=kvm nonce=ab doorbell=0x9100000 $5" >initramfs/vmm.conf
    # The same bytes in every run: Linux reads the headers' digits, and 9 and a take different paths.
    (cd initramfs && find . -exec touch -d @0 {} + && find . | LC_ALL=C sort |
        cpio --quiet --reproducible -o -H newc) >initramfs.cpio
    LIMIT=200 machine max,cntfrq=1000000000 "$4" "nest=$2 vhe=$3 cpus=$4 memory=512" "${LAB[@]}" \
        -device "$(vm "$(echo "$kernels"/vmlinuz-*)" 0x50000000 \
            'console=ttyAMA0 earlycon=pl011,,0x9000000 nokaslr panic=-1')" \
        -device guest-loader,addr=0x58000000,initrd=initramfs.cpio
}

# each ROW: traps of each of the 64 operations: without those of a timer's tick between them.
each() { exits "$1" | jq '[.[] / 64 | floor] | add'; }

# instructions ROW: of most operations. With another kernel than the pinned one a timer may tick in one.
instructions() {
    records result | jq -r "select(.bench == \"$1\") | [.run, .control] | transpose | map(.[0] - .[1])
        | group_by(.) | max_by(length)[0]"
}

# Version, VHE or not, and KVM's name for the mode; make test-long has Debian 12's kernel too, and the other mode. The mechanism
# may be given: MECHANISM=nv.
DEBIAN_13='6.12 1 VHE'

@test "Linux at virtual EL2 runs the guest as at real EL2" {
    local rows='^(hypercall|interrupt-controller-trap|irq-completion|timer-10ms|cold-memory-access|in|read-write)$'
    while read -r version vhe mode; do
        linux "$version" "${MECHANISM:-nv2}" "$vhe" 1 "bench=$rows"
        grep 'CPU: All CPU(s) started at EL2' console.txt
        grep "kvm \[1\]: $mode mode initialized successfully" console.txt
        run ! grep -E 'Oops|WARNING|Internal error|BUG' console.txt
        [ "$(records result | jq -r .bench | wc -l)" = 7 ]
        [ "$(records fault)" = '' ]
        [ "$(records result | jq -r 'select(.check == "failed").bench')" = '' ]
        [ "$(records result | jq -r 'select(.bench == "read-write") | .check + ": " + .note')" = \
            'proved: 256 of 256 were written' ]
        for row in hypercall interrupt-controller-trap in; do
            echo "$version $mode $row: $(each $row) traps, $(instructions $row) instructions"
        done
        # An end of an interrupt takes no exit.
        [ "$(records result | jq -c 'select(.bench == "irq-completion") | [.run, .control]
            | transpose | map(.[0] - .[1]) | unique')" = '[3]' ]
        [ "$(own bye | jq -r '"\(.status): \(.why)"')" = 'ok: the guest powered off' ]
    done <<<"${LINUXES:-$DEBIAN_13}"
}

# counts ROW EXITS: checks neve's counts, which the pinned kernel determines.
counts() { as_kept "exits of $1" "$(exits "$1")" "$2" are_pinned clang-19 qemu linux-arm64-6.12; }

@test "neve counts by cause what a VM of Linux at virtual EL2 traps" {
    local rows='bench=^(hypercall|interrupt-controller-trap)$'

    # By FEAT_NV2 a hypercall has the two traps without which there is none.
    linux 6.12 nv2 1 1 "$rows"
    counts hypercall '{"hvc":64,"el2_eret":64}'
    counts interrupt-controller-trap '{"stage2_fault":64,"el2_eret":64,"el2_read_HPFAR_EL2":64}'
    # The monitor in Linux counted the same operations.
    [ "$(sed -n 's/^@ws1 [0-9a-f]* vmm [0-9a-f]* [0-9]* [0-9]* //p' console.txt |
        jq -r 'select(.kind == "exits" and .bench == "hypercall").kvm.hvc_exit_stat')" = 64 ]
    # At most half of what Linux' own nested KVM needs (49,378).
    [ "$(instructions hypercall)" -le 24689 ]

    # By FEAT_NV Linux with VHE traps at its other hypervisor instructions too: most are reads of TPIDR_EL2, which
    # has the offset of its per-CPU data.
    linux 6.12 nv 1 1 "$rows"
    run ! grep -E 'Oops|WARNING|Internal error|BUG' console.txt
    [ "$(own bye | jq -r .status)" = ok ]
    counts hypercall '{"hvc":64,"el2_eret":64,"el2_read_MDSCR_EL1":128,"el2_write_MDSCR_EL1":128,'\
'"el2_read_HCR_EL2":128,"el2_write_HCR_EL2":128,"el2_read_TPIDR_EL2":1216,"el2_read_ESR_EL2":64}'
    [ "$(instructions hypercall)" -le 24689 ]
}

@test "Xen boots at virtual EL2 with a Linux as dom0" {
    local sets
    sets=$(ws lab list --json | jq -r .cache)/sets
    for mechanism in nv2 nv; do
        LIMIT=200 machine max,pauth-impdef=on 1 "nest=$mechanism memory=512" "${LAB[@]}" \
            -device "$(vm "$sets/xen-arm64-4.20/root/boot/xen.img" 0x50000000 \
                'console=dtuart dtuart=/serial@9000000 dom0_mem=256M bootscrub=0 -- console=hvc0 nokaslr panic=-1 init=/none')" \
            -device "guest-loader,addr=0x54000000,initrd=$(echo "$sets"/linux-arm64-6.12/root/boot/vmlinuz-*)"
        grep 'Xen version 4.20' console.txt
        # dom0's kernel has come to its end: it looks for a root file system.
        grep -F 'VFS: Unable to mount root fs' console.txt
        run ! grep -E '[(]XEN[)] .*(Fatal|BUG|Panic)|Internal error' console.txt
        [ "$(own bye | jq -r '"\(.status): \(.why)"')" = 'reset: the guest asked for a reset' ]
    done
}
