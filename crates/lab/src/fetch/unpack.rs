//! Packages unpacked: of each only the files that the set keeps, laid out with /bin, /lib and
//! /sbin below /usr, modules and Xen uncompressed, so that using them needs no tool.

use super::needed;
use crate::files::{self, Files};
use crate::manifest::Entry;
use crate::sets::{Set, SetKind};
use flate2::read::GzDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use tar::EntryType;

/// Packages in the course of being unpacked.
#[derive(Debug)]
pub(crate) struct Unpacking<'a> {
    set: &'a Set,
    root: PathBuf,
    files: Files,
    /// Which package each file is from.
    owners: BTreeMap<String, usize>,
    packages: usize,
}

impl<'a> Unpacking<'a> {
    /// `root`: a folder that is not there yet.
    pub(crate) fn new(set: &'a Set, root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        Ok(Self {
            set,
            root: root.to_owned(),
            files: Files::new(),
            owners: BTreeMap::new(),
            packages: 0,
        })
    }

    /// Unpacks the next package: the tar archive of its files.
    pub(crate) fn package(&mut self, archive: impl Read) -> io::Result<()> {
        let mut archive = tar::Archive::new(archive);
        for entry in archive.entries()? {
            self.entry(&mut entry?)?;
        }
        self.packages += 1;
        Ok(())
    }

    fn entry(&mut self, entry: &mut tar::Entry<'_, impl Read>) -> io::Result<()> {
        let kind = entry.header().entry_type();
        if kind == EntryType::Directory {
            return Ok(());
        }
        let raw = entry.path_bytes().into_owned();
        let path = std::str::from_utf8(&raw).ok().and_then(files::clean);
        let path =
            path.ok_or_else(|| bad(&String::from_utf8_lossy(&raw), "leads out of the package"))?;
        let path = below_usr(&path);
        if !self.keeps(&path) {
            return Ok(());
        }
        let (path, found) = match kind {
            EntryType::Regular | EntryType::Continuous => self.file(&path, entry)?,
            EntryType::Symlink => {
                let to = entry.link_name_bytes().unwrap_or_default().into_owned();
                let to = std::str::from_utf8(&to).ok();
                let to = to.and_then(|to| files::follow(&path, to));
                let to = to.ok_or_else(|| bad(&path, "is a link that leads out of the package"))?;
                let to = files::relative(&path, &below_usr(&to));
                (path, Entry::Link { to })
            }
            _ => return Err(bad(&path, "is neither a file nor a symbolic link")),
        };
        if self.files.insert(path.clone(), found).is_some() {
            return Err(bad(&path, "is there twice"));
        }
        self.owners.insert(path, self.packages);
        Ok(())
    }

    fn file(&self, path: &str, content: &mut impl Read) -> io::Result<(String, Entry)> {
        let write = |path: &str, content: &mut dyn Read, executable| {
            let entry = files::write(&self.root, path, content, executable)?;
            Ok((path.to_owned(), entry))
        };
        if let Some(module) = path
            .strip_suffix(".xz")
            .filter(|path| path.ends_with(".ko"))
        {
            let mut bytes = Vec::new();
            lzma_rs::xz_decompress(&mut BufReader::new(content), &mut bytes)
                .map_err(|e| bad(path, &format!("can't be uncompressed: {e:?}")))?;
            return write(module, &mut &bytes[..], false);
        }
        if path.ends_with(".ko.zst") {
            return Err(bad(
                path,
                "is compressed with zstd, which this program can't read",
            ));
        }
        if self.set.kind == SetKind::Xen && path.ends_with(".gz") {
            return write("boot/xen.elf", &mut GzDecoder::new(content), false);
        }
        write(path, content, is_program(path))
    }

    /// Whether the set has a use for a file. For programs, all libraries are taken first.
    fn keeps(&self, path: &str) -> bool {
        let own = self.set.keep.iter().map(|pattern| &**pattern);
        let mut patterns = own.chain(self.set.kind.keep().iter().copied());
        let asked = patterns.any(|pattern| matches(pattern, path));
        asked || (self.set.kind == SetKind::Program && needed::may_be(self.set, path))
    }

    /// Drops libraries that no program of the set needs, and makes the links.
    ///
    /// Returns the files, and by the order in which they came whether each package has any.
    pub(crate) fn finish(mut self) -> io::Result<(Files, Vec<bool>)> {
        if self.set.kind == SetKind::Program {
            let needed: BTreeSet<String> = needed::closure(self.set, &self.root, &self.files)?;
            let drop: Vec<String> = (self.files.keys())
                .filter(|path| needed::may_be(self.set, path) && !needed.contains(*path))
                .cloned()
                .collect();
            for path in drop {
                if let Some(Entry::File { .. }) = self.files.remove(&path) {
                    fs::remove_file(self.root.join(&path))?;
                }
                self.owners.remove(&path);
            }
        }
        files::check(&self.files).map_err(io::Error::other)?;
        files::link(&self.root, &self.files)?;
        let mut used = vec![false; self.packages];
        for owner in self.owners.values() {
            if let Some(used) = used.get_mut(*owner) {
                *used = true;
            }
        }
        Ok((self.files, used))
    }
}

fn bad(path: &str, what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{} {what}", path.escape_debug()),
    )
}

/// The path as systems with a merged /usr have it.
fn below_usr(path: &str) -> String {
    let first = path.split('/').next().unwrap_or_default();
    match first {
        "bin" | "sbin" | "lib" | "lib64" => format!("usr/{path}"),
        _ => path.to_owned(),
    }
}

/// Programs and the loader of libraries are executed; nothing else is.
fn is_program(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.starts_with("usr/bin/") || name.starts_with("ld-linux")
}

/// Whether a text matches a pattern in which '*' stands for any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}
