# `worldswitch run io`: servers of disks and networks in turns, under small loads; its results are like any others.
# Tests assert counts, not times.

# `run` sets $output and $status.
# shellcheck disable=SC2154

# bats file_tags=live

load common

setup() { common_setup; }

SMALL=(--rounds 2 --measure 50 --warmup 50)

# The sum of a metric's samples over all rounds of a row.
sum() {
    result "$1" "[.rows[] | select(.benchmark == \"$2\").metrics[] | select(.name == \"$3\").boots[].run[]] | add"
}

@test "elvis and its baselines on the same load, kept as results, shown and drawn" {
    ws run io --server elvis,elvis@fine-grained --devices 2 --depth 1,4 --replies eventfd \
        --disk tmpfs "${SMALL[@]}" -o "$OUT" >table.txt
    [ "$(grep -c '^ *elvis\|devices-depth' table.txt)" -ge 2 ]
    for server in elvis elvis@fine-grained; do
        [ "$(result "$server" '[.rows[] | select(.status == "ok")] | length')" -eq 2 ]
        [ "$(result "$server" '.boots | length')" -eq 2 ]
        [ "$(sum "$server" 2-devices-depth-1-eventfd requests)" -gt 0 ]
    done
    # At depth 1 a server that does not suppress notifications gets a kick for each request.
    kicks=$(sum elvis@fine-grained 2-devices-depth-1-eventfd kicks)
    requests=$(result elvis@fine-grained '[.rows[0].metrics[] | select(.name == "kicks").boots[].iterations] | add')
    [ $((kicks * 2)) -gt "$requests" ]
    ws show "$OUT" | grep -q 2-devices-depth-4-eventfd
    ws report "$OUT" -o page.html
    grep -q 2-devices-depth-4-eventfd page.html
    run ws compare "$OUT:elvis@fine-grained" "$OUT:elvis"
    [ "$status" -eq 0 ] || [ "$status" -eq 3 ] || [ "$status" -eq 4 ]
}

@test "the paper's figures as one command, drawn by the report" {
    ws run io scaling mixed ablation --quick --rounds 1 --measure 50 \
        --server elvis,elvis@per-device -o "$OUT" >table.txt 2>notes.txt
    rows='scaling-1 scaling-4 scaling-14 mixed-1-throughput mixed-1-latency mixed-6-throughput mixed-6-latency ablation-1 ablation-3 ablation-7'
    for server in elvis elvis@per-device; do
        [ "$(result "$server" '[.rows[] | select(.status == "ok").benchmark] | join(" ")')" = "$rows" ]
        # The doctor ran.
        [ "$(result "$server" '.disturbances | type')" = array ]
    done
    # One process per device, and one sample of each.
    [ "$(result elvis '.rows[2].metrics[] | select(.name == "latency_p99").boots[0].run | length')" -eq 14 ]
    ws report "$OUT" -o page.html
    # Six quantities of scaling, of mixed's two roles and of ablation, and ablation over the Baseline: two
    # curves each.
    [ "$(grep -o 'class="curve"' page.html | wc -l)" -eq 50 ]
    # Notes and page say that clients had to share CPUs.
    [ "$(grep -c 'up to 14 clients shared' notes.txt)" -eq $(($(nproc) < 15)) ]
    [ "$(grep -c 'with up to 14 clients on' page.html)" -eq $(($(nproc) < 15)) ]
    run ws run io mixed --devices 3 --server elvis
    [ "$status" -eq 2 ]
    [[ $output = *'--devices works only with'* ]]
}

@test "14 processes drive 14 disks of one I/O core: all that they wrote is read back" {
    ws run io integrity --quick -o "$OUT" | grep 'blocks compared'
    [ "$(result elvis '.rows[0].status')" = ok ]
    [ "$(result elvis '[.rows[0].outcomes[].check.verdict] | unique | join(" ")')" = proved ]
    # Each of them compared something, in each round.
    [ "$(result elvis '[.rows[0].metrics[] | select(.name == "compared").boots[].run | length] | join(" ")')" = '14 14' ]
    [ "$(result elvis '[.rows[0].metrics[] | select(.name == "compared").boots[].run[]] | min')" -gt 0 ]
    # A disk that drops writes is detected.
    run ws run io integrity --quick --disk null --rounds 1 --devices 2 -o none
    [ "$status" -eq 1 ]
    [[ $output = *'was read back wrong'* ]]
}

