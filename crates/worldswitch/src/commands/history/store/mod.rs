//! A store of runs: one SQLite file, which keeps each result whole, so that whatever is asked of it
//! later is computed from the samples and not from a summary of them.
//!
//! Beside each result stand its figures, so that a plot over a thousand runs need not read them
//! all; [`Store::add`] computes them anew where they come from. A platform may have one *pinned*
//! run, which newer ones are judged against. Who judges is the caller.

mod file;
mod kernel;
mod schema;
#[cfg(test)]
mod tests;

pub use kernel::{by_version, kernel};
pub use file::{Added, Pair, Point, Run, Store};

use std::path::PathBuf;

/// Why the store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such file, and only adding makes one.
    #[error("there is no history in {} yet: history add makes it", .0.display())]
    NotThere(PathBuf),
    /// The file is something else.
    #[error("{} is no history of worldswitch", .0.display())]
    Foreign(PathBuf),
    /// A newer version wrote it.
    #[error("{} is of version {found}, and this program knows versions up to {known}: use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// Its folder can't be made.
    #[error("can't make the folder for {}: {cause}", path.display())]
    Folder {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// There is no such run.
    #[error("there is no run {0} in the history; history list shows those that are")]
    NoRun(i64),
    /// A result in it can't be read.
    #[error("run {run} is damaged: {cause}")]
    Damaged {
        /// Its number.
        run: i64,
        /// Where and how.
        cause: serde_json::Error,
    },
    /// A result can't be written as JSON.
    #[error("cannot keep the result: {0}")]
    Json(#[from] serde_json::Error),
    /// SQLite failed.
    #[error("{}: {cause}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What it said.
        cause: rusqlite::Error,
    },
}
