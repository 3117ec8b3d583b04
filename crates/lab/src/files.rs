//! The files of a set: checks that paths are safe, and writes and verifies files. Only this file writes below a set's
//! `root`. Links are made after all files, so that nothing is ever written through one.

use crate::manifest::Entry;
use crate::recipe::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// The files of a set, by path.
pub type Files = BTreeMap<String, Entry>;

/// The canonical form of a path below `root`, as `usr/bin/x`; a leading `./` is dropped. None if the path leads
/// elsewhere or has control characters, which no package's path has. A backslash is an ordinary character: paths of
/// systemd units contain it.
pub(crate) fn clean(path: &str) -> Option<String> {
    if path.is_empty() || path.len() > 1024 || path.contains(char::is_control) {
        return None;
    }
    let mut parts = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str()?),
            _ => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The target, below `root`, of a link at `path` that points to `to`; an absolute `to` starts at `root`. None if the
/// link leads out of `root`.
pub(crate) fn follow(path: &str, to: &str) -> Option<String> {
    if to.is_empty() {
        return None;
    }
    let mut parts: Vec<&str> = match to.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => {
            let mut parts: Vec<&str> = path.split('/').collect();
            parts.pop();
            parts
        }
    };
    for component in Path::new(to).components() {
        match component {
            Component::CurDir | Component::RootDir => {}
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Prefix(_) => return None,
        }
    }
    clean(&parts.join("/"))
}

/// The text of a link at `path` to `to`, a path below `root`: relative to the link's folder.
pub(crate) fn relative(path: &str, to: &str) -> String {
    let depth = |path: &str| path.matches('/').count();
    // Compare only the folders: the last component of `to` stays in the link.
    let shared = path
        .split('/')
        .zip(to.split('/'))
        .take(depth(path).min(depth(to)))
        .take_while(|(a, b)| a == b)
        .count();
    let up = std::iter::repeat_n("..", depth(path) - shared);
    let words: Vec<&str> = up.chain(to.split('/').skip(shared)).collect();
    words.join("/")
}

/// Checks that all paths are safe, and that none is below another.
pub(crate) fn check(files: &Files) -> Result<(), String> {
    for (path, entry) in files {
        if clean(path).as_ref() != Some(path) {
            return Err(format!("\"{}\" is not a path in it", path.escape_debug()));
        }
        let mut above = path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            if files.contains_key(folder) {
                return Err(format!("{folder} is a folder and a file"));
            }
            above = folder;
        }
        if let Entry::Link { to } = entry {
            if to.starts_with('/') || follow(path, to).is_none() {
                return Err(format!("the link {path} leads out of the set"));
            }
        }
    }
    Ok(())
}

/// Writes a new file.
pub(crate) fn write(
    root: &Path,
    path: &str,
    content: &mut dyn Read,
    executable: bool,
) -> io::Result<Entry> {
    let place = root.join(path);
    make_folder(&place)?;
    let mode = if executable { 0o755 } else { 0o644 };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&place)?;
    let (bytes, sha256) = copy(content, &mut file)?;
    // The mode must not depend on the user's umask.
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    Ok(Entry::File {
        bytes,
        sha256,
        executable,
    })
}

/// Makes the links among `files`.
pub(crate) fn link(root: &Path, files: &Files) -> io::Result<()> {
    for (path, entry) in files {
        if let Entry::Link { to } = entry {
            let place = root.join(path);
            make_folder(&place)?;
            symlink(to, place)?;
        }
    }
    Ok(())
}

fn make_folder(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Copies all of `from`; returns the number of bytes and their SHA-256.
pub(crate) fn copy(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok((bytes, hex(&hash.finalize()))),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let piece = buffer.get(..read).unwrap_or_default();
        hash.update(piece);
        to.write_all(piece)?;
        bytes += read as u64;
    }
}

/// SHA-256 of a file.
pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    Ok(copy(&mut File::open(path)?, &mut io::sink())?.1)
}

