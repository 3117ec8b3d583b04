//! The content of a root file system: the files of its set, and those that Debian's maintainer scripts and the
//! installer would have made. No file of a set is replaced.

use crate::files::Files;
use crate::manifest::Entry;
use std::collections::BTreeMap;
use std::fs::{self, File};
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

/// Folders that a system has from the beginning. `lab` is for the machine's initramfs.
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

/// Content of a path of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Folder { mode: u32 },
    File { bytes: Vec<u8>, executable: bool },
    Link(String),
}

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
    /// Makes the file system of a set with these files.
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

    /// Returns the content of all paths outside /usr, and not /usr itself. The set's files are below `root`.
    pub(super) fn beside_usr(&self, root: &Path) -> io::Result<Vec<(String, Content)>> {
        let of_usr = |path: &str| path == "usr" || path.starts_with("usr/");
        let nodes = self.0.iter().filter(|(path, _)| !of_usr(path));
        let content = |(path, node): (&String, &Node)| {
            let content = match node {
                Node::Folder => Content::Folder { mode: mode(path) },
                Node::File { executable, .. } => Content::File {
                    bytes: fs::read(root.join(path))?,
                    executable: *executable,
                },
                Node::Text(text) => Content::File {
                    bytes: text.as_bytes().to_vec(),
                    executable: false,
                },
                Node::Link(target) => Content::Link(target.clone()),
            };
            Ok((path.clone(), content))
        };
        nodes.map(content).collect()
    }

    /// Writes the file system as a tar archive. The set's files are below `root`.
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

/// A header without owner and date, so that images do not depend on them.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use proptest::prelude::*;
    use std::fs::Permissions;
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    /// Writes the files of a set.
    fn set(root: &Path, entries: &[(&str, &str, bool)]) -> Files {
        let mut files = Files::new();
        for (path, text, executable) in entries {
            let entry = files::write(root, path, &mut text.as_bytes(), *executable).unwrap();
            files.insert((*path).to_owned(), entry);
        }
        files
    }

    fn tar(root: &Path, files: &Files) -> Vec<u8> {
        let mut bytes = Vec::new();
        Tree::of(files).write(root, &mut bytes).unwrap();
        bytes
    }

    /// Path, mode in octal, and content or target of each entry.
    fn entries(tar: &[u8]) -> Vec<(String, String, String)> {
        let mut archive = tar::Archive::new(tar);
        let read = |entry: io::Result<tar::Entry<'_, &[u8]>>| {
            let mut entry = entry.unwrap();
            let header = entry.header();
            assert_eq!(
                (
                    header.uid().unwrap(),
                    header.gid().unwrap(),
                    header.mtime().unwrap()
                ),
                (0, 0, 0)
            );
            let mode = format!("{:o}", header.mode().unwrap());
            let path = entry.path().unwrap().to_string_lossy().into_owned();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            if let Some(to) = entry.link_name().unwrap() {
                text = to.to_string_lossy().into_owned();
            }
            (path, mode, text)
        };
        archive.entries().unwrap().map(read).collect()
    }

    #[test]
    fn a_system_has_its_folders_and_files_from_the_beginning() {
        let root = tempfile::tempdir().unwrap();
        let mut files = set(
            root.path(),
            &[
                ("etc/hosts", "mine", false),
                ("usr/share/x/y", "y", false),
                ("usr/bin/program", "#!", true),
            ],
        );
        let to = "program".to_owned();
        files.insert("usr/bin/other".into(), Entry::Link { to });
        let entries = entries(&tar(root.path(), &files));
        let find = |path: &str| {
            let entry = entries.iter().find(|entry| entry.0 == path);
            entry.map(|(_, mode, text)| format!("{mode} {text}"))
        };
        for (path, is) in [
            ("./", "755 "),
            ("bin", "777 usr/bin"),
            ("etc/hosts", "644 mine"),
            ("lab/", "755 "),
            ("tmp/", "1777 "),
            ("usr/", "755 "),
            ("usr/bin/other", "777 program"),
            ("usr/bin/program", "755 #!"),
            ("usr/share/x/", "755 "),
            ("usr/share/x/y", "644 y"),
            ("var/", "755 "),
        ] {
            assert_eq!(find(path).as_deref(), Some(is), "{path}");
        }
        let passwd = find("etc/passwd").unwrap();
        assert!(passwd.contains("nobody:x:65534:65534"), "{passwd}");
    }

    #[test]
    fn the_archive_does_not_depend_on_the_host() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (a, b) = (("usr/bin/a", "a", true), ("usr/lib/b", "b", false));
        let files = set(one.path(), &[a, b]);
        assert_eq!(files, set(two.path(), &[b, a]));
        // What a user's umask and clock may have changed.
        let path = two.path().join("usr/lib/b");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(two.path().join("usr"), Permissions::from_mode(0o700)).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(tar(one.path(), &files), tar(two.path(), &files));
    }

    #[test]
    fn beside_usr_is_all_else_folders_first() {
        let root = tempfile::tempdir().unwrap();
        let files = set(
            root.path(),
            &[("etc/a/b", "b", true), ("usr/bin/program", "#!", true)],
        );
        let beside = Tree::of(&files).beside_usr(root.path()).unwrap();
        let find = |path: &str| beside.iter().position(|(at, _)| at == path);
        assert!(find("etc/a").unwrap() < find("etc/a/b").unwrap());
        assert!(beside.iter().all(|(path, _)| !path.starts_with("usr")));
        let at = |path: &str| &beside[find(path).unwrap()].1;
        assert_eq!(at("tmp"), &Content::Folder { mode: 0o1777 });
        assert_eq!(at("bin"), &Content::Link("usr/bin".into()));
        let (bytes, executable) = (b"b".to_vec(), true);
        assert_eq!(at("etc/a/b"), &Content::File { bytes, executable });
    }

    proptest! {
        #[test]
        fn every_file_is_there_once_behind_its_folder(
            paths in prop::collection::btree_set("(usr/lib|var/log|[a-c]{1,2})(/[a-c-]{1,110}){1,3}", 1..6),
        ) {
            let link = || Entry::Link { to: "x".to_owned() };
            let files: Files = paths.iter().map(|path| (path.clone(), link())).collect();
            prop_assume!(files::check(&files).is_ok());
            let entries = entries(&tar(Path::new("/nonexistent"), &files
                .into_iter()
                .chain(FILES.map(|(path, _)| (path.to_owned(), link())))
                .collect()));
            let names: Vec<&str> = entries.iter().map(|(path, _, _)| &**path).collect();
            for (index, name) in names.iter().enumerate() {
                prop_assert!(!names[..index].contains(name), "{} twice", name);
                if let Some((folder, _)) = name.trim_end_matches('/').rsplit_once('/') {
                    let folder = format!("{folder}/");
                    prop_assert!(names[..index].contains(&&*folder), "{} before {}", name, folder);
                }
            }
            for path in &paths {
                prop_assert!(names.contains(&&**path), "{}", path);
            }
        }
    }
}
