# `worldswitch io`: servers of block devices by turns, small loads; what it writes is a result like any
# other. Counts are asserted, no times.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup() { common_setup; }

SMALL=(--rounds 2 --measure 50 --warmup 50)

# The sum of a metric's samples over all rounds of a row.
sum() {
    result "$1" "[.rows[] | select(.benchmark == \"$2\").metrics[] | select(.name == \"$3\").boots[].run[]] | add"
}

@test "elvis and its baselines on the same load, kept as results, shown and drawn" {
    ws io --server elvis,elvis@fine-grained --devices 2 --depth 1,4 --replies eventfd \
        --disk tmpfs "${SMALL[@]}" -o "$OUT" >table.txt
    [ "$(grep -c '^ *elvis\|devices-depth' table.txt)" -ge 2 ]
    for server in elvis elvis@fine-grained; do
        [ "$(result "$server" '[.rows[] | select(.status == "ok")] | length')" -eq 2 ]
        [ "$(result "$server" '.boots | length')" -eq 2 ]
        [ "$(sum "$server" 2-devices-depth-1-eventfd requests)" -gt 0 ]
    done
    # At depth 1 whoever keeps notifications is kicked for each request.
    kicks=$(sum elvis@fine-grained 2-devices-depth-1-eventfd kicks)
    requests=$(result elvis@fine-grained '[.rows[0].metrics[] | select(.name == "kicks").boots[].iterations] | add')
    [ $((kicks * 2)) -gt "$requests" ]
    ws show "$OUT" | grep -q 2-devices-depth-4-eventfd
    ws report "$OUT" -o page.html
    grep -q 2-devices-depth-4-eventfd page.html
    run ws compare "$OUT:elvis@fine-grained" "$OUT:elvis"
    [ "$status" -eq 0 ] || [ "$status" -eq 3 ] || [ "$status" -eq 4 ]
}

@test "a load of two kinds of devices, and one client for many" {
    ws io --mixed --server elvis "${SMALL[@]}" -o "$OUT"
    [ "$(result elvis '[.rows[] | select(.status == "ok").benchmark] | join(" ")')" = 'mixed-throughput mixed-latency' ]
    [ "$(result elvis '.rows[1].metrics[] | select(.name == "latency_p99").boots[0].run | length')" -eq 6 ]
    ws io --one-client --server elvis --devices 8 --depth 2 --replies poll "${SMALL[@]}" -o one
    [ "$(jq '.rows[0].metrics[] | select(.name == "requests").boots[0].run | length' one/elvis.json)" -eq 8 ]
}

@test "a peer that listens already, and servers that are not there" {
    "${WORLDSWITCH%/*}/elvis" serve --blk "$PWD/peer.sock=null:64M" 3>&- 2>peer.txt &
    peer=$!
    run ws io --server qemu-storage-daemon --peer "theirs=$PWD/peer.sock" --devices 1,2 --depth 1 \
        --replies eventfd "${SMALL[@]}" -o "$OUT"
    kill "$peer"
    [ "$(result theirs '.rows[0].status')" = ok ]
    # It serves one device, not two: said in its row.
    [ "$(result theirs '.rows[1].status')" = died ]
    [[ $(result theirs '.rows[1].reason') = *'theirs has 1 sockets, not 2'* ]]
    [ "$status" -eq 1 ]
    run ws io --server elvis --elvis nowhere -o none
    [ "$status" -eq 1 ]
    [[ $output = *'--elvis FILE names another'* ]]
    run ws io --server spdk
    [ "$status" -eq 2 ]
    [[ $output = *'none of elvis'* ]]
}
