//! Campaigns over many machines.
//!
//! A [`campaign::Campaign`] is what the user wrote; its [`task::Task`]s are single measurements, each of one
//! machine. A [`folder::Folder`], shared by all nodes, holds what was submitted and what was measured, by
//! [`cell::Cell`]: a machine's digest and a selection of benchmarks, which decide the digits. [`verdict`] says
//! which nodes to trust, [`budget`] what fits, [`slurm`] how Slurm is asked. Nothing here starts a process.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

pub mod budget;
pub mod campaign;
pub mod cell;
pub mod digits;
pub mod folder;
pub mod merge;
pub mod run;
pub mod slurm;
pub mod submission;
pub mod task;
pub mod verdict;

use sha2::{Digest, Sha256};

/// SHA-256 of the parts, in hexadecimal. Each part is preceded by its length, so that no two lists of parts
/// give the same text.
pub(crate) fn sha256<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        hash.update(format!("{}\n", part.len()));
        hash.update(part);
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
