# The RISC-V machines of the lab: counts are exact and in their usual ranges, KVM counts as many exits as operations, and
# what the machine has decides which rows there are.

load common

ROWS='^(read-counter|pushf-popf|write-vector-base|set-cr3|tlb-invalidate|hypercall.*|set-timer|interrupt-controller-trap|timer-10ms|ipi-running|hot-memory-access|cold-memory-access|in|out|out-eventfd)$'

setup_file() {
    export TABLE=$BATS_FILE_TMPDIR/table
    ws run --on lab:riscv-native,lab:kvm-riscv --boots 2 --bench "$ROWS" -o "$TABLE" >"$TABLE.txt"
    ws run --on lab:kvm-riscv+aia=1 --boots 1 --bench '^(hypercall|interrupt-controller-trap)$' -o "$TABLE" >>"$TABLE.txt"
}

setup() { common_setup; }

# between PLATFORM BENCHMARK LEAST MOST: checks a count of the table.
between() {
    local found
    found=$(insns "$TABLE/$1" "$2")
    echo "$1 $2: $found, wanted $3 to $4"
    [ "$found" -ge "$3" ] && [ "$found" -le "$4" ]
}

@test "every row is measured, exact over two boots, and nothing failed" {
    cat "$TABLE.txt"
    # Without a hypervisor there is no hypercall, and no monitor watches the doorbell.
    [ "$(jq '[.rows[] | select(.status == "ok" and .exact)] | length' "$TABLE/lab-riscv-native.json")" -eq 13 ]
    # Without AIA the VM has no interrupt controller.
    [ "$(jq '[.rows[] | select(.status == "ok" and .exact)] | length' "$TABLE/lab-kvm-riscv.json")" -eq 16 ]
    [ "$(jq -s '[.[].rows[].outcomes[].check?.verdict? | select(. == "failed")] | length' "$TABLE"/*.json)" -eq 0 ]
}

@test "an operation without an exit is its own instructions" {
    for platform in lab-riscv-native lab-kvm-riscv; do
        between "$platform" pushf-popf 2 2
        for row in write-vector-base set-cr3 tlb-invalidate hot-memory-access; do
            between "$platform" "$row" 1 1
        done
        # With Sstc the deadline is a register.
        between "$platform" timer-10ms 14 14
    done
    for row in read-counter interrupt-controller-trap cold-memory-access in out; do
        between lab-riscv-native "$row" 1 1
    done
}

@test "counts are in their ranges: a call of KVM, of user space, of the firmware below; with AIA" {
    between lab-riscv-native set-timer 300 400
    # PAUSE ends a CPU's turn: without that an IPI takes up to 100,000,000.
    between lab-riscv-native ipi-running 1000 1600
    between lab-kvm-riscv ipi-running 3500 6000
    between lab-kvm-riscv hypercall 850 1000
    between lab-kvm-riscv hypercall-user 2700 3600
    between lab-kvm-riscv set-timer 900 1100
    between lab-kvm-riscv read-counter 950 1150
    between lab-kvm-riscv in 3000 3800
    between lab-kvm-riscv out-eventfd 1200 1500
    between lab-kvm-riscv cold-memory-access 5800 7000
    # KVM updates the guest's IMSIC at each entry.
    between lab-kvm-riscv+aia=1 hypercall 1050 1250
    between lab-kvm-riscv+aia=1 interrupt-controller-trap 1350 1650
}

@test "KVM counted as many exits as operations" {
    for row in hypercall{,-pending,-user} in out out-eventfd cold-memory-access; do
        echo "$row"
        [ "$(jq -r ".rows[] | select(.benchmark == \"$row\").outcomes[0].check.verdict" "$TABLE/lab-kvm-riscv.json")" = proved ]
    done
}

@test "on a processor without Sv48 the guest pages by Sv39: its rows are the same, also with two CPUs" {
    ws run --on lab:riscv-native+mmu=sv39 --boots 1 --bench '^(set-cr3|ipi-running|cold-memory-access|set-page-table-.*)$' -o sv39
    [ "$(jq -r '[.rows[] | select(.status == "ok") | .benchmark + " " + .outcomes[0].check.verdict] | sort | join(", ")' sv39/*.json)" = \
        'cold-memory-access unproven, ipi-running proved, set-cr3 proved, set-page-table-2m proved, set-page-table-4k proved' ]
    [ "$(insns sv39/lab-riscv-native+mmu=sv39 set-page-table-4k)" -eq 41 ]
    # The first of 64 adds two tables, with Sv48 three.
    [ "$(jq '[.rows[] | select(.benchmark == "set-page-table-4k").metrics[0].boots[0] | .run[0] - .control[0]] | first' sv39/*.json)" -eq 61 ]
}
