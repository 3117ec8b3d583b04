# shellcheck shell=bash
# Runs a Linux guest in the lab's QEMU on a disk that elvis serves. Load common first.

ELVIS=${CARGO_TARGET_DIR:-$ROOT/target}/release/elvis

# Prepares what all tests of a file boot: a kernel, and an initramfs with tests/guests/disk.c and
# mke2fs. Sets KERNEL, INITRD and EMULATOR (the folder of the lab's QEMU).
disk_setup_file() {
    local cache modules root=$BATS_FILE_TMPDIR/root file
    fetch_packages --lab-dir "$ROOT/tests/guests/disk-lab" linux-6.1-disk qemu
    cache=$(ws lab list --json | jq -r .cache)/sets
    KERNEL=$(echo "$cache"/linux-6.1-disk/root/boot/vmlinuz-*)
    INITRD=$BATS_FILE_TMPDIR/initrd
    # Started with its own loader, as crates/lab/src/program.rs does.
    EMULATOR=$cache/qemu/root/usr
    export KERNEL INITRD EMULATOR

    mkdir -p "$root"/{dev,modules,sbin}
    ${CC:-clang} -std=c11 -O2 -Wall -Wextra -Werror -static -pthread \
        "$ROOT/tests/guests/disk.c" -o "$root/init"
    modules=$cache/linux-6.1-disk/root/usr/lib/modules
    find "$modules" -name 'virtio*.ko' ! -name virtio_net.ko ! -name virtio_pmem.ko -exec cp {} "$root/modules" \;
    cp /usr/sbin/mke2fs "$root/sbin"
    # Its libraries and its loader, at their usual paths.
    for file in $(ldd /usr/sbin/mke2fs | grep -oE '/[^ ]+'); do
        mkdir -p "$root${file%/*}"
        cp -L "$file" "$root$file"
    done
    (cd "$root" && find . | cpio --quiet -o -H newc) >"$INITRD"
}

# serve MODE [BLK_ARGUMENT...]: starts elvis, which serves ./image as ./disk, or the given devices. Its
# process ID is in $elvis. The times of the policy fit this guest, which is tens of times slower under TCG
# than on a CPU, and may be stopped by a busy host for longer than the default window: tests check
# notifications, not the host. DISK_POLICY in the environment has other lines for the policy; if empty, the
# defaults.
serve() {
    local slow='poll_on_gap_ns = 5000000\npoll_off_idle_ns = 2000000000\npoll_keep_ns = 20000000000'
    printf '[policy]\n%b\n' "${DISK_POLICY-$slow}" >elvis.toml
    local mode=$1
    shift
    [ $# -gt 0 ] || set -- --blk "$PWD/disk=$PWD/image"
    "$ELVIS" serve --config elvis.toml --mode "$mode" "$@" --control "$PWD/control" 2>>elvis.txt 3>&- &
    elvis=$!
    eventually "$ELVIS" ctl --control "$PWD/control" list >/dev/null
}

# counter NAME: the value of a counter of the disk's queue.
counter() {
    "$ELVIS" ctl --control "$PWD/control" stats | jq ".devices.disk[0].$1"
}

# guest WORD...: boots a guest with these words on the kernel's command line. Its console is in
# console.txt, its process ID in $qemu. RING=packed in the environment: with packed rings. machine SOCKET CONSOLE [ARGUMENT...] -- WORD...: the same with another
# disk and console, and more arguments for QEMU. `no_timer_check`: a guest panics while it boots if its host is
# so busy that ten timer interrupts are not seen in time.
guest() { machine disk console.txt -- "$@"; }
machine() {
    local disk=$1 words=()
    console=$2
    shift 2
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    : >"$console"
    [ -p answers ] || mkfifo answers
    # Opened for reading and writing, as opening one end only would block.
    exec {answers}<>answers
    "$EMULATOR/lib64/ld-linux-x86-64.so.2" --library-path "$EMULATOR/lib/x86_64-linux-gnu" \
        "$EMULATOR/bin/qemu-system-x86_64" -L "$EMULATOR/share/qemu" -L "$EMULATOR/share/seabios" \
        -accel tcg -cpu max -m 512 -nodefaults -display none -no-reboot \
        -object memory-backend-memfd,id=memory,size=512M,share=on -machine q35,memory-backend=memory \
        -chardev "socket,id=disk,path=$PWD/$disk,reconnect-ms=200" \
        -device "vhost-user-blk-pci,chardev=disk,num-queues=1,packed=$([ "${RING-}" = packed ] && echo on || echo off)" \
        -kernel "$KERNEL" -initrd "$INITRD" -append "console=ttyS0 quiet panic=-1 no_timer_check $*" \
        -chardev "file,id=console,path=$console,input-path=answers" -serial chardev:console \
        "${words[@]}" 2>>qemu.txt 3>&- &
    qemu=$!
}

# Lets a guest continue that waits for the host.
go_on() { echo >&"$answers"; }

# said SECONDS PATTERN: waits until the guest prints a line that starts with the pattern; fails if the guest
# ends before, or it takes longer.
said() {
    local end=$((SECONDS + $1)) text=$2
    until grep -q "^disk: $text" "$console"; do
        if [ "$SECONDS" -ge "$end" ] || ! kill -0 "$qemu" 2>/dev/null; then
            # Its last line may have come after the grep above.
            ! grep -q "^disk: $text" "$console" || return 0
            echo "the guest did not print '$text':" >&2
            tail -n 20 "$console" elvis.txt qemu.txt >&2
            return 1
        fi
        sleep 0.05
    done
}

# served DISK: requests of the disk of this name; 0 if none of its queues is served.
served() { "$ELVIS" ctl --control "$PWD/control" stats | jq ".devices.$1[0].requests // 0"; }
serves() { [ "$(served "$1")" -gt 100 ]; }
migrated() {
    echo info migrate 1<>monitor.in
    grep -q 'tatus: completed' monitor.txt
}

# Migrates a guest to another QEMU while it writes numbers, which it then checks.
migrate() {
    # `migratable`: the image is locked only while a queue runs, so two devices can have it.
    serve elvis --blk "$PWD/disk=$PWD/image,migratable" --blk "$PWD/other=$PWD/image,migratable"
    mkfifo monitor.in monitor.out
    cat monitor.out >monitor.txt 3>&- &
    machine disk console.txt -chardev pipe,id=monitor,path=monitor -mon monitor -- job=numbers
    source=$qemu
    machine other other.txt -incoming "unix:$PWD/migration" -- unused
    console=console.txt qemu=$source said 120 warm
    console=console.txt qemu=$source said 1 "${RING:-split} ring"
    eventually serves disk
    # On a busy host the guest dirties pages faster than they are sent in QEMU's default of 0.3 s.
    printf '%s\n' 'migrate_set_parameter downtime-limit 5000' "migrate -d unix:$PWD/migration" 1<>monitor.in
    LIMIT=300 eventually migrated
    # The workload continues there, and nothing runs here.
    eventually serves other
    [ "$(served disk)" -eq 0 ]
    # Its console would take the line that the guest waits for.
    kill -9 "$source"
    go_on
    said 120 '[0-9]* numbers are right'
    said 60 'done'
    run ! grep -v '^elvis: [0-9]* devices\|^elvis: runs as root' elvis.txt
}

disk_teardown() {
    kill -9 ${elvis:+"$elvis"} ${qemu:+"$qemu"} ${source:+"$source"} 2>/dev/null || true
    wait
}
