# `worldswitch run nested`: the tables of nested virtualization, measured and drawn. Traps are compared exactly.

load common

setup_file() {
    make -s -C "$ROOT/guest" ARCH=aarch64 >&2
    make -s -C "$ROOT/neve" variants >&2
    fetch_packages qemu
}

setup() {
    common_setup
}

# of BENCHMARK PLATFORM EXPRESSION: a value from one line of the tables. Adding 0 normalizes numbers: jq 1.7
# prints a number that it only read unchanged, such as 1.0.
of() {
    jq -r "walk(if type == \"number\" then . + 0 else . end)
        | .benchmarks[] | select(.benchmark == \"$1\").lines[] | select(.platform == \"$2\") | $3" nested.json
}

@test "Tables 1, 6 and 7, on cortex-a57 and max: figures, slowdowns and traps" {
    local policy=+policy=kvm-4.10
    # One boot: that two are alike is tested with the runner (neve-nested.bats).
    ws run nested --boots 1 -o "$OUT" --export-json nested.json --export-markdown nested.md \
        --on lab:neve+cpu=cortex-a57$policy,lab:neve-nested@pv+cpu=cortex-a57$policy \
        --on lab:neve,lab:neve$policy,lab:neve-nested@nv$policy,lab:neve-nested@neve$policy+vhe=1 >nested.txt
    for nested in nv$policy pv+cpu=cortex-a57$policy; do
        [ "$(for row in hypercall in ipi-running irq-completion; do
            of $row "lab:neve-nested@$nested" '[.traps, .published.traps] | @csv'
        done)" = $'127,126\n128,128\n258,261\n0,0' ]
    done
    [ "$(of hypercall "lab:neve-nested@neve$policy+vhe=1" '[.traps, .published.column, .over_l0.vm, .over_l1.vm] | @csv')" = \
        '16,"NEVE Nested VM VHE","lab:neve","lab:neve+policy=kvm-4.10"' ]
    [ "$(of hypercall "lab:neve-nested@pv+cpu=cortex-a57$policy" .over_l1.vm)" = "lab:neve+cpu=cortex-a57$policy" ]
    [ "$(of hypercall "lab:neve-nested@nv$policy" '.over_l1.ratio > 20 and .over_l0.ratio > 100 and .causes.el2_eret == 2')" = true ]
    # The paper's slowdown is undefined without a run of a VM on the host hypervisor.
    [ "$(of hypercall "lab:neve-nested@pv+cpu=cortex-a57$policy" .over_l0)" = null ]
    # The same traps, register by register.
    [ "$(of hypercall "lab:neve-nested@nv$policy" .causes)" = \
        "$(of hypercall "lab:neve-nested@pv+cpu=cortex-a57$policy" .causes)" ]
    # Kept results give the same output in every format.
    ws show "$OUT" --view nested --export-json again.json >again.txt
    jq -S '.benchmarks[].lines |= sort_by(.platform)' again.json >again-sorted.json
    jq -S '.benchmarks[].lines |= sort_by(.platform)' nested.json | cmp - again-sorted.json
    grep -q '^| lab:neve-nested@nv+policy=kvm-4.10 |.*| 127 | ARMv8.3 Nested VM | 422,720 | 155x | 126 |$' nested.md
    ws report "$OUT" -o page.html
    grep -q '<section id="nested">' page.html
}

@test "wrong arguments are wrong usage, and missing results an error" {
    run -2 ws run nested --short --on lab:neve
    # A view of nested results and the cost model are two tables.
    run -2 ws show somewhere --view nested --native other
    [[ $output == *"'--view <VIEW>' cannot be used with '--native <RUN>'"* ]]
    run -1 ws show nowhere
    [[ $output == *nowhere* ]]
}
