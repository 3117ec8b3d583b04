//! The initramfs of a lab machine's kernel: an uncompressed cpio archive.
//!
//! The same entries always give the same bytes: there are no times and no owners, and inodes are
//! numbered in order.

use crate::machine::MachineError;
use cpio::newc::{self, Builder};
use std::io::{self, Write};

/// Linux's S_IFDIR, S_IFREG and S_IFLNK, with permissions.
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;

/// Folders where the kernel's own file systems are mounted.
const MOUNT_POINTS: [&str; 3] = ["dev", "proc", "sys"];

/// A file of the archive: its path without a leading slash, and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub path: String,
    pub content: Content,
}

/// The content of a file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Bytes, executable.
    Bytes(Vec<u8>),
    /// A symbolic link to a path.
    Link(String),
    /// A folder with this mode.
    Folder(u32),
}

impl Entry {
    /// A file of these bytes.
    pub fn file(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            content: Content::Bytes(bytes.into()),
        }
    }
}

/// Packs `entries` and empty folders /dev, /proc and /sys. The folders of an entry's path come before the entry.
///
/// # Errors
/// An entry has 4 GiB or more.
pub fn pack(entries: &[Entry]) -> Result<Vec<u8>, MachineError> {
    let mut bytes = Vec::new();
    write(&mut bytes, entries)
        .map_err(|e| MachineError::Other(format!("can't make an initramfs: {e}")))?;
    Ok(bytes)
}

/// Writes the archive. Folders come before their files: the kernel creates no folder by itself.
fn write(to: &mut impl Write, entries: &[Entry]) -> io::Result<()> {
    let mut inode = 0u32;
    let mut add = |to: &mut dyn Write, path: &str, mode: u32, bytes: &[u8]| {
        inode += 1;
        let size = u32::try_from(bytes.len())
            .map_err(|_| io::Error::other(format!("{path} has 4 GiB or more")))?;
        let links = if mode & !0o7777 == FOLDER & !0o7777 {
            2
        } else {
            1
        };
        let entry = Builder::new(path).ino(inode).mode(mode).nlink(links);
        let mut writer = entry.write(to, size);
        writer.write_all(bytes)?;
        writer.finish().map(|_| ())
    };
    let mut folders: Vec<&str> = Vec::new();
    for folder in MOUNT_POINTS {
        add(to, folder, FOLDER, &[])?;
        folders.push(folder);
    }
    for entry in entries {
        for (end, _) in entry.path.match_indices('/') {
            let folder = entry.path.get(..end).unwrap_or_default();
            if !folders.contains(&folder) {
                add(to, folder, FOLDER, &[])?;
                folders.push(folder);
            }
        }
        match &entry.content {
            Content::Folder(mode) => {
                if !folders.contains(&&*entry.path) {
                    add(to, &entry.path, FOLDER & !0o7777 | mode, &[])?;
                    folders.push(&entry.path);
                }
            }
            Content::Bytes(bytes) => add(to, &entry.path, PROGRAM, bytes)?,
            Content::Link(target) => add(to, &entry.path, LINK, target.as_bytes())?,
        }
    }
    newc::trailer(to).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn packed(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let entries: Vec<Entry> = entries
            .iter()
            .map(|(path, bytes)| Entry::file(*path, *bytes))
            .collect();
        pack(&entries).unwrap()
    }

    #[test]
    fn an_archive_has_all_entries_and_their_folders_once() {
        let bytes = packed(&[("init", b"#!"), ("lib/a/x", b"1"), ("lib/a/y", b"22")]);
        let mut rest = bytes.as_slice();
        let mut seen = Vec::new();
        loop {
            let mut reader = newc::Reader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            let mut data = Vec::new();
            reader.read_to_end(&mut data).unwrap();
            let entry = reader.entry();
            seen.push(format!(
                "{} {:o} {}",
                entry.name(),
                entry.mode(),
                data.len()
            ));
            rest = reader.finish().unwrap();
        }
        assert_eq!(
            seen,
            [
                "dev 40755 0",
                "proc 40755 0",
                "sys 40755 0",
                "init 100755 2",
                "lib 40755 0",
                "lib/a 40755 0",
                "lib/a/x 100755 1",
                "lib/a/y 100755 2",
            ]
        );
    }

    #[test]
    fn the_same_entries_are_the_same_bytes() {
        assert_eq!(packed(&[("a", b"b")]), packed(&[("a", b"b")]));
        assert_ne!(packed(&[("a", b"b")]), packed(&[("a", b"c")]));
    }
}
