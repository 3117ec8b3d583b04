//! Fetches sets of packages from a Debian archive into the store, in the versions that the lock file pins. An apt with
//! its own folder does this. Versions that the archive no longer has come from an archive of old versions.
//!
//! Fetching changes nothing on this system and needs no root. A set appears in the store whole, by one rename, or not
//! at all.

mod apt;
mod error;
mod needed;
pub mod old;
mod root;
pub mod sources;
mod unpack;
mod versions;

use crate::files;
use crate::image::MKFS_SET;
use crate::lab::Lab;
use crate::manifest::{self, Entry, Manifest};
use crate::quirks;
use crate::quirks::Health;
use crate::sets::{Architecture, Package, Pins, Set, SetKind};
use crate::store::{Guard, Store, StoreError, Unpacked};
use apt::Apt;
pub use error::FetchError;
use sources::{Archive, debian_archive};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use unpack::{Unpacking, matches};

/// The programs that fetching needs; by default found in the search path.
#[derive(Clone, Debug)]
pub struct Tools {
    pub apt_get: OsString,
    pub apt_cache: OsString,
    pub apt_config: OsString,
    pub dpkg_deb: OsString,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            apt_get: "apt-get".into(),
            apt_cache: "apt-cache".into(),
            apt_config: "apt-config".into(),
            dpkg_deb: "dpkg-deb".into(),
        }
    }
}

/// Request for a fetch: the sets, the archives, and the versions.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Names of sets.
    pub sets: Vec<String>,
    /// The archive to fetch from; by default the Debian archive of this system's apt.
    pub archive: Option<Archive>,
    /// The archive of old versions, whose address has [`old::DATE`] in place of the time at which the versions were
    /// pinned; by default none.
    pub old: Option<Archive>,
    /// Whether to fetch the newest versions if no archive has the pinned ones.
    pub newest: bool,
    /// Whether to fetch the newest versions of all packages, and pin them.
    pub update_lock: bool,
}

/// Fetches sets that are not in the store yet, and replaces damaged ones. `say` gets the progress,
/// line by line.
///
/// A set in the store with other versions than the pinned ones is replaced. If the pinned versions
/// can't be fetched, the old set stays, with a message.
///
/// # Errors
/// The first set that could not be fetched; earlier ones are in the store.
pub fn fetch(
    lab: &Lab,
    store: &Store,
    request: &Request,
    tools: &Tools,
    say: &mut dyn FnMut(&str),
) -> Result<(), FetchError> {
    for name in &request.sets {
        // A wrong name is reported before anything is fetched.
        lab.set(name)?;
    }
    let guard = store.lock(say)?;
    let workshop = guard.workshop()?;
    let mut fetching = Fetching {
        lab,
        request,
        tools,
        guard: &guard,
        workshop: workshop.path(),
        apts: BTreeMap::new(),
        unreachable: None,
    };
    let mut packages = BTreeMap::new();
    for name in &request.sets {
        let set = fetching.one(name, say)?;
        packages.insert(name.clone(), set.packages().to_vec());
    }
    if request.update_lock {
        let date = old::now();
        let packages = packages.into_iter();
        let pins = packages.map(|(set, packages)| (set, Pins { date, packages }));
        for path in lab.pin(pins.collect())? {
            say(&format!("wrote {}", path.display()));
        }
    } else {
        say_unpinned(lab, &packages, say);
    }
    make_images(&guard, request, say)
}

/// Names in one line the sets that do not have the packages that the lock file pins.
fn say_unpinned(lab: &Lab, packages: &BTreeMap<String, Vec<Package>>, say: &mut dyn FnMut(&str)) {
    let is_other = |(set, packages): &(&String, &Vec<Package>)| {
        let pins = lab.pins(set);
        !pins.is_empty() && pins != **packages
    };
    let sets = packages.iter().filter(is_other).map(|(set, _)| set.clone());
    let sets: Vec<String> = sets.collect();
    if !sets.is_empty() {
        say(&format!(
            "NOT PINNED: {}: not the versions that lock.toml pins, so counts may differ from those of other hosts (worldswitch lab list)",
            first(&sets)
        ));
    }
}

