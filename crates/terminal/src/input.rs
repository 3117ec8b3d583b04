//! Text files of the user, which users write by hand or this program wrote.

use anyhow::{Context, bail};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Limit of a file written by hand, above any real one: 1 MiB.
const BY_HAND: u64 = 1 << 20;

/// Reads a file that the user wrote by hand: events, a budget.
pub fn read(path: &Path) -> anyhow::Result<String> {
    read_at_most(path, BY_HAND)
}

/// Reads a text file of at most `limit` bytes.
pub fn read_at_most(path: &Path, limit: u64) -> anyhow::Result<String> {
    let failed = || format!("can't read {}", path.display());
    let mut text = String::new();
    File::open(path)
        .with_context(failed)?
        .take(limit + 1)
        .read_to_string(&mut text)
        .with_context(failed)?;
    if text.len() as u64 > limit {
        bail!("{} is larger than {} MiB", path.display(), limit >> 20);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_is_refused_and_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.toml");
        std::fs::write(&path, "a".repeat(BY_HAND as usize)).unwrap();
        assert_eq!(read(&path).unwrap().len() as u64, BY_HAND);
        std::fs::write(&path, "a".repeat(BY_HAND as usize + 1)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("1 MiB"));
        assert!(read(&folder.path().join("none")).is_err());
    }
}
