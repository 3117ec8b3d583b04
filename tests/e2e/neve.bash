# Common parts of the tests of the hypervisor (neve/). Load common too.

# The variables are used by the tests.
# shellcheck disable=SC2034

neve_setup() {
    NEVE=$ROOT/build/neve/aarch64/neve.img
    GUEST_ARM=$ROOT/build/guest/aarch64/guest.img
    QEMU_ARM=${QEMU_ARM:-qemu-system-aarch64}
    # One tick of the clock is one instruction.
    LAB=(-accel "tcg,thread=single" -icount "shift=0,sleep=off" -seed 1
        -rtc "base=2024-01-01T00:00:00,clock=vm")
    EXACT=neoverse-n1,cntfrq=1000000000
}

# machine CPU CPUS WORDS [ARGUMENT...]: boots the hypervisor with these words on its command line. The machine
# must end by itself within the limit. The console is in console.txt.
machine() {
    local cpu=$1 cpus=$2 words=$3
    shift 3
    timeout --kill-after=5 "${LIMIT:-200}" "$QEMU_ARM" \
        -machine "${MACHINE:-virt,virtualization=on,gic-version=3,dtb-randomness=off}" -cpu "$cpu" \
        -smp "$cpus" -m 1024 -nodefaults -display none -monitor none -no-reboot \
        -serial "${SERIAL:-file:console.txt}" -kernel "$NEVE" -append "$words" "$@" 2>stderr.txt
}

# vm IMAGE ADDRESS WORDS: QEMU's device that loads a VM's kernel.
vm() { echo "guest-loader,addr=$2,kernel=$1,bootargs=$3"; }

# image MECHANISM VHE: the guest hypervisor's image for a mechanism.
image() {
    local name=aarch64
    case $1 in
    pv) name+=-calls ;;
    neve) name+=-neve ;;
    esac
    [ "$2" = 0 ] || name+=-vhe
    echo "$ROOT/build/neve/$name/neve.img"
}

# below IMAGE CPU MECHANISM VHE CPUS HYPERVISORS-WORDS GUESTS-WORDS [ARGUMENT...]: boots neve as L0, the
# image as guest hypervisor (L1), and the guest as L2.
below() {
    machine "$2" "$5" "nest=$3 vhe=$4 cpus=$5 stage2=4k" "${LAB[@]}" \
        -device "$(vm "$1" 0x50000000 \
            "cpus=$5 stage2=4k memory=64 level=1 doorbell=0xa000008 $6 -- unit=insns hypercall=kvm doorbell=0xa000008 in=0xa000000 $7")" \
        -device "guest-loader,addr=0x51000000,initrd=$GUEST_ARM" "${@:8}"
}

# Fetches the lab's QEMU, which has FEAT_NV and FEAT_NV2, and other given sets. Makes a command of it that
# runs with its own libraries.
lab_qemu() {
    fetch_packages qemu "$@"
    lab_emulator qemu-system-aarch64 "$BATS_FILE_TMPDIR/qemu"
}

# The hypervisor's own records of a kind.
own() {
    sed -n 's/^@ws1 [0-9a-f]* neve [0-9a-f]* [0-9]* [0-9]* //p' console.txt |
        jq -c "select(.kind == \"$1\")"
}
# exits BENCHMARK: the exits during a benchmark's samples, by reason.
exits() { own exits | jq -c "select(.bench == \"$1\") | .returns"; }

# Checks that all VMs ended well, and no row failed.
all_well() {
    [ "$(own bye | jq -r .status | sort -u)" = ok ]
    [ "$(records bye | jq -r .status | sort -u)" = ok ]
    [ "$(records fault)" = '' ]
    # With a thread per vCPU on a shared host, a vCPU may be found in another state than the row requires
    # (running instead of halted); but no interrupt may be lost.
    [ "$(records result | jq -r 'select(.check == "failed" and (.note // "" |
        test("^(?<n>[0-9]+) sent, \\k<n> received") | not)) | "\(.bench): \(.note)"' | tee failed.txt)" = '' ] || {
        cat failed.txt
        return 1
    }
}
