//! Lab machines: an emulator that counts instructions, with a real hypervisor inside it.
//!
//! - `assemble` finds the parts that a recipe names, `payload` is what the emulator boots, `machine` runs it.
//! - `command` (QEMU) and `bochs` are the only files that know an emulator's options; `disc` makes Bochs' CD.
//! - `resume` starts machines from saved states.
//! - `whole` is a machine whose guest is a whole Linux. `io` has the devices of its VM whose requests are measured,
//!   `network` the back-ends of its workloads' network, and `cpus` the CPUs of a system that has several.
//! - `below` is the hypervisor below a whole Linux, `xl` Xen's own tool stack in a Linux that is dom0.
//! - `virt` describes QEMU's ARM machine to the system that boots on it. `tree` describes it with Xen's domains, and
//!   `dom0_tree` with a dom0.
//! - `symbols` gets the addresses of functions from a machine's Linux; `software` names the files of other programs.
//! - `facts` has the facts about a machine, for results.

mod assemble;
mod below;
mod bochs;
mod command;
mod cpus;
mod described;
mod disc;
mod dom0_tree;
mod facts;
mod io;
mod machine;
mod multiboot;
mod network;
mod payload;
mod resume;
mod software;
mod symbols;
#[cfg(test)]
mod tests;
mod tree;
mod virt;
mod vm;
mod whole;
mod whole_memory;
mod xen_symbols;
mod xl;

pub use assemble::{
    Applications, agent, applications, applications_missing, assemble, emulator, missing,
};
pub use facts::facts;
pub use machine::LabMachine;
pub use resume::States;
pub use software::{Part, Program, Software, software};
pub use symbols::{Damage, Symbols, SymbolsError, symbols};
pub use vm::{Disk, Executor};
pub use whole::{Launched, Whole, launch_with};
pub use xen_symbols::XenSymbolsError;
