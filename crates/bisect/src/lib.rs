//! Finds the kernel commit that changed a benchmark's instruction count.
//!
//! A [`Search`] measures both ends, then the commits that git chooses; its [`Found`] is shown as text or as JSON. At
//! last the search can explain the commit by the functions that its kernel and its parent's execute.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod look;
mod search;
mod show;

use std::path::PathBuf;
use ws_analysis::Figure;
use ws_kernels::tree::{Commit, Word};
use ws_machines::name::PlatformName;
use ws_results::ResultFile;
use ws_runner::Output;
use ws_runner::parts::Parts;

pub use search::Search;
pub use show::Bisected;

/// A change to find.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The repository of Linux.
    pub kernel_tree: PathBuf,
    /// A commit without the change.
    pub good: String,
    /// A commit with the change.
    pub bad: String,
    /// The benchmark whose count changed.
    pub bench: String,
    /// The lab machine that boots the kernels.
    pub on: PlatformName,
    /// Shell command that builds a commit. Default: a build with the lab's configuration.
    pub build: Option<String>,
    /// Perturbed boots of each kernel.
    pub perturb: u32,
    /// Conditions that may differ between kernels.
    pub allow: Vec<String>,
    pub parts: Parts,
    pub output: Output,
}

/// A kernel with its figure.
#[derive(Clone, Debug)]
struct Measured {
    result: ResultFile,
    figure: Figure,
    /// Commit that was booted: an earlier one if its kernel was byte for byte the same.
    booted: Commit,
}

/// The outcome of one commit.
struct Point {
    commit: Commit,
    word: Word,
    /// Figure of the commit, if it was measured.
    measured: Option<Measured>,
    /// Difference from the good commit, or the reason why this one was skipped.
    why: String,
}

/// End of a search.
enum End {
    Found(Commit),
    OneOf(Vec<Commit>),
}

/// Outcome of a search.
pub struct Found {
    platform: PlatformName,
    benchmark: String,
    /// Folder of results and logs.
    folder: PathBuf,
    end: End,
    /// The commits that were looked at, ancestors first.
    points: Vec<Point>,
}

impl Found {
    /// The commit that changed the figure; None if too many commits were skipped.
    pub fn commit(&self) -> Option<&Commit> {
        match &self.end {
            End::Found(commit) => Some(commit),
            End::OneOf(_) => None,
        }
    }
}
