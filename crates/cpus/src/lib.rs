//! The CPUs that this process can use, their kinds, and why it can't use the others.
//!
//! Callers count, choose or pin CPUs: the doctor, the runner, `place`, `io` and elvis. [`Cpus::here`] reads this host,
//! [`Cpus::read`] the files of any host. Only [`bind`] changes anything: the affinity of a thread.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod bind;
mod choose;
mod facts;
mod groups;
mod kinds;
pub mod list;
#[cfg(test)]
mod made;
mod why;

pub use bind::{allowed, bind, may_use};
pub use facts::Cpus;
pub use kinds::Kind;
pub use list::Set;
pub use why::{Limit, named};
