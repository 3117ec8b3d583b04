# Xen in the x86 lab: 4.17; make test-long also has 4.20, which doubles the time.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load common

setup_file() {
    export XENS=${XENS:-lab:xen} RUN=$BATS_FILE_TMPDIR/run
    mapfile -t xens < <(tr , '\n' <<<"$XENS")
    fetch_packages --newest "${xens[@]}"
    LIMIT=1700 ws run --on "$XENS" --boots 2 -o "$RUN" \
        --bench '^(hypercall|cpuid|in|event-channel)(-unpaged)?$|^(cr8-read|self-ipi-priority)$' >&2
}

setup() {
    common_setup
    mapfile -t xens < <(tr ',:' '\n-' <<<"$XENS")
}

# exact XEN ROW...: checks that all rows are measured, and the same in both boots.
exact() {
    local row
    for row in "${@:2}"; do
        [ "$(value "$RUN/$1" "$row" '"\(.status) \(.exact) \(.metrics[0].boots | length)"')" = 'ok true 2' ]
    done
}

@test "the same counts in both boots, a round trip of events costs more than its hypercalls" {
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

@test "-unpaged rows: near the counts of a guest that never had paging" {
    # The counts of such a guest on Xen 4.17, with its APIC off; docs/lab-xen.md explains the difference.
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
