//! Boots a machine of the lab while its emulator records it, and explains the executed instructions.

mod counted;
pub mod debug;
mod operation;

pub use counted::{Recorded, functions, ticks};
pub use operation::{Explainer, Texts, machine, symbols, temporary_folder};

/// Default threshold of a difference: functions whose own instructions changed by fewer are summed up.
pub const LEAST: u64 = 10;
