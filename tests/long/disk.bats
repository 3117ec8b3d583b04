# A Linux guest in QEMU on a disk of elvis: 200 MB through ext4 with hardly any kicks, and a daemon that is
# killed meanwhile. `make test-long` runs it; it takes minutes, and needs the network once.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common
load ../e2e/disk

setup_file() { disk_setup_file; }

setup() {
    common_setup
    truncate -s 512M image
}

loop=
teardown() {
    disk_teardown
    [ -z "$loop" ] || losetup --detach "$loop"
}

# files MODE: runs the guest's job on elvis in one mode. Sets requests and kicks, counted after the warm-up.
files() {
    local requests_before kicks_before
    serve "$1"
    guest job=files mib=200
    said 300 warm
    said 1 "${RING:-split} ring"
    requests_before=$(counter requests)
    kicks_before=$(counter kicks)
    go_on
    said 900 checksum
    requests=$(($(counter requests) - requests_before))
    kicks=$(($(counter kicks) - kicks_before))
    go_on
    said 60 'done'
    echo "$1, ${RING:-split} ring: $requests requests, $kicks kicks" | tee -a "$BATS_FILE_TMPDIR/disk.txt" >&3
}

@test "200 MB through ext4: written, synced, read back correctly, less than one kick per 10,000 requests" {
    files elvis
    [ "$requests" -gt 100000 ]
    [ $((kicks * 10000)) -lt "$requests" ]
}

@test "200 MB with a packed ring" {
    RING=packed files elvis
    [ "$requests" -gt 100000 ]
    [ $((kicks * 10000)) -lt "$requests" ]
}

@test "without polling: about one kick per request" {
    files fine-grained
    [ "$requests" -gt 100000 ]
    # Requests that came in one burst share a kick.
    [ $((kicks * 10)) -gt $((requests * 9)) ]
}

@test "with a packed ring and without polling: about one kick per request" {
    RING=packed files fine-grained
    [ "$requests" -gt 100000 ]
    [ $((kicks * 10)) -gt $((requests * 9)) ]
}

# killed [ARGUMENT...]: kills the daemon, which has these arguments, five times while a guest writes numbers, which it
# then checks. Sets busy to the number of queues with requests.
killed() {
    serve elvis "$@"
    guest job=numbers
    said 300 warm
    said 1 "${RING:-split} ring"
    for _ in 1 2 3 4 5; do
        sleep 4
        kill -9 "$elvis"
        wait "$elvis" || true
        serve elvis "$@"
        eventually serves disk
    done
    busy=$("$ELVIS" ctl --control "$PWD/control" stats | jq '[.devices.disk[] | select(.requests > 0)] | length')
    go_on
    said 300 '[0-9]* numbers are right'
    said 60 'done'
}

@test "kill -9 of the daemon while a guest writes: the guest goes on, and no write is lost or repeated" { killed; }

@test "the same with a packed ring" { RING=packed killed; }

@test "the same with two queues, spread over two I/O threads" {
    QUEUES=2 RING=packed killed --io-cores "$(two_cores)" --blk "$PWD/disk=$PWD/image,queues=2,spread"
    [ "$busy" -eq 2 ]
}

@test "a guest with a packed ring migrates while it writes" { RING=packed migrate; }

# grows MIB ANSWER: the image has this size from now on, which the guest sees; `elvis ctl resize` answers so.
grows() {
    truncate -s "$1M" image
    [ -z "$loop" ] || losetup --set-capacity "$loop"
    [ "$("$ELVIS" ctl --control "$PWD/control" resize disk)" = "disk: $2; its front-end is notified" ]
    said 60 "uses $(($1 << 20)) bytes"
    # The guest's number is the size.
    [ "$(tail -c 8 image | od -An -t u8 | tr -d ' ')" -eq $(($1 << 20)) ]
}

told() { "$ELVIS" ctl --control "$PWD/control" resize disk | grep -q 'its front-end is notified'; }

@test "a disk grows while a guest uses it, twice, and once while its daemon is dead: the guest uses all of it" {
    serve elvis
    guest job=grown times=3
    said 300 'has 536870912 bytes, in blocks of 512'
    grows 640 '536870912 bytes, now 671088640'
    grows 641 '671088640 bytes, now 672137216'
    kill -9 "$elvis"
    wait "$elvis" || true
    truncate -s 768M image
    serve elvis
    # Once QEMU has connected again.
    eventually told
    said 60 'uses 805306368 bytes'
    said 60 'done'
}

@test "a loop device of 4 KiB blocks, direct: a guest has such blocks, and the device grows" {
    loop=$(losetup --find --show --sector-size 4096 image) ||
        skip "this machine has no loop device for root"
    serve elvis --blk "$PWD/disk=$loop,direct"
    [ "$("$ELVIS" ctl --control "$PWD/control" list | jq '.[0].block_bytes')" -eq 4096 ]
    guest job=grown times=1
    said 300 'has 536870912 bytes, in blocks of 4096'
    grows 640 '536870912 bytes, now 671088640'
    said 60 'done'
    wait "$qemu"
    # ext4 and 4 KiB requests.
    guest job=files mib=20
    said 300 warm
    go_on
    said 300 checksum
    [ "$(counter unaligned)" -eq 0 ]
    [ "$(counter errors)" -eq 0 ]
    go_on
    said 60 'done'
}
