//! Boots a machine of the lab while its emulator records it, and explains what was executed.

mod counted;
pub mod debug;
mod operation;

pub use counted::{Recorded, symbols_of_linux, ticks};
pub use operation::{Explainer, Texts, machine, symbols, temporary_folder};

/// A function that changed by fewer instructions of its own is summed up with others, where no option says it.
pub const LEAST: u64 = 10;
