# `worldswitch run apps` in real time: what takes longer than tests/e2e/host.bats. All is QEMU's emulator: only that it works
# is measured.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common
load ../e2e/host

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    fetch_packages kvm-linux
}

setup() { common_setup; }

# placing NAME PROOF: a workload that puts interrupts where lab/workloads/memcached-interrupts-NAME.toml does, counts
# those of a ping, and proves where they went.
placing() {
    mkdir -p mine/workloads
    {
        sed '/^serve = /,$d; s/"client"/"inside"/' "$ROOT/lab/workloads/memcached-interrupts-$1.toml"
        # The shell of the VM expands it.
        # shellcheck disable=SC2016
        printf '%s\n' 'run = "grep virtio0-input /proc/interrupts >/tmp/before; busybox ping -c 20 10.0.0.1 && grep virtio0-input /proc/interrupts >/tmp/after"' \
            "proof = '''$2'''"
    } >"mine/workloads/a-$1.toml"
}

@test "interrupts of a network card on one of two vCPUs, or on both" {
    # The growth on both CPUs: only on the first. Linux moves an interrupt when the next one comes, so the first one of
    # each queue may still be on the second.
    placing one "cat /tmp/before /tmp/after | busybox awk '{ sign = NR > 2 ? 1 : -1; zero += sign * \$2; one += sign * \$3 } END { exit !(NR == 4 && zero + one >= 20 && one <= 2) }'"
    # shellcheck disable=SC2016
    placing spread 'for queue in 0 1; do for irq in $(busybox sed -n "s/^ *\([0-9]*\):.*virtio0-[a-z]*put\.$queue/\1/p" /proc/interrupts); do [ "$(cat /proc/irq/$irq/smp_affinity_list)" = $queue ] || exit 1; seen=$seen$queue; done; done; [ "$seen" = 0011 ]'
    ws run apps --lab-dir mine --on qemu-tcg --workload '(interrupts|^a-)' --boots 1 -o out --export-json apps.json >table.txt
    cat table.txt
    for name in a-one a-spread {apache,memcached}-interrupts-{one,spread}; do
        [ "$(of "$name" qemu-tcg '.ns > 0')" = true ]
    done
}

@test "a VM in a VM, beside the host and a VM" {
    # The shell of the VM expands it.
    # shellcheck disable=SC2016
    workload a-sum 'run = "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done"'
    ws run apps --lab-dir mine --on host,qemu-tcg,qemu-tcg-nested --workload '^(a-sum|hackbench)$' --boots 1 -o out \
        --export-json apps.json >table.txt
    cat table.txt
    [ "$(of a-sum qemu-tcg-nested '.ratio > 1')" = true ]
    [ "$(of hackbench qemu-tcg-nested '.ratio > 1')" = true ]
    # KVM counted the nested VM's exits.
    [ "$(jq -r '[.rows[] | .host[0].kvm.exits > 0] | all' out/qemu-tcg-nested.json)" = true ]
    grep -q 'qemu-tcg-nested runs in its VM' table.txt
    ws report out -o page.html
    grep -q 'In nested VMs of this host, in real time (NEVE, Figure 2)' page.html
}
