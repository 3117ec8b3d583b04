//! Checks whether this host is a virtual machine, and names the hypervisor below it.

use crate::finding::{Concerns, Cure, Finding, Group, Topic};
use crate::parse::short;
use crate::place::{Arch, Place};
use crate::sys::Sys;

const BELOW: Topic = Topic {
    id: "host.virtual-machine",
    group: Group::Host,
    concerns: Concerns::Time,
    title: "virtual machine",
    why: "In a VM, the hypervisor below can take CPUs away unnoticed. A guest is nested there: one of its world switches may cost several of the host's.",
};

/// Signatures of CPUID leaf 0x4000_0000: the bytes of EBX, ECX and EDX in this order.
const SIGNATURES: [(&str, &str); 11] = [
    ("KVMKVMKVM", "KVM"),
    ("TCGTCGTCGTCG", "QEMU TCG"),
    ("Microsoft Hv", "Hyper-V"),
    ("VMwareVMware", "VMware"),
    ("XenVMMXenVMM", "Xen"),
    ("VBoxVBoxVBox", "VirtualBox"),
    ("bhyve bhyve ", "bhyve"),
    ("ACRNACRNACRN", "ACRN"),
    (" lrpepyh  vr", "Parallels"),
    ("SRESRESRESRE", "LMHS"),
    ("Linux KVM Hv", "KVM as Hyper-V"),
];

/// Vendors in the firmware tables of virtual machines, for CPUs without the flag `hypervisor`.
const MAKERS: [&str; 14] = [
    "QEMU",
    "KVM",
    "Amazon EC2",
    "Google Compute Engine",
    "OpenStack",
    "VMware",
    "innotek GmbH",
    "Xen",
    "Parallels",
    "BHYVE",
    "Alibaba Cloud",
    "DigitalOcean",
    "Hetzner",
    "Apple Virtualization",
];

/// The hypervisor below this host, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Below {
    /// No hypervisor: bare metal.
    Nothing,
    /// A hypervisor, and its name; empty if unknown.
    Hypervisor(String),
    /// Xen: this is dom0, which has the hardware but shares it.
    XenDom0,
    /// Undetermined: not an x86 CPU, no hypervisor in the device tree, and no firmware tables.
    Unknown,
}

impl Below {
    /// Finds the hypervisor from the files of the host and `signature`, the text of CPUID leaf 0x4000_0000 where there
    /// is one.
    pub fn of(sys: &dyn Sys, place: &Place, signature: Option<&str>) -> Self {
        // Dom0 first: it has signs of a VM too, such as /sys/hypervisor/type, but it has the hardware.
        let xen = sys.line("/proc/xen/capabilities");
        if xen.is_some_and(|line| line.split(',').any(|word| word == "control_d")) {
            return Self::XenDom0;
        }
        let dmi = |name: &str| sys.line(&format!("/sys/class/dmi/id/{name}"));
        let maker = dmi("sys_vendor").unwrap_or_default();
        let product = dmi("product_name").unwrap_or_default();
        let dmi = match product.starts_with(&maker) {
            true => product,
            false => format!("{maker} {product}").trim().to_owned(),
        };
        // A list of strings in the device tree's hypervisor node, each ended by NUL.
        let tree = sys.read("/sys/firmware/devicetree/base/hypervisor/compatible");
        let tree = tree.as_deref().and_then(|text| text.split('\0').next());
        let kind = sys.line("/sys/hypervisor/type");
        let made = MAKERS.iter().any(|maker| dmi.contains(maker));
        let virtual_machine = match place.arch {
            Arch::X86 => place.flag("hypervisor"),
            // EC2's bare-metal instances have the same vendor.
            _ => tree.is_some() || kind.is_some() || made && !dmi.ends_with(".metal"),
        };
        if !virtual_machine {
            let silent = place.arch != Arch::X86 && dmi.is_empty();
            return if silent { Self::Unknown } else { Self::Nothing };
        }
        let signature = signature.map(|said| {
            let known = SIGNATURES.iter().find(|(text, _)| said.starts_with(text));
            known.map_or(said, |(_, name)| name).to_owned()
        });
        let mut names: Vec<String> = Vec::new();
        names.extend(signature.filter(|name| !name.trim().is_empty()));
        if names.is_empty() {
            names.extend(tree.or(kind.as_deref()).map(str::to_owned));
        }
        if !dmi.is_empty() {
            names.push(dmi);
        }
        let names: Vec<String> = names.iter().map(|name| short(name)).collect();
        Self::Hypervisor(names.join(", "))
    }

    /// Whether this host is a virtual machine that does not own its hardware.
    pub fn is_virtual_machine(&self) -> bool {
        matches!(self, Self::Hypervisor(_))
    }

    pub fn finding(&self) -> Finding {
        let cure = Cure::no(
            "use a bare machine for figures to compare",
            "a property of the machine",
        );
        match self {
            Self::Nothing => BELOW.ok("none: this is a bare machine, as far as can be seen"),
            Self::Unknown => BELOW.note("unknown", None),
            Self::XenDom0 => BELOW.warning("Xen, and this is its dom0", Some(cure)),
            Self::Hypervisor(name) if name.is_empty() => {
                BELOW.warning("an unknown hypervisor, which hides its name", Some(cure))
            }
            Self::Hypervisor(name) => BELOW.warning(name, Some(cure)),
        }
    }
}
