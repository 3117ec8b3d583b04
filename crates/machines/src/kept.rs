//! Files in the cache that can be made again. Only the newest are kept.

use std::fs::{self, DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Writes the file `name` into a folder, whole or not at all, and removes all but the newest `most` files. A file that
/// has these bytes already becomes the newest. Returns the file's path.
pub fn keep(folder: &Path, name: &str, bytes: &[u8], most: usize) -> io::Result<PathBuf> {
    let path = folder.join(name);
    if fs::read(&path).is_ok_and(|there| there == bytes) {
        // In a cache that can't be written the file's time stays as it is.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        return Ok(path);
    }
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(&path)?;
    let mut there: Vec<_> = fs::read_dir(folder)?
        .flatten()
        .map(|entry| (modified(&entry), entry.path()))
        .collect();
    there.sort();
    let many = there.len().saturating_sub(most);
    for (_, old) in there.iter().take(many) {
        // Another process may have removed it.
        let _ = fs::remove_file(old);
    }
    Ok(path)
}

fn modified(entry: &DirEntry) -> SystemTime {
    let modified = entry.metadata().and_then(|data| data.modified());
    modified.unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_what_is_damaged_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("made");
        let kept = |name: &str| keep(&cache, name, b"text", 3).unwrap();
        for (name, seconds) in [("a", 1), ("b", 2), ("c", 3)] {
            assert_eq!(kept(name), cache.join(name));
            let old = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            File::open(cache.join(name))
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
        // Asked for again, `a` is among the newest.
        kept("a");
        kept("d");
        let there = |name: &&str| cache.join(name).exists();
        let there: Vec<&str> = ["a", "b", "c", "d"].into_iter().filter(there).collect();
        assert_eq!(there, ["a", "c", "d"]);
        fs::write(cache.join("a"), "tex!").unwrap();
        assert_eq!(fs::read(kept("a")).unwrap(), b"text");
    }
}
