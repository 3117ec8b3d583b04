//! The hypervisor below a whole Linux that is a hypervisor itself. It is L0, the machine's Linux L1, and that Linux' VM
//! L2.

use super::{Kernel, Mechanism, Source, Word};
use serde::Serialize;

/// The hypervisor that runs the machine's Linux in a VM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Below {
    /// The machine's memory besides that of the VM.
    pub memory_beside_mib: u64,
    #[serde(flatten)]
    pub hypervisor: BelowHypervisor,
}

/// The hypervisors that can run a hypervisor in a VM.
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
        /// Words of neve's command line.
        parameters: Vec<Word>,
    },
}

impl Below {
    /// The set of packages with the hypervisor's kernel; none for neve.
    pub fn set(&self) -> Option<&str> {
        match &self.hypervisor {
            BelowHypervisor::Kvm { kernel, .. } => match &kernel.source {
                Source::Package(set) => Some(set),
                Source::Folder(_) => None,
            },
            BelowHypervisor::Neve { .. } => None,
        }
    }

    /// The words of the hypervisor's command line, and of its monitor.
    pub(crate) fn words(&self) -> impl Iterator<Item = &Word> {
        let (first, second) = match &self.hypervisor {
            BelowHypervisor::Kvm { kernel, words } => (&kernel.parameters, &**words),
            BelowHypervisor::Neve { parameters, .. } => (parameters, &[][..]),
        };
        first.iter().chain(second)
    }
}
