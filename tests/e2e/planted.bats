# A guest with planted faults (tests/guests/planted.c): each affects its own row only.

load common

# One run has all rows of this file except those that only the timeout ends, and a long timeout, as the host
# may be busy. The others are in a second run beside it, with a row before and a row after them.
setup_file() {
    export PLANTED=$BATS_FILE_TMPDIR
    # The path identifies this file's machines.
    cp "$(planted_guest)" "$PLANTED/guest.elf"
    planted endless '^(idle|plant-loop|plant-flood|plant-check)$' --timeout 5 3>&- &
    local suite="[^p]|p[^l]|"
    # The suite's own rows do not depend on the host, so tests with the tag live leave them out.
    [ -z "${LIVE-}" ] || suite=
    planted out "^(${suite}plant-([^lf]|lo[^o]))" --timeout 300
    wait
}

# planted NAME BENCHMARKS ARGUMENT...: runs benchmarks, with results in $PLANTED/NAME.
planted() {
    LIMIT=400 ws run --on qemu-tcg --boots 1 --samples 3 --bench "$2" "${@:3}" --guest "$PLANTED/guest.elf" \
        -o "$PLANTED/$1" >"$PLANTED/$1-table.txt" 2>"$PLANTED/$1-log.txt" ||
        echo "ended with $?" >>"$PLANTED/$1-log.txt"
}

setup() {
    common_setup
    OUT=$PLANTED/out
}

# of BENCHMARK EXPRESSION: a value of a row, from the run that has it.
of() {
    case $1 in
    plant-loop | plant-flood) OUT=$PLANTED/endless result qemu-tcg ".rows[] | select(.benchmark == \"$1\")$2" ;;
    *) result qemu-tcg ".rows[] | select(.benchmark == \"$1\")$2" ;;
    esac
}
status_of() { of "$1" .status; }
reason_of() { of "$1" .reason; }

@test "every row of the suite is measured, whatever rows follow" {
    for row in idle sgdt sldt sidt smsw pushf-popf lgdt set-cr3 cpuid ipi-halted ipi-running \
        hot-memory-access cold-memory-access set-page-table-4k set-page-table-2m remap-page in out print; do
        [ "$(status_of "$row")" = ok ]
    done
    # Two of the fourteen are in the other run.
    [ "$(result qemu-tcg '.rows | length')" -eq $(($(benchmarks) + 12)) ]
    [ "$(jq -c '[.rows[] | [.benchmark, .status] | select(.[0] | IN("idle", "plant-check"))]' "$PLANTED/endless/qemu-tcg.json")" = \
        '[["idle","ok"],["plant-check","failed"]]' ]
}

@test "exceptions: fault, with its name and place" {
    for row in plant-ud plant-gp plant-pf; do
        [ "$(status_of "$row")" = fault ]
    done
    [[ $(reason_of plant-ud) == *'#UD'* ]]
    [[ $(reason_of plant-gp) == *'#GP'* ]]
    [[ $(reason_of plant-pf) == *'#PF'* ]]
}

# bats test_tags=live
@test "an endless loop: timeout" {
    [ "$(status_of plant-loop)" = timeout ]
}

# bats test_tags=live
@test "a triple fault: died, and the reason says how" {
    [ "$(status_of plant-triple)" = died ]
    [[ $(reason_of plant-triple) == *reset* ]]
}

# bats test_tags=live
@test "garbage, cut records, wrong CRCs and old launches on the line: counted, and no row lost" {
    for row in plant-garbage plant-cut plant-crc plant-stale; do
        [ "$(status_of "$row")" = ok ]
    done
    [ "$(result qemu-tcg '[.boots[].launches[].bad_lines] | add')" -ge 3 ]
    [ "$(result qemu-tcg '[.boots[].launches[].stale_records] | add')" -ge 1 ]
    # The forged records have samples of 666666 ticks for sgdt: none may be in the results.
    [ "$(result qemu-tcg '[.rows[].metrics[]?.boots[].run[] | select(. == 666666)] | length')" -eq 0 ]
}

# bats test_tags=live
@test "a result that is lost on the line: only its row is lost" {
    [ "$(status_of plant-lost)" = lost ]
}

# bats test_tags=live
@test "a flood: the machine is killed, and the row has the reason" {
    [ "$(status_of plant-flood)" = died ] || [ "$(status_of plant-flood)" = timeout ]
    [ "$(jq '[.boots[].launches[] | select(.end == "flood" or .end == "timeout")] | length' "$PLANTED/endless/qemu-tcg.json")" -eq 2 ]
}

@test "a check that fails: no cost is shown" {
    [ "$(status_of plant-check)" = failed ]
    [[ $(reason_of plant-check) == *'did not take place'* ]]
}

@test "hostile strings are escaped" {
    run ! grep -q $'\x1b' "$PLANTED"/*-table.txt "$PLANTED"/*-log.txt
    ws show "$OUT" --markdown >t.md
    ws show "$OUT/qemu-tcg.json" >t.txt
    run ! grep -q $'\x1b' t.md
    run ! grep -q $'\x1b' t.txt
    run ! grep -q '<script>' t.md
    run ! grep -q '<img' t.md
}

# bats test_tags=live
@test "no machine is left" {
    ! pgrep -f -- "-kernel $PLANTED/guest.elf" || false
}
