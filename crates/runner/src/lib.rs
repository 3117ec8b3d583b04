//! Measures platforms: opens and boots them, and writes a result file of each.
//!
//! Whoever measures builds a [`RunSpec`] and calls [`measure`]: the command, and libraries that judge results. Nothing
//! here parses a command line or draws a table. Each of these folders uses only those after it: `rounds` (order of
//! boots and launches), `launch` (a launch, from bytes to rows), `outcome` (rows to a result).

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

pub mod answer;
pub mod benchmarks;
mod choose;
pub mod doctor;
#[cfg(test)]
mod fake;
mod launch;
mod measure;
mod open;
mod outcome;
mod own_kernel;
pub mod parts;
mod rounds;
mod spec;
pub mod whole;

pub use measure::{Measured, Problem, measure};
pub use outcome::folder::{Folder, bytes_at_most, must_have_room};
pub use own_kernel::OwnKernel;
pub use rounds::{nonce, plan, rows, turns};
pub use spec::{Benchmarks, Output, RunSpec, Session};
