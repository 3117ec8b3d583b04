# Linux guests in QEMU with network devices of elvis: a gigabyte through a switch and to the host with hardly any
# kicks, and a daemon that is killed under traffic. `make test-long` runs it; it takes minutes, and needs the
# network once.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common
load ../e2e/net

setup_file() { net_setup_file; }

setup() { common_setup; }

teardown() { net_teardown; }

# moved DEVICES NAME: lets a guest move its data after its warm-up, and sets frames and kicks to those of
# DEVICES meanwhile.
moved() {
    said "$2" 300 warm
    kicks=$(total "$1" kicks) frames=$(total "$1" net.frames)
    go_on "$2"
    said "$2" 1500 '2000 round trips'
    kicks=$(($(total "$1" kicks) - kicks)) frames=$(($(total "$1" net.frames) - frames))
    go_on "$2"
    said "$2" 60 'done'
    echo "$BATS_TEST_DESCRIPTION: $frames frames, $kicks kicks" | tee -a "$BATS_FILE_TMPDIR/net.txt" >&3
}

gigabyte_between_guests() {
    serve --net "$PWD/a=switch:lan" --net "$PWD/b=switch:lan"
    guest b 2 -- job=serve
    guest a 1 -- job=talk peer=10.0.0.2 mib=512 trips=2000
    moved 'a|b' a
    [ $((kicks * 1000)) -lt "$frames" ]
}

@test "a gigabyte between two guests" { gigabyte_between_guests; }

@test "a gigabyte between two guests with packed rings" {
    RING=packed gigabyte_between_guests
    is_packed a
    is_packed b
}

# Each pair of queues of a device on its own I/O thread; two CPUs that send and get frames at the same time.
@test "guests with two CPUs and two pairs of queues, spread over two I/O threads" {
    serve --io-cores "$(two_cores)" --net "$PWD/a=switch:lan,queues=2,spread" \
        --net "$PWD/b=switch:lan,queues=2,spread"
    export PAIRS=2
    guest b 2 -- job=serve
    guest a 1 -- job=talk peer=10.0.0.2 mib=64 trips=2000
    said a 600 warm
    go_on a
    said a 1500 '2000 round trips'
    # Queues 0 to 3 of both devices are served.
    [ "$(total 'a|b' queue)" -eq 12 ]
    go_on a
    said a 60 'done'
}

# gigabyte_to_the_host ARGUMENT...: of a guest at the device a.
gigabyte_to_the_host() {
    net_namespace tap
    serve "$@"
    host_station
    guest a 2 -- job=talk peer=10.0.0.1 mib=512 trips=2000
    moved a a
    [ $((kicks * 1000)) -lt "$frames" ]
}

@test "a gigabyte between a guest and the host" { gigabyte_to_the_host --net "$PWD/a=tap:tap0"; }

@test "a gigabyte between a guest and the host with packed rings" {
    RING=packed gigabyte_to_the_host --net "$PWD/a=tap:tap0"
    is_packed a
}

@test "a gigabyte between a guest and the host through the uplink of a switch" {
    gigabyte_to_the_host --uplink lan=tap:tap0 --net "$PWD/a=switch:lan"
    "$ELVIS" ctl --control "$PWD/control" stats | jq -e '.uplinks[] | .unsent == 0 and .failed == 0'
}

@test "a guest talks to the host through an interface" {
    net_namespace veth
    serve --net "$PWD/a=interface:v0"
    host_station
    guest a 2 -- job=talk peer=10.0.0.1 mib=4 trips=400
    said a 120 warm
    go_on a
    said a 120 '400 round trips'
    # Frames of a VLAN are not of the guest's network. The kernel would take their tags off. They are sent first, and
    # are longer: the first fifty frames that arrive are the others.
    local frames bytes
    frames=$(total a net.frames) bytes=$(total a read_bytes)
    fifty_frames 81000005 1400
    fifty_frames '' 46
    more() { [ "$(total a net.frames)" -ge $((frames + 50)) ]; }
    eventually more
    bytes=$(($(total a read_bytes) - bytes))
    echo "$bytes bytes"
    [ "$bytes" -ge 2500 ]
    [ "$bytes" -lt 10000 ]
    go_on a
    said a 60 'done'
}

