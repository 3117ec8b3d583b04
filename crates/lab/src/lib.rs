//! The deterministic lab's data: recipes of machines, and the store of packages that the machines
//! are made of.
//!
//! A [`lab::Lab`] reads the folders with recipes ([`recipe::Recipe`]), workloads
//! ([`workload::Workload`]), sets of packages ([`sets::Set`]), pins, and cures of known faults in
//! packages ([`quirks::Quirk`]). A [`store::Store`] holds unpacked sets in the user's cache; they
//! contain the kernels, the hypervisors, the emulator itself, and root file systems ([`image`]).
//! `ws-machines` boots recipes.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

pub mod architecture;
pub mod carry;
pub mod fetch;
mod files;
pub mod image;
pub mod kernel;
pub mod lab;
pub mod manifest;
mod program;
pub mod quirks;
pub mod recipe;
mod recipe_file;
pub mod sets;
pub mod store;
pub mod workload;
