//! The manifest of a set in the store, `manifest.json`: its packages and files.

use crate::files;
use crate::recipe::hex;
use crate::sets::{Architecture, Package, Set, SetKind, is_whole};
use crate::store::StoreError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Its name in a set's folder.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The version of the format.
pub const VERSION: u32 = 1;

/// The manifest of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`VERSION`].
    pub version: u32,
    pub set: String,
    pub kind: SetKind,
    pub architecture: Architecture,
    /// The Debian suite that it was fetched from.
    pub suite: String,
    /// Whether the packages are those of the lock file.
    pub pinned: bool,
    /// The digest of the pins, if other packages were fetched because the archive no longer had the
    /// pinned ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// The faults of [`crate::quirks`] that were cured, and the file of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cured: BTreeMap<String, String>,
    /// A digest of the patterns and programs by which its files were kept; nothing in manifests of
    /// versions of this program before there was a set of kind `root`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<String>,
    /// Sorted by name.
    pub packages: Vec<Package>,
    /// By path below `root`, with '/' as separator.
    pub files: BTreeMap<String, Entry>,
}

/// A file or a symbolic link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Entry {
    File {
        bytes: u64,
        /// SHA-256, in hexadecimal.
        sha256: String,
        executable: bool,
    },
    /// The target, relative to its own folder; never outside of `root`.
    Link { to: String },
}

/// See [`crate::store::Unpacked::digest`].
pub(crate) fn digest(packages: &[Package]) -> String {
    let mut hash = Sha256::new();
    for package in packages {
        for field in [
            &package.name,
            &package.version,
            &package.architecture,
            &package.sha256,
        ] {
            hash.update(field);
            hash.update([0]);
        }
    }
    hex(&hash.finalize())
}

impl Manifest {
    /// Reads the manifest of a set's folder.
    ///
    /// # Errors
    /// There is none, or it is not a manifest of this set.
    pub(crate) fn read(set: &str, folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(MANIFEST);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Err(StoreError::Missing {
                    set: set.to_owned(),
                });
            }
            Err(e) => return Err(StoreError::io("read", &path, e)),
        };
        Self::parse(set, &text).map_err(|what| StoreError::Damaged {
            set: set.to_owned(),
            path: folder.to_owned(),
            what,
        })
    }

    /// Reads a manifest's text.
    pub(crate) fn parse(set: &str, text: &str) -> Result<Self, String> {
        let manifest: Self =
            serde_json::from_str(text).map_err(|e| format!("manifest.json: {e}"))?;
        if manifest.version != VERSION {
            let version = manifest.version;
            return Err(format!(
                "manifest.json has version {version}, not {VERSION}"
            ));
        }
        if !manifest.packages.iter().all(is_whole) {
            return Err("manifest.json has packages that can't be Debian's".into());
        }
        files::check(&manifest.files)?;
        if manifest.set != set {
            return Err(format!("manifest.json is that of {:?}", manifest.set));
        }
        Ok(manifest)
    }

    /// Whether it has the files that `set` keeps today.
    pub(crate) fn is_kept_by(&self, set: &Set) -> bool {
        match &self.kept_by {
            Some(digest) => *digest == set.kept_by(),
            None => set.keeps_as_before(),
        }
    }

    /// See [`crate::store::Unpacked::digest`].
    pub fn digest(&self) -> String {
        if self.cured.is_empty() {
            return digest(&self.packages);
        }
        let mut hash = Sha256::new();
        hash.update(digest(&self.packages));
        for (quirk, path) in &self.cured {
            let content = match self.files.get(path) {
                Some(Entry::File { sha256, .. }) => sha256,
                _ => "",
            };
            hash.update(format!("\0{quirk}\0{path}\0{content}"));
        }
        hex(&hash.finalize())
    }

    /// The total size of all files, in bytes.
    pub fn bytes(&self) -> u64 {
        let bytes = |entry: &Entry| match entry {
            Entry::File { bytes, .. } => *bytes,
            Entry::Link { .. } => 0,
        };
        self.files.values().map(bytes).sum()
    }
}
