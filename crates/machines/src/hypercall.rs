//! Which hypercall a guest may execute: decided here, for every platform, before its machine
//! starts. Nothing else puts a value behind `hypercall=`.
//!
//! A guest executes a hypercall instruction only if its command line says whose. On hardware the
//! instruction leaves the guest and KVM answers it. A *software* KVM has no such exit: in ring 0 its
//! emulator never gets over the instruction, and from ring 3 it may reach whatever runs below this
//! KVM, not the KVM that runs the guest. An emulator without a hypervisor raises an exception.

use crate::machine::Engine;

/// Whose hypercalls a guest may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hypercall {
    None,
    Kvm,
    Xen,
}

impl Hypercall {
    /// What `engine` is known to answer.
    pub fn answered_by(engine: Engine) -> Self {
        match engine {
            Engine::HardwareKvm | Engine::Neve => Hypercall::Kvm,
            Engine::Xen => Hypercall::Xen,
            Engine::SoftwareKvm | Engine::Emulator | Engine::Unknown => Hypercall::None,
        }
    }

    /// As the guest's command line has it.
    pub fn word(self) -> &'static str {
        match self {
            Hypercall::None => "none",
            Hypercall::Kvm => "kvm",
            Hypercall::Xen => "xen",
        }
    }
}

/// Why a benchmark that has a hypercall instruction in it is not even started on `engine`; nothing
/// where it may try. The guest would skip it by itself: this is for the guest that would not.
pub fn forbidden(engine: Engine) -> Option<&'static str> {
    (engine == Engine::SoftwareKvm).then_some(
        "this is a software KVM: a hypercall instruction would hang the guest or reach beyond it, so none is executed",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hypervisors_answer_hypercalls() {
        let word = |engine| Hypercall::answered_by(engine).word();
        assert_eq!(word(Engine::HardwareKvm), "kvm");
        assert_eq!(word(Engine::Xen), "xen");
        assert_eq!(word(Engine::SoftwareKvm), "none");
        assert_eq!(word(Engine::Emulator), "none");
        assert_eq!(word(Engine::Unknown), "none");
    }

    #[test]
    fn a_software_kvm_is_not_even_asked() {
        assert!(forbidden(Engine::SoftwareKvm).is_some());
        for engine in [Engine::HardwareKvm, Engine::Emulator, Engine::Unknown] {
            assert_eq!(forbidden(engine), None);
        }
    }
}
