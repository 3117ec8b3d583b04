# A guest with planted faults (tests/guests/planted.c): each costs its own row only.

load common

# One run for all tests of this file: on the lab, where a hang is as exact as the rest.
setup_file() {
    guest=$(planted_guest)
    export PLANTED=$BATS_FILE_TMPDIR
    timeout 250 "$WORLDSWITCH" run --on qemu-tcg --boots 1 --samples 3 --timeout 4 \
        --guest "$guest" -o "$PLANTED/out" >"$PLANTED/table.txt" 2>"$PLANTED/log.txt" ||
        echo "ended with $?" >>"$PLANTED/log.txt"
    timeout 60 "$WORLDSWITCH" list benchmarks --guest "$guest" >"$PLANTED/list.txt"
}

setup() {
    common_setup
    OUT=$PLANTED/out
}

status_of() { result qemu-tcg ".rows[] | select(.benchmark == \"$1\").status"; }
reason_of() { result qemu-tcg ".rows[] | select(.benchmark == \"$1\").reason"; }

@test "every row of the suite is measured, whatever stands behind it" {
    for row in idle sgdt sldt sidt smsw pushf-popf lgdt set-cr3 cpuid ipi-halted ipi-running \
        hot-memory-access cold-memory-access set-page-table-4k set-page-table-2m remap-page in out print; do
        [ "$(status_of "$row")" = ok ]
    done
    [ "$(result qemu-tcg '.rows | length')" -eq "$(grep -cE '^ *[a-z-]+ ' "$PLANTED/list.txt")" ] ||
        [ "$(result qemu-tcg '.rows | length')" -eq $(($(benchmarks) + 14)) ]
}

@test "exceptions: a fault, with its name and place" {
    for row in plant-ud plant-gp plant-pf; do
        [ "$(status_of "$row")" = fault ]
    done
    [[ $(reason_of plant-ud) == *'#UD'* ]]
    [[ $(reason_of plant-gp) == *'#GP'* ]]
    [[ $(reason_of plant-pf) == *'#PF'* ]]
}

@test "an endless loop: a timeout" {
    [ "$(status_of plant-loop)" = timeout ]
}

@test "a triple fault: the machine died, and the reason says how" {
    [ "$(status_of plant-triple)" = died ]
    [[ $(reason_of plant-triple) == *reset* ]]
}

@test "garbage, halves, wrong CRCs and old launches on the line: counted, and no row lost" {
    for row in plant-garbage plant-cut plant-crc plant-stale; do
        [ "$(status_of "$row")" = ok ]
    done
    [ "$(result qemu-tcg '[.boots[].launches[].bad_lines] | add')" -ge 3 ]
    [ "$(result qemu-tcg '[.boots[].launches[].stale_records] | add')" -ge 1 ]
    # The forged records speak of sgdt, 666666 ticks: no such sample may be in.
    [ "$(result qemu-tcg '[.rows[].metrics[]?.boots[].run[] | select(. == 666666)] | length')" -eq 0 ]
}

@test "a result that is lost on the line: the row is lost, no other" {
    [ "$(status_of plant-lost)" = lost ]
}

@test "a flood: the machine is killed, the row says why" {
    [ "$(status_of plant-flood)" = died ] || [ "$(status_of plant-flood)" = timeout ]
    [ "$(result qemu-tcg '[.boots[].launches[] | select(.end == "flood" or .end == "timeout")] | length')" -ge 1 ]
}

@test "a check that fails: the figures are not shown as a cost" {
    [ "$(status_of plant-check)" = failed ]
    [[ $(reason_of plant-check) == *'did not take place'* ]]
}

@test "hostile strings are shown, not obeyed" {
    run ! grep -q $'\x1b' "$PLANTED/table.txt"
    run ! grep -q $'\x1b' "$PLANTED/log.txt"
    ws show "$OUT" --markdown >t.md
    ws show "$OUT/qemu-tcg.json" >t.txt
    run ! grep -q $'\x1b' t.md
    run ! grep -q $'\x1b' t.txt
    run ! grep -q '<script>' t.md
    run ! grep -q '<img' t.md
}

@test "nothing is left behind" {
    ! pgrep -f "qemu-system.*$PLANTED" || false
}
