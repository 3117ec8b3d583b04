//! Rewrites the hypervisor instructions of an AArch64 image, so that it runs at virtual EL2 of a CPU that does not trap
//! them at EL1. Each becomes a call of the hypervisor below, or, for the paper's NEVE, also a load from or a store to a
//! deferred page (Lim et al., NEVE, SOSP 2017, sections 4 and 6.4).
//!
//! [`patch`] takes a file's bytes and returns the patched bytes and a report. neve's table of registers ([`Registers`])
//! decides how an access is rewritten. The ELF file's mapping symbols, or the caller, say which words are code. All
//! functions are pure, and never panic, whatever the file contains.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod a64;
mod image;
mod patch;
mod registers;
mod rules;
mod text;
mod veneers;

pub use image::{Outline, Range};
pub use patch::{Options, Report, patch};
pub use rules::{Access, Target};
