# A Linux guest in QEMU on a disk of elvis: short versions of tests/long/disk.bats, and migration.

# `run` sets $output and $status.
# shellcheck disable=SC2154

# bats file_tags=live

load common
load disk

setup_file() { disk_setup_file; }

setup() {
    common_setup
    truncate -s 64M image
}

teardown() { disk_teardown; }

@test "a Linux guest formats, writes, syncs and reads back, with hardly any kicks" {
    serve elvis
    guest job=files mib=16
    said 120 warm
    requests=$(counter requests) kicks=$(counter kicks)
    go_on
    said 120 checksum
    requests=$(($(counter requests) - requests)) kicks=$(($(counter kicks) - kicks))
    errors=$(counter errors)
    go_on
    said 60 'done'
    echo "$requests requests, $kicks kicks"
    # 4096 writes, as many reads, and ext4's own requests.
    [ "$requests" -gt 8000 ]
    [ $((kicks * 1000)) -lt "$requests" ]
    [ "$errors" -eq 0 ]
}

@test "a guest migrates to another QEMU while it writes, and no number is lost" { migrate; }
