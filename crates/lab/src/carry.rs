//! Carries a store to another host in one gzipped tar archive. The archive holds regular files only, each set's
//! manifest first; links are only in the manifest. Import trusts nothing in the archive. A set goes into the store only
//! if every file of its manifest came, with its hash, and no other file.

use crate::fetch::counted;
use crate::files;
use crate::manifest::{Entry, Manifest};
use crate::sets::is_set_name;
use crate::store::{Guard, Store, StoreError, Unpacked};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};
use tempfile::{NamedTempFile, TempDir};

/// The limit on the size of a manifest; real ones are far smaller.
const MANIFEST_BYTES: u64 = 16 << 20;

/// Reason why an export or import failed. Neither store nor archive is changed.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    #[error("nothing to export in {}: run worldswitch lab fetch first", _0.display())]
    Nothing(PathBuf),
    #[error("can't write {}: {cause}", path.display())]
    Write { path: PathBuf, cause: io::Error },
    #[error("{} is not a complete archive of worldswitch lab export: {what}. Nothing was imported", path.display())]
    Archive { path: PathBuf, what: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes sets of the store to a file, whole or not at all: those in `sets`, or all if it is empty.
pub fn export(
    store: &Store,
    sets: &[String],
    to: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(), CarryError> {
    let unpacked = verified(store, sets)?;
    let fail = |cause| CarryError::Write {
        path: to.to_owned(),
        cause,
    };
    if std::fs::symlink_metadata(to).is_ok_and(|there| !there.is_file()) {
        let reason = "it is not a regular file, and would be replaced by one";
        return Err(fail(io::Error::other(reason)));
    }
    let folder = to.parent().filter(|folder| *folder != Path::new(""));
    let file = NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(fail)?;
    pack(&unpacked, &file, say).map_err(fail)?;
    // A temporary file is readable only by the user; this one gets the mode of other new files.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(mode).map_err(fail)?;
    file.persist(to).map_err(|e| fail(e.error))?;
    Ok(())
}

/// Writes sets of the store into a stream, which may end early if a set can't be read. `name` is the stream's, for
/// errors.
pub fn export_into(
    store: &Store,
    sets: &[String],
    (to, name): (impl Write, &str),
    say: &mut dyn FnMut(&str),
) -> Result<(), CarryError> {
    let unpacked = verified(store, sets)?;
    pack(&unpacked, to, say).map_err(|cause| CarryError::Write {
        path: name.into(),
        cause,
    })
}

/// Finds and verifies these sets, or all if none is named.
fn verified(store: &Store, sets: &[String]) -> Result<Vec<Unpacked>, CarryError> {
    let names = match sets {
        [] => store.names()?,
        sets => sets.to_vec(),
    };
    if names.is_empty() {
        return Err(CarryError::Nothing(store.root().to_owned()));
    }
    let mut unpacked = Vec::new();
    for name in &names {
        let set = store.find(name)?;
        set.verify()?;
        unpacked.push(set);
    }
    Ok(unpacked)
}

fn pack(sets: &[Unpacked], to: impl Write, say: &mut dyn FnMut(&str)) -> io::Result<()> {
    let mut archive = Builder::new(GzEncoder::new(BufWriter::new(to), Compression::fast()));
    for set in sets {
        say(&format!(
            "{}: {} MiB",
            set.set,
            set.manifest().bytes() >> 20
        ));
        add(&mut archive, set)?;
    }
    let encoder = archive.into_inner()?;
    encoder.finish()?.flush()
}

fn add(archive: &mut Builder<impl Write>, set: &Unpacked) -> io::Result<()> {
    let manifest = serde_json::to_vec(set.manifest()).map_err(io::Error::other)?;
    let header = |bytes, executable| {
        // No owner and no date: the same store gives the same archive.
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes);
        header.set_mode(if executable { 0o755 } else { 0o644 });
        header
    };
    let name = &set.set;
    archive.append_data(
        &mut header(manifest.len() as u64, false),
        format!("sets/{name}/manifest.json"),
        &manifest[..],
    )?;
    for (path, entry) in &set.manifest().files {
        if let Entry::File {
            bytes, executable, ..
        } = entry
        {
            let file = File::open(set.root.join(path))?;
            archive.append_data(
                &mut header(*bytes, *executable),
                format!("sets/{name}/root/{path}"),
                file,
            )?;
        }
    }
    Ok(())
}

/// Reads an archive into the store. Sets of the same names are replaced. Returns the names. All sets are checked before
/// the first one is put into the store.
pub fn import(
    store: &Store,
    from: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<String>, CarryError> {
    let fail = |what: String| CarryError::Archive {
        path: from.to_owned(),
        what,
    };
    let file = File::open(from).map_err(|e| fail(e.to_string()))?;
    let guard = store.lock(say)?;
    let workshop = guard.workshop()?;
    let mut import = Import {
        workshop: &workshop,
        sets: Vec::new(),
    };
    import
        .read(GzDecoder::new(BufReader::new(file)))
        .map_err(fail)?;
    import.put(&guard, say)
}

/// Sets being read.
#[derive(Debug)]
struct Import<'a> {
    workshop: &'a TempDir,
    sets: Vec<Part>,
}

/// A set being read.
#[derive(Debug)]
struct Part {
    manifest: Manifest,
    folder: PathBuf,
    /// Paths of the files that were not read yet.
    missing: BTreeSet<String>,
}

impl Import<'_> {
    fn read(&mut self, stream: impl Read) -> Result<(), String> {
        let mut archive = tar::Archive::new(stream);
        let text = |e: io::Error| e.to_string();
        for entry in archive.entries().map_err(text)? {
            self.entry(&mut entry.map_err(text)?)?;
        }
        // The rest is read too, so that the checksum of the compression is verified.
        let mut stream = archive.into_inner();
        io::copy(&mut stream, &mut io::sink()).map_err(text)?;
        for part in &self.sets {
            if let Some(path) = part.missing.first() {
                return Err(format!("{path} of {} is missing", part.manifest.set));
            }
            files::link(&part.folder.join("root"), &part.manifest.files).map_err(text)?;
        }
        match self.sets.is_empty() {
            true => Err("it contains no set".into()),
            false => Ok(()),
        }
    }

    fn entry(&mut self, entry: &mut tar::Entry<'_, impl Read>) -> Result<(), String> {
        let raw = entry.path_bytes().into_owned();
        let shown = String::from_utf8_lossy(&raw).escape_debug().to_string();
        if entry.header().entry_type() != EntryType::Regular {
            return Err(format!("{shown} is not a regular file"));
        }
        let path = std::str::from_utf8(&raw).ok();
        let (set, path) = path
            .and_then(|path| path.strip_prefix("sets/")?.split_once('/'))
            .ok_or_else(|| format!("{shown} is not a file of a set"))?;
        if path == "manifest.json" {
            return self.begin(set, entry);
        }
        let path = path.strip_prefix("root/");
        let part = self.sets.last_mut().filter(|part| part.manifest.set == set);
        // A path in `missing` is in the manifest, so it is clean, and was not read yet.
        let (path, part) = path
            .zip(part)
            .and_then(|(path, part)| part.missing.remove(path).then_some((path, part)))
            .ok_or_else(|| {
                format!("{shown} is not in the manifest before it, or is in the archive twice")
            })?;
        let wanted = part.manifest.files.get(path);
        let (
            Some(Entry::File {
                bytes, executable, ..
            }),
            size,
        ) = (wanted, entry.size())
        else {
            return Err(format!("{shown} is a link in the manifest"));
        };
        if size != *bytes {
            return Err(format!("{shown} has {size} bytes, not {bytes}"));
        }
        let root = part.folder.join("root");
        let found =
            files::write(&root, path, entry, *executable).map_err(|e| format!("{shown}: {e}"))?;
        match Some(&found) == wanted {
            true => Ok(()),
            false => Err(format!("{shown} does not match the manifest")),
        }
    }

    fn begin(&mut self, set: &str, entry: &mut tar::Entry<'_, impl Read>) -> Result<(), String> {
        let is_new = self.sets.iter().all(|part| part.manifest.set != set);
        if !is_set_name(set) || !is_new || entry.size() > MANIFEST_BYTES {
            return Err(format!("the manifest of {} is wrong", set.escape_debug()));
        }
        let mut text = String::new();
        entry.read_to_string(&mut text).map_err(|e| e.to_string())?;
        let manifest = Manifest::parse(set, &text)?;
        let is_file = |entry: &Entry| matches!(entry, Entry::File { .. });
        let files = manifest.files.iter().filter(|(_, entry)| is_file(entry));
        let missing = files.map(|(path, _)| path.clone()).collect();
        let folder = self.workshop.path().join(set);
        std::fs::create_dir_all(folder.join("root")).map_err(|e| e.to_string())?;
        self.sets.push(Part {
            manifest,
            folder,
            missing,
        });
        Ok(())
    }

    fn put(self, guard: &Guard, say: &mut dyn FnMut(&str)) -> Result<Vec<String>, CarryError> {
        let mut names = Vec::new();
        for part in self.sets {
            guard.put(&part.manifest, &part.folder)?;
            let manifest = part.manifest;
            let mib = manifest.bytes() >> 20;
            let packages = counted(manifest.packages.len());
            say(&format!("{}: {packages}, {mib} MiB", manifest.set));
            names.push(manifest.set);
        }
        Ok(names)
    }
}

#[cfg(test)]
#[path = "carry_tests.rs"]
mod tests;
