# shellcheck shell=bash
# Runs Linux guests in the lab's QEMU with network devices of elvis (tests/guests/net.c). Load common first.

ELVIS=${CARGO_TARGET_DIR:-$ROOT/target}/release/elvis

# Prepares what all tests of a file boot. Sets KERNEL, INITRD, EMULATOR (the folder of the lab's QEMU) and
# STATION (tests/guests/net.c for the host).
net_setup_file() {
    local cache modules root=$BATS_FILE_TMPDIR/root
    fetch_packages --lab-dir "$ROOT/tests/guests/disk-lab" linux-6.1-disk qemu
    cache=$(ws lab list --json | jq -r .cache)/sets
    KERNEL=$(echo "$cache"/linux-6.1-disk/root/boot/vmlinuz-*)
    INITRD=$BATS_FILE_TMPDIR/initrd
    EMULATOR=$cache/qemu/root/usr
    STATION=$root/init
    export KERNEL INITRD EMULATOR STATION

    mkdir -p "$root"/{dev,modules}
    ${CC:-clang} -std=c11 -O2 -Wall -Wextra -Werror -static -pthread "$ROOT/tests/guests/net.c" -o "$STATION"
    modules=$cache/linux-6.1-disk/root/usr/lib/modules
    find "$modules" \( -name 'virtio*.ko' ! -name virtio_blk.ko ! -name virtio_pmem.ko -o -name '*failover.ko' \) \
        -exec cp {} "$root/modules" \;
    (cd "$root" && find . | cpio --quiet -o -H newc) >"$INITRD"
}

# net_namespace tap|taps|veth: a network namespace of the test's own, with 10.0.0.1 on a tap device tap0 (taps:
# one for several queues), or on the other end of a virtual cable to the interface v0, for a host that lets this
# user have one; skips the test otherwise. "${inside[@]}" before a command runs it there.
inside=()
net_namespace() {
    local words=(-n) kind=(tuntap add dev tap0 mode tap) interface=tap0
    [ "$(id -u)" -eq 0 ] || words=(-rn)
    case $1 in
    taps) kind+=(multi_queue) ;;
    veth) kind=(link add v0 type veth peer name v1) interface=v1 ;;
    esac
    unshare "${words[@]}" sleep 3600 3>&- &
    holder=$!
    eventually separate || skip 'this user may not make a network namespace'
    inside=(nsenter -t "$holder" -n)
    [ "$(id -u)" -eq 0 ] || inside+=(-U --preserve-credentials)
    "${inside[@]}" ip "${kind[@]}" 2>ip.txt || skip "no interface can be made: $(<ip.txt)"
    "${inside[@]}" ip address add 10.0.0.1/24 dev "$interface"
    "${inside[@]}" ip link set "$interface" up
    [ "$1" != veth ] || "${inside[@]}" ip link set v0 up
}
separate() { kill -0 "$holder" && [ "$(readlink /proc/"$holder"/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }

# serve DEVICE_ARGUMENT...: starts elvis. Its process ID is in $elvis. As in disk.bash the policy's times fit
# guests that are tens of times slower under TCG than on a CPU; NET_POLICY has other lines.
serve() {
    local slow='poll_on_gap_ns = 5000000\npoll_off_idle_ns = 2000000000\npoll_keep_ns = 20000000000'
    printf '[policy]\n%b\n' "${NET_POLICY-$slow}" >elvis.toml
    "${inside[@]}" "$ELVIS" serve --config elvis.toml "$@" --control "$PWD/control" 2>>elvis.txt 3>&- &
    elvis=$!
    eventually "$ELVIS" ctl --control "$PWD/control" list >/dev/null
}

# Starts tests/guests/net.c on the host's side of the tap device.
host_station() {
    "${inside[@]}" "$STATION" job=serve >station.txt 3>&- &
    station=$!
}

# total DEVICES COUNTER: the sum of a counter over all queues of devices.
total() {
    "$ELVIS" ctl --control "$PWD/control" stats |
        jq "[.devices | to_entries[] | select(.key | test(\"^($1)\$\")) | .value[] | .$2] | add"
}

# guest NAME NUMBER [ARGUMENT...] -- WORD...: boots a guest at the socket NAME with the address 10.0.0.NUMBER and
# more arguments for QEMU. Its console is in NAME.txt; its input is the pipe NAME.in. With PAIRS in the environment
# it has as many CPUs and pairs of queues.
guest() {
    local name=$1 number=$2 pairs=${PAIRS:-1} more=()
    shift 2
    while [ "$1" != -- ]; do
        more+=("$1")
        shift
    done
    shift
    : >"$name.txt"
    mkfifo "$name.in"
    # Opened for reading and writing, as opening one end only would block. It stays open for `go_on`.
    # shellcheck disable=SC2034
    exec {input}<>"$name.in"
    "$EMULATOR/lib64/ld-linux-x86-64.so.2" --library-path "$EMULATOR/lib/x86_64-linux-gnu" \
        "$EMULATOR/bin/qemu-system-x86_64" -L "$EMULATOR/share/qemu" -L "$EMULATOR/share/seabios" \
        -accel tcg -cpu max -smp "$pairs" -m 256 -nodefaults -display none -no-reboot \
        -object memory-backend-memfd,id=memory,size=256M,share=on -machine q35,memory-backend=memory \
        -chardev "socket,id=net,path=$PWD/$name,reconnect-ms=200" \
        -netdev "vhost-user,id=net,chardev=net,queues=$pairs" \
        -device "virtio-net-pci,netdev=net,mq=on,mac=52:54:00:00:00:0$number,romfile=" \
        -kernel "$KERNEL" -initrd "$INITRD" \
        -append "console=ttyS0 quiet panic=-1 no_timer_check own=10.0.0.$number $*" \
        -chardev "file,id=console,path=$name.txt,input-path=$name.in" -serial chardev:console \
        "${more[@]}" 2>>qemu.txt 3>&- &
    machines+=($!)
}

# Lets a guest continue that waits for the host.
go_on() { echo >"$1.in"; }

# said NAME SECONDS PATTERN: waits until a guest prints a line that starts with the pattern.
said() {
    local end=$((SECONDS + $2))
    until grep -q "^net: $3" "$1.txt"; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "$1 did not print '$3':" >&2
            tail -n 20 ./*.txt >&2
            return 1
        fi
        sleep 0.05
    done
}

net_teardown() {
    kill -9 ${elvis:+"$elvis"} ${station:+"$station"} "${machines[@]}" ${holder:+"$holder"} 2>/dev/null || true
    wait
}
