//! The platforms of this host, as they are listed.

use super::{Kind, Platform};

/// The platforms that are not lab machines.
pub fn of_host() -> [Platform; 8] {
    let platform = |name: &str, kind: Kind, summary: &str, needs: &str| Platform {
        name: name.into(),
        summary: summary.into(),
        needs: needs.into(),
        unit: kind.unit(),
        default: matches!(kind, Kind::Vmm | Kind::QemuKvm | Kind::Qemu),
        kind,
    };
    [
        platform(
            "kvm",
            Kind::Vmm,
            "this host's KVM under vmm, the project's own small monitor",
            "/dev/kvm, the monitor vmm and the guest image",
        ),
        platform(
            "qemu-kvm",
            Kind::QemuKvm,
            "this host's KVM under QEMU",
            "/dev/kvm, the monitor vmm (which probes it), qemu-system-x86_64 and the guest image",
        ),
        platform(
            "qemu-tcg",
            Kind::Qemu,
            "QEMU TCG in real time: an emulated CPU, on any host",
            "qemu-system-x86_64 and the guest image",
        ),
        platform(
            "host",
            Kind::Host,
            "this host's Linux itself, in namespaces: applications only (worldswitch run apps)",
            "the agent, the packages of worldswitch lab fetch linux, and root or user namespaces",
        ),
        platform(
            "qemu-kvm-nested",
            Kind::NestedKvm,
            "a VM of KVM and QEMU in a VM of this host's KVM and QEMU: applications only (worldswitch run apps)",
            "/dev/kvm whose module has nested=1, the agent, and the packages of worldswitch lab fetch kvm-linux",
        ),
        platform(
            "qemu-tcg-nested",
            Kind::Nested,
            "the same in QEMU's emulator, on any host: shows that it works, and says nothing about virtualization",
            "the agent, and the packages of worldswitch lab fetch kvm-linux",
        ),
        platform(
            "serial:DEVICE",
            Kind::Serial,
            "a machine that you boot, read over a serial line (115200 8N1)",
            "a serial line or pseudo-terminal, and a machine that boots the guest image",
        ),
        platform(
            "log:FILE",
            Kind::Log,
            "an earlier run, read from its saved console",
            "a file with the console's output",
        ),
    ]
}
