//! Which libraries a set's programs need: those that their ELF files name (DT_NEEDED), and those
//! that these name in turn. Libraries that QEMU loads itself at run time, for sound and graphics,
//! are left out.

use crate::files::{self, Files};
use crate::manifest::Entry;
use crate::program;
use crate::sets::Set;
use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, FileHeader};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Whether a file is a program of the set, the loader, or a library that a program might need.
pub(crate) fn may_be(set: &Set, path: &str) -> bool {
    let place = program::place(set.architecture);
    let library = path.strip_prefix(place.libraries);
    let library = library.and_then(|rest| rest.strip_prefix('/'));
    path == place.loader
        || library.is_some_and(|name| !name.contains('/') && name.contains(".so"))
        || path
            .strip_prefix("usr/bin/")
            .is_some_and(|name| set.programs.iter().any(|p| p == name))
}

/// The set's programs, their loader, and all libraries that they need, with the links that lead
/// there.
pub(crate) fn closure(set: &Set, root: &Path, files: &Files) -> io::Result<BTreeSet<String>> {
    let place = program::place(set.architecture);
    let mut needed = BTreeSet::new();
    let mut ahead: Vec<(String, String)> = set
        .programs
        .iter()
        .map(|name| (format!("usr/bin/{name}"), "the set".to_owned()))
        .collect();
    ahead.push((place.loader.to_owned(), "every program".to_owned()));
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
                    libraries.map(|name| (format!("{}/{name}", place.libraries), path.clone())),
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
    parse(&bytes).map_err(|e| format!("it is not a 64-bit ELF file: {e}"))
}

fn parse(bytes: &[u8]) -> object::Result<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let Some((entries, strings)) = sections.dynamic(endian, bytes)? else {
        return Ok(Vec::new());
    };
    let strings = sections.strings(endian, bytes, strings)?;
    let mut names = Vec::new();
    for entry in entries {
        if entry.tag32(endian) == Some(DT_NEEDED) {
            let name = entry.string(endian, strings)?;
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(names)
}

fn other(what: &str) -> io::Error {
    io::Error::other(what.escape_debug().to_string())
}
