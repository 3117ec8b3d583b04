//! Fetches sets of packages from a Debian archive into the store, by an apt with its own folder, in
//! the versions that the lock file pins.
//!
//! It changes nothing on this system and needs no root. A set appears in the store whole, by one
//! rename, or not at all.

mod apt;
mod error;
mod needed;
mod root;
pub mod sources;
mod unpack;

use crate::files;
use crate::image::MKFS_SET;
use crate::lab::Lab;
use crate::manifest::{self, Entry, Manifest};
use crate::quirks;
use crate::sets::{Architecture, Package, Set, SetKind};
use crate::store::{Guard, Store, StoreError, Unpacked};
use apt::{Apt, Version};
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

/// What to fetch, and how.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Names of sets.
    pub sets: Vec<String>,
    /// The archive to fetch from; by default the Debian archive of this system's apt.
    pub archive: Option<Archive>,
    /// Fetch the newest versions if the archive no longer has the pinned ones.
    pub newest: bool,
    /// Fetch the newest versions of all packages, and pin them.
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
    };
    let mut pins = BTreeMap::new();
    for name in &request.sets {
        let there = fetching.there(name, say)?;
        let is_wanted = |there: &Unpacked| fetching.is_wanted(there);
        let set = match there {
            Some(there) if is_wanted(&there) => {
                let faults = lab.curable(&there);
                if faults.is_empty() {
                    say(&format!("{name}: already there"));
                    there
                } else {
                    say(&format!("{name}: cured of {}", faults.join(", ")));
                    fetching.cure(&there)?;
                    store.find(name)?
                }
            }
            there => match (fetching.set(name, say), there) {
                (Ok(()), _) => store.find(name)?,
                (Err(error), Some(there)) if error.is_the_archives() && !request.update_lock => {
                    say(&format!("{name}: {error}"));
                    let how = match lab.has_all(&there) {
                        true => "with other versions than lock.toml pins",
                        false => "without files that this version of worldswitch keeps",
                    };
                    say(&format!("{name}: keeping the set that is there, {how}"));
                    there
                }
                (Err(error), _) => return Err(error),
            },
        };
        pins.insert(name.clone(), set.packages().to_vec());
    }
    if request.update_lock {
        for path in lab.pin(pins)? {
            say(&format!("wrote {}", path.display()));
        }
    }
    make_images(&guard, request, say)
}

/// Makes the file systems of root sets, so that no run has to wait for it.
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
                "{name}: its file system is made when {MKFS_SET} is fetched too"
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
    /// One apt for each suite and architecture, with its lists read.
    apts: BTreeMap<(String, Architecture), Rc<Apt<'a>>>,
}

impl<'a> Fetching<'a> {
    /// The set in the store, if it is there and not damaged.
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

    /// Whether a set in the store need not be fetched: it has the files that are kept today, and the
    /// pinned versions, or was fetched in place of these same pins, which the archive no longer had.
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

    /// Cures a set that was put into the store before the cure was known.
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

    /// Fetches a set.
    fn set(&mut self, name: &str, say: &mut dyn FnMut(&str)) -> Result<(), FetchError> {
        let lab = self.lab;
        let set = lab.set(name)?;
        let pins = lab.pins(name);
        let apt = self.apt(name, set, say)?;
        let wanted = self.choose(&apt, name, set, pins)?;
        say(&format!("{name}: fetching {}", counted(wanted.len())));
        let files = apt.download(&wanted, &mut |far| say(&format!("{name}: {far}")))?;
        let packages = self.identify(name, &wanted, &files, pins)?;
        say(&format!("{name}: unpacking"));
        let folder = self.workshop.join(name);
        let manifest = self.unpack(name, set, &folder, packages)?;
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
        if manifest.instead_of.is_some() {
            let other = manifest.packages.iter().filter(|p| !pins.contains(p));
            say(&format!(
                "{name}: the archive no longer has all that lock.toml pins, so results may differ from those of other hosts. Versions that are not pinned: {}. For the pinned ones, name an archive of old versions with --mirror",
                listed(other.map(|p| (&*p.name, &*p.version)).collect()),
            ));
        }
        Ok(())
    }

