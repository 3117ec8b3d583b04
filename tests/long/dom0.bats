# Xen with Debian's own dom0 and tool stack: an HVM guest with QEMU as its device model, and a whole Linux, on x86 and on
# ARM.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common

setup_file() {
    make -s -C "$ROOT/guest" >&2
    make -s -C "$ROOT/lab/agent" >&2
    make -s -C "$ROOT/lab/agent" ARCH=aarch64 >&2
    make -s -C "$ROOT/lab/init" >&2
    make -s -C "$ROOT/lab/init" ARCH=aarch64 >&2
    make -s -C "$ROOT/plugin" >&2
    fetch_packages qemu-kvm@6.12 xen-hvm xen-linux linux arm-xen-linux kvm-nvhe-linux arm-linux
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
    ws run apps --on lab:linux,lab:xen-linux --workload '^tcp-rr$' --boots 2 --perturb 0 -o out --export-json apps.json >table.txt
    cat table.txt
    run grep 'NOT EXACT' table.txt
    [ "$status" -eq 1 ]
    jq -e '.workloads[] | select(.workload == "tcp-rr").lines[] | select(.platform == "lab:xen-linux") |
        .ratio > 3 and .ratio < 4.5 and .published > 2.7 and .published < 2.8' apps.json
}

@test "ARM: a VM of Xen runs applications, and its network costs more than KVM's" {
    ws run apps --on lab:arm-linux,lab:kvm-nvhe-linux,lab:arm-xen-linux --workload '^(hackbench|tcp-rr|tcp-stream)$' \
        --boots 2 --perturb 0 -o out --export-json apps.json >table.txt
    cat table.txt
    run grep 'NOT EXACT' table.txt
    [ "$status" -eq 1 ]
    # As in the paper's Table 5.
    jq -e '[.workloads[] | select(.workload | startswith("tcp-")).lines | INDEX(.platform)
        | .["lab:arm-xen-linux"].insns > 1.05 * .["lab:kvm-nvhe-linux"].insns] == [true, true]' apps.json
    jq -e '.workloads[] | select(.workload == "hackbench").lines[] | select(.platform == "lab:arm-xen-linux") |
        .ratio > 0.85 and .ratio < 1.15 and .published > 1' apps.json
    executed out/lab-arm-xen-linux.json tcp-rr 156373539
}

# Dall et al., Table 6, on ARM: Xen's part of a transaction is longer than KVM's, as the reply passes dom0.
@test "ARM: functions of Xen, dom0 and VMs, exits by reason and the parts of a transaction; sums are the clock's" {
    ws run apps --on lab:arm-linux,lab:kvm-nvhe-linux,lab:arm-xen-linux --workload '^tcp-rr$' --boots 1 --perturb 0 --explain \
        --export-json apps.json -o out >table.txt
    cat table.txt
    jq -e '[.explained[] | (.natively, .in_vm) | .counted == .by_clock + .trapped_accesses and .halted != null] == [true, true, true, true]' \
        apps.json
    jq -e '.explained[0] | .units as $units | .exits | INDEX(.reason) |
        .dabt.vm / $units > 0.99 and .wfx.vm / $units > 0.5 and ([.[].dom0] | add) == 0' apps.json
    jq -e '.explained[1] as $of | ($of.exits | INDEX(.reason)) as $exits | $of.functions | INDEX(.function + "/" + (.module // "")) |
        .["leave_hypervisor_to_guest/Xen"].vm == 0 and .["xenvif_start_xmit/xen_netback"].host > 0 and
        .["tcp_ack/"].host > 0 and .["tcp_ack/"].vm > 0 and
        $exits.hvc.dom0 > 3 * $exits.hvc.vm and $exits.wfx.vm / $of.units > 0.9' apps.json
    # No CPU is ever idle: the parts are the whole, but for the packets of connections.
    jq -e '[.transactions[] | (.traced_insns / .insns - 1 | fabs) < 0.002] == [true, true, true]' apps.json
    jq -e '[.transactions[1, 2].parts | INDEX(.part)] as [$kvm, $xen] |
        ["recv to send", "VM send to send"] | map($xen[.].insns > $kvm[.].insns and $xen[.].published_us > $kvm[.].published_us) |
        all' apps.json
}

# notified MACHINE: when functions of its kernels are entered in a run of tcp-rr, in $1.txt.
notified() {
    lab_emulator qemu-system-aarch64 "emulator-$1"
    sed -i "s|\"\$@\"|\"\$@\" \$plugin|; 2i plugin=\ncase \" \$* \" in *' -icount '*) plugin='-plugin $PWD/entered.so,symbols=$PWD/symbols,out=$PWD/$1.txt' ;; esac" "emulator-$1"
    ws run tcp-rr --on "lab:$1" --boots 1 --perturb 0 --qemu "$PWD/emulator-$1" -o "out-$1" >"$1.log"
}

# between FILE FROM TO: the median of the instructions from the last FROM before a TO until it, each a name and whose it is.
between() {
    awk -v from="$2" -v to="$3" '{ at = $2 " " $3 } at == from { begin = $1 } at == to && begin { print $1 - begin; begin = 0 }' "$1" |
        sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

# Dall et al., Table 2: on ARM Xen's I/O latency is worse than KVM's, both ways, as dom0 is a VM.
@test "ARM: from a signal of a VM to its back-end, and back, is longer with a dom0 than with vhost" {
    local out_xen in_xen out_kvm in_kvm to_dom0 to_vm
    cc -std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -DPLUGIN_API=3 -I"$ROOT" \
        -o entered.so "$ROOT/tests/long/entered.c"
    # The kernel is the same everywhere: in dom0, on KVM's host and in both VMs.
    ws lab symbols arm-linux >kernel.txt
    awk '$3 ~ /^(notify_remote_via_irq|__handle_irq_event_percpu|virtqueue_notify|eventfd_signal_mask|irqfd_wakeup|vring_interrupt|cpu_do_idle)$/ {
        print $1, $3 }' kernel.txt >symbols
    [ "$(wc -l <symbols)" -eq 7 ]
    notified arm-xen-linux
    notified kvm-vhe-linux
    out_xen=$(between arm-xen-linux.txt 'notify_remote_via_irq vm' '__handle_irq_event_percpu host')
    in_xen=$(between arm-xen-linux.txt 'notify_remote_via_irq host' '__handle_irq_event_percpu vm')
    # Of these, from the halt of one VM to the handler in the other.
    to_dom0=$(between arm-xen-linux.txt 'cpu_do_idle vm' '__handle_irq_event_percpu host')
    to_vm=$(between arm-xen-linux.txt 'cpu_do_idle host' '__handle_irq_event_percpu vm')
    out_kvm=$(between kvm-vhe-linux.txt 'virtqueue_notify vm' 'eventfd_signal_mask host')
    in_kvm=$(between kvm-vhe-linux.txt 'irqfd_wakeup host' 'vring_interrupt vm')
    echo "# out: $out_xen instructions on Xen ($to_dom0 from halt to dom0), $out_kvm on KVM; in: $in_xen ($to_vm) and $in_kvm" >&3
    [ "$out_xen" -gt $((3 * out_kvm)) ]
    [ "$in_xen" -gt "$in_kvm" ]
}