/// Compares the files below `root` with `files`; the error names the first difference.
pub(crate) fn verify(root: &Path, files: &Files) -> Result<(), String> {
    for (path, wanted) in files {
        let place = root.join(path);
        let found = look(&place, wanted).map_err(|e| format!("{path}: {e}"))?;
        if found != *wanted {
            return Err(format!("{path} was changed"));
        }
    }
    Ok(())
}

fn look(place: &PathBuf, wanted: &Entry) -> io::Result<Entry> {
    if let Entry::Link { .. } = wanted {
        let to = fs::read_link(place)?;
        return Ok(Entry::Link {
            to: to.to_string_lossy().into_owned(),
        });
    }
    let data = fs::symlink_metadata(place)?;
    if !data.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(Entry::File {
        bytes: data.len(),
        sha256: sha256(place)?,
        executable: data.permissions().mode() & 0o100 != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_paths_below_the_root_are_clean() {
        assert_eq!(clean("./usr//bin/./x"), Some("usr/bin/x".into()));
        assert_eq!(clean(r"a/..\..\b"), Some(r"a/..\..\b".into()));
        for wrong in ["", "/", ".", "/usr", "../x", "usr/../x", "a\0b", "a\nb"] {
            assert_eq!(clean(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn links_are_followed_below_the_root_only() {
        assert_eq!(follow("a/b/c", "../d").as_deref(), Some("a/d"));
        assert_eq!(follow("a/b/c", "/lib/x").as_deref(), Some("lib/x"));
        assert_eq!(follow("a/b/c", "../../x").as_deref(), Some("x"));
        for wrong in ["../../../x", "../../../a/b", "", "/", "/.."] {
            assert_eq!(follow("a/b/c", wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn nothing_may_lie_below_a_link_or_file() {
        let link = |to: &str| Entry::Link { to: to.into() };
        let files = |entries: &[(&str, &str)]| -> Files {
            let entries = entries.iter();
            entries
                .map(|(path, to)| ((*path).to_owned(), link(to)))
                .collect()
        };
        assert_eq!(check(&files(&[("a", "b/c"), ("b/c", "d")])), Ok(()));
        for wrong in [
            [("a", "b"), ("a/x", "b")],
            [("a", "b"), ("a/x/y", "b")],
            [("a", ".."), ("b", "x")],
            [("a", "/etc"), ("b", "x")],
            [("../a", "x"), ("b", "x")],
            [("a//x", "x"), ("b", "x")],
        ] {
            assert!(check(&files(&wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_changed_is_found() {
        let root = tempfile::tempdir().unwrap();
        let mut files = Files::new();
        let entry = write(root.path(), "usr/bin/x", &mut &b"hello"[..], true).unwrap();
        files.insert("usr/bin/x".into(), entry);
        let to = "bin/x".into();
        files.insert("usr/y".into(), Entry::Link { to });
        link(root.path(), &files).unwrap();
        assert_eq!(verify(root.path(), &files), Ok(()));
        let path = root.path().join("usr/bin/x");
        fs::write(&path, "hellp").unwrap();
        assert!(
            verify(root.path(), &files)
                .unwrap_err()
                .contains("usr/bin/x")
        );
        fs::write(&path, "hello").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(verify(root.path(), &files).is_err());
        fs::remove_file(&path).unwrap();
        assert!(verify(root.path(), &files).is_err());
    }

    proptest! {
        #[test]
        fn a_relative_path_leads_back(
            path in "[a-c](/[a-c]){0,4}",
            to in "[a-c](/[a-c]){0,4}",
        ) {
            prop_assert_eq!(follow(&path, &relative(&path, &to)), Some(to));
        }

        #[test]
        fn no_path_leads_out(path in r"[a./\\]{0,12}", to in r"[a./\\]{0,12}") {
            for found in [clean(&path), follow("a/b", &to), follow(&path, &to)].into_iter().flatten() {
                prop_assert_eq!(clean(&found), Some(found.clone()));
                prop_assert!(found.split('/').all(|part| part != ".."), "{}", found);
            }
        }
    }
}
