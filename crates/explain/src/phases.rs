//! The phases of a world switch: which instructions leave the guest, which handle its exit, which enter it again, and
//! which go to a process and back.

use crate::place::{Function, Kind};
use crate::tree::Walk;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A phase of the execution outside of the guest.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// From the guest's last instruction to the handler of the exit: the guest's state is saved.
    Exit,
    /// The handler of the exit, which looks for the reason and serves the guest.
    Handling,
    /// From the handler to the guest: its state is restored.
    Entry,
    /// From the handler to the monitor's process, in it, and back to the hypervisor's loop over entries. State that is
    /// saved and restored only because another process might run is included.
    UserSpace,
    /// Any phase in a guest hypervisor.
    GuestHypervisor,
}

impl Phase {
    /// All phases, in the order of time.
    pub const ALL: [Self; 5] = [
        Self::Exit,
        Self::Handling,
        Self::Entry,
        Self::UserSpace,
        Self::GuestHypervisor,
    ];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exit => "exit",
            Self::Handling => "handling",
            Self::Entry => "entry",
            Self::UserSpace => "user space",
            Self::GuestHypervisor => "guest hypervisor",
        })
    }
}

/// Effect of a function on the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// The function and its callees handle the exit; entry follows.
    Handler,
    /// The function and its callees belong to the way from user space.
    Reload,
    /// The loop of the vCPU, on its way from user space, begins the entry.
    Loop,
    /// The function is on the way to user space or in it.
    Outside,
}

/// Functions that begin a phase, by hypervisor; x86 first.
const MARKS: [(&str, Mark); 16] = [
    // Linux KVM: arch/x86/kvm/{svm/svm,vmx/vmx}.c, arch/arm64/kvm/handle_exit.c, arch/riscv/kvm/vcpu_exit.c.
    ("svm_handle_exit", Mark::Handler),
    ("vmx_handle_exit", Mark::Handler),
    ("handle_exit", Mark::Handler),
    ("kvm_riscv_vcpu_exit", Mark::Handler),
    // arch/arm64/kvm/hyp/include/hyp/switch.h: gives the guest its floating-point registers; no other handler runs.
    ("kvm_hyp_handle_fpsimd", Mark::Handler),
    ("kvm_arch_vcpu_ioctl_run", Mark::Loop),
    ("kvm_vcpu_ioctl", Mark::Outside),
    ("vcpu_load", Mark::Reload),
    // Xen: xen/arch/x86/hvm/{svm/svm,vmx/vmx}.c, xen/arch/arm/traps.c.
    ("svm_vmexit_handler", Mark::Handler),
    ("vmx_vmexit_handler", Mark::Handler),
    ("do_trap_guest_sync", Mark::Handler),
    ("do_trap_irq", Mark::Handler),
    ("do_trap_fiq", Mark::Handler),
    // neve: neve/exits/exits.c.
    ("synchronous", Mark::Handler),
    ("arch_take_interrupts", Mark::Handler),
    ("nested_synchronous", Mark::Handler),
];

fn mark(function: &Function) -> Option<Mark> {
    if function.kind == Kind::User {
        return Some(Mark::Outside);
    }
    // Xen's table has the file before the name of a function that is not global.
    let own = function.name.rsplit('#').next()?;
    let own = own.strip_prefix("__kvm_nvhe_").unwrap_or(own);
    let found = MARKS.iter().find(|(name, _)| *name == own);
    found.map(|(_, mark)| *mark)
}

/// Returns the phase of each instruction of a path; None for the guest's instructions.
pub fn phases(walk: &Walk, functions: &[Function]) -> Vec<Option<Phase>> {
    let inherited = inherited(walk, functions);
    let mut now = Phase::Exit;
    let follow = |node: &u32| {
        let function = &functions[walk.tree.nodes[*node as usize].function as usize];
        if function.kind == Kind::Guest {
            now = Phase::Exit;
            return None;
        }
        if function.level > 0 {
            now = Phase::Exit;
            return Some(Phase::GuestHypervisor);
        }
        match inherited[*node as usize] {
            Some(Phase::Handling) => {
                now = Phase::Entry;
                return Some(Phase::Handling);
            }
            Some(phase) => return Some(phase),
            None => {}
        }
        match mark(function) {
            Some(Mark::Outside) => now = Phase::UserSpace,
            Some(Mark::Loop) if now == Phase::UserSpace => now = Phase::Entry,
            _ => {}
        }
        Some(now)
    };
    let mut phases: Vec<Option<Phase>> = walk.nodes.iter().map(follow).collect();
    // Code that led to user space looked like an entry until user space was reached.
    let mut behind = None;
    for phase in phases.iter_mut().rev() {
        if *phase == Some(Phase::Entry) && behind == Some(Phase::UserSpace) {
            *phase = behind;
        }
        behind = *phase;
    }
    phases
}

/// Returns the phase of nodes that share it with all their callees.
fn inherited(walk: &Walk, functions: &[Function]) -> Vec<Option<Phase>> {
    // Parents come before their children.
    let mut phases: Vec<Option<Phase>> = Vec::with_capacity(walk.tree.nodes.len());
    for node in &walk.tree.nodes {
        let own = match mark(&functions[node.function as usize]) {
            Some(Mark::Handler) => Some(Phase::Handling),
            Some(Mark::Reload) => Some(Phase::UserSpace),
            _ => None,
        };
        let parent = node.parent.and_then(|parent| phases[parent as usize]);
        phases.push(parent.or(own));
    }
    phases
}

/// Whether the hypervisor's phases are known: if not, all its instructions are in the phase exit.
pub fn are_known(phases: &[Option<Phase>]) -> bool {
    phases.contains(&Some(Phase::Handling))
}

#[cfg(test)]
#[path = "phases_tests.rs"]
mod tests;