# fifty_frames TAG BYTES: broadcasts from the other end of the guest's cable, of an EtherType for experiments.
# shellcheck disable=SC2016  # variables of Perl
fifty_frames() {
    "${inside[@]}" perl -e '
        my ($interface, $tag, $bytes) = @ARGV;
        socket(my $socket, 17, 3, 0) or die $!;
        my $frame = pack("H*", "ffffffffffff020000000009${tag}88b5") . "x" x $bytes;
        for (1 .. 50) { send($socket, $frame, 0, pack("SnlSCCa8", 17, 3, $interface, 0, 0, 6, "")) or die $! }
        ' "$("${inside[@]}" ip -o link show v1 | cut -d : -f 1)" "$@"
}

survived() {
    net_namespace taps
    devices=(--net "$PWD/a=switch:lan" --net "$PWD/b=switch:lan" --net "$PWD/c=tap:tap0,queues=2")
    serve "${devices[@]}"
    host_station
    guest b 2 -- job=serve
    guest a 3 -- job=count peer=10.0.0.2
    PAIRS=2 guest c 4 -- job=count peer=10.0.0.1
    said a 300 warm
    said c 300 warm
    killed 5 "${devices[@]}" -- a c
    go_on a
    go_on c
    said a 300 '[0-9]* numbers came back'
    said c 300 '[0-9]* numbers came back'
}

@test "kill -9 of the daemon under traffic: connections live on, through a switch and to the host" { survived; }

@test "the same with packed rings" {
    RING=packed survived
    is_packed a
    is_packed b
    is_packed c
}

migrated() {
    echo info migrate 1<>monitor.in
    grep -Eq 'tatus:[[:space:]]+completed' monitor.txt
}

migrates() {
    serve --net "$PWD/a=switch:lan" --net "$PWD/b=switch:lan" --net "$PWD/c=switch:lan"
    mkfifo monitor.in monitor.out
    cat monitor.out >monitor.txt 3>&- &
    guest b 2 -- job=serve
    guest a 3 -chardev pipe,id=monitor,path=monitor -mon monitor -- job=count peer=10.0.0.2
    source=${machines[-1]}
    guest c 3 -incoming "unix:$PWD/migration" -- unused
    said a 300 warm
    eventually sends a
    printf '%s\n' 'migrate_set_parameter downtime-limit 5000' "migrate -d unix:$PWD/migration" 1<>monitor.in
    LIMIT=300 eventually migrated
    eventually sends c
    kill -9 "$source"
    # Its counters end with it.
    [ "$(total c net.malformed)" -eq 0 ]
    go_on c
    said c 300 '[0-9]* numbers came back'
}

@test "a guest migrates to another port of the switch, and its connection lives on" { migrates; }

@test "a guest with packed rings migrates" {
    RING=packed migrates
    is_packed c
}

served_twice() { [ "$(grep -c '^net: serves' b.txt)" -eq 2 ]; }

# What the daemon kept of its rings is of the same machine, and must not be used.
@test "a guest with packed rings that is reset while no daemon serves it starts anew" {
    export RING=packed
    devices=(--net "$PWD/a=switch:lan" --net "$PWD/b=switch:lan" --net "$PWD/c=switch:lan")
    serve "${devices[@]}"
    mkfifo monitor.in monitor.out
    cat monitor.out >monitor.txt 3>&- &
    guest b 2 -chardev pipe,id=monitor,path=monitor -mon monitor -action reboot=reset -- job=serve
    guest a 3 -- job=count peer=10.0.0.2
    said a 300 warm
    eventually sends a
    kill -9 "$elvis" "${machines[-1]}"
    wait "$elvis" || true
    echo system_reset 1<>monitor.in
    LIMIT=300 eventually served_twice
    serve "${devices[@]}"
    guest c 4 -- job=count peer=10.0.0.2
    said c 300 warm
    is_packed b
    is_packed c
    eventually sends c
    go_on c
    said c 300 '[0-9]* numbers came back'
}
