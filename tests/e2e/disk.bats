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

# served DISK: requests of the disk of this name; 0 if none of its queues is served.
served() { "$ELVIS" ctl --control "$PWD/control" stats | jq ".devices.$1[0].requests // 0"; }
serves() { [ "$(served "$1")" -gt 100 ]; }
migrated() {
    echo info migrate 1<>monitor.in
    grep -q 'tatus: completed' monitor.txt
}

@test "a guest migrates to another QEMU while it writes, and no number is lost" {
    # `migratable`: the image is locked only while a queue runs, so two devices can have it.
    serve elvis --blk "$PWD/disk=$PWD/image,migratable" --blk "$PWD/other=$PWD/image,migratable"
    mkfifo monitor.in monitor.out
    cat monitor.out >monitor.txt 3>&- &
    machine disk console.txt -chardev pipe,id=monitor,path=monitor -mon monitor -- job=numbers
    source=$qemu
    machine other other.txt -incoming "unix:$PWD/migration" -- unused
    console=console.txt qemu=$source said 120 warm
    eventually serves disk
    # On a busy host the guest dirties pages faster than they are sent in QEMU's default of 0.3 s.
    printf '%s\n' 'migrate_set_parameter downtime-limit 5000' "migrate -d unix:$PWD/migration" 1<>monitor.in
    LIMIT=300 eventually migrated
    # The workload continues there, and nothing runs here.
    eventually serves other
    [ "$(served disk)" -eq 0 ]
    # Its console would take the line that the guest waits for.
    kill -9 "$source"
    go_on
    said 120 '[0-9]* numbers are right'
    said 60 'done'
    run ! grep -v '^elvis: [0-9]* devices\|^elvis: runs as root' elvis.txt
}
