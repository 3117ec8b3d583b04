//! The hypervisor below a whole Linux that is a hypervisor itself: the machine's Linux is then L1, its VM
//! L2, and this one L0.

use super::{Kernel, Mechanism, Source, Word};
use serde::Serialize;

/// What runs the machine's Linux in a VM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Below {
    /// The machine's memory besides that of the VM.
    pub memory_beside_mib: u64,
    #[serde(flatten)]
    pub hypervisor: BelowHypervisor,
}

/// The hypervisors that can do so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BelowHypervisor {
    /// KVM of another Linux, whose only program is vmm.
    Kvm {
        kernel: Kernel,
        /// Further lines of vmm's configuration, as `el2`.
        words: Vec<Word>,
    },
    /// neve, the project's own hypervisor for ARM.
    Neve {
        nest: Mechanism,
        /// Words of its command line.
        parameters: Vec<Word>,
    },
}

impl Below {
    /// The set of packages with its kernel.
    pub fn set(&self) -> Option<&str> {
        match &self.hypervisor {
            BelowHypervisor::Kvm { kernel, .. } => match &kernel.source {
                Source::Package(set) => Some(set),
                Source::Folder(_) => None,
            },
            BelowHypervisor::Neve { .. } => None,
        }
    }

    /// The words of its command line, and of its monitor.
    pub(crate) fn words(&self) -> impl Iterator<Item = &Word> {
        let (first, second) = match &self.hypervisor {
            BelowHypervisor::Kvm { kernel, words } => (&kernel.parameters, &**words),
            BelowHypervisor::Neve { parameters, .. } => (parameters, &[][..]),
        };
        first.iter().chain(second)
    }
}
