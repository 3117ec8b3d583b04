//! Kernels of commits: a worktree of the user's repository in which git bisects, and the builds in it.
//!
//! `bisect` searches among them, `fleet` measures a campaign's.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod build;
mod child;
mod short_hash;
pub mod tree;

pub use short_hash::short_hash;
