# The aarch64 guest boots on GICv2 and v3, at EL1, EL2 and EL2 with VHE, on one CPU and four, at any load
# address; without a valid device tree it ends the machine, with a message if it knows a console.

load common

GUEST_ARM=$ROOT/build/guest/aarch64
QEMU_ARM=${QEMU_ARM:-qemu-system-aarch64}

setup() { common_setup; }

# arm MACHINE CPU CPUS WORDS [ARGUMENT...]: boots a machine, which must end by itself within a minute. The
# console is in console.txt. IMAGE: another image than guest.img.
arm() {
    local machine=$1 cpu=$2 cpus=$3 words=$4
    shift 4
    timeout 60 "$QEMU_ARM" -machine "virt,$machine" -accel tcg -cpu "$cpu" -smp "$cpus" \
        -m "${MEMORY:-512}" -nodefaults -display none -monitor none -no-reboot \
        -serial file:console.txt -kernel "$GUEST_ARM/${IMAGE:-guest.img}" -append "$words" "$@"
}

# boots MACHINE CPU CPUS WANTED: boots all rows; hello must name this interrupt controller and exception
# level, no row may fail, and the machine must power off.
boots() {
    arm "$1" "$2" "$3" 'samples=2 nonce=ab'
    [ "$(records hello | jq -r '"\(.boot) \(.cpus) \(.apic) \(.exception_level)"')" = "arm64-image $3 $4" ]
    [ "$(records bye | jq -r .status)" = ok ]
    [ "$(records fault | wc -l)" = 0 ]
    [ "$(records result | jq -r 'select(.check == "failed").bench')" = '' ]
    [ "$(records result | jq -r 'select(.check == "proved").bench' | wc -l)" -ge 11 ]
    head -n 1 console.txt | grep -q '"kind":"hello"'
}

@test "an image is at most 128 KiB, and has the header of Linux' arm64 Image" {
    [ "$(stat -c %s "$GUEST_ARM/guest.img")" -le 131072 ]
    [ "$(stat -c %s "$GUEST_ARM/guest.elf")" -le 131072 ]
    [ "$(od -An -c -j 56 -N 4 "$GUEST_ARM/guest.img" | tr -d ' ')" = 'ARMd' ]
    # image_size is a multiple of 64 KiB
    [ "$(($(od -An -tu8 -j 16 -N 8 "$GUEST_ARM/guest.img") % 65536))" = 0 ]
}

@test "a doorbell where nothing is: the fault is a record on the serial port, and the machine ends" {
    arm gic-version=3 cortex-a57 1 'bench=^idle$ doorbell=0x3f0000000'
    [ "$(records fault | jq -r '"\(.name) \(.address)"')" = "data-abort $((0x3f0000000))" ]
    [ "$(records bye | jq -r .status)" = fault ]
}

# bats test_tags=live
@test "EL1: GICv2 and GICv3, one CPU and four" {
    boots gic-version=2 cortex-a57 1 'gicv2 el1'
    boots gic-version=2 max 4 'gicv2 el1'
    boots gic-version=3 cortex-a57 4 'gicv3-its el1'
    boots gic-version=3,its=off max 1 'gicv3 el1'
}

# bats test_tags=live
@test "guest-protected.img goes on where no KVM offers to share pages" {
    IMAGE=guest-protected.img boots gic-version=3 cortex-a57 1 'gicv3-its el1'
    IMAGE=guest-protected.img boots virtualization=on,gic-version=3 cortex-a57 1 'gicv3-its el2'
}

# bats test_tags=live
@test "EL2 without VHE: GICv2 and GICv3, one CPU and four" {
    boots virtualization=on,gic-version=2 cortex-a57 4 'gicv2 el2'
    boots virtualization=on,gic-version=3 cortex-a57 1 'gicv3-its el2'
    boots virtualization=on,gic-version=3 cortex-a57 4 'gicv3-its el2'
}

# bats test_tags=live
@test "EL2 with VHE: GICv2 and GICv3, one CPU and four" {
    boots virtualization=on,gic-version=2 max 4 'gicv2 el2-vhe'
    boots virtualization=on,gic-version=3 max 1 'gicv3-its el2-vhe'
    boots virtualization=on,gic-version=3 max 4 'gicv3-its el2-vhe'
}

# bats test_tags=live
@test "40 CPUs come up, and one beyond the first sixteen answers interrupts" {
    arm gic-version=3 max 40 'bench=^ipi-halted$ samples=2'
    [ "$(records hello | jq -r .cpus)" = 40 ]
    [ "$(records result | jq -r .check)" = proved ]
}

