# shellcheck shell=bash
# Linux guests in the lab's QEMU that have the applications of `worldswitch run apps` and do what they are told, with
# network devices of elvis. Load common and net first.

# Variables are set for the files that load this one.
# shellcheck disable=SC2034,SC2153

# Prepares what all tests of a file boot, after elvis_packages: the kernel of lab:kvm-linux, and the root file system
# of its applications, in an image of the test's own. Sets KERNEL, INITRD and APPLICATIONS (the folder they are in).
applications_setup_file() {
    local cache root=$BATS_FILE_TMPDIR/applications name
    fetch_packages linux-6.12 apps erofs
    cache=$(ws lab list --json | jq -r .cache)/sets
    APPLICATIONS=$cache/apps/root
    KERNEL=$(echo "$cache"/linux-6.12/root/boot/vmlinuz-*)
    INITRD=$BATS_FILE_TMPDIR/applications.initrd
    IMAGE=$BATS_FILE_TMPDIR/applications.img
    mkdir -p "$root"/{dev,proc,sys,tmp,run,usr,etc,image,modules}
    cp "$APPLICATIONS/usr/bin/busybox" "$root/busybox"
    cp "$ROOT/tests/guests/applications.sh" "$root/init"
    for name in virtio_net failover net_failover virtio_blk libcrc32c erofs; do
        find "$cache/linux-6.12/root/usr/lib/modules" -name "$name.ko" -exec cp {} "$root/modules" \;
    done
    (cd "$root" && find . | cpio --quiet -o -H newc) >"$INITRD"
    with_loader "$cache/erofs/root/usr" mkfs.erofs --quiet "$IMAGE" "$APPLICATIONS"
    export KERNEL INITRD IMAGE APPLICATIONS
}

# applications_guest NAME NUMBER SOCKET...: boots such a guest; its first network card is at the first socket and has
# the address 10.0.0.NUMBER, the second 10.1.0.NUMBER. Its console is in NAME.txt; its input is the pipe NAME.in.
applications_guest() {
    local name=$1 number=$2 words=() i=0 socket input
    shift 2
    : >"$name.txt"
    mkfifo "$name.in"
    # Opened for reading and writing, as opening one end only would block. It stays open for `told`.
    exec {input}<>"$name.in"
    for socket in "$@"; do
        words+=(-chardev "socket,id=net$i,path=$PWD/$socket,reconnect-ms=200"
            -netdev "vhost-user,id=net$i,chardev=net$i"
            -device "virtio-net-pci,netdev=net$i,mac=52:54:00:00:0$i:0$number,romfile=")
        i=$((i + 1))
    done
    boot 512 "$name.txt" "$name.in" "number=$number" \
        -drive "file=$IMAGE,format=raw,if=virtio,readonly=on" "${words[@]}"
    machines+=("$qemu")
    said "$name" 300 ready
}

# told NAME SECONDS COMMAND: a guest runs it. What it says is in $output; fails if it does.
told() {
    local name=$1 seconds=$2 before
    before=$(grep -c '^net: did' "$name.txt" || true)
    echo "$3" >"$name.in"
    LIMIT=$seconds eventually did_more "$name" "$before"
    output=$(tr -d '\r' <"$name.txt" | awk -v skip="$before" '/^net: did/ { done++; next } done == skip && sub(/^net: \| /, "")')
    if [ "$(tr -d '\r' <"$name.txt" | grep '^net: did' | tail -n 1)" != 'net: did 0' ]; then
        echo "$name: $3 failed:" >&2
        tail -n 20 "$name.txt" >&2
        return 1
    fi
}
did_more() { [ "$(grep -c '^net: did' "$1.txt")" -gt "$2" ]; }
