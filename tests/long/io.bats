# `worldswitch io` at length: what needs a host that is mostly left alone.

# shellcheck disable=SC2154

load ../e2e/common

setup() { common_setup; }

# The median of the rounds of a metric's mean over devices, in a row of a server's file.
median() {
    result "$1" "[.rows[] | select(.benchmark == \"$2\").metrics[] | select(.name == \"$3\").boots[].run | add / length] | sort | .[length / 2 | floor]"
}

@test "the rule about stuck queues halves the 99th percentile of those that wait for a busy device" {
    LIMIT=300 ws io stuck --rounds 9 -o "$OUT"
    on=$(median elvis stuck-1-latency latency_p99)
    off=$(median elvis+stuck_5frule=false stuck-1-latency latency_p99)
    echo "p99: $on ns with the rule, $off ns without" >&2
    jq -en "$on * 2 <= $off"
}

@test "devices of one I/O core get equal shares, or by their weights within 10 %" {
    ws io shares --rounds 5 -o "$OUT"
    # shellcheck disable=SC2016  # jq's own
    jain=$(result elvis '[.rows[] | select(.benchmark == "shares-14-equal").metrics[] | select(.name == "requests").boots[]
        | (.run | add) as $sum | $sum * $sum / ((.run | length) * (.run | map(. * .) | add))] | sort | .[2]')
    one=$(median elvis shares-3-weight-1 requests)
    two=$(median elvis shares-3-weight-2 requests)
    four=$(median elvis shares-3-weight-4 requests)
    echo "Jain $jain; weights 1, 2, 4: $one, $two, $four" >&2
    jq -en "$jain > 0.98"
    jq -en "[$one, $two / 2, $four / 4] as \$all | (\$all | add / 3) as \$fair
        | all(\$all[]; . / \$fair > 0.9 and . / \$fair < 1.1)"
}

@test "all experiments to the end, whole" {
    LIMIT=1500 ws io scaling mixed ablation stuck shares integrity -o "$OUT"
    for file in "$OUT"/*.json; do
        [ "$(jq '[.rows[] | select(.status != "ok")] | length' "$file")" -eq 0 ]
    done
    ws report "$OUT" -o page.html
}