@test "an overloaded I/O core: shares by weight, and low latency beside a busy device" {
    # Only the order is checked here. Exact shares and the 99th percentile need an idle host
    # (tests/long/io.bats), or the daemon's own test, which does not depend on when a client runs.
    ws run io shares stuck --quick --measure 300 -o "$OUT"
    result elvis '[.rows[] | select(.benchmark | startswith("shares-3")) |
        [.metrics[] | select(.name == "requests").boots[].run[]] | add] | .[0] < .[1] and .[1] < .[2]' | grep true
    p50() {
        result "$1" '[.rows[] | select(.benchmark == "stuck-1-latency").metrics[] | select(.name == "latency_p50").boots[].run | add] | min'
    }
    # 0.56 of it on an idle host.
    [ "$(p50 elvis)" -lt $(($(p50 elvis+stuck_5frule=false) * 9 / 10)) ]
}

@test "network devices: an echo, streams, and an echo beside a disk" {
    # The lab's DPDK, as the step lab-fetch fetches it: nothing is installed.
    fetch_packages dpdk
    WORDS=(--rounds 1 --measure 50 --warmup 20)
    ws run io rr --server elvis,testpmd,qemu-storage-daemon --devices 1 "${WORDS[@]}" -o "$OUT" || [ $? -eq 1 ]
    for server in elvis testpmd; do
        [ "$(result "$server" '.rows[0].status')" = ok ]
        [ "$(sum "$server" rr-1 requests)" -gt 0 ]
    done
    # Without disks and networks of their own, servers are rows with the reason.
    [ "$(result qemu-storage-daemon '.rows[0] | .status + ": " + .reason')" = 'skip: it serves no network devices' ]
    ws run io stream mixed-net --server elvis,testpmd "${WORDS[@]}" -o more || [ $? -eq 1 ]
    rows='stream-64 stream-1514 stream-65226 mixed-net-1-disk mixed-net-1-rr'
    [ "$(jq -r '[.rows[] | select(.status == "ok").benchmark] | join(" ")' more/elvis.json)" = "$rows" ]
    [ "$(jq -r '[.rows[] | select(.status == "ok").benchmark] | join(" ")' more/testpmd.json)" = 'stream-64 stream-1514' ]
    [[ $(jq -r '.rows[3].reason' more/testpmd.json) = *'serves no disks' ]]
    ws show more | grep -q mixed-net-1-rr
    ws report more -o page.html
    grep -q 'Stream between network devices' page.html
    # Clients that wait for calls get one for a frame, and the server is kicked for each until it polls.
    ws run io rr --server elvis@fine-grained --devices 1 --replies eventfd "${WORDS[@]}" -o calls
    [ "$(jq '[.rows[0].metrics[] | select(.name == "kicks" or .name == "calls").boots[].run[]] | min' calls/elvis@fine-grained.json)" -gt 0 ]
    run ws run io rr --verify
    [ "$status" -eq 2 ]
    [[ $output = *'--verify is for disks'* ]]
}

@test "a running server of network devices, and no DPDK" {
    "${WORLDSWITCH%/*}/elvis" serve --net "$PWD/a.sock=switch:x" --net "$PWD/b.sock=switch:x" 3>&- 2>peer.txt &
    peer=$!
    eventually listens "$PWD/b.sock"
    # A cache without DPDK.
    mkdir empty
    run env XDG_CACHE_HOME="$PWD/empty" "$WORLDSWITCH" run io rr --server testpmd --peer "theirs=$PWD/a.sock,$PWD/b.sock" \
        --devices 1 --rounds 1 --measure 50 --warmup 20 -o "$OUT"
    kill "$peer"
    [ "$(result theirs '.rows[0].status')" = ok ]
    [ "$(result theirs '[.rows[0].metrics[] | select(.name == "requests").boots[].run[]] | add > 0')" = true ]
    if [ -z "$(type -P dpdk-testpmd)" ]; then
        [[ $(result testpmd '.rows[0] | .status + ": " + .reason') = 'skip: dpdk-testpmd is not installed: run worldswitch lab fetch dpdk'* ]]
    fi
}

