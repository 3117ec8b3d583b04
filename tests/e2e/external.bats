# External measurement (--external) on the real QEMU: the host's clock against the guest's.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common

setup() { common_setup; }

# shellcheck disable=SC2016 # jq's variables
# The jq program that compares a row's two clocks. Only samples that the host timed count; the guest's
# wait at the start of a batch (its lead) is not part of the batch.
AGREE='
def median: sort | .[length / 2 | floor];
def heard($missing): [to_entries[] | select(.key as $i | $missing | index($i) | not) | .value];
[.rows[] | select(.benchmark != "idle")
    | .benchmark as $name
    | (.metrics[] | select(.name == "cost").boots[0]) as $in
    | (.metrics[] | select(.name == "cost_external").boots[0]) as $out
    | ($out.missing // []) as $missing
    | ($in.run | heard($missing)) as $inside
    | [$out.run[] | . - ($out.lead_ticks // 0)] as $outside
    | { name: $name,
        heard: ($outside | length),
        inside_ms: (($inside | median) / $hz * 1000),
        outside_ms: (($outside | median) / $hz * 1000),
        apart_ms: ([$inside, $outside] | transpose
            | map((.[1] - .[0]) / $hz * 1000 | if . < 0 then -. else . end) | sort | .[length / 4 | floor]) }
    | . + { differs: ((.outside_ms - .inside_ms) / .inside_ms | if . < 0 then -. else . end) }]'

# measure ITERATIONS: measures batches of so many operations. Writes agree.json: a line per row, in
# milliseconds.
measure() {
    rm -rf "$OUT"
    ws run --on qemu-tcg --external --boots 1 --timeout 120 --bench '^(idle|pushf-popf|in)$' \
        --iters "$1" -o "$OUT" >table.txt 2>log.txt
    hz=$(result qemu-tcg '.boots[0].launches[0].hello.clock_hz')
    jq -c --argjson hz "$hz" "$AGREE | .[]" "$OUT/qemu-tcg.json" >agree.json
    cat agree.json
}

# but CONDITION: the rows of agree.json that do not meet a condition.
but() { jq -c "select($1 | not)" agree.json; }

# bats test_tags=live
@test "the host's and the guest's times of batches over 10 ms agree within 10 %" {
    iterations=2000000
    # How late the host sees a mark depends on its load, so longer batches agree better.
    for attempt in 1 2 3 4; do
        measure "$iterations"
        [ "$(wc -l <agree.json)" -eq 2 ]
        if [ -n "$(but '.inside_ms > 10')" ]; then
            echo "attempt $attempt: a batch of $iterations takes less than 10 ms here"
        elif [ -n "$(but '.heard >= 15')" ]; then
            echo "attempt $attempt: this host was too busy to time half of the samples"
        elif [ -n "$(but '.differs < 0.1')" ]; then
            echo "attempt $attempt: the medians differ by more than 10 %"
        # Single batches too: a host that polls rarely is right only on average.
        elif [ "$(but '.apart_ms < 0.5' | wc -l)" -eq 2 ]; then
            echo "attempt $attempt: three quarters of the batches of both rows differ by more than 0.5 ms"
        else
            return 0
        fi
        iterations=$((iterations * 2))
    done
    false
}

@test "the table shows both clocks, their difference, and Idle's spread" {
    # A busy host's figures may be marked as noise.
    row='^io +in +[0-9.,]+( !)? +[0-9.,]+( !)? +[-+]?[0-9.]+ % +[0-9.,<]+ %'
    for attempt in 1 2 3 4 5; do
        rm -rf "$OUT"
        ws run --on qemu-tcg --external --boots 1 --samples 15 --bench '^(idle|in|ipi-running)$' \
            -o "$OUT" >table.txt 2>log.txt
        # Long lines below the table are wrapped.
        sed -i ':a; N; $!ba; s/\n  \([^ ]\)/ \1/g' table.txt
        ! grep -qE "$row" table.txt || break
        # The row may be missing only if the host was too busy to time half of the samples.
        grep 'the host did not receive their marks separately' log.txt
        echo "attempt $attempt"
    done
    grep -qE "$row" table.txt
    grep -qE 'external +differs +noise' table.txt
    grep -qE "Idle's batches are within [0-9,.]+ ticks of each other as timed by the guest, [0-9,.]+ by the host" table.txt
    # What cannot be timed from outside says why.
    grep -q 'no time from outside: the guest sent no marks: its loop times each operation' table.txt
    [ "$(result qemu-tcg '.rows[] | select(.benchmark == "in") | [.metrics[].name] | join(" ")')" = 'cost cost_external' ]
    [ "$(result qemu-tcg '.identity.subject.timed_from_outside')" = true ]
}

@test "the guest marks each batch, in order, only with external=1 and a unit of time" {
    marks() { tr -cd '\001\002\003' <marked.txt | od -An -v -tx1 | tr -d ' \n'; }
    # Boots; marked.txt is the console, console.txt the same without the marks.
    marked_boot() {
        boot -kernel "$GUEST/guest.elf" -append "$*"
        mv console.txt marked.txt
        tr -d '\001\002\003' <marked.txt >console.txt
    }
    words='bench=^sgdt$ samples=3 iters=1000'
    marked_boot "$words external=1"
    [ "$(marks)" = 010302030103020301030203 ]
    [ "$(records hello | jq .external)" = true ]
    [ "$(records result | jq '.lead > 0')" = true ]
    for more in 'external=0' '' 'external=1 unit=insns'; do
        marked_boot "$words $more"
        [ -z "$(marks)" ]
        [ "$(records hello | jq .external)" = false ]
        [ "$(records result | jq 'has("lead")')" = false ]
    done
}

@test "platforms that the host can't time are refused with the reason" {
    run -2 --separate-stderr ws run --external --on lab:native
    [[ $stderr == *'lab:native: it counts instructions'* ]]
    run -2 --separate-stderr ws run --external --on log:console.txt
    [[ $stderr == *'saved console'* ]]
    # Without --on it runs the platforms that can be timed, and lists those left out.
    ws run --external --boots 1 --samples 2 --bench '^idle$' -o "$OUT" >table.txt 2>log.txt
    grep -q 'left out: lab:native' log.txt
    [ -e "$OUT/qemu-tcg.json" ]
}
