//! Explains an operation's instructions by the functions that execute them.
//!
//! Pure: no processes, no clock, and no files but the bytes that callers pass.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

pub mod a64;
pub mod adds;
pub mod bochs;
pub mod boots;
mod components;
pub mod counts;
pub mod debug;
pub mod diff;
pub mod explained;
#[cfg(test)]
mod fake;
mod flow;
mod hidden;
pub mod left_out;
pub mod load;
pub mod modules;
mod per_function;
pub mod phases;
pub mod place;
pub mod prices;
pub mod reckoning;
pub mod registers;
pub mod render;
pub mod requests;
#[cfg(test)]
mod riscv_tests;
mod rv64;
pub mod spread;
pub mod steps;
pub mod sum;
pub mod symbols;
pub mod trace;
pub mod traps;
pub mod tree;
mod windows;
mod x86;
