# The platform kvm where /dev/kvm is VMX, which is what most users have: a Linux with kvm-intel on Bochs' Intel
# processor, in which the bundle's worldswitch checks the host and measures, as it would on a machine of Intel's.

# `run` sets $output and $status.
# shellcheck disable=SC2154

load ../e2e/common

ROWS='^(sgdt|set-cr3|hypercall|cpuid|hot-memory-access|cold-memory-access|in|out|print|irq-completion|self-ipi|vm-switch)$'
PARAMETERS='console=ttyS0,115200 quiet panic=-1 reboot=t tsc_early_khz=100000 mitigations=off clearcpuid=rdrand,rdseed'

setup_file() { fetch_packages kvm-intel apps; }

setup() { common_setup; }

@test "doctor and run --on kvm on VMX: a hardware KVM, every row measured, and proved from outside" {
    make -s -C "$ROOT" bundle >&2
    bundle=$(find "$ROOT/build/bundle" -mindepth 1 -maxdepth 1 -type d)
    "$ROOT/tests/vmx/make-initramfs" vmx.cpio "$bundle" "$LAB_STORE" --boots 1 --samples 3 --iters 20 --bench "$ROWS"
    kernel=$(find "$LAB_STORE/sets/linux-6.1/root" -name 'vmlinuz*' -type f)
    LIMIT=900 ws lab boot intel-native+memory=1024 --kernel "$kernel" --initrd vmx.cpio --append "$PARAMETERS" >console.txt
    tr -d '\r' <console.txt >text.txt
    sed -n '/^=== doctor/,/^=== ended/p' text.txt | grep -v '^===' >doctor.json
    sent run/kvm.json >kvm.json
    ws show kvm.json
    # No QEMU is there, which is the only problem.
    [ "$(jq -r '[.findings[] | select(.severity == "problem").id] | join(" ")' doctor.json)" = tools.qemu ]
    [ "$(jq -r '.findings[] | select(.id == "kvm.hardware").found' doctor.json)" = 'Intel VMX' ]
    [ "$(jq -r .identity.subject.kvm kvm.json)" = hardware ]
    [ "$(jq '[.rows[] | select(.status == "ok")] | length' kvm.json)" -eq 12 ]
    [ "$(jq -c '[.rows[].outcomes[].check.verdict] | unique' kvm.json)" = '["proved"]' ]
    # What the host counts: a hypercall is a hypercall, a first touch a page, IN and OUT exits to the monitor.
    # counted BENCHMARK FILTER
    counted() { jq -r ".rows[] | select(.benchmark == \"$1\").host[0] | $2" kvm.json; }
    [ "$(counted hypercall '.kvm.hypercalls == .operations and .kvm.exits == .operations')" = true ]
    [ "$(counted cpuid '.kvm.exits == .operations')" = true ]
    [ "$(counted in '.returns.io == .operations')" = true ]
    [ "$(counted set-cr3 '(.kvm.exits // 0) < 5')" = true ]
    [ "$(counted cold-memory-access '.pages_after - .pages_before == .operations')" = true ]
}
