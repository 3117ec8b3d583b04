//! Finds the libraries that a set's programs need: those that their ELF files name (DT_NEEDED), and those that these
//! name in turn. A program may load libraries itself at run time, as QEMU does for sound and graphics. These are left
//! out unless the set asks for them (`keep`).

use super::unpack::matches;
use crate::files::{self, Files};
use crate::manifest::Entry;
use crate::sets::Set;
use object::Endianness;
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader64};
use object::read::elf::{Dyn, FileHeader};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Whether a file is a program of the set, the loader, or a library that a program might need. Libraries in subfolders
/// count too, as links may lead there (DPDK's drivers).
pub(crate) fn may_be(set: &Set, path: &str) -> bool {
    let facts = set.architecture.facts();
    let library = path.strip_prefix(facts.libraries);
    let library = library.and_then(|rest| rest.strip_prefix('/'));
    path == facts.loader
        || library.is_some_and(|name| name.contains(".so"))
        || path
            .strip_prefix("usr/bin/")
            .is_some_and(|name| set.programs.iter().any(|p| p == name))
}

/// Finds the set's programs, their loader, and all libraries that they need, with the links that lead there.
pub(crate) fn closure(set: &Set, root: &Path, files: &Files) -> io::Result<BTreeSet<String>> {
    let facts = set.architecture.facts();
    let mut needed = BTreeSet::new();
    let mut ahead: Vec<(String, String)> = set
        .programs
        .iter()
        .map(|name| (format!("usr/bin/{name}"), "the set".to_owned()))
        .collect();
    if !set.programs.is_empty() {
        ahead.push((facts.loader.to_owned(), "every program".to_owned()));
    }
    // The set names the libraries that a program loads itself.
    let is_asked = |path: &str| set.patterns().any(|pattern| matches(pattern, path));
    let loaded = files
        .keys()
        .filter(|path| path.contains(".so") && is_asked(path));
    ahead.extend(loaded.map(|path| (path.clone(), "the set".to_owned())));
    while let Some((path, by)) = ahead.pop() {
        if !needed.insert(path.clone()) {
            continue;
        }
        match files.get(&path) {
            Some(Entry::Link { to }) => {
                let to = files::follow(&path, to);
                ahead.extend(to.map(|to| (to, path)));
            }
            Some(Entry::File { .. }) => {
                let names = names(&root.join(&path)).map_err(|e| other(&format!("{path}: {e}")))?;
                let libraries = names.into_iter();
                ahead.extend(
                    libraries.map(|name| (format!("{}/{name}", facts.libraries), path.clone())),
                );
            }
            None => return Err(other(&format!("{by} needs {path}, which no package has"))),
        }
    }
    Ok(needed)
}

/// The names of the libraries that an ELF file needs.
fn names(path: &Path) -> Result<Vec<String>, String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let dynamic = dynamic(&bytes).map_err(|e| format!("it is not a 64-bit ELF file: {e}"))?;
    Ok(dynamic.names)
}

/// Values for the dynamic loader in an ELF file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Dynamic {
    /// The libraries that the file needs.
    pub names: Vec<String>,
    /// The folders in which the libraries are, besides those that the loader knows; `$ORIGIN` is the file's own.
    pub folders: Vec<String>,
}

/// Reads the dynamic section of a 64-bit ELF file; empty if it has none.
pub(super) fn dynamic(bytes: &[u8]) -> object::Result<Dynamic> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let mut dynamic = Dynamic::default();
    let Some((entries, strings)) = sections.dynamic(endian, bytes)? else {
        return Ok(dynamic);
    };
    let strings = sections.strings(endian, bytes, strings)?;
    for entry in entries {
        let text = || -> object::Result<String> {
            let text = entry.string(endian, strings)?;
            Ok(String::from_utf8_lossy(text).into_owned())
        };
        match entry.tag32(endian) {
            Some(DT_NEEDED) => dynamic.names.push(text()?),
            Some(DT_RPATH | DT_RUNPATH) => {
                dynamic
                    .folders
                    .extend(text()?.split(':').map(str::to_owned));
            }
            _ => {}
        }
    }
    Ok(dynamic)
}

pub(super) fn other(what: &str) -> io::Error {
    io::Error::other(what.escape_debug().to_string())
}
