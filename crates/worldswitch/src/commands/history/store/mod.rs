//! A store of runs: one SQLite file that keeps each whole result, so that later questions can be
//! answered from the samples.
//!
//! [`Store::add`] also computes each result's figures and keeps them in a table of their own, so that
//! a plot over a thousand runs does not read all samples. A platform may have one *pinned* run, the
//! baseline that the caller compares newer runs with.

mod file;
mod kernel;
mod schema;
#[cfg(test)]
mod tests;

pub use file::{Point, Run, Store};
pub use kernel::{by_version, kernel};

use std::path::PathBuf;

/// Why an operation on the store failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such file. Only [`Store::create`] makes one.
    #[error("there is no history in {} yet: history add makes it", .0.display())]
    NotThere(PathBuf),
    /// The file is something else.
    #[error("{} is no history of worldswitch", .0.display())]
    Foreign(PathBuf),
    /// A newer version of this program wrote it.
    #[error("{} is of version {found}, and this program knows versions up to {known}: use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its tables.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// Its folder can't be made.
    #[error("can't make the folder for {}: {cause}", path.display())]
    Folder {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// There is no such run.
    #[error("there is no run {0} in the history; history list shows those that are")]
    NoRun(i64),
    /// A result in it can't be read.
    #[error("run {run} is damaged: {cause}")]
    Damaged {
        /// The run's number.
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
        /// SQLite's error.
        cause: rusqlite::Error,
    },
}
