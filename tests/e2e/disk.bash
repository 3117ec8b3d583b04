# shellcheck shell=bash
# Runs a Linux guest in the lab's QEMU on a disk that elvis serves. Load common first.

# shellcheck source=tests/e2e/elvis.bash
source "${BASH_SOURCE[0]%/*}/elvis.bash"

# Prepares what all tests of a file boot: a kernel, and an initramfs with tests/guests/disk.c and
# mke2fs. Sets KERNEL, INITRD and EMULATOR (the folder of the lab's QEMU).
disk_setup_file() {
    local root=$BATS_FILE_TMPDIR/root file
    elvis_packages
    mkdir -p "$root"/{dev,modules,sbin}
    guest_program disk.c "$root/init"
    find "$MODULES" -name 'virtio*.ko' ! -name virtio_net.ko ! -name virtio_pmem.ko -exec cp {} "$root/modules" \;
    cp /usr/sbin/mke2fs "$root/sbin"
    # Its libraries and its loader, at their usual paths.
    for file in $(ldd /usr/sbin/mke2fs | grep -oE '/[^ ]+'); do
        mkdir -p "$root${file%/*}"
        cp -L "$file" "$root$file"
    done
    (cd "$root" && find . | cpio --quiet -o -H newc) >"$INITRD"
}

# serve MODE [BLK_ARGUMENT...]: starts elvis, which serves ./image as ./disk, or the given devices. DISK_POLICY in the
# environment has other lines for the policy; if empty, the defaults.
serve() {
    local mode=$1
    shift
    [ $# -gt 0 ] || set -- --blk "$PWD/disk=$PWD/image"
    start_elvis "${DISK_POLICY-$SLOW}" --mode "$mode" "$@"
}

# counter NAME: the value of a counter of the disk's queue.
counter() {
    "$ELVIS" ctl --control "$PWD/control" stats | jq ".devices.disk[0].$1"
}

# guest WORD...: boots a guest with these words on the kernel's command line. Its console is in console.txt, its process
# ID in $qemu. RING=packed in the environment: with packed rings; QUEUES=N: with as many CPUs and queues.
# machine SOCKET CONSOLE [ARGUMENT...] -- WORD...: the same with another disk and console, and more arguments for QEMU.
guest() { machine disk console.txt -- "$@"; }
machine() {
    local disk=$1 more=() packed=off
    console=$2
    shift 2
    while [ "$1" != -- ]; do
        more+=("$1")
        shift
    done
    shift
    [ "${RING-}" != packed ] || packed=on
    : >"$console"
    [ -p answers ] || mkfifo answers
    # Opened for reading and writing, as opening one end only would block.
    exec {answers}<>answers
    boot 512 "$console" answers "$*" -chardev "socket,id=disk,path=$PWD/$disk,reconnect-ms=200" -smp "${QUEUES:-1}" \
        -device "vhost-user-blk-pci,chardev=disk,num-queues=${QUEUES:-1},packed=$packed" "${more[@]}"
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
    # QEMU 11 separates them by tabs.
    grep -Eq 'tatus:[[:space:]]+completed' monitor.txt
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
    run ! grep -v ' elvis: [0-9]* devices\|elvis: runs as root' elvis.txt
}

disk_teardown() {
    kill -9 ${elvis:+"$elvis"} ${qemu:+"$qemu"} ${source:+"$source"} 2>/dev/null || true
    wait
}
