# Xen with Debian's own dom0 and tool stack: an HVM guest with QEMU as its device model, and a whole Linux.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common

setup_file() {
    make -s -C "$ROOT/guest" >&2
    make -s -C "$ROOT/lab/agent" >&2
    make -s -C "$ROOT/lab/init" >&2
    fetch_packages qemu-kvm@6.12 xen-hvm xen-linux linux
}

setup() {
    common_setup
    export LIMIT=1800
}

@test "IN by a QEMU in dom0 costs several times KVM's, and a CPU of dom0's own more; hypercalls do not" {
    local kvm shared apart
    # One boot: every boot has the same counts (docs/lab-xen.md).
    ws run --on lab:qemu-kvm@6.12,lab:xen-hvm,lab:xen-hvm@apart --bench '^(hypercall|in)$' --boots 1 -o out >table.txt
    cat table.txt
    kvm=$(insns out/lab-qemu-kvm@6.12 in)
    shared=$(insns out/lab-xen-hvm in)
    apart=$(insns out/lab-xen-hvm@apart in)
    [ "$shared" -gt $((8 * kvm)) ]
    [ "$shared" -lt "$apart" ]
    [ "$(insns out/lab-xen-hvm hypercall)" -eq "$(insns out/lab-xen-hvm@apart hypercall)" ]
    # On a shared CPU the sender waits for the end of a time slice (10 million instructions).
    ws run ipi-halted --on lab:xen-hvm@apart --boots 1 --perturb 0 -o ipi >table.txt
    [ "$(insns ipi/lab-xen-hvm@apart ipi-halted)" -lt 100000 ]
}

@test "an IN is explained by functions of Xen and of dom0's Linux, and the sum comes out" {
    ws explain in --on lab:xen-hvm --least 1000 >explained.txt
    for name in 'ioreq_send .hypervisor.' 'exc_xen_hypervisor_callback .kernel.' 'evtchn_write .xen_evtchn.'; do
        grep -q "$name" explained.txt
    done
}

@test "TCP_RR natively and in a VM of Xen: exact over two boots" {
    ws apps --on lab:linux,lab:xen-linux --workload '^tcp-rr$' --boots 2 --perturb 0 -o out --export-json apps.json >table.txt
    cat table.txt
    run grep 'NOT EXACT' table.txt
    [ "$status" -eq 1 ]
    jq -e '.workloads[] | select(.workload == "tcp-rr").lines[] | select(.platform == "lab:xen-linux") |
        .ratio > 3 and .ratio < 4.5 and .published > 2.7 and .published < 2.8' apps.json
}
