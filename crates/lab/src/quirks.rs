//! Faults of programs in sets, and their cures (`quirks.toml`). A cure replaces some bytes of a
//! file that is identified by its hash, when its set is put into the store. A file with another
//! hash is left as it is.

use crate::files::{self, Files};
use crate::lab::LabError;
use crate::manifest::{Entry, Manifest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// A fault of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quirk {
    /// The fault, in one line.
    pub summary: String,
    /// What is known about it, and why the cures are correct.
    pub reason: String,
    /// The file's path in its set, as `usr/bin/x`.
    pub file: String,
    /// One cure for each known build of the file.
    #[serde(default, rename = "cure")]
    pub cures: Vec<Cure>,
}

/// The cure of one build of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cure {
    /// Which build it is, for people.
    pub version: String,
    /// SHA-256 of the whole file as it is in its package, in hexadecimal.
    pub sha256: String,
    /// The offset of the bytes in the file.
    pub at: u64,
    /// The bytes there, in hexadecimal.
    pub before: String,
    /// As many bytes to replace them, in hexadecimal.
    pub after: String,
}

/// All faults by name.
pub type Quirks = BTreeMap<String, Quirk>;

/// Parses `quirks.toml`.
///
/// # Errors
/// What is wrong, with its line or name.
pub(crate) fn parse(text: &str, path: &Path) -> Result<Quirks, LabError> {
    let quirks: Quirks = toml::from_str(text).map_err(|e| LabError::toml(path, &e))?;
    for (name, quirk) in &quirks {
        check(quirk).map_err(|what| LabError::Toml {
            path: path.to_owned(),
            text: format!("quirk \"{}\": {what}", name.escape_debug()),
        })?;
    }
    Ok(quirks)
}

fn check(quirk: &Quirk) -> Result<(), String> {
    if files::clean(&quirk.file).as_ref() != Some(&quirk.file) {
        return Err("file is not a path in a set".into());
    }
    if quirk.reason.trim().is_empty() {
        return Err("it gives no reason".into());
    }
    for cure in &quirk.cures {
        let hash = bytes(&cure.sha256).filter(|hash| hash.len() == 32);
        hash.ok_or("a cure's sha256 is not a SHA-256 in hexadecimal")?;
        match (bytes(&cure.before), bytes(&cure.after)) {
            (Some(before), Some(after)) if before.len() == after.len() && !before.is_empty() => {}
            _ => return Err("before and after must be equally long hexadecimal bytes".into()),
        }
    }
    Ok(())
}

/// Bytes written as pairs of lower-case hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).filter(|_| !c.is_ascii_uppercase());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some((digit(*high)? << 4 | digit(*low)?) as u8),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

/// The cure for a set's file, if its hash is known.
fn cure<'a>(quirk: &'a Quirk, files: &Files) -> Option<&'a Cure> {
    let Some(Entry::File { sha256, .. }) = files.get(&quirk.file) else {
        return None;
    };
    quirk.cures.iter().find(|cure| cure.sha256 == *sha256)
}

/// The faults of a set in the store that have a cure that was not applied.
pub(crate) fn curable<'a>(quirks: &'a Quirks, manifest: &Manifest) -> Vec<&'a str> {
    let known = quirks.iter();
    known
        .filter(|(_, quirk)| cure(quirk, &manifest.files).is_some())
        .map(|(name, _)| &**name)
        .collect()
}

/// Cures the files, below `root`, of a set that is being made; returns the name and file of each
/// cured fault.
///
/// # Errors
/// A file can't be read or written, or lacks the bytes that its hash implies.
pub(crate) fn apply(
    quirks: &Quirks,
    root: &Path,
    files: &mut Files,
) -> io::Result<BTreeMap<String, String>> {
    let mut cured = BTreeMap::new();
    // Two cures of one file both have its hash in the package.
    let before = files.clone();
    for (name, quirk) in quirks {
        let Some(cure) = cure(quirk, &before) else {
            continue;
        };
        let place = root.join(&quirk.file);
        let mut content = fs::read(&place)?;
        exchange(&mut content, cure).ok_or_else(|| {
            io::Error::other(format!("{name} is not where its cure says: {}", quirk.file))
        })?;
        fs::write(&place, &content)?;
        let hash = files::sha256(&place)?;
        if let Some(Entry::File { sha256, .. }) = files.get_mut(&quirk.file) {
            *sha256 = hash;
        }
        cured.insert(name.clone(), quirk.file.clone());
    }
    Ok(cured)
}