    /// apt for a set's suite and architecture, with the archive's lists.
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
        let folder = format!("apt-{}-{}", set.suite, set.architecture.debian());
        let folder = self.workshop.join(folder);
        let apt = Apt::new(self.tools, &folder, &archive, &set.suite, set.architecture)?;
        apt.update()?;
        let apt = Rc::new(apt);
        self.apts.insert(key, Rc::clone(&apt));
        Ok(apt)
    }

    /// Which versions to fetch: the pinned ones, or the newest.
    fn choose(
        &self,
        apt: &Apt,
        name: &str,
        set: &Set,
        pins: &[Package],
    ) -> Result<Vec<Version>, FetchError> {
        let newest = || -> Result<Vec<Version>, FetchError> {
            let mut versions = apt.newest(&set.packages)?;
            versions.retain(|(package, _)| takes(set, package));
            versions.sort();
            Ok(versions)
        };
        if pins.is_empty() || self.request.update_lock {
            return newest();
        }
        let there = apt.versions(pins)?;
        let is_there = |pin: &&Package| {
            let versions = there.get(&pin.name);
            versions.is_some_and(|versions| versions.contains(&pin.version))
        };
        let gone: Vec<&Package> = pins.iter().filter(|pin| !is_there(pin)).collect();
        if gone.is_empty() {
            let pin = |pin: &Package| (pin.name.clone(), pin.version.clone());
            return Ok(pins.iter().map(pin).collect());
        }
        let newest = newest()?;
        if self.request.newest {
            return Ok(newest);
        }
        let known = |name: &str| pins.iter().any(|pin| pin.name == name);
        let is_news = |(name, version): &&Version| {
            gone.iter()
                .any(|pin| pin.name == *name && pin.version != *version)
                || !known(name)
        };
        Err(FetchError::Vanished {
            set: name.to_owned(),
            gone: listed(gone.iter().map(|pin| (&*pin.name, &*pin.version)).collect()),
            newest: match listed(
                newest
                    .iter()
                    .filter(is_news)
                    .map(|(name, version)| (&**name, &**version))
                    .collect(),
            ) {
                text if text.is_empty() => "has only the other packages".to_owned(),
                text => format!("is {text}"),
            },
        })
    }

    /// Checks that the files are the wanted packages, and if pinned, exactly the pinned files.
    fn identify(
        &self,
        name: &str,
        wanted: &[Version],
        files: &[PathBuf],
        pins: &[Package],
    ) -> Result<Vec<(Package, PathBuf)>, FetchError> {
        let mut packages = Vec::new();
        for file in files {
            packages.push((apt::identify(self.tools, file)?, file.clone()));
        }
        packages.sort();
        let brought = packages.iter().map(|(p, _)| (&p.name, &p.version));
        if !brought.eq(wanted.iter().map(|(name, version)| (name, version))) {
            let list = |words: Vec<String>| words.join(" ");
            return Err(FetchError::Other {
                set: name.to_owned(),
                asked: list(wanted.iter().map(|(n, v)| format!("{n}={v}")).collect()),
                brought: list(
                    packages
                        .iter()
                        .map(|(p, _)| format!("{}={}", p.name, p.version))
                        .collect(),
                ),
            });
        }
        if self.request.update_lock {
            return Ok(packages);
        }
        for (package, _) in &packages {
            let same = |pin: &&Package| pin.name == package.name && pin.version == package.version;
            let pin = pins.iter().find(same);
            if let Some(pin) = pin.filter(|pin| pin.sha256 != package.sha256) {
                return Err(FetchError::Hash {
                    name: package.name.clone(),
                    version: package.version.clone(),
                    found: package.sha256.clone(),
                    pinned: pin.sha256.clone(),
                });
            }
        }
        Ok(packages)
    }

    /// Unpacks into `folder`, which must not exist yet.
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

/// The first three packages with their versions, as text.
fn listed(list: Vec<(&str, &str)>) -> String {
    let more = list.len().saturating_sub(3);
    let words = list
        .iter()
        .take(3)
        .map(|(name, version)| format!("{name} {version}"));
    let text = words.collect::<Vec<_>>().join(", ");
    match more {
        0 => text,
        _ => format!("{text} and {more} more"),
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