/// Makes the file systems of root sets, so that no run has to wait for them.
fn make_images(
    guard: &Guard,
    request: &Request,
    say: &mut dyn FnMut(&str),
) -> Result<(), FetchError> {
    for name in &request.sets {
        let set = guard.store().find(name)?;
        if set.manifest().kind != SetKind::Root {
            continue;
        }
        match guard.store().find(MKFS_SET) {
            Ok(mkfs) => drop(guard.root_image(&set, &mkfs, say)?),
            Err(StoreError::Missing { .. }) => say(&format!(
                "{name}: its file system will be made once {MKFS_SET} is fetched too"
            )),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

struct Fetching<'a> {
    lab: &'a Lab,
    request: &'a Request,
    tools: &'a Tools,
    guard: &'a Guard<'a>,
    workshop: &'a Path,
    /// An apt for each suite and architecture, with its lists read.
    apts: BTreeMap<(String, Architecture), Rc<Apt<'a>>>,
    /// Reason why the archive of old versions can't be read, once that was tried.
    unreachable: Option<String>,
}

impl<'a> Fetching<'a> {
    /// Fetches a set if the store's set can't be used. Otherwise keeps the store's set and cures it.
    fn one(&mut self, name: &str, say: &mut dyn FnMut(&str)) -> Result<Unpacked, FetchError> {
        let there = self.there(name, say)?;
        let health = there.as_ref().map(|there| self.health(there));
        let health = health.transpose()?.unwrap_or_default();
        let set = match there {
            Some(there) if self.is_wanted(&there) && health.outdated.is_empty() => {
                self.keep(&there, &health, say)?
            }
            there => self.replace(name, there, &health, say)?,
        };
        for (fault, why) in self.health(&set)?.unknown {
            if self.lab.is_wanted_free_of(name, fault) {
                say(&format!("{name}: not cured of {fault}, as {why}"));
            }
        }
        Ok(set)
    }

    fn health(&self, set: &Unpacked) -> Result<Health<'a>, FetchError> {
        let lab: &'a Lab = self.lab;
        lab.health(set)
            .map_err(|e| FetchError::io("read", &set.root, e))
    }

    /// Keeps a set of the store, and cures it of faults whose cure was not known before.
    fn keep(
        &self,
        there: &Unpacked,
        health: &Health,
        say: &mut dyn FnMut(&str),
    ) -> Result<Unpacked, FetchError> {
        let name = &there.set;
        match &*health.curable {
            [] => say(&format!("{name}: already there")),
            faults => {
                say(&format!("{name}: cured of {}", faults.join(", ")));
                self.cure(there)?;
            }
        }
        // The set was fetched as the newest versions; by now these are pinned.
        if !there.pinned() && self.lab.pins(name) == there.packages() {
            let mut manifest = self.guard.store().find(name)?.manifest().clone();
            (manifest.pinned, manifest.instead_of) = (true, None);
            self.guard.put_manifest(&manifest)?;
        }
        Ok(self.guard.store().find(name)?)
    }

    /// Fetches a set. If the archive does not have it or can't be reached, the store's set stays.
    fn replace(
        &mut self,
        name: &str,
        there: Option<Unpacked>,
        health: &Health,
        say: &mut dyn FnMut(&str),
    ) -> Result<Unpacked, FetchError> {
        match (self.set(name, say), there) {
            (Ok(()), _) => Ok(self.guard.store().find(name)?),
            (Err(error), Some(there)) if error.is_the_archives() && !self.request.update_lock => {
                say(&format!("{name}: {error}"));
                let how = match (self.lab.has_all(&there), health.outdated.is_empty()) {
                    (false, _) => "though it lacks files that this version of worldswitch needs",
                    (_, false) => "though its cure is of another version of worldswitch",
                    (true, true) => "though its versions are not those that lock.toml pins",
                };
                say(&format!("{name}: keeping the existing set, {how}"));
                match &*health.curable {
                    [] => Ok(there),
                    _ => self.keep(&there, health, say),
                }
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Finds the set in the store, if it is there and not damaged.
    fn there(&self, name: &str, say: &mut dyn FnMut(&str)) -> Result<Option<Unpacked>, FetchError> {
        let found = self.guard.store().find(name).and_then(|set| {
            set.verify()?;
            Ok(set)
        });
        match found {
            Ok(set) => Ok(Some(set)),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(error @ StoreError::Damaged { .. }) => {
                say(&format!("{name}: {error}"));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a set of the store need not be fetched. It must have the files that this version keeps, and the pinned
    /// versions. With `newest`, versions fetched in place of these same pins will do too, as the archive no longer had
    /// the pins. `update_lock` always fetches.
    fn is_wanted(&self, there: &Unpacked) -> bool {
        let pins = self.lab.pins(&there.set);
        let in_their_place = || {
            let instead_of = there.manifest().instead_of.as_ref();
            self.request.newest && instead_of == Some(&manifest::digest(pins))
        };
        !self.request.update_lock
            && self.lab.has_all(there)
            && (pins.is_empty() || pins == there.packages() || in_their_place())
    }

    /// Cures a set that was put into the store before the cure was known: copies it, cures the copy, and replaces it.
    fn cure(&self, there: &Unpacked) -> Result<(), FetchError> {
        let folder = self.workshop.join(&there.set);
        let root = folder.join("root");
        let mut manifest = there.manifest().clone();
        let copied = || -> io::Result<()> {
            for (path, entry) in &manifest.files {
                if let Entry::File { executable, .. } = entry {
                    let mut file = std::fs::File::open(there.root.join(path))?;
                    files::write(&root, path, &mut file, *executable)?;
                }
            }
            files::link(&root, &manifest.files)
        };
        copied()
            .and_then(|()| quirks::apply(self.lab.quirks(), &root, &mut manifest.files))
            .map(|cured| manifest.cured.extend(cured))
            .map_err(|e| FetchError::io("cure the files in", &there.root, e))?;
        Ok(self.guard.put(&manifest, &folder)?)
    }

    /// Fetches a set from the archive, unpacks it, and puts it into the store.
    fn set(&mut self, name: &str, say: &mut dyn FnMut(&str)) -> Result<(), FetchError> {
        let lab = self.lab;
        let set = lab.set(name)?;
        let pins = lab.pins(name);
        let apt = self.apt(name, set, say)?;
        let wanted = self.choose(&apt, name, set, say)?;
        say(&format!("{name}: fetching {}", counted(wanted.len())));
        let files = apt.download(&wanted, &mut |far| say(&format!("{name}: {far}")))?;
        let packages = self.identify(name, &wanted, &files, pins)?;
        say(&format!("{name}: unpacking"));
        let folder = self.workshop.join(name);
        let manifest = self.unpack(name, set, &folder, packages)?;
        // The packages are in the folder of the next download, which lists all that are there.
        for file in files {
            std::fs::remove_file(&file).map_err(|e| FetchError::io("remove", &file, e))?;
        }
        self.guard.put(&manifest, &folder)?;
        say(&format!(
            "{name}: {} of {}, {} MiB{}",
            counted(manifest.packages.len()),
            manifest.suite,
            manifest.bytes() >> 20,
            if manifest.pinned { "" } else { ", not pinned" },
        ));
        Ok(())
    }

    /// Finds or makes the apt for a set's suite and architecture, with the archive's lists.
    fn apt(
        &mut self,
        name: &str,
        set: &Set,
        say: &mut dyn FnMut(&str),
    ) -> Result<Rc<Apt<'a>>, FetchError> {
        let key = (set.suite.clone(), set.architecture);
        if let Some(apt) = self.apts.get(&key) {
            return Ok(Rc::clone(apt));
        }
        let archive = match &self.request.archive {
            Some(archive) => archive.clone(),
            None => debian_archive(Path::new("/")).ok_or(FetchError::NoArchive)?,
        };
        say(&format!(
            "{name}: reading the list of packages of {}",
            set.suite
        ));
        let folder = format!("apt-{}-{}", set.suite, set.architecture.facts().debian);
        let folder = self.workshop.join(folder);
        let apt = Apt::new(self.tools, &folder, &archive, &set.suite, set.architecture)?;
        apt.update()?;
        let apt = Rc::new(apt);
        self.apts.insert(key, Rc::clone(&apt));
        Ok(apt)
    }

    /// Unpacks packages into `folder`, which must not exist yet. Returns the manifest of the set.
    fn unpack(
        &self,
        name: &str,
        set: &Set,
        folder: &Path,
        packages: Vec<(Package, PathBuf)>,
    ) -> Result<Manifest, FetchError> {
        let useless = |e: io::Error| FetchError::Useless {
            set: name.to_owned(),
            what: e.to_string(),
        };
        let mut unpacking = Unpacking::new(set, &folder.join("root"))
            .map_err(|e| FetchError::io("make", folder, e))?;
        for (_, file) in &packages {
            apt::open_package(self.tools, file, |archive| unpacking.package(archive))?;
        }
        let (mut files, used) = unpacking.finish().map_err(useless)?;
        let cured =
            quirks::apply(self.lab.quirks(), &folder.join("root"), &mut files).map_err(useless)?;
        let packages: Vec<Package> = packages
            .into_iter()
            .zip(used)
            .filter_map(|((package, _), used)| used.then_some(package))
            .collect();
        let pins = self.lab.pins(name);
        let manifest = Manifest {
            version: manifest::VERSION,
            set: name.to_owned(),
            kind: set.kind,
            architecture: set.architecture,
            suite: set.suite.clone(),
            pinned: self.request.update_lock || pins == packages,
            instead_of: (!self.request.update_lock && !pins.is_empty() && pins != packages)
                .then(|| manifest::digest(pins)),
            cured,
            kept_by: Some(set.kept_by()),
            packages,
            files,
        };
        Unpacked::of(manifest.clone(), folder.join("root"))
            .check_use(set)
            .map_err(|what| FetchError::Useless {
                set: name.to_owned(),
                what,
            })?;
        Ok(manifest)
    }
}

/// The first three of some words, as text.
fn first(words: &[String]) -> String {
    let text = words[..words.len().min(3)].join(", ");
    match words.len().saturating_sub(3) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// A number of packages, as text.
pub(crate) fn counted(packages: usize) -> String {
    match packages {
        1 => "1 package".to_owned(),
        packages => format!("{packages} packages"),
    }
}

/// Whether a fetched package belongs to the set.
fn takes(set: &Set, package: &str) -> bool {
    set.take.is_empty() || set.take.iter().any(|pattern| matches(pattern, package))
}
