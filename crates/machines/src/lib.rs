//! Platforms: their names and requirements, the launches of their machines, their consoles, and the guest image.
//!
//! The runner uses [`machine::Machine`] and knows no emulator options: each emulator or monitor has
//! one file here. This crate knows neither records nor statistics.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

pub mod applications;
pub mod child;
pub mod console;
pub mod counter;
pub mod debugger;
pub mod earshot;
pub mod emulator;
#[cfg(test)]
mod fake_image;
pub mod host;
pub mod hypercall;
pub mod image;
mod inherited;
pub mod initramfs;
mod kept;
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
pub mod recording;
pub mod resources;
pub mod room;
pub mod serial;
pub mod shipped;
pub mod vmm;
