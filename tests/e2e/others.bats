# Kernels of others in a lab machine, below its KVM: on ARM, where booting Linux takes least. make test-long has x86.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup() { common_setup; }

# entry NAME MODE FILE: one file of a cpio archive ("new ASCII format").
entry() {
    local bytes
    bytes=$(stat -c %s "$3")
    printf '070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\0' \
        "$RANDOM" "$2" 0 0 1 0 "$bytes" 0 0 0 0 $((${#1} + 1)) 0 "$1"
    head -c $((-(110 + ${#1} + 1) & 3)) /dev/zero
    cat "$3"
    head -c $((-bytes & 3)) /dev/zero
}

@test "a kernel of others: Debian's cloud kernel to its first process" {
    local machine=${OTHERS_MACHINE:-kvm-vhe} target=aarch64-linux-gnu set=linux-arm64-6.1 console=ttyAMA0
    [ "$machine" != kvm ] || target=x86_64-linux-gnu set=linux-6.1 console=ttyS0
    fetch_packages --newest "$machine"
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
