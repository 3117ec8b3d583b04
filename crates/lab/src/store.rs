//! The store: unpacked sets of packages in the user's cache.
//!
//! ```text
//! STORE/lock               locked while a set is put in
//! STORE/sets/NAME/         one set, put in by one rename
//!     manifest.json        packages, files and their hashes
//!     root/                the files
//! STORE/images/DIGEST.img  the root file system of a set of kind `root` (see `image`)
//! STORE/images/DIGEST.sha256
//! STORE/symbols/DIGEST     the symbols of a machine's Linux (crates/machines)
//! STORE/new-XXXX/          what is being made; the next holder of the lock removes leftovers
//! ```

use crate::files;
use crate::kernel::Kernel;
use crate::manifest::{Head, MANIFEST, Manifest};
use crate::sets::{Package, Set, SetKind};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Reason why a set can't be read or put in. The message contains the cause, so the cause is not a `source`.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "the lab's packages {set} are not fetched: worldswitch lab fetch {set} (without network: worldswitch lab import FILE)"
    )]
    Missing { set: String },
    #[error("the set {set} in {} is damaged: {what}; worldswitch lab fetch {set} replaces it", path.display())]
    Damaged {
        set: String,
        path: PathBuf,
        what: String,
    },
    #[error("the set {set} has no {what}")]
    Lacks { set: String, what: String },
    #[error("can't make the file system of {set}: {what}")]
    Image { set: String, what: String },
    #[error("can't {doing} {}: {cause}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            cause,
        }
    }
}

/// The folder of unpacked sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store in a folder, which need not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        // The path is absolute, as paths below it are passed to programs that run in another folder.
        Self {
            root: std::path::absolute(&root).unwrap_or(root),
        }
    }

    /// The default folder of the store: `$XDG_CACHE_HOME/worldswitch`, or `~/.cache/worldswitch`. `variable` reads the
    /// environment. None if neither `XDG_CACHE_HOME` nor `HOME` is an absolute path.
    pub fn default_root(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let absolute = |name| {
            let path = variable(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Some(cache?.join("worldswitch"))
    }

    /// The store's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a set, whether it exists or not.
    pub(crate) fn folder(&self, set: &str) -> PathBuf {
        self.root.join("sets").join(set)
    }

    /// Finds an unpacked set.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the set is not there; otherwise its manifest can't be read.
    pub fn find(&self, set: &str) -> Result<Unpacked, StoreError> {
        let folder = self.folder(set);
        let manifest = Manifest::read(set, &folder)?;
        Ok(Unpacked::of(manifest, folder.join("root")))
    }

    /// Checks that a set is there, by the head of its manifest.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the set is not there; otherwise its manifest can't be read.
    pub fn check(&self, set: &str) -> Result<(), StoreError> {
        Head::read(set, &self.folder(set)).map(drop)
    }

    /// Whether the packages of a set of kind `program` are pinned. The set must have the program `name`. Only checks
    /// that the program's files are there.
    pub fn check_program(&self, set: &str, name: &str) -> Result<bool, StoreError> {
        let folder = self.folder(set);
        let head = Head::read(set, &folder)?;
        let root = folder.join("root");
        let lacks = |what| StoreError::Lacks {
            set: set.to_owned(),
            what,
        };
        if head.kind != SetKind::Program {
            return Err(lacks("programs".into()));
        }
        match crate::program::words(&root, head.architecture, name) {
            Some(_) => Ok(head.pinned),
            None => Err(lacks(format!("program {name}"))),
        }
    }

    /// The names of all sets in the store, also of damaged ones, sorted.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let folder = self.root.join("sets");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(StoreError::io("read", &folder, e)),
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// Makes the store if it does not exist, and locks it until the guard is dropped. `say` gets a message if the lock
    /// is held by another process.
    pub fn lock(&self, say: &mut dyn FnMut(&str)) -> Result<Guard<'_>, StoreError> {
        fs::create_dir_all(&self.root).map_err(|e| StoreError::io("make", &self.root, e))?;
        let path = self.root.join("lock");
        let fail = |e: io::Error| StoreError::io("lock", &path, e);
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(fail)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                say(&format!(
                    "another worldswitch is writing to {}; waiting for it",
                    self.root.display()
                ));
                let wait = || flock(&file, FlockOperation::LockExclusive);
                rustix::io::retry_on_intr(wait).map_err(|e| fail(e.into()))?;
            }
            done => done.map_err(|e| fail(e.into()))?,
        }
        let guard = Guard {
            store: self,
            _lock: file,
        };
        guard.clear();
        Ok(guard)
    }
}

/// The lock on a store, needed to put sets in. The lock ends with the process at the latest.
#[derive(Debug)]
pub struct Guard<'a> {
    store: &'a Store,
    _lock: File,
}

/// The prefix of folders in which sets are made.
const WORKSHOP: &str = "new-";

