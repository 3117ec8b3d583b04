//! Writes a result file whole or not at all.

use crate::ResultFile;
use std::path::{Path, PathBuf};

/// What went wrong, and where. Nothing of the file is left behind.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct WriteError {
    /// What was being done, as in `write`, `create the folder`.
    pub action: &'static str,
    pub path: PathBuf,
    pub source: std::io::Error,
}

/// Writes `result` into the folder `dir` (made if missing) under [`crate::file_name`], replacing
/// an older one. Returns the file's path.
pub fn write_into(dir: &Path, result: &ResultFile) -> Result<PathBuf, WriteError> {
    let path = dir.join(crate::file_name(&result.platform));
    write_file(&path, result)?;
    Ok(path)
}

/// Writes `result` to `path`.
pub fn write_file(_path: &Path, _result: &ResultFile) -> Result<(), WriteError> {
    todo!()
}

/// Writes any bytes to `path`, whole or not at all: exports use it too.
pub fn write_bytes(_path: &Path, _bytes: &[u8]) -> Result<(), WriteError> {
    todo!()
}
