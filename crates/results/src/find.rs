//! Finds result files by what the user typed: `DIR`, `DIR:PLATFORM` or a file.

use crate::{ReadError, ResultFile};
use std::path::PathBuf;

/// Why nothing was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("{0:?} is no file, no folder, and no FOLDER:PLATFORM")]
    Nothing(String),
    #[error("no result files in {}", .0.display())]
    Empty(PathBuf),
    #[error("no result of {platform:?} in {}; it has {}", dir.display(), there.join(", "))]
    NoSuchPlatform { dir: PathBuf, platform: String, there: Vec<String> },
    #[error("cannot list {}: {source}", dir.display())]
    List { dir: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The paths that `spec` means: one for a file or `DIR:PLATFORM`, every `*.json` of a folder,
/// sorted by name.
pub fn find(_spec: &str) -> Result<Vec<PathBuf>, FindError> {
    todo!()
}

/// Finds and reads, ordered by when the runs began, then by platform.
pub fn load(_spec: &str) -> Result<Vec<ResultFile>, FindError> {
    todo!()
}
