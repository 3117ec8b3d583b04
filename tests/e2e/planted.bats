# A guest with planted faults (tests/guests/planted.c): each costs its own row only.

load common

# One run for all rows of this file but those that only a limit ends: all others may take as long as the
# host is busy. These have a run beside it, with a row before and behind them.
setup_file() {
    export PLANTED=$BATS_FILE_TMPDIR
    # Its machines are known by its path.
    cp "$(planted_guest)" "$PLANTED/guest.elf"
    planted endless '^(idle|plant-loop|plant-flood|plant-check)$' --timeout 5 3>&- &
    local suite="[^p]|p[^l]|"
    # Nothing of the host has a say in the suite's own rows.
    [ -z "${LIVE-}" ] || suite=
    planted out "^(${suite}plant-([^lf]|lo[^o]))" --timeout 300
    wait
}

# planted NAME BENCHMARKS WORDS...
planted() {
    LIMIT=400 ws run --on qemu-tcg --boots 1 --samples 3 --bench "$2" "${@:3}" --guest "$PLANTED/guest.elf" \
        -o "$PLANTED/$1" >"$PLANTED/$1-table.txt" 2>"$PLANTED/$1-log.txt" ||
        echo "ended with $?" >>"$PLANTED/$1-log.txt"
}

setup() {
    common_setup
    OUT=$PLANTED/out
}

# Of the run in which the row is.
of() {
    case $1 in
    plant-loop | plant-flood) OUT=$PLANTED/endless result qemu-tcg ".rows[] | select(.benchmark == \"$1\")$2" ;;
    *) result qemu-tcg ".rows[] | select(.benchmark == \"$1\")$2" ;;
    esac
}
status_of() { of "$1" .status; }
reason_of() { of "$1" .reason; }

@test "every row of the suite is measured, whatever stands behind it" {
    for row in idle sgdt sldt sidt smsw pushf-popf lgdt set-cr3 cpuid ipi-halted ipi-running \
        hot-memory-access cold-memory-access set-page-table-4k set-page-table-2m remap-page in out print; do
        [ "$(status_of "$row")" = ok ]
    done
    # Two of the fourteen are in the other run.
    [ "$(result qemu-tcg '.rows | length')" -eq $(($(benchmarks) + 12)) ]
    [ "$(jq -c '[.rows[] | [.benchmark, .status] | select(.[0] | IN("idle", "plant-check"))]' "$PLANTED/endless/qemu-tcg.json")" = \
        '[["idle","ok"],["plant-check","failed"]]' ]
}

@test "exceptions: a fault, with its name and place" {
    for row in plant-ud plant-gp plant-pf; do
        [ "$(status_of "$row")" = fault ]
    done
    [[ $(reason_of plant-ud) == *'#UD'* ]]
    [[ $(reason_of plant-gp) == *'#GP'* ]]
    [[ $(reason_of plant-pf) == *'#PF'* ]]
}

# bats test_tags=live
@test "an endless loop: a timeout" {
    [ "$(status_of plant-loop)" = timeout ]
}

# bats test_tags=live
@test "a triple fault: the machine died, and the reason says how" {
    [ "$(status_of plant-triple)" = died ]
    [[ $(reason_of plant-triple) == *reset* ]]
}

# bats test_tags=live
@test "garbage, halves, wrong CRCs and old launches on the line: counted, and no row lost" {
    for row in plant-garbage plant-cut plant-crc plant-stale; do
        [ "$(status_of "$row")" = ok ]
    done
    [ "$(result qemu-tcg '[.boots[].launches[].bad_lines] | add')" -ge 3 ]
    [ "$(result qemu-tcg '[.boots[].launches[].stale_records] | add')" -ge 1 ]
    # The forged records speak of sgdt, 666666 ticks: no such sample may be in.
    [ "$(result qemu-tcg '[.rows[].metrics[]?.boots[].run[] | select(. == 666666)] | length')" -eq 0 ]
}

# bats test_tags=live
@test "a result that is lost on the line: the row is lost, no other" {
    [ "$(status_of plant-lost)" = lost ]
}

# bats test_tags=live
@test "a flood: the machine is killed, the row says why" {
    [ "$(status_of plant-flood)" = died ] || [ "$(status_of plant-flood)" = timeout ]
    [ "$(jq '[.boots[].launches[] | select(.end == "flood" or .end == "timeout")] | length' "$PLANTED/endless/qemu-tcg.json")" -eq 2 ]
}

@test "a check that fails: the figures are not shown as a cost" {
    [ "$(status_of plant-check)" = failed ]
    [[ $(reason_of plant-check) == *'did not take place'* ]]
}

@test "hostile strings are shown, not obeyed" {
    run ! grep -q $'\x1b' "$PLANTED"/*-table.txt "$PLANTED"/*-log.txt
    ws show "$OUT" --markdown >t.md
    ws show "$OUT/qemu-tcg.json" >t.txt
    run ! grep -q $'\x1b' t.md
    run ! grep -q $'\x1b' t.txt
    run ! grep -q '<script>' t.md
    run ! grep -q '<img' t.md
}

# bats test_tags=live
@test "nothing is left behind" {
    ! pgrep -f -- "-kernel $PLANTED/guest.elf" || false
}
