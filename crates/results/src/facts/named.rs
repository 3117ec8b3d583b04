//! Facts of platforms by name: those of this host, and for older results the lab's machines as they were then. A new
//! recipe has no entry here: its results carry their facts.

use super::Role::{Native, NestedVm, Vm};
use super::System::{Guest, Linux};
use super::{Facts, Paging, Published, Role, System};

/// Names of machines with the facts that no option changes: role, system, hypervisor and monitor. The last two are
/// empty where there is none.
const MACHINES: [(&str, Role, System, &str, &str); 40] = [
    ("host", Native, Linux, "", ""),
    ("kvm", Vm, Guest, "kvm", "vmm"),
    ("qemu-kvm", Vm, Guest, "kvm", "qemu"),
    ("qemu-kvm-nested", NestedVm, Linux, "kvm", "qemu"),
    ("qemu-tcg", Vm, Guest, "tcg", "qemu"),
    ("qemu-tcg-nested", NestedVm, Linux, "kvm", "qemu"),
    ("lab:amd-native", Native, Guest, "", ""),
    ("lab:arm-linux", Native, Linux, "", ""),
    ("lab:arm-native", Native, Guest, "", ""),
    ("lab:arm-xen", Vm, Guest, "xen", ""),
    ("lab:arm-xen-linux", Vm, Linux, "xen", "xl"),
    ("lab:intel-native", Native, Guest, "", ""),
    ("lab:kvm", Vm, Guest, "kvm", "vmm"),
    ("lab:kvm-amd", Vm, Guest, "kvm", "vmm"),
    ("lab:kvm-intel", Vm, Guest, "kvm", "vmm"),
    ("lab:kvm-intel-linux", Vm, Linux, "kvm", "qemu"),
    ("lab:kvm-intel-nested", NestedVm, Guest, "kvm", "vmm"),
    ("lab:kvm-intel-shadow", Vm, Guest, "kvm", "vmm"),
    ("lab:kvm-intel-smp", Vm, Guest, "kvm", "vmm"),
    ("lab:kvm-linux", Vm, Linux, "kvm", "qemu"),
    ("lab:kvm-nested", NestedVm, Guest, "kvm", "vmm"),
    ("lab:kvm-nested-linux", NestedVm, Linux, "kvm", "qemu"),
    ("lab:kvm-nvhe", Vm, Guest, "kvm", "vmm"),
    ("lab:kvm-nvhe-linux", Vm, Linux, "kvm", "qemu"),
    ("lab:kvm-shadow", Vm, Guest, "kvm", "vmm"),
    ("lab:kvm-svm-nested", NestedVm, Guest, "kvm", "vmm"),
    ("lab:kvm-svm-nested-linux", NestedVm, Linux, "kvm", "qemu"),
    ("lab:kvm-vel2", Vm, Guest, "kvm", "vmm"),
    ("lab:kvm-vfio-linux", Vm, Linux, "kvm", "qemu"),
    ("lab:kvm-vhe", Vm, Guest, "kvm", "vmm"),
    ("lab:kvm-vhe-linux", Vm, Linux, "kvm", "qemu"),
    ("lab:linux", Native, Linux, "", ""),
    ("lab:native", Native, Guest, "", ""),
    ("lab:neve", Vm, Guest, "neve", ""),
    ("lab:neve-linux", NestedVm, Linux, "kvm", "qemu"),
    ("lab:neve-nested", NestedVm, Guest, "neve", ""),
    ("lab:qemu-kvm", Vm, Guest, "kvm", "qemu"),
    ("lab:xen", Vm, Guest, "xen", ""),
    ("lab:xen-hvm", Vm, Guest, "xen", "xl"),
    ("lab:xen-linux", Vm, Linux, "xen", "xl"),
];

/// Published numbers of the machines: paper, table (empty for all of them), setup and hardware.
const PUBLISHED: [(&str, [&str; 4]); 20] = [
    ("host", ["dall-2015", "6", "native", "m400"]),
    ("qemu-kvm", ["dall-2015", "5", "kvm", "r320"]),
    ("qemu-kvm", ["dall-2015", "6", "kvm", "m400"]),
    ("lab:arm-linux", ["dall-2015", "6", "native", "m400"]),
    ("lab:arm-xen-linux", ["dall-2015", "5", "xen", "m400"]),
    ("lab:arm-xen-linux", ["dall-2015", "6", "xen", "m400"]),
    (
        "lab:intel-native",
        ["hyperbench-2019", "", "native", "ivy-bridge"],
    ),
    (
        "lab:kvm-intel",
        ["hyperbench-2019", "", "kvm", "ivy-bridge"],
    ),
    ("lab:kvm-intel", ["neve-2017", "", "kvm", "c220"]),
    (
        "lab:kvm-intel-shadow",
        ["hyperbench-2019", "", "kvm-shadow", "ivy-bridge"],
    ),
    ("lab:kvm-linux", ["dall-2015", "5", "kvm", "r320"]),
    ("lab:kvm-linux", ["dall-2015", "6", "kvm", "m400"]),
    (
        "lab:kvm-nested-linux",
        ["neve-2017", TEXT, "nested-neve", "m400"],
    ),
    ("lab:kvm-nvhe", ["neve-2017", "", "kvm", "m400"]),
    ("lab:kvm-nvhe-linux", ["dall-2015", "5", "kvm", "m400"]),
    ("lab:kvm-nvhe-linux", ["dall-2015", "6", "kvm", "m400"]),
    (
        "lab:kvm-svm-nested-linux",
        ["neve-2017", TEXT, "nested", "c220"],
    ),
    ("lab:kvm-vhe", ["neve-2017", "", "kvm", "m400"]),
    ("lab:linux", ["dall-2015", "6", "native", "m400"]),
    ("lab:xen-linux", ["dall-2015", "5", "xen", "r320"]),
];

