# Xen on the x86 lab: 4.17, and in make test-long 4.20 beside it, where booting another takes as long again.

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

# exact XEN ROW...: all measured, and the same in both boots.
exact() {
    local row
    for row in "${@:2}"; do
        [ "$(value "$RUN/$1" "$row" '"\(.status) \(.exact) \(.metrics[0].boots | length)"')" = 'ok true 2' ]
    done
}

@test "the same digits in both boots, a round trip of events dearer than its hypercalls" {
    for xen in "${xens[@]}"; do
        exact "$xen" hypercall cpuid in event-channel
        [ "$(insns "$RUN/$xen" hypercall)" -gt 4500 ]
        [ "$(insns "$RUN/$xen" hypercall)" -lt 6500 ]
        # A round trip holds four hypercalls.
        [ "$(insns "$RUN/$xen" event-channel)" -gt $((4 * $(insns "$RUN/$xen" hypercall))) ]
        # What would end the emulator is not begun.
        [ "$xen" = lab-xen ] || [ "$(value "$RUN/$xen" cr8-read .status)" = ok ]
        [ "$xen" = lab-xen ] || [[ $(value "$RUN/$xen" self-ipi-priority .reason) == 'QEMU dies where'* ]]
    done
    # Two versions are two programs.
    [ "$(for xen in "${xens[@]}"; do insns "$RUN/$xen" hypercall; done | sort -u | wc -l)" -eq ${#xens[@]} ]
}

@test "a guest without paging: near the figures of one that never had any" {
    # What such a guest paid on Xen 4.17, its APIC off: docs/lab-xen.md says what the rest is.
    while read -r row without slack; do
        for xen in "${xens[@]}"; do
            exact "$xen" "$row-unpaged"
            figure=$(insns "$RUN/$xen" "$row-unpaged")
            echo "$xen $row-unpaged: $figure"
            [ $((figure - without)) -lt "$slack" ] && [ $((without - figure)) -lt "$slack" ]
            # The walks that are left out are nearly half of all; to step over IN there never were any.
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
