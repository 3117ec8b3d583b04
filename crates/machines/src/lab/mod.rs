//! Lab machines: an emulator that counts instructions, with a real hypervisor inside it.
//!
//! `assemble` finds the parts that a recipe names, `payload` is what the emulator boots, `machine`
//! runs it; `whole` is a machine whose guest is a whole Linux, `io` the devices of its VM whose requests
//! are measured, `network` what serves the network of its workloads, and `cpus` the CPUs of a
//! system that has several; `xl` is Xen's own tool stack in a Linux that is dom0. `virt` describes QEMU's ARM machine to what boots on it, `tree` the same with Xen's domains, and `dom0_tree` with
//! a dom0. `symbols` asks a machine's Linux where its functions are, `software` names the files of its
//! other programs. Only `command` (QEMU) and `bochs` know an emulator's
//! options; `disc` makes the CD that Bochs boots. `resume` starts machines from saved states. `facts` says what a
//! machine is, for results.

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

pub use assemble::{Applications, applications, applications_missing, assemble, emulator, missing};
pub use facts::facts;
pub use machine::LabMachine;
pub use resume::States;
pub use software::{Part, Program, Software, software};
pub use symbols::{Damage, Symbols, SymbolsError, symbols};
pub use vm::{Disk, Executor};
pub use whole::{Launched, Whole, launch_with};
pub use xen_symbols::XenSymbolsError;