fn exchange(content: &mut [u8], cure: &Cure) -> Option<()> {
    let (before, after) = (bytes(&cure.before)?, bytes(&cure.after)?);
    let at = usize::try_from(cure.at).ok()?;
    let place = content.get_mut(at..at.checked_add(before.len())?)?;
    (*place == *before).then(|| place.copy_from_slice(&after))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

    fn quirks(more: &str) -> Result<Quirks, String> {
        let text = format!(
            "[q]\nsummary = \"s\"\nreason = \"r\"\nfile = \"usr/bin/x\"\n[[q.cure]]\nversion = \"1\"\n{more}"
        );
        parse(&text, Path::new("quirks.toml")).map_err(|e| e.to_string())
    }

    fn known(hash: &str, at: u64) -> Quirks {
        quirks(&format!(
            "sha256 = \"{hash}\"\nat = {at}\nbefore = \"6c6c\"\nafter = \"7070\""
        ))
        .unwrap()
    }

    /// A set of one file, "hello".
    fn set(root: &Path) -> Files {
        let entry = files::write(root, "usr/bin/x", &mut &b"hello"[..], true).unwrap();
        Files::from([("usr/bin/x".into(), entry)])
    }

    #[test]
    fn a_file_that_is_known_is_cured_and_verifies() {
        let root = tempfile::tempdir().unwrap();
        let mut files = set(root.path());
        let cured = apply(&known(HASH, 2), root.path(), &mut files).unwrap();
        assert_eq!(cured, BTreeMap::from([("q".into(), "usr/bin/x".into())]));
        assert_eq!(fs::read(root.path().join("usr/bin/x")).unwrap(), b"heppo");
        assert_eq!(files::verify(root.path(), &files), Ok(()));
    }

    #[test]
    fn a_file_that_is_not_known_is_left_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let mut files = set(root.path());
        let cured = apply(&known(&"0".repeat(64), 2), root.path(), &mut files).unwrap();
        assert!(cured.is_empty());
        assert_eq!(fs::read(root.path().join("usr/bin/x")).unwrap(), b"hello");
    }

    #[test]
    fn a_cure_whose_bytes_are_not_there_is_an_error_and_changes_nothing() {
        let root = tempfile::tempdir().unwrap();
        for at in [1, 4, 5, u64::MAX] {
            let mut files = set(&root.path().join(at.to_string()));
            let place = root.path().join(at.to_string());
            let error = apply(&known(HASH, at), &place, &mut files).unwrap_err();
            assert!(error.to_string().contains("q is not where"), "{error}");
            assert_eq!(fs::read(place.join("usr/bin/x")).unwrap(), b"hello");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (more, said) in [
            (
                "sha256 = \"00\"\nat = 0\nbefore = \"00\"\nafter = \"00\"",
                "SHA-256",
            ),
            (
                &format!("sha256 = \"{HASH}\"\nat = 0\nbefore = \"00\"\nafter = \"0000\""),
                "equally long",
            ),
            (
                &format!("sha256 = \"{HASH}\"\nat = 0\nbefore = \"\"\nafter = \"\""),
                "equally long",
            ),
            (
                &format!("sha256 = \"{HASH}\"\nat = 0\nbefore = \"0g\"\nafter = \"00\""),
                "equally long",
            ),
            (
                &format!("sha256 = \"{HASH}\"\nat = -1\nbefore = \"00\"\nafter = \"00\""),
                "line 8",
            ),
        ] {
            let error = quirks(more).unwrap_err();
            assert!(error.contains(said), "{error}, not {said}");
        }
    }
}
