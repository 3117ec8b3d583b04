//! Lab machines: an emulator that counts instructions, with a real hypervisor inside it.
//!
//! `assemble` finds the parts that a recipe names, `payload` is what the emulator boots, `machine`
//! runs it; `whole` is a machine whose guest is a whole Linux, and `io` the devices of its VM whose requests
//! are measured. Only `command` knows which emulator it is.

mod assemble;
mod command;
mod described;
mod io;
mod machine;
mod payload;
#[cfg(test)]
mod tests;
mod tree;
mod whole;

pub use assemble::{assemble, missing};
pub use machine::LabMachine;
