//! The store: unpacked sets of packages in a folder of the user's.
//!
//! ```text
//! STORE/lock               held while a set is put in
//! STORE/sets/NAME/         one set, put in by one rename
//!     manifest.json        packages, files and their hashes
//!     root/                the files
//! STORE/new-XXXX/          a set in the making; the next who holds the lock removes it
//! ```

use crate::kernel::Kernel;
use crate::manifest::Manifest;
use crate::sets::{Package, SetKind};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Why a set can't be had or put in.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "the lab's packages {set} are not fetched: worldswitch lab fetch {set} (without network: worldswitch lab import FILE)"
    )]
    Missing { set: String },
    #[error("the set {set} in {} is damaged: {what}; worldswitch lab fetch --again {set} renews it", path.display())]
    Damaged {
        set: String,
        path: PathBuf,
        what: String,
    },
    #[error("the set {set} has no {what}")]
    Lacks { set: String, what: String },
    #[error("can't {doing} {}: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    }
}

/// The folder of unpacked sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store in a folder, which need not be there yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where the store lies if nobody says: `$XDG_CACHE_HOME/worldswitch`, or
    /// `~/.cache/worldswitch`. `variable` reads the environment. Nothing where neither
    /// `XDG_CACHE_HOME` nor `HOME` is an absolute path.
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

    /// The folder of a set, there or not.
    pub(crate) fn folder(&self, set: &str) -> PathBuf {
        self.root.join("sets").join(set)
    }

    /// An unpacked set.
    ///
    /// # Errors
    /// It is not there, with what to run; or its manifest can't be read.
    pub fn find(&self, set: &str) -> Result<Unpacked, StoreError> {
        let folder = self.folder(set);
        let manifest = Manifest::read(set, &folder)?;
        Ok(Unpacked {
            set: set.to_owned(),
            root: folder.join("root"),
            manifest,
        })
    }
}

/// A set of packages, unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    pub set: String,
    /// The folder with its files, laid out as the packages have them.
    pub root: PathBuf,
    manifest: Manifest,
}

impl Unpacked {
    /// The packages, in the order of their names.
    pub fn packages(&self) -> &[Package] {
        &self.manifest.packages
    }

    /// Whether they are those that the lock file of the fetch pinned.
    pub fn pinned(&self) -> bool {
        self.manifest.pinned
    }

    /// What was unpacked, and its files' hashes.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// SHA-256, in hexadecimal, over name, version, architecture and hash of every package: what
    /// is the same for all who fetched the same packages.
    pub fn digest(&self) -> String {
        self.manifest.digest()
    }

    /// The kernel of a set of kind `kernel`.
    ///
    /// # Errors
    /// It holds none.
    pub fn kernel(&self) -> Result<Kernel, StoreError> {
        self.is(SetKind::Kernel, "kernel")?;
        Kernel::in_packages(&self.root).ok_or_else(|| self.lacks("kernel"))
    }

    /// Xen's hypervisor, an ELF file that a boot loader may start, of a set of kind `xen`.
    ///
    /// # Errors
    /// It holds none.
    pub fn xen(&self) -> Result<PathBuf, StoreError> {
        self.is(SetKind::Xen, "Xen")?;
        let path = self.root.join("boot/xen.elf");
        path.is_file()
            .then_some(path)
            .ok_or_else(|| self.lacks("Xen"))
    }

    /// The words that start a program of a set of kind `program`: it runs on the libraries that
    /// were fetched with it, by their own loader, and nothing of it need be installed.
    ///
    /// # Errors
    /// It holds no such program.
    pub fn program(&self, name: &str) -> Result<Vec<OsString>, StoreError> {
        self.is(SetKind::Program, "programs")?;
        crate::program::words(&self.root, name)
            .ok_or_else(|| self.lacks(&format!("program {name}")))
    }

    fn is(&self, kind: SetKind, what: &str) -> Result<(), StoreError> {
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
