//! Hypercalls that a guest may execute on each platform, decided before its machine starts. This file is the only
//! source of the guest's `hypercall=`.
//!
//! A guest executes a hypercall instruction only if its command line names the hypervisor. With hardware virtualization
//! the instruction exits to KVM, which handles it. A *software* KVM gets no such exit. In ring 0 its emulator never
//! gets past the instruction. From ring 3 the instruction may reach whatever runs below this KVM instead. An emulator
//! without a hypervisor raises an exception.

use crate::machine::Engine;

/// The hypervisor whose hypercalls a guest may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hypercall {
    None,
    Kvm,
    Xen,
}

impl Hypercall {
    /// The hypercalls that `engine` is known to handle.
    pub fn answered_by(engine: Engine) -> Self {
        match engine {
            Engine::HardwareKvm | Engine::Neve => Hypercall::Kvm,
            Engine::Xen => Hypercall::Xen,
            Engine::SoftwareKvm | Engine::Emulator | Engine::Unknown => Hypercall::None,
        }
    }

    /// The value of `hypercall=` on the guest's command line.
    pub fn word(self) -> &'static str {
        match self {
            Hypercall::None => "none",
            Hypercall::Kvm => "kvm",
            Hypercall::Xen => "xen",
        }
    }
}

/// Reason why a benchmark that contains a hypercall instruction must not start on `engine`; none if it may. The
/// project's guest would skip the benchmark itself. This check is for a guest that does not.
pub fn forbidden(engine: Engine) -> Option<&'static str> {
    (engine == Engine::SoftwareKvm).then_some(
        "this is a software KVM: a hypercall instruction would hang the guest or reach the hypervisor below KVM, so none is executed",
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
