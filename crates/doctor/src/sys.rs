//! What a host tells of itself: files under `/proc`, `/sys`, `/dev` and `/etc`.
//!
//! Findings are made from a [`Sys`] alone, so that they can be tested on hosts that nobody here
//! has. [`crate::Root`] is the real one.

/// Files of a host, by absolute path. All that it says may be missing, cut or nonsense.
pub trait Sys {
    /// The text of a regular file; none where it can't be read. Long files may be cut.
    fn read(&self, path: &str) -> Option<String>;

    /// Names in a folder, in order; none where it can't be read.
    fn list(&self, folder: &str) -> Vec<String>;

    /// What is at a path, links followed.
    fn node(&self, path: &str) -> Option<Node>;

    /// What a symbolic link says.
    fn link(&self, path: &str) -> Option<String>;

    /// The first line of a file, without blanks around it; none where it is empty.
    fn line(&self, path: &str) -> Option<String> {
        let text = self.read(path)?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// Whether there is anything at a path.
    fn exists(&self, path: &str) -> bool {
        self.node(path).is_some()
    }
}

/// A file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Permission bits, as `0o660`.
    pub mode: u32,
    /// The group that owns it.
    pub gid: u32,
    /// Whether it is a character device.
    pub device: bool,
    /// Whether whoever asks may read and write it, by the kernel's own word: access lists and
    /// a container's limits count too.
    pub usable: bool,
}
