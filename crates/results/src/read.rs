//! Reads a result file.

use crate::{ResultFile, SCHEMA};
use std::path::{Path, PathBuf};

/// Larger files are refused.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// Why a file is no result that this version can read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{} is larger than {MAX_FILE_BYTES} bytes, so it is no result file", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} is no result file: {source}", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("{} is no result file: it has no \"schema\"", path.display())]
    NoSchema { path: PathBuf },
    #[error("{} has schema {found:?}, this version reads {SCHEMA:?}", path.display())]
    UnknownSchema { path: PathBuf, found: String },
    #[error("{} is damaged: {what}", path.display())]
    Inconsistent { path: PathBuf, what: String },
}

/// Reads and checks one file.
pub fn read_file(_path: &Path) -> Result<ResultFile, ReadError> {
    todo!()
}