@test "in instructions every operation costs as much as its code, and two boots agree" {
    for boot in 1 2; do
        arm gic-version=3 'cortex-a57,cntfrq=1000000000' 2 'unit=insns hypercall=kvm' \
            -icount shift=0,sleep=off 2>stderr.txt
        records result >"results$boot.txt"
    done
    cmp results1.txt results2.txt
    [ "$(records hello | jq -r '"\(.unit) \(.clock_hz)"')" = 'insns 1000000000' ]
    records result | jq -r 'select(.run) | "\(.bench) \(.run[-1] - .control[-1])"' >costs.txt
    for cost in 'read-id-register 1' 'pushf-popf 2' 'write-vector-base 2' 'set-cr3 2' \
        'tlb-invalidate 3' 'hypercall 1' 'hot-memory-access 1' 'cold-memory-access 1' 'in 1' 'out 1'; do
        grep -qx "$cost" costs.txt
    done
}

@test "a tick of sixteen instructions is not reported as one instruction" {
    arm gic-version=3 cortex-a57 1 'bench=^idle$ unit=insns colour=blue'
    [ "$(records hello | jq -c '[.unit, .clock_hz, .unknown]')" = \
        '["cntvct_ticks",62500000,["colour=blue","unit=insns"]]' ]
}

@test "pages of 2 MiB and of 1 GiB, and memory above 4 GiB" {
    MEMORY=8192 arm gic-version=3 max 1 'bench=memory samples=2 page=2m ws=16777216 iters=4'
    [ "$(records result | jq -r '"\(.bench) \(.page_bytes)"' | sort | tr '\n' ' ')" = \
        'cold-memory-access 2097152 hot-memory-access 2097152 ' ]
    MEMORY=8192 arm gic-version=3 max 1 'bench=^hot samples=2 page=1g ws=1073741824 iters=4'
    [ "$(records result | jq -r '"\(.check) \(.page_bytes)"')" = 'proved 1073741824' ]
}

# by_hand ADDRESS TREE: starts the image at an address, with this file as its device tree.
by_hand() {
    cat >shim.S <<SHIM
        ldr x0, =0x48000000
        ldr x1, =$1
        br x1
SHIM
    clang --target=aarch64-none-elf -c shim.S -o shim.o
    llvm-objcopy -O binary -j .text shim.o shim.bin
    timeout 60 "$QEMU_ARM" -machine virt,gic-version=3 -accel tcg -cpu cortex-a57 -m 512 -nodefaults \
        -display none -monitor none -no-reboot -serial file:console.txt \
        -device loader,file=shim.bin,addr=0x5f000000,cpu-num=0,force-raw=on \
        -device "loader,file=$GUEST_ARM/guest.img,addr=$1,force-raw=on" \
        -device "loader,file=$2,addr=0x48000000,force-raw=on"
}

# QEMU's device tree of that machine, with a command line.
virt_tree() {
    "$QEMU_ARM" -machine virt,gic-version=3,dumpdtb=virt.dtb -cpu cortex-a57 -m 512 -display none \
        -kernel "$GUEST_ARM/guest.img" -append samples=2 >&2
}

@test "the image runs at any load address" {
    virt_tree
    # 0x40200000 is where all other tests load it.
    for address in 0x44200000 0x5a610000; do
        by_hand "$address" virt.dtb
        [ "$(records bye | jq -r .status)" = ok ]
        [ "$(records result | jq -r 'select(.check == "failed").bench')" = '' ]
        [ "$(records result | jq -r '.control | length' | sort -u)" = 2 ]
    done
}

@test "a broken device tree is reported on the port that it named before, and the machine ends" {
    virt_tree
    # The tokens of the last node's end and of the tree's end become invalid.
    size=$(($(od -An -tu4 --endian=big -j 36 -N 4 virt.dtb)))
    start=$(($(od -An -tu4 --endian=big -j 8 -N 4 virt.dtb)))
    printf '\377\377\377\377' | dd of=virt.dtb bs=1 seek=$((start + size - 8)) conv=notrunc 2>/dev/null
    by_hand 0x40200000 virt.dtb
    [ "$(cat console.txt)" = 'worldswitch cannot run here: the device tree breaks off, or holds something that is no device tree' ]
}

@test "without a device tree there is no message, but the machine ends" {
    head -c 4096 /dev/zero >zeros
    by_hand 0x40200000 zeros
    [ ! -s console.txt ]
}
