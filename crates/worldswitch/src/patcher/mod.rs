//! Rewrites the hypervisor instructions of an AArch64 image, so that it runs at virtual EL2 of a CPU
//! whose EL1 does not trap them: as calls of the hypervisor below, or as the paper's NEVE would have it,
//! as loads and stores of a deferred page (Lim et al., NEVE, SOSP 2017, sections 4 and 6.4).
//!
//! [`patch`] takes a file's bytes and gives the patched file's, with a report. Which register becomes what
//! is said by neve's own table of registers ([`Registers`]); which words are code by the ELF file's mapping
//! symbols, or by whoever asks. Everything here is pure, and total: a file can be as hostile as it likes.

pub mod a64;
mod image;
mod patch;
mod registers;
mod rules;
mod veneers;

pub use image::{ImageError, Outline, Range};
pub use patch::{Changed, Left, Options, Place, Refused, Report, SCHEMA, patch};
pub use registers::{Encoding, Nest, Register, Registers, TableError};
pub use rules::{Access, Becomes, Target};
