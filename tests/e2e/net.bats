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

# A device with an interface of its own is tested in tests/long/net.bats.
@test "two guests in a VLAN talk through two switches, whose uplinks have a cable" {
    net_namespace veth
    serve --uplink left=interface:v0 --net "$PWD/a=switch:left,vlan=5" \
        --uplink right=interface:v1 --net "$PWD/b=switch:right,vlan=5"
    guest b 2 -- job=serve
    guest a 1 -- job=talk peer=10.0.0.2 mib=4 trips=400
    said a 120 warm
    go_on a
    said a 120 '400 round trips'
    go_on a
    said a 60 'done'
    grep -q '^net: checksums of 4194304 bytes are right' a.txt
    # There and back, in segments larger than a frame, none of which was dropped.
    "$ELVIS" ctl --control "$PWD/control" stats | jq .uplinks >uplinks.json
    cat uplinks.json
    jq -e 'all(.[]; .unsent == 0 and .failed == 0 and .sent > 400 and .sent_bytes / .sent > 1500)' uplinks.json
    "$ELVIS" ctl --control "$PWD/control" list >list.json
    jq -e 'map(select(.kind == "uplink").net) == ["interface:v0", "interface:v1"]' list.json
}

# A split ring is tested so in tests/long/net.bats: where it goes on is in the ring.
@test "kill -9 of the daemon under traffic of packed rings: connections live on, without kicks" {
    devices=(--net "$PWD/a=switch:lan" --net "$PWD/b=switch:lan")
    serve "${devices[@]}"
    export RING=packed
    guest b 2 -- job=serve
    guest a 3 -- job=count peer=10.0.0.2
    said a 120 warm
    killed 2 "${devices[@]}" -- a
    is_packed a
    is_packed b
    more() { [ "$(total 'a|b' net.frames)" -gt $((frames_before + 1000)) ]; }
    # A thousand frames with fewer than ten kicks. On a busy host elvis may stop polling before it comes to that.
    polled() {
        kicks_before=$(total 'a|b' kicks) frames_before=$(total 'a|b' net.frames)
        eventually more
        echo "$frames_before frames, $kicks_before kicks, then $(total 'a|b' net.frames), $(total 'a|b' kicks)"
        [ $((($(total 'a|b' kicks) - kicks_before) * 100)) -lt 1000 ]
    }
    eventually polled
    # The counters of a end with its guest.
    [ "$(total 'a|b' net.malformed)" -eq 0 ]
    go_on a
    said a 120 '[0-9]* numbers came back'
}
