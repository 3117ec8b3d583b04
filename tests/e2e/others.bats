# `worldswitch lab boot` with other kernels than the guest: on ARM, where booting Linux takes least time.
# make test-long has x86.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup() { common_setup; }

# entry NAME MODE FILE: prints one file of a cpio archive ("new ASCII format").
entry() {
    local bytes
    bytes=$(stat -c %s "$3")
    printf '070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\0' \
        "$RANDOM" "$2" 0 0 1 0 "$bytes" 0 0 0 0 $((${#1} + 1)) 0 "$1"
    head -c $((-(110 + ${#1} + 1) & 3)) /dev/zero
    cat "$3"
    head -c $((-bytes & 3)) /dev/zero
}

# boots STATUS TEXT MACHINE KERNEL [ARGUMENT...]: boots a kernel, and checks the exit status and that the
# output has the text.
boots() {
    run --separate-stderr ws lab boot "$3" --kernel "$4" --timeout 60 "${@:5}"
    echo "$output" "$stderr"
    [ "$status" -eq "$1" ]
    [[ $output$stderr == *"$2"* ]]
}

@test "the given kernel is booted or refused: nothing else is run instead" {
    head -c 100000 /dev/urandom >random
    for machine in native kvm arm-native kvm-vhe arm-xen neve; do
        boots 1 "lab:$machine can't boot random, which is an unknown kind of file" "$machine" random
        [ -z "$output" ]
    done
    boots 1 'an ELF file for x86: its processor is an ARM' arm-native "$GUEST/guest.elf"
    boots 0 'powered the machine off' arm-native "$ROOT/build/guest/aarch64/guest.elf" --append 'bench=^idle$'
    boots 1 'its processor is an x86' native "$ROOT/build/guest/aarch64/guest.img"
    boots 2 "is for x86_64, and no selected machine" arm-native "$ROOT/build/guest/aarch64/guest.img" \
        --vmm "$ROOT/build/vmm/x86_64/vmm"
    for file in /etc/hostname /nonexistent "$GUEST/guest.elf"; do
        run -2 ws run --on lab:arm-native --bench '^idle$' --guest "$file" -o out
        [[ $output == *"--guest $file is "*"no selected machine uses it"* ]]
    done
}

@test "the exit status is 0 only if the kernel powers its machine off" {
    fetch_packages kvm-vhe xen
    # QEMU exits with 0 after a triple fault too; only its trace of shutdown requests shows the difference.
    boots 0 'the kernel powered the machine off' native "$GUEST/guest.mb" --append 'bench=^idle$'
    "$ROOT/tools/pinned/clang" --target=x86_64-linux-gnu -nostdlib -static -Wl,-Ttext=0x100000 -o triple.elf \
        -x assembler - <<'CODE'
.code32
.section .note.pvh, "a", @note
.long 4, 4, 18
.asciz "Xen"
.long _start
.text
.globl _start
_start: lidt none
ud2
none: .word 0
.long 0
.section .note.GNU-stack, "", @progbits
CODE
    boots 1 'did not power the machine off' native triple.elf

    # A program without a header prints a line and calls a PSCI function (which replaces CALL).
    for call in off=0x84000008 reset=0x84000009; do
        sed "s/CALL/${call#*=}/" <<'CODE' | "$ROOT/tools/pinned/clang" --target=aarch64-linux-gnu -c -o flat.o -x assembler -
adr x1, text
mov x2, #0x9000000
1: ldrb w3, [x1], #1
strb w3, [x2]
cbnz w3, 1b
ldr w0, =CALL
hvc #0
b .
.ltorg
text: .asciz "without a header\n"
CODE
        llvm-objcopy -O binary flat.o "${call%=*}.flat"
    done
    boots 0 'without a header' arm-native off.flat
    boots 1 'the guest asked for a reset (status reset)' kvm-vhe reset.flat
    [[ $output == *'without a header'* ]]
    # A kernel that is refused before the machine starts: a big-endian Image.
    cp "$ROOT/build/guest/aarch64/guest.img" big
    printf '\013' | dd of=big bs=1 seek=24 conv=notrunc status=none
    boots 1 'it is big-endian: build one without' kvm-vhe big

    # Xen's tool stack is the suite's own (dom0), even if the kernel's folder has another.
    cp "$GUEST/guest.elf" mine.elf
    boots 0 'the kernel powered the machine off' xen mine.elf --append 'bench=^idle$ hypercall=xen unit=insns'
    boots 1 'a triple fault, or it asked for it (status reset)' xen triple.elf
}

@test "another kernel: Debian's cloud kernel boots to its first process" {
    local machine=${OTHERS_MACHINE:-kvm-vhe} target=aarch64-linux-gnu set=linux-arm64-6.1 console=ttyAMA0
    [ "$machine" != kvm ] || target=x86_64-linux-gnu set=linux-6.1 console=ttyS0
    fetch_packages "$machine"
    "$ROOT/tools/pinned/clang" --target=$target -O2 -static -o init -x c - <<'PROGRAM'
#include <stdio.h>
#include <sys/reboot.h>
#include <sys/utsname.h>
#include <unistd.h>
int main(void)
{
	struct utsname name;
	uname(&name);
	printf("user space on %s, process %d\n", name.release, getpid());
	fflush(stdout);
	return reboot(RB_POWER_OFF);
}
PROGRAM
    { entry init $((0100755)) init && entry TRAILER!!! 0 /dev/null; } >initramfs
    kernel=("$LAB_STORE/sets/$set"/root/boot/vmlinuz-*)
    LIMIT=300 ws lab boot "$machine" --kernel "${kernel[0]}" --initrd initramfs \
        --append "console=$console quiet panic=-1" >console.txt 2>said.txt
    grep -q "user space on ${kernel[0]##*vmlinuz-}, process 1" console.txt
    grep -q '"kind":"bye","status":"ok","why":"the guest powered off"' console.txt
}
