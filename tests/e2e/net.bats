# Linux guests in QEMU with network devices of elvis: short versions of tests/long/net.bats.

# `run` sets $output and $status.
# shellcheck disable=SC2154

# bats file_tags=live

load common
load net

setup_file() { net_setup_file; }

setup() { common_setup; }

teardown() { net_teardown; }

@test "two Linux guests talk through a switch, and a busy network needs hardly any kicks" {
    serve --net "$PWD/a=switch:lan" --net "$PWD/b=switch:lan,queues=2"
    guest b 2 -- job=serve
    guest a 1 -- job=talk peer=10.0.0.2 mib=16 trips=400
    said a 120 warm
    kicks=$(total 'a|b' kicks) frames=$(total 'a|b' net.frames)
    go_on a
    said a 120 '400 round trips'
    kicks=$(($(total 'a|b' kicks) - kicks)) frames=$(($(total 'a|b' net.frames) - frames))
    go_on a
    said a 60 'done'
    grep -q '^net: 5 pings were answered' a.txt
    grep -q '^net: checksums of 16777216 bytes are right' a.txt
    echo "$frames frames, $kicks kicks"
    [ "$frames" -gt 3000 ]
    [ $((kicks * 200)) -lt "$frames" ]
    [ "$(total 'a|b' net.malformed)" -eq 0 ]
}

@test "a guest talks to the host through a tap device, with offloads" {
    net_namespace tap
    serve --net "$PWD/a=tap:tap0"
    host_station
    guest a 2 -- job=talk peer=10.0.0.1 mib=16 trips=400
    said a 120 warm
    go_on a
    said a 120 '400 round trips'
    frames=$(total a net.frames)
    go_on a
    said a 60 'done'
    # 32 MiB in segments larger than a frame of 1500 bytes, of which there would be 22,000.
    echo "$frames frames"
    [ "$frames" -lt 20000 ]
}

@test "a guest talks to the host through an interface" {
    net_namespace veth
    serve --net "$PWD/a=interface:v0"
    host_station
    guest a 2 -- job=talk peer=10.0.0.1 mib=4 trips=400
    said a 120 warm
    go_on a
    said a 120 '400 round trips'
    go_on a
    said a 60 'done'
}
