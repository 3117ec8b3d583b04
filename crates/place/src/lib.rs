//! A host and its VM at work on chosen CPUs: which placements are measured in a stated time, and their workloads.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod cpus;
mod matrix;
mod run;
mod work;

pub use cpus::Cpus;
pub use matrix::{Asked, Matrix};
pub use run::measure;
pub use work::{facts, workloads};
