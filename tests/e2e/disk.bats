# A Linux guest in QEMU on a disk of elvis, in small; tests/long/disk.bats has the whole.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common
load disk

setup_file() { disk_setup_file; }

setup() {
    common_setup
    truncate -s 64M image
}

teardown() { disk_teardown; }

@test "a Linux guest formats, writes, syncs and reads back, nearly without kicks" {
    serve elvis
    guest job=files mib=16
    said 120 warm
    requests=$(counter requests) kicks=$(counter kicks)
    said 120 checksum
    requests=$(($(counter requests) - requests)) kicks=$(($(counter kicks) - kicks))
    errors=$(counter errors)
    go_on
    said 60 'done'
    echo "$requests requests, $kicks kicks"
    # 4096 writes and as many reads, and what ext4 does.
    [ "$requests" -gt 8000 ]
    [ $((kicks * 1000)) -lt "$requests" ]
    [ "$errors" -eq 0 ]
}
