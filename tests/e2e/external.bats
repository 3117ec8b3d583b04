# External measurement on the real QEMU: the host's clock against the guest's.

# `run --separate-stderr` sets $stderr, which shellcheck does not know.
# shellcheck disable=SC2154

load common

setup() { common_setup; }

# shellcheck disable=SC2016 # jq's variables
# What jq needs to compare a row's two clocks. Only samples that were heard count, and what the
# guest waited at the start of a batch (its lead) is no part of the batch.
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

# Batches of $1 operations, measured once. Writes agree.json: a line a row, in milliseconds.
measure() {
    rm -rf "$OUT"
    ws run --on qemu-tcg --external --boots 1 --timeout 120 --bench '^(idle|pushf-popf|in)$' \
        --iters "$1" -o "$OUT" >table.txt 2>log.txt
    hz=$(result qemu-tcg '.boots[0].launches[0].hello.clock_hz')
    jq -c --argjson hz "$hz" "$AGREE | .[]" "$OUT/qemu-tcg.json" >agree.json
    cat agree.json
}

# The rows of agree.json for which a condition does not hold.
but() { jq -c "select($1 | not)" agree.json; }

# bats test_tags=live
@test "from outside and from inside, batches over 10 ms agree within 10 %" {
    iterations=2000000
    # How late a mark is heard depends on the host, so longer batches agree better.
    for attempt in 1 2 3 4; do
        measure "$iterations"
        [ "$(wc -l <agree.json)" -eq 2 ]
        if [ -n "$(but '.inside_ms > 10')" ]; then
            echo "attempt $attempt: a batch of $iterations is no 10 ms here"
        elif [ -n "$(but '.heard >= 15')" ]; then
            echo "attempt $attempt: this host was too busy to hear half of the samples"
        elif [ -n "$(but '.differs < 0.1')" ]; then
            echo "attempt $attempt: the medians differ by more than 10 %"
        # Single batches too: a host that looks only now and then is right on average.
        elif [ "$(but '.apart_ms < 0.5' | wc -l)" -eq 2 ]; then
            echo "attempt $attempt: of both rows three quarters of the batches differ by more than 0.5 ms"
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
        ! grep -qE "$row" table.txt || break
        # Only where the host was too busy to hear half of them it may be missing.
        grep 'the host did not hear their marks apart' log.txt
        echo "attempt $attempt"
    done
    grep -qE "$row" table.txt
    grep -qE 'external +differs +noise' table.txt
    grep -qE "Idle's batches lie within [0-9,.]+ ticks of each other from inside, [0-9,.]+ from outside" table.txt
    # What cannot be timed from outside says why.
    grep -q 'no time from outside: the guest sent no marks: its loop times each operation' table.txt
    [ "$(result qemu-tcg '.rows[] | select(.benchmark == "in") | [.metrics[].name] | join(" ")')" = 'cost cost_external' ]
    [ "$(result qemu-tcg '.identity.subject.timed_from_outside')" = true ]
}

@test "the guest marks each batch, in order, only when it is asked to and time is measured" {
    marks() { tr -cd '\001\002\003' <marked.txt | od -An -v -tx1 | tr -d ' \n'; }
    # Boots, and leaves what the guest said without its marks in console.txt.
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

@test "where no host's clock can help, it is refused with the reason" {
    run -2 --separate-stderr ws run --external --on lab:native
    [[ $stderr == *'lab:native: it counts instructions'* ]]
    run -2 --separate-stderr ws run --external --on log:console.txt
    [[ $stderr == *'saved console'* ]]
    # Of the platforms that nobody named, it takes those that can, and says which it left out.
    ws run --external --boots 1 --samples 2 --bench '^idle$' -o "$OUT" >table.txt 2>log.txt
    grep -q 'left out: lab:native' log.txt
    [ -e "$OUT/qemu-tcg.json" ]
}
