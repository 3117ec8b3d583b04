//! Reads the files of the real host. It writes nothing and opens no device.

use crate::sys::{Node, Sys};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;

/// Length to which files are cut. It is enough for several CPUs of `/proc/cpuinfo`, of which one is needed. The kernel
/// generates that file while it is read, which takes long on a large host.
const LIMIT_BYTES: u64 = 64 << 10;

/// The host whose files are under a folder; `/` is this host.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    /// The host whose root is `folder`.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }
}

impl Sys for Root {
    fn read(&self, path: &str) -> Option<String> {
        let path = self.path(path);
        // Reading a pipe or a device could block, or have side effects.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        let file = File::open(&path).ok()?;
        file.take(LIMIT_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(folder)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .collect();
        names.sort();
        names
    }

    fn node(&self, path: &str) -> Option<Node> {
        let path = self.path(path);
        let metadata = fs::metadata(&path).ok()?;
        let access = Access::READ_OK | Access::WRITE_OK;
        Some(Node {
            mode: metadata.mode() & 0o7777,
            gid: metadata.gid(),
            device: metadata.file_type().is_char_device(),
            usable: accessat(CWD, &path, access, AtFlags::EACCESS).is_ok(),
        })
    }

    fn link(&self, path: &str) -> Option<String> {
        let to = fs::read_link(self.path(path)).ok()?;
        Some(to.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_links_are_read_under_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let made = folder.path().join("sys/kernel");
        fs::create_dir_all(&made).unwrap();
        fs::write(made.join("b"), " word \nmore\n").unwrap();
        fs::write(made.join("a"), [0xff, b'x']).unwrap();
        std::os::unix::fs::symlink("pid:[1]", made.join("c")).unwrap();
        assert_eq!(root.line("/sys/kernel/b").as_deref(), Some("word"));
        assert_eq!(root.read("/sys/kernel/a").as_deref(), Some("\u{fffd}x"));
        assert_eq!(root.list("/sys/kernel"), ["a", "b", "c"]);
        assert_eq!(root.link("/sys/kernel/c").as_deref(), Some("pid:[1]"));
        assert_eq!(root.read("/sys/kernel"), None);
        assert_eq!(root.read("/sys/none"), None);
        assert!(root.list("/sys/none").is_empty());
        assert!(root.exists("/sys/kernel") && !root.exists("/sys/none"));
        assert!(root.node("/sys/kernel/b").is_some_and(|node| node.usable));
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        // Opening a pipe would wait for a writer forever.
        assert_eq!(Root::at(folder.path()).read("/pipe"), None);
    }

    #[test]
    fn long_files_are_cut() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("long"), vec![b'x'; 1 << 20]).unwrap();
        let text = Root::at(folder.path()).read("/long").unwrap();
        assert_eq!(text.len() as u64, LIMIT_BYTES);
    }
}
