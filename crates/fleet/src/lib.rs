//! Campaigns over many machines.
//!
//! A [`campaign::Campaign`] is the user's file; its [`task::Task`]s are single measurements, each of one machine. A
//! [`folder::Folder`], shared by all nodes, holds submissions and results. Results are found by [`cell::Cell`]: a
//! machine's digest and a selection of benchmarks, which decide the digits. [`verdict`] judges which nodes to trust,
//! [`budget`] which tasks fit, [`slurm`] has Slurm's command lines. A [`view::View`] is all that is known of a
//! campaign. [`submit`] gives open tasks to Slurm, and a node measures them by [`work`].

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

pub mod budget;
pub mod campaign;
pub mod cancel;
pub mod carry;
pub mod cell;
pub mod collect;
pub mod digits;
pub mod expand;
pub mod folder;
pub mod kept;
pub mod measure;
pub mod merge;
pub mod queue;
pub mod run;
pub mod show;
pub mod slurm;
pub mod submission;
pub mod submit;
pub mod task;
pub mod verdict;
pub mod view;
pub mod work;

use folder::{FolderError, Lock};
use sha2::{Digest, Sha256};
use ws_terminal::{Stop, output, taken};

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

/// Name of the progress of campaigns.
const AREA: &str = "fleet";

/// Takes a lock. While another process has it, this waits, and prints `waiting` once.
///
/// # Errors
/// [`ws_terminal::Stopped`], if the program is stopped while it waits.
pub fn locked(
    stop: &Stop,
    waiting: &str,
    take: impl Fn() -> Result<Option<Lock>, FolderError>,
) -> anyhow::Result<Lock> {
    taken(stop, AREA, waiting, take)
}

/// Prints progress.
pub fn say(line: &str) {
    output::progress(AREA, line);
}
