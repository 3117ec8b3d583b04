# Linux KVM in Linux KVM on AMD's SVM, and `worldswitch run nested --long`: a whole Linux with KVM below Linux KVM and
# below neve, on the real packages.

# `run` sets $output and $status.
# shellcheck disable=SC2154
# shellcheck disable=SC2016 # jq's variables

load ../e2e/common

setup_file() {
    make -s -C "$ROOT/lab/agent" >&2
    make -s -C "$ROOT/lab/agent" ARCH=aarch64 >&2
    make -s -C "$ROOT/vmm" ARCH=aarch64 >&2
    make -s -C "$ROOT/neve" >&2
    make -s -C "$ROOT/guest" >&2
    make -s -C "$ROOT/vmm" >&2
    fetch_packages kvm-svm-nested kvm-svm-nested-linux kvm-nested-linux neve-linux linux-arm64-unstable
}

setup() { common_setup; }

# of PLATFORM EXPRESSION [WORKLOAD]: whether it is true of the workload's line.
of() {
    jq -e ".workloads[] | select(.workload == \"${3-tcp-rr}\").lines[] | select(.platform == \"$1\") | $2" nested.json
}

@test "TCP_RR of a nested VM: natively, in a VM, by Linux KVM, nv and nv2, with traps by cause" {
    ws run nested --long --workload '^tcp-rr$' -o nested --export-json nested.json >nested.txt
    of lab:kvm-vhe-linux+cpu=max '.over_native > 1.6 and .over_native < 2.6 and .traps == null'
    # Each hypervisor's traps by cause are what it counted in all, or nearly: Linux counts them in another run.
    of lab:neve-linux@nv '.traps as $all | .causes | (add - $all | fabs) < 1'
    of lab:neve-linux@nv '.traps > 200 and .causes.el2_read_TPIDR_EL2 > 100'
    of lab:neve-linux@nv2 '.traps > 15 and .traps < 60 and .causes.el2_eret > 1 and .causes.el2_read_TPIDR_EL2 == null'
    of lab:kvm-nested-linux '.traps > 20 and .traps < 80 and .causes.sysreg > 10 and .causes.eret > 1'
    # What the mechanism takes away, and that trapping by it costs less than Linux below.
    of lab:neve-linux@nv2 '.taken_away > 0.7 and .over_vm < 1.6'
    of lab:kvm-nested-linux '.over_vm > 2.5'
    grep -q '^Took [0-9.]* min of machines' nested.txt
    # The same table of the results.
    ws show nested --export-json again.json >/dev/null
    cmp nested.json again.json
}

@test "KVM in KVM on SVM: what an exit of L2 costs beside one of a VM, and its traps to L0" {
    LIMIT=1200 ws run --on lab:kvm,lab:kvm-svm-nested --boots 1 --perturb 0 --bench '^(hypercall|in)$' -o svm >/dev/null
    ws show svm --view nested --export-json svm.json >/dev/null
    # beside BENCHMARK EXPRESSION: whether it is true of the nested VM's line.
    beside() {
        jq -e ".benchmarks[] | select(.benchmark == \"$1\").lines[]
            | select(.platform == \"lab:kvm-svm-nested\") | $2" svm.json
    }
    # traps BENCHMARK: for each operation, without exits for interrupts of the host's clock, rounded.
    traps() {
        value svm/lab-kvm-svm-nested "$1" \
            '.host[0] | ((.below.exits - (.below.irq_exits // 0)) / .operations | round) | tojson'
    }
    # An exit of L2 and what L1 does for it. IN leaves L1's kernel for its monitor besides.
    [ "$(traps hypercall)" -eq 6 ]
    [ "$(traps in)" -eq 7 ]
    # Within 5 % of 30,633 and 35,329.
    beside hypercall '.value > 29097 and .value < 32159 and .over_l0.ratio > 9 and .over_l0.ratio < 11'
    beside in '.value > 33557 and .value < 37089'
}

@test "x86: a whole Linux under Linux KVM under Linux KVM on SVM, natively and in a VM, with traps by cause" {
    LIMIT=1700 ws run nested --long --on lab:linux,lab:kvm-linux,lab:kvm-svm-nested-linux \
        --workload '^(hackbench|tcp-rr)$' -o nested --export-json nested.json >nested.txt
    for workload in hackbench tcp-rr; do
        of lab:kvm-svm-nested-linux '.over_native > 1 and .over_vm > 1 and .traps > 0 and .exits > 0' $workload
        # L0 counts causes in a run of its own; of the three instructions of L1's world switch each traps.
        of lab:kvm-svm-nested-linux '.traps as $all | .causes | ((add - $all) / $all | fabs) < 0.2' $workload
        of lab:kvm-svm-nested-linux '.causes | .vmrun > 0 and .vmload > .vmrun and .vmsave > 0' $workload
    done
    # What computes pays little, what exits a lot.
    of lab:kvm-svm-nested-linux '.over_vm < 1.3' hackbench
    of lab:kvm-svm-nested-linux '.over_vm > 1.5'
}

# A timer of EL2 that is lost shows where the host's kernel has nothing to do.
@test "a Linux of 7.1 or newer at EL2 has its timers after a resume, on each CPU" {
    ws run vm-switch out-eventfd io-latency-in-woken hypercall --on lab:kvm-vhe@unstable,lab:kvm-vel2 --boots 1 --perturb 0 \
        -o unstable
    [ "$(jq -s '[.[].rows[] | select(.status == "ok")] | length' unstable/lab-*.json)" -eq 8 ]
}

# Each machine, and what is measured on it.
NESTED_ALL='kvm-nested run --bench ^(hypercall|in)$
kvm-svm-nested run --bench ^(hypercall|in)$
neve-linux apps --workload ^tcp-rr$
kvm-nested-linux apps --workload ^tcp-rr$
kvm-svm-nested-linux apps --workload ^tcp-rr$'

@test "nested machines resume with the samples of a boot, and with the same traps to L0" {
    # States of this test alone.
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache LIMIT=1700
    local cache=$XDG_CACHE_HOME/worldswitch machine command launch words
    mkdir -p "$cache/states"
    ln -s "$LAB_STORE/sets" "$cache"
    while read -r machine command; do
        for launch in booted first again; do
            words=()
            [ $launch != booted ] || words=(--no-resume)
            # shellcheck disable=SC2086 # several words
            ws $command --on "lab:$machine" --boots 1 --perturb 0 "${words[@]}" -o "$launch" </dev/null >/dev/null
            jq -c '[.rows[] | select(.status == "ok") | .metrics[].boots[].run,
                (.host[0] | .below, .below_causes)]' "$launch/lab-$machine.json" >"$machine.$launch"
            rm -r "$launch"
        done
        jq -e 'any(.[]; type == "object" and .exits > 0)' "$machine.again"
        cmp "$machine.booted" "$machine.first"
        cmp "$machine.booted" "$machine.again"
        [ "$(find "$cache/states" -name '*.state' | wc -l)" -eq 1 ]
        rm "$cache/states"/*.state
    done <<<"${NESTED:-$NESTED_ALL}"
}
