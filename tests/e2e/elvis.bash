# shellcheck shell=bash
# elvis, and Linux guests in the lab's QEMU that use its devices, for disk.bash and net.bash. Load common first.

# Variables are set for the files that load this one.
# shellcheck disable=SC2034

ELVIS=${CARGO_TARGET_DIR:-$ROOT/target}/debug/elvis

# Fetches what the guests boot. Sets KERNEL, MODULES (the folder of its modules), INITRD (a file to be made) and
# EMULATOR (the folder of the lab's QEMU).
elvis_packages() {
    local cache
    fetch_packages --lab-dir "$ROOT/tests/guests/disk-lab" linux-6.1-disk qemu
    cache=$(ws lab list --json | jq -r .cache)/sets
    KERNEL=$(echo "$cache"/linux-6.1-disk/root/boot/vmlinuz-*)
    MODULES=$cache/linux-6.1-disk/root/usr/lib/modules
    INITRD=$BATS_FILE_TMPDIR/initrd
    # Started with its own loader, as crates/lab/src/program.rs does.
    EMULATOR=$cache/qemu/root/usr
    export KERNEL INITRD EMULATOR
}

# guest_program SOURCE OUTPUT: builds a static program of tests/guests.
guest_program() {
    ${CC:-clang} -std=c11 -O2 -Wall -Wextra -Werror -static -pthread "$ROOT/tests/guests/$1" -o "$2"
}

# The times of the policy fit these guests, which are tens of times slower under TCG than on a CPU, and may be
# stopped by a busy host for longer than the default window or review: tests check notifications, not the host.
# stopped_ns: the thread would yield after each stop by the host, and the guest kick meanwhile.
SLOW='poll_on_gap_ns = 5000000\npoll_off_idle_ns = 2000000000\npoll_keep_ns = 20000000000\n'
SLOW+='poll_review_ns = 20000000000\npoll_in_flight_ns = 20000000000\nstopped_ns = 20000000000'

# start_elvis POLICY ARGUMENT...: starts `elvis serve` with these lines of the policy, after the command in the array
# `inside`, if there is one. Its process ID is in $elvis.
inside=()
start_elvis() {
    printf '[policy]\n%b\n' "$1" >elvis.toml
    shift
    "${inside[@]}" "$ELVIS" serve --config elvis.toml "$@" --control "$PWD/control" 2>>elvis.txt 3>&- &
    elvis=$!
    eventually "$ELVIS" ctl --control "$PWD/control" list >/dev/null
}

# The CPUs of two I/O threads, or of one on a host that has one.
two_cores() {
    taskset -cp "$BASHPID" | sed 's/.*: //' | tr , '\n' |
        awk -F- '{ for (c = $1; c <= ($2 == "" ? $1 : $2); c++) print c }' | head -n 2 | paste -sd ,
}

# boot MIB CONSOLE INPUT 'KERNEL WORDS' [ARGUMENT...]: boots a guest with so much memory, shared; its console goes to
# a file and comes from a pipe. Its process ID is in $qemu. `no_timer_check`: a guest panics while it boots if its host
# is so busy that ten timer interrupts are not seen in time.
boot() {
    local mib=$1 console=$2 input=$3 words=$4
    shift 4
    "$EMULATOR/lib64/ld-linux-x86-64.so.2" --library-path "$EMULATOR/lib/x86_64-linux-gnu" \
        "$EMULATOR/bin/qemu-system-x86_64" -L "$EMULATOR/share/qemu" -L "$EMULATOR/share/seabios" \
        -accel tcg -cpu max -m "$mib" -nodefaults -display none -no-reboot \
        -object "memory-backend-memfd,id=memory,size=${mib}M,share=on" -machine q35,memory-backend=memory \
        -kernel "$KERNEL" -initrd "$INITRD" -append "console=ttyS0 quiet panic=-1 no_timer_check $words" \
        -chardev "file,id=console,path=$console,input-path=$input" -serial chardev:console \
        "$@" 2>>qemu.txt 3>&- &
    qemu=$!
}
