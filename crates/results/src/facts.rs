//! Facts of a machine. Views choose and relate results by them, so that they need no platform's name.

mod named;

use crate::ResultFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Facts about the machine that measured. They are neither subject nor condition: results with other facts can be
/// compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// Level of the measured system: native, in a VM, or in a nested VM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The measured system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    /// The hypervisor that the machine boots: `kvm`, `xen`, `neve`, or `tcg`, QEMU's emulator. For a whole Linux in a
    /// nested VM it is L1's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// The program that creates the VM: `vmm`, `qemu`, `xl`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<String>,
    /// Translation of the VM's addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paging: Option<Paging>,
    /// Whether that hypervisor runs at EL2 with VHE; only on ARM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vhe: Option<bool>,
    /// Mechanism by which neve runs a guest hypervisor: `nv`, `nv2`, `pv`, `neve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<String>,
    /// Published numbers that views show beside the machine's, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
}

/// Level of the measured system.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// System without a hypervisor.
    Native,
    /// System in a VM.
    Vm,
    /// System in a nested VM.
    NestedVm,
}

/// The measured system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum System {
    /// The benchmarks' own guest.
    Guest,
    /// A whole Linux with programs.
    Linux,
}

/// Translation of guest addresses to host addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Paging {
    /// A second set of tables, which the processor walks (EPT, NPT, stage 2).
    Nested,
    /// Shadow tables, which the hypervisor maintains instead of the guest's.
    Shadow,
    /// An emulator, in software.
    Software,
}

/// Published numbers of a machine like this one, by the columns of `reference/*.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The paper, such as `neve-2017`.
    pub paper: String,
    /// Table of the paper; all of its tables if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Setup in the paper, such as `kvm` or `nested-neve`.
    pub setup: String,
    /// The paper's machine.
    pub hardware: String,
}

impl Facts {
    /// Returns the facts of a platform by its name. Only this host's platforms, such as `qemu-kvm`, and the lab's
    /// machines that are older than facts in results have facts by name. Empty for all other names.
    pub fn named(platform: &str) -> Self {
        named::facts(platform)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the measured system is `system`, and native.
    pub fn is_native(&self, system: System) -> bool {
        (self.role, self.system) == (Some(Role::Native), Some(system))
    }

    /// Whether the measured system is in a nested VM.
    pub fn is_nested(&self) -> bool {
        self.role == Some(Role::NestedVm)
    }

    /// Whether the hypervisor is this one.
    pub fn is_on(&self, hypervisor: &str) -> bool {
        self.hypervisor.as_deref() == Some(hypervisor)
    }

    /// Whether this mechanism of neve runs the guest hypervisor.
    pub fn is_by(&self, mechanism: &str) -> bool {
        self.mechanism.as_deref() == Some(mechanism)
    }

    /// Whether both machines have the same hypervisor, which translates addresses alike.
    pub fn has_hypervisor_of(&self, other: &Self) -> bool {
        (&self.hypervisor, self.paging, self.vhe) == (&other.hypervisor, other.paging, other.vhe)
    }

    /// Whether this machine is that of `nested`, but with one hypervisor. Views compare the nested VM with its VM.
    pub fn is_vm_of(&self, nested: &Self) -> bool {
        self.role == Some(Role::Vm)
            && nested.is_nested()
            && (self.system, &self.monitor) == (nested.system, &nested.monitor)
            && self.has_hypervisor_of(nested)
    }

    /// Returns the machine's published numbers in a table of a paper, the best first.
    pub fn published_in(&self, paper: &str, table: &str) -> impl Iterator<Item = &Published> {
        let is_it = move |of: &&Published| {
            of.paper == paper && of.table.as_deref().is_none_or(|of| of == table)
        };
        self.published.iter().filter(is_it)
    }
}

impl ResultFile {
    /// Returns the facts of the result's machine. An older result has none in its file, and gets those of its
    /// platform's name.
    pub fn facts(&self) -> Cow<'_, Facts> {
        match self.identity.facts.is_empty() {
            false => Cow::Borrowed(&self.identity.facts),
            true => Cow::Owned(named::facts(&self.platform)),
        }
    }
}

impl Role {
    /// The name shown to users.
    pub fn word(self) -> &'static str {
        match self {
            Role::Native => "native",
            Role::Vm => "VM",
            Role::NestedVm => "nested VM",
        }
    }
}

impl Paging {
    /// The paging in a result; `None` if the result does not say it.
    pub fn of(result: &ResultFile) -> Option<Paging> {
        let subject = &result.identity.subject;
        let says = |field: &str| subject.get(field).and_then(|value| value.as_str());
        // Parameters of KVM's modules, as the kernel writes booleans.
        let switch = says("kvm_intel.ept").or(says("kvm_amd.npt"));
        match switch {
            Some("Y" | "1") => return Some(Paging::Nested),
            Some("N" | "0") => return Some(Paging::Shadow),
            _ => {}
        }
        // Options of the module in a lab machine.
        let options = says("kvm-amd.options").or(says("kvm-intel.options"));
        options.and_then(Self::of_options).or(result.facts().paging)
    }

    /// Returns the paging that the options of one of KVM's modules set; `None` if they set none.
    pub fn of_options(options: &str) -> Option<Paging> {
        options.split_whitespace().find_map(|option| match option {
            "npt=1" | "ept=1" => Some(Paging::Nested),
            "npt=0" | "ept=0" => Some(Paging::Shadow),
            _ => None,
        })
    }

    /// The name shown to users.
    pub fn word(self) -> &'static str {
        match self {
            Paging::Nested => "nested paging",
            Paging::Shadow => "shadow paging",
            Paging::Software => "paging in software",
        }
    }
}
