//! Lab machines: an emulator that counts instructions, with a real hypervisor inside it.
//!
//! `assemble` finds what a recipe names, `payload` is what the emulator boots, `machine` runs it.
//! Which emulator it is, is known in `command` alone.

mod assemble;
mod command;
mod machine;
mod payload;
#[cfg(test)]
mod tests;
mod tree;

pub use assemble::{assemble, missing};
pub use machine::LabMachine;
