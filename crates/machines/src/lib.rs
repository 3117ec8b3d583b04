//! Platforms: their names, what they need, how their machines are launched and what their
//! console says, and the guest image that they boot.
//!
//! The runner uses [`machine::Machine`] and knows no emulator's flag; each emulator or monitor
//! has one file here. Nothing here knows records or statistics.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod child;
pub mod console;
pub mod counter;
pub mod earshot;
pub mod emulator;
#[cfg(test)]
mod fake_image;
pub mod host;
pub mod hypercall;
pub mod image;
mod inherited;
pub mod initramfs;
pub mod kernel_file;
pub mod lab;
pub mod logfile;
pub mod machine;
pub mod name;
pub mod pin;
pub mod platforms;
pub mod process;
pub mod qemu;
mod qmp;
pub mod resources;
pub mod serial;
pub mod vmm;
