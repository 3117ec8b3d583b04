//! Files that users write by hand: events, budgets.

use anyhow::{Context, bail};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Far more than anybody writes by hand.
const MAX_BYTES: u64 = 1 << 20;

/// Reads such a file.
///
/// # Errors
/// It can't be read, is not UTF-8, or is larger than 1 MiB.
pub fn read(path: &Path) -> anyhow::Result<String> {
    let failed = || format!("can't read {}", path.display());
    let mut text = String::new();
    File::open(path)
        .with_context(failed)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .with_context(failed)?;
    if text.len() as u64 > MAX_BYTES {
        bail!("{} is larger than 1 MiB", path.display());
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
        std::fs::write(&path, "a".repeat(MAX_BYTES as usize)).unwrap();
        assert_eq!(read(&path).unwrap().len() as u64, MAX_BYTES);
        std::fs::write(&path, "a".repeat(MAX_BYTES as usize + 1)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("1 MiB"));
        assert!(read(&folder.path().join("none")).is_err());
    }
}
