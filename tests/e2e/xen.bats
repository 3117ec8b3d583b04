# Xen in the x86 lab: one boot of 4.17, whose counts are those of every boot and host. make test-long boots it and 4.20
# twice (XENS, BOOTS), with the rows that need two CPUs (TWO_CPUS). lab-arm.bats has these rows on ARM.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup_file() {
    export XENS=${XENS:-lab:xen} BOOTS=${BOOTS:-1} RUN=$BATS_FILE_TMPDIR/run
    mapfile -t xens < <(tr , '\n' <<<"$XENS")
    fetch_packages "${xens[@]}"
    LIMIT=1700 ws run --on "$XENS" --boots "$BOOTS" -o "$RUN" \
        --bench "^(hypercall|cpuid|in|event-channel)(-unpaged)?\$|^(cr8-read|self-ipi-priority|event-(switch${TWO_CPUS:+|out|in}))\$" >&2
}

setup() {
    common_setup
    mapfile -t xens < <(tr ',:' '\n-' <<<"$XENS")
}

# exact XEN ROW...: checks that all rows are measured, and the same in all boots.
exact() {
    local row
    for row in "${@:2}"; do
        [ "$(value "$RUN/$1" "$row" '"\(.status) \(.metrics[0].boots | length)"')" = "ok $BOOTS" ]
        [ "$BOOTS" -eq 1 ] || [ "$(value "$RUN/$1" "$row" .exact)" = true ]
    done
}

# After a change of Xen, of these rows or of how it is started, put the new numbers here.
@test "Xen 4.17: the kept counts" {
    while read -r row count; do
        as_kept "$row" "$(insns "$RUN/lab-xen" "$row")" "$count" is_pinned "$RUN/lab-xen.json"
    done <<'COUNTS'
hypercall 5567
cpuid 5446
in 990
event-channel 59971
COUNTS
}

@test "the same counts in all boots, a round trip of events costs more than its hypercalls" {
    for xen in "${xens[@]}"; do
        exact "$xen" hypercall cpuid in event-channel
        [ "$(insns "$RUN/$xen" hypercall)" -gt 4500 ]
        [ "$(insns "$RUN/$xen" hypercall)" -lt 6500 ]
        # A round trip has four hypercalls.
        [ "$(insns "$RUN/$xen" event-channel)" -gt $((4 * $(insns "$RUN/$xen" hypercall))) ]
        # Rows that would crash the emulator are skipped.
        [ "$xen" = lab-xen ] || [ "$(value "$RUN/$xen" cr8-read .status)" = ok ]
        [ "$xen" = lab-xen ] || [[ $(value "$RUN/$xen" self-ipi-priority .reason) == 'QEMU dies where'* ]]
    done
    # Two versions of Xen have different counts.
    [ "$(for xen in "${xens[@]}"; do insns "$RUN/$xen" hypercall; done | sort -u | wc -l)" -eq ${#xens[@]} ]
}

@test "the halves of a round trip: stamps of dom0's clock between the guest's looks, one for each event" {
    local whole row figure halves=(${TWO_CPUS:+event-out event-in})
    for xen in "${xens[@]}"; do
        exact "$xen" event-switch "${halves[@]}"
        for row in event-switch "${halves[@]}"; do
            [ "$(value "$RUN/$xen" "$row" '[.outcomes[].check.verdict] | unique | join(" ")')" = proved ]
            [[ $(value "$RUN/$xen" "$row" '.outcomes[0].check.note') == '64 events sent, 64 stamps, 0 of them outside; '* ]]
        done
        [ -z "${TWO_CPUS-}" ] || [[ $(value "$RUN/$xen" event-in '.outcomes[0].check.note') == *'; 64 interrupts' ]]
        # Half of a round trip and its two hypercalls; on a CPU of its own dom0 needs no switch.
        whole=$(insns "$RUN/$xen" event-channel)
        figure=$(insns "$RUN/$xen" event-switch)
        echo "$xen: event-channel $whole, event-switch $figure"
        [ $((10 * figure)) -gt $((4 * whole)) ] && [ $((10 * figure)) -lt $((6 * whole)) ]
        for row in "${halves[@]}"; do
            [ "$(insns "$RUN/$xen" "$row")" -gt "$(insns "$RUN/$xen" hypercall)" ]
            [ "$(insns "$RUN/$xen" "$row")" -lt "$figure" ]
        done
    done
}

@test "-unpaged rows: near the counts of a guest that never had paging" {
    # The counts of such a guest on Xen 4.17, with its APIC off; docs/notebook/lab-xen.md explains the difference.
    while read -r row without slack; do
        for xen in "${xens[@]}"; do
            exact "$xen" "$row-unpaged"
            figure=$(insns "$RUN/$xen" "$row-unpaged")
            echo "$xen $row-unpaged: $figure"
            [ $((figure - without)) -lt "$slack" ] && [ $((without - figure)) -lt "$slack" ]
            # Page walks are nearly half of a paged row's count, except for IN, which needs none.
            [ "$row" = in ] || [ $((10 * $(insns "$RUN/$xen" "$row"))) -gt $((19 * figure)) ]
            [ "$row" != event-channel ] || [ "$(value "$RUN/$xen" "$row-unpaged" '.outcomes[0].check.verdict')" = proved ]
        done
    done <<'FIGURES'
hypercall 2594 200
cpuid 2473 200
in 1185 250
event-channel 26684 2500
FIGURES
}