impl Guard<'_> {
    pub(crate) fn store(&self) -> &Store {
        self.store
    }

    /// Removes folders that a killed process left. A folder in which a program of that process still writes is left for
    /// the next time.
    fn clear(&self) {
        let entries = fs::read_dir(&self.store.root);
        for entry in entries.into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(WORKSHOP) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Makes a folder to make sets in, on the file system of the store, as sets are moved by renames. Dropping it
    /// removes it.
    pub(crate) fn workshop(&self) -> Result<TempDir, StoreError> {
        let root = &self.store.root;
        let made = tempfile::Builder::new().prefix(WORKSHOP).tempdir_in(root);
        made.map_err(|e| StoreError::io("make a folder in", root, e))
    }

    /// Replaces the manifest of a set in the store.
    pub(crate) fn put_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let made = self.workshop()?;
        write(manifest, made.path())?;
        let place = self.store.folder(&manifest.set).join(MANIFEST);
        fs::rename(made.path().join(MANIFEST), &place)
            .map_err(|e| StoreError::io("replace", &place, e))
    }

    /// Puts a set in: writes its manifest into `made`, which already contains its `root`, and moves the folder into
    /// place. An earlier set of that name is in `made` afterwards, where the file system can exchange two names.
    pub(crate) fn put(&self, manifest: &Manifest, made: &Path) -> Result<(), StoreError> {
        write(manifest, made)?;
        let place = self.store.folder(&manifest.set);
        let put = || -> io::Result<()> {
            fs::create_dir_all(self.store.root.join("sets"))?;
            if !place.exists() {
                return fs::rename(made, &place);
            }
            match renameat_with(CWD, made, CWD, &place, RenameFlags::EXCHANGE) {
                // The file system can't exchange two names.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    fs::rename(&place, made.with_extension("old"))?;
                    fs::rename(made, &place)
                }
                done => Ok(done?),
            }
        };
        put().map_err(|e| StoreError::io("put a set into", &place, e))
    }
}

/// Writes a set's manifest into its folder.
fn write(manifest: &Manifest, folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(MANIFEST);
    let text = serde_json::to_string_pretty(manifest).map_err(io::Error::other);
    text.and_then(|text| fs::write(&path, text + "\n"))
        .map_err(|e| StoreError::io("write", &path, e))
}

/// A set of packages, unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    pub set: String,
    /// The folder with the set's files, laid out as in the packages.
    pub root: PathBuf,
    manifest: Manifest,
}

impl Unpacked {
    pub(crate) fn of(manifest: Manifest, root: PathBuf) -> Self {
        Self {
            set: manifest.set.clone(),
            root,
            manifest,
        }
    }

    /// The packages, sorted by name.
    pub fn packages(&self) -> &[Package] {
        &self.manifest.packages
    }

    /// Whether the packages are those that the lock file pinned when they were fetched.
    pub fn pinned(&self) -> bool {
        self.manifest.pinned
    }

    /// The packages, the files and their hashes.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// SHA-256, in hexadecimal, over name, version, architecture and hash of every package, and over the cured files.
    /// It is the same for everybody who fetched the same packages.
    pub fn digest(&self) -> String {
        self.manifest.digest()
    }

    /// The kernel of a set of kind `kernel`.
    pub fn kernel(&self) -> Result<Kernel, StoreError> {
        self.is(SetKind::Kernel, "kernel")?;
        Kernel::in_packages(&self.root).ok_or_else(|| self.lacks("kernel"))
    }

    /// Xen's image, of a set of kind `xen`: for x86_64 an ELF file that a boot loader can start,
    /// for aarch64 an arm64 Image.
    pub fn xen(&self) -> Result<PathBuf, StoreError> {
        self.is(SetKind::Xen, "Xen")?;
        ["boot/xen.elf", "boot/xen.img"]
            .map(|path| self.root.join(path))
            .into_iter()
            .find(|path| path.is_file())
            .ok_or_else(|| self.lacks("Xen"))
    }

    /// The words that start a program of a set of kind `program`. The set's dynamic loader runs it with the set's
    /// libraries, so that nothing needs to be installed.
    pub fn program(&self, name: &str) -> Result<Vec<OsString>, StoreError> {
        self.is(SetKind::Program, "programs")?;
        crate::program::words(&self.root, self.manifest.architecture, name)
            .ok_or_else(|| self.lacks(&format!("program {name}")))
    }

    /// Compares every file with the manifest.
    pub fn verify(&self) -> Result<(), StoreError> {
        files::verify(&self.root, &self.manifest.files).map_err(|what| StoreError::Damaged {
            set: self.set.clone(),
            path: self.root.clone(),
            what,
        })
    }

    /// Checks that the set has the files that its kind requires. The error names those that it lacks.
    pub(crate) fn check_use(&self, set: &Set) -> Result<(), String> {
        let checked = match set.kind {
            SetKind::Kernel => self.kernel().map(drop),
            SetKind::Xen => self.xen().map(drop),
            SetKind::Program => {
                let mut programs = set.programs.iter();
                programs.try_for_each(|name| self.program(name).map(drop))
            }
            // Its programs were checked when their libraries were looked up.
            SetKind::Root => Ok(()),
            SetKind::Debug if self.manifest.files.is_empty() => {
                Err(self.lacks("debug information"))
            }
            SetKind::Debug => Ok(()),
        };
        checked.map_err(|e| e.to_string())
    }

    pub(crate) fn is(&self, kind: SetKind, what: &str) -> Result<(), StoreError> {
        if self.manifest.kind == kind {
            Ok(())
        } else {
            Err(self.lacks(what))
        }
    }

    fn lacks(&self, what: &str) -> StoreError {
        StoreError::Lacks {
            set: self.set.clone(),
            what: what.to_owned(),
        }
    }
}
