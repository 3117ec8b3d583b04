//! Kernels of commits: a worktree of the user's repository in which git bisects, and the builds in it.
//!
//! `lab bisect` searches among kernels of commits; `test` keeps the kernels that it built; `fleet` measures those of a
//! campaign.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod booted;
pub mod build;
pub mod built;
mod child;
mod short_hash;
pub mod tree;

pub use booted::booted;
pub use short_hash::short_hash;