@test "one client for many devices" {
    ws run io --one-client --server elvis --devices 8 --depth 2 --replies poll "${SMALL[@]}" -o one
    [ "$(jq '.rows[0].metrics[] | select(.name == "requests").boots[0].run | length' one/elvis.json)" -eq 8 ]
}

@test "disks past the page cache, in a folder of the user's; the first server beside each other one" {
    mkdir disks a,b
    ws run io peers --quick --disk file --disk-folder disks --server elvis,elvis@fine-grained --replies poll --verify \
        --rounds 1 --measure 50 --warmup 0 -o "$OUT" --export-json table.json
    for server in elvis elvis@fine-grained; do
        [ "$(result "$server" '[.rows[] | .status + " " + .conditions.disk] | unique | join(", ")')" = 'ok file' ]
    done
    jq -e '[.rows[] | .of_first != null] == [false, true, false, true]' table.json
    [ -z "$(ls disks)" ]
    run -1 ws run io peers --disk file --disk-folder none
    [[ $output = *"disks of the type file need a folder: $PWD/none: No such file"* ]]
    run -2 ws run io peers --disk file --disk-folder a,b
    [[ $output = *'has a comma'*'--disk-folder'* ]]
    run -2 ws run io peers --quick --disk-folder disks
    [[ $output = *'add --disk file'* ]]
}

@test "what requests can't be explained is refused before anything boots" {
    run -2 ws run io --explain
    [[ $output = *'--on <PLATFORM,...>'* ]]
    run -2 ws run io --on lab:kvm-linux --explain
    [[ $output = *'at most 3 rows, and 28 were chosen'*'--device REGEX'* ]]
    run -2 ws run io --on lab:kvm-linux --device '^none$' --explain
    [[ $output = *'no row matches --device'* ]]
    run -2 ws run io --on lab:kvm-intel-linux --device '^elvis$' --depth 1 --busy=no --explain
    [[ $output = *"can't record lab:kvm-intel-linux"* ]]
}

@test "a peer that listens already, and servers that do not exist" {
    "${WORLDSWITCH%/*}/elvis" serve --blk "$PWD/peer.sock=null:64M" 3>&- 2>peer.txt &
    peer=$!
    eventually listens "$PWD/peer.sock"
    run ws run io --server qemu-storage-daemon --peer "theirs=$PWD/peer.sock" --stop-peers --devices 1,2 --depth 1 \
        --replies eventfd "${SMALL[@]}" -o "$OUT"
    # It was stopped while others were measured (crates/io/src/turns.rs has the test of that), and goes on.
    goes_on=$(grep -c '^State:.*[SR] (' "/proc/$peer/status") || true
    kill "$peer"
    [ "$goes_on" = 1 ]
    [ "$(result theirs '.rows[0].status')" = ok ]
    # It serves one device, not two: its row has the reason.
    [ "$(result theirs '.rows[1].status')" = died ]
    [[ $(result theirs '.rows[1].reason') = *'theirs has 1 sockets, not 2'* ]]
    [ "$status" -eq 1 ]
    run ws run io --peer "theirs=$PWD/none.sock" -o none
    [ "$status" -eq 1 ]
    [[ $output = *"theirs: can't use the socket $PWD/none.sock: No such file"* ]]
    run ws run io --server elvis --stop-peers
    [ "$status" -eq 2 ]
    # The message says which server ended, and why a client failed.
    run ws run io --server elvis --elvis /bin/true --devices 1 --depth 1 --replies poll --rounds 1 --measure 50 -o ended
    [ "$status" -eq 1 ]
    [[ $output = *'elvis ended (exit status: 0): a client ended: '*'0.sock: No such file'* ]]
    run ws run io --server elvis --elvis nowhere -o none
    [ "$status" -eq 1 ]
    [[ $output = *'name it with --elvis FILE'* ]]
    run ws run io --server spdk
    [ "$status" -eq 2 ]
    [[ $output = *'is not a server: choose elvis'* ]]
}