/// NEVE's section on applications.
const TEXT: &str = "text 7.2";

/// A platform's name in its parts.
struct Name<'a> {
    base: &'a str,
    variant: Option<&'a str>,
    options: Vec<&'a str>,
}

/// Returns the facts of a platform; none of a name that is not known.
pub(super) fn facts(platform: &str) -> Facts {
    let name = Name::of(platform);
    let machine = MACHINES.iter().find(|machine| machine.0 == name.base);
    let Some(&(_, role, system, hypervisor, monitor)) = machine else {
        return Facts::default();
    };
    let some = |word: &str| (!word.is_empty()).then(|| word.to_owned());
    Facts {
        role: Some(role),
        system: Some(system),
        hypervisor: some(hypervisor),
        monitor: some(monitor),
        paging: name.paging(hypervisor),
        vhe: name.vhe(),
        mechanism: name.mechanism().map(str::to_owned),
        published: name.published(),
    }
}

impl<'a> Name<'a> {
    fn of(platform: &'a str) -> Self {
        let mut parts = platform.split('+');
        let name = parts.next().unwrap_or_default();
        let (base, variant) = match name.split_once('@') {
            Some((base, variant)) => (base, Some(variant)),
            None => (name, None),
        };
        Self {
            base,
            variant,
            options: parts.collect(),
        }
    }

    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    /// Returns the paging by the machine's name and options; `None` for this host, whose KVM states its paging in the
    /// result.
    fn paging(&self, hypervisor: &str) -> Option<Paging> {
        match hypervisor {
            "tcg" => Some(Paging::Software),
            _ if hypervisor.is_empty() || !self.base.starts_with("lab:") => None,
            _ if self.base.ends_with("-shadow") || self.has("npt=0") => Some(Paging::Shadow),
            _ => Some(Paging::Nested),
        }
    }

    fn vhe(&self) -> Option<bool> {
        match self.base {
            "lab:kvm-nvhe" | "lab:kvm-nvhe-linux" | "lab:neve-nested" => Some(false),
            "lab:kvm-nested"
            | "lab:kvm-nested-linux"
            | "lab:kvm-vel2"
            | "lab:kvm-vhe"
            | "lab:kvm-vhe-linux"
            | "lab:neve-linux" => Some(true),
            "lab:neve" => Some(self.has("vhe=1")),
            _ => None,
        }
    }

    fn mechanism(&self) -> Option<&'a str> {
        match self.base {
            "lab:neve-linux" | "lab:neve-nested" => match self.variant {
                Some("nv" | "pv" | "neve") => self.variant,
                // The variant may also be the name of a kernel.
                _ => Some("nv2"),
            },
            _ => None,
        }
    }

    fn published(&self) -> Vec<Published> {
        let of_neve = |table: &str, setup: &str| published(["neve-2017", table, setup, "m400"]);
        // NEVE's tables are of one world switch, and of two levels.
        let is_papers = self.has("policy=kvm-4.10") && !self.has("depth=3");
        let vhe = if self.has("vhe=1") { "-vhe" } else { "" };
        match (self.base, self.variant) {
            ("lab:kvm-intel-nested", _) if self.has("vmcs-shadowing=0") => Vec::new(),
            ("lab:kvm-intel-nested", _) => vec![published(["neve-2017", "", "nested", "c220"])],
            ("lab:neve", _) if is_papers && vhe.is_empty() => vec![of_neve("", "kvm")],
            ("lab:neve-nested", Some("nv" | "pv")) if is_papers => {
                vec![of_neve("", &format!("nested-nv{vhe}"))]
            }
            ("lab:neve-nested", Some("neve")) if is_papers => {
                vec![of_neve("", &format!("nested-neve{vhe}"))]
            }
            ("lab:neve-linux", Some("nv")) => {
                vec![of_neve(TEXT, "nested-nv-vhe"), of_neve(TEXT, "nested-nv")]
            }
            ("lab:neve-linux", _) => vec![of_neve(TEXT, "nested-neve")],
            _ => PUBLISHED
                .iter()
                .filter(|(base, _)| *base == self.base)
                .map(|(_, of)| published(*of))
                .collect(),
        }
    }
}

fn published([paper, table, setup, hardware]: [&str; 4]) -> Published {
    Published {
        paper: paper.to_owned(),
        table: (!table.is_empty()).then(|| table.to_owned()),
        setup: setup.to_owned(),
        hardware: hardware.to_owned(),
    }
}
