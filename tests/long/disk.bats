# A Linux guest in QEMU on a disk of elvis: 200 MB through ext4 with hardly a kick, and the daemon killed
# under it. `make test-long` runs it; it needs the network once, and minutes.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common
load ../e2e/disk

setup_file() { disk_setup_file; }

setup() {
    common_setup
    truncate -s 512M image
}

teardown() { disk_teardown; }

# files MODE: the guest's job in one mode. Sets requests and kicks, of what came after its warm-up.
files() {
    local requests_before kicks_before
    serve "$1"
    guest job=files mib=200
    said 300 warm
    requests_before=$(counter requests)
    kicks_before=$(counter kicks)
    go_on
    said 900 checksum
    requests=$(($(counter requests) - requests_before))
    kicks=$(($(counter kicks) - kicks_before))
    go_on
    said 60 'done'
    echo "$1: $requests requests, $kicks kicks" | tee -a "$BATS_FILE_TMPDIR/disk.txt" >&3
}

@test "200 MB through ext4: written, synced, read back right, and kicks below 1 in 10,000 requests" {
    files elvis
    [ "$requests" -gt 100000 ]
    [ $((kicks * 10000)) -lt "$requests" ]
}

@test "the same without polling: a kick a request" {
    files fine-grained
    [ "$requests" -gt 100000 ]
    # Requests that came in one burst share a kick.
    [ $((kicks * 10)) -gt $((requests * 9)) ]
}

# It is served, by the process that runs now.
served() { [ "$(counter 'requests // 0')" -gt 100 ]; }

@test "kill -9 of the daemon under a guest that writes: it goes on, and no write is lost or run again" {
    serve elvis
    guest job=numbers seconds=40
    said 300 warm
    for _ in 1 2 3 4 5; do
        sleep 4
        kill -9 "$elvis"
        wait "$elvis" || true
        serve elvis
        eventually served
    done
    said 300 '[0-9]* numbers are right'
    said 60 'done'
}
