//! What is in a root file system: the files of its set, and what Debian's maintainer scripts and the
//! installer would have made. No file of a set is replaced.

use crate::files::Files;
use crate::manifest::Entry;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// The links of a system with a merged /usr.
const LINKS: [(&str, &str); 4] = [
    ("bin", "usr/bin"),
    ("lib", "usr/lib"),
    ("lib64", "usr/lib64"),
    ("sbin", "usr/sbin"),
];

/// Folders that a system has from the beginning. `lab` is where the machine's initramfs goes.
const FOLDERS: [&str; 16] = [
    "dev",
    "etc",
    "lab",
    "mnt",
    "proc",
    "root",
    "run",
    "sys",
    "tmp",
    "usr/bin",
    "usr/lib",
    "usr/lib64",
    "usr/sbin",
    "var/lib",
    "var/log",
    "var/tmp",
];

/// Files that a system has from the beginning.
const FILES: [(&str, &str); 4] = [
    ("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    (
        "etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
    ),
    (
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n",
    ),
];

/// A file system, by path without '/' at its beginning.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<String, Node>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    /// A file of the set.
    File {
        bytes: u64,
        executable: bool,
    },
    Text(&'static str),
    Link(String),
}

impl Tree {
    /// The file system of a set with these files.
    pub(super) fn of(files: &Files) -> Self {
        let mut tree = BTreeMap::new();
        for (path, entry) in files {
            let node = match entry {
                Entry::File {
                    bytes, executable, ..
                } => Node::File {
                    bytes: *bytes,
                    executable: *executable,
                },
                Entry::Link { to } => Node::Link(to.clone()),
            };
            tree.insert(path.clone(), node);
        }
        let folders = FOLDERS.map(|path| (path, Node::Folder));
        let links = LINKS.map(|(path, to)| (path, Node::Link(to.to_owned())));
        let texts = FILES.map(|(path, text)| (path, Node::Text(text)));
        for (path, node) in folders.into_iter().chain(links).chain(texts) {
            tree.entry(path.to_owned()).or_insert(node);
        }
        let above: Vec<String> = tree.keys().flat_map(|path| folders_above(path)).collect();
        for path in above {
            tree.entry(path).or_insert(Node::Folder);
        }
        Self(tree)
    }

    /// Writes it as a tar archive; the files are below `root`.
    pub(super) fn write(&self, root: &Path, to: &mut dyn Write) -> io::Result<()> {
        let mut archive = Builder::new(to);
        let mut folder = header(EntryType::Directory, 0o755, 0);
        archive.append_data(&mut folder, "./", io::empty())?;
        for (path, node) in &self.0 {
            match node {
                Node::Folder => {
                    let mut header = header(EntryType::Directory, mode(path), 0);
                    archive.append_data(&mut header, format!("{path}/"), io::empty())?;
                }
                Node::File { bytes, executable } => {
                    let mode = if *executable { 0o755 } else { 0o644 };
                    let mut header = header(EntryType::Regular, mode, *bytes);
                    archive.append_data(&mut header, path, File::open(root.join(path))?)?;
                }
                Node::Text(text) => {
                    let mut header = header(EntryType::Regular, 0o644, text.len() as u64);
                    archive.append_data(&mut header, path, text.as_bytes())?;
                }
                Node::Link(target) => {
                    let mut header = header(EntryType::Symlink, 0o777, 0);
                    archive.append_link(&mut header, path, target)?;
                }
            }
        }
        archive.finish()
    }
}

/// All folders that a path is in.
fn folders_above(path: &str) -> impl Iterator<Item = String> {
    path.match_indices('/').map(|(at, _)| path[..at].to_owned())
}

/// A folder's mode: everybody may write into those for temporary files.
fn mode(path: &str) -> u32 {
    match path {
        "tmp" | "var/tmp" => 0o1777,
        _ => 0o755,
    }
}

/// No owner and no date.
fn header(kind: EntryType, mode: u32, bytes: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(bytes);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}
