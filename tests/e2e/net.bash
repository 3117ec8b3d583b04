# shellcheck shell=bash
# Runs Linux guests in the lab's QEMU with network devices of elvis (tests/guests/net.c). Load common first.

# shellcheck source=tests/e2e/elvis.bash
source "${BASH_SOURCE[0]%/*}/elvis.bash"

# Prepares what all tests of a file boot. Sets KERNEL, INITRD, EMULATOR (the folder of the lab's QEMU) and
# STATION (tests/guests/net.c for the host).
net_setup_file() {
    local root=$BATS_FILE_TMPDIR/root
    elvis_packages
    STATION=$root/init
    export STATION
    mkdir -p "$root"/{dev,modules}
    guest_program net.c "$STATION"
    find "$MODULES" \( -name 'virtio*.ko' ! -name virtio_blk.ko ! -name virtio_pmem.ko -o -name '*failover.ko' \) \
        -exec cp {} "$root/modules" \;
    (cd "$root" && find . | cpio --quiet -o -H newc) >"$INITRD"
}

# net_namespace tap|taps|veth: a network namespace of the test's own, with 10.0.0.1 on a tap device tap0 (taps:
# one for several queues), or on the other end of a virtual cable to the interface v0, for a host that lets this
# user have one; skips the test otherwise. "${inside[@]}" before a command runs it there.
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

# serve DEVICE_ARGUMENT...: starts elvis, with a folder in memory for what it keeps, $kept, which outlives it.
# NET_POLICY in the environment has other lines for the policy.
serve() {
    : "${kept:=$(mktemp -d /dev/shm/worldswitch-net.XXXXXX)}"
    start_elvis "${NET_POLICY-$SLOW}" --state "$kept" "$@"
}

# Whether a device's rings are packed: only then is there something in its file.
is_packed() { [ "$(stat -c %b "$kept/$1.rings")" -gt 0 ]; }

sends() { [ "$(total "$1" 'net.frames // 0')" -gt 100 ]; }

# killed TIMES DEVICE_ARGUMENT... -- NAME...: kills the daemon while these guests send, again and again, and starts
# another.
killed() {
    local times=$1 devices=() name
    shift
    while [ "$1" != -- ]; do
        devices+=("$1")
        shift
    done
    shift
    while [ "$times" -gt 0 ]; do
        for name; do eventually sends "$name"; done
        kill -9 "$elvis"
        wait "$elvis" || true
        serve "${devices[@]}"
        times=$((times - 1))
    done
    for name; do eventually sends "$name"; done
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
# it has as many CPUs and pairs of queues; with RING=packed its rings are packed.
guest() {
    local name=$1 number=$2 pairs=${PAIRS:-1} packed=off more=()
    shift 2
    while [ "$1" != -- ]; do
        more+=("$1")
        shift
    done
    shift
    [ "${RING-}" != packed ] || packed=on
    : >"$name.txt"
    mkfifo "$name.in"
    # Opened for reading and writing, as opening one end only would block. It stays open for `go_on`.
    # shellcheck disable=SC2034
    exec {input}<>"$name.in"
    boot 256 "$name.txt" "$name.in" "own=10.0.0.$number $*" -smp "$pairs" \
        -chardev "socket,id=net,path=$PWD/$name,reconnect-ms=200" \
        -netdev "vhost-user,id=net,chardev=net,queues=$pairs" \
        -device "virtio-net-pci,netdev=net,mq=on,packed=$packed,mac=52:54:00:00:00:0$number,romfile=" "${more[@]}"
    machines+=("$qemu")
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
    rm -rf ${kept:+"$kept"}
}
