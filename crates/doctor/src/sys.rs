//! The interface to a host's files under `/proc`, `/sys`, `/dev` and `/etc`.
//!
//! Every check reads files only through a [`Sys`], so that tests can use made-up hosts.
//! [`crate::Root`] is the real one.

/// Files of a host, by absolute path. Any of them may be missing, cut or invalid.
pub trait Sys {
    /// The text of a regular file; none if it can't be read. Long files may be cut.
    fn read(&self, path: &str) -> Option<String>;

    /// The sorted names in a folder; empty if it can't be read.
    fn list(&self, folder: &str) -> Vec<String>;

    /// The file or device at a path, links followed.
    fn node(&self, path: &str) -> Option<Node>;

    /// The target of a symbolic link.
    fn link(&self, path: &str) -> Option<String>;

    /// The first line of a file, trimmed; none if it is empty.
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
    /// Permission bits, such as `0o660`.
    pub mode: u32,
    /// The group that owns it.
    pub gid: u32,
    /// Whether it is a character device.
    pub device: bool,
    /// Whether the user may read and write it, as the kernel answers (faccessat): access lists
    /// and a container's limits count too.
    pub usable: bool,
}
