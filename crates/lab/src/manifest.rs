//! The manifest of a set in the store, `manifest.json`: its packages and files.

use crate::files;
use crate::recipe::hex;
use crate::sets::{Architecture, Package, Set, SetKind, is_whole};
use crate::store::StoreError;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

/// The manifest's name in a set's folder.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The version of the format.
pub const VERSION: u32 = 1;

/// The manifest of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the format: [`VERSION`].
    pub version: u32,
    pub set: String,
    pub kind: SetKind,
    pub architecture: Architecture,
    /// The Debian suite that the set was fetched from.
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
    /// A digest of the patterns and programs by which the set's files were kept. None in manifests of older versions of
    /// this program, which had no sets of kind `root`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<String>,
    /// Packages of the set, sorted by name.
    pub packages: Vec<Package>,
    /// Files of the set, by path below `root`, with '/' as separator.
    pub files: BTreeMap<String, Entry>,
}

/// The first fields of a manifest. The rest, a hundred times as long, is only read when it is used.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Head {
    version: u32,
    set: String,
    pub kind: SetKind,
    pub architecture: Architecture,
    pub pinned: bool,
}

impl Head {
    /// Reads the head of the manifest of a set's folder.
    pub(crate) fn read(set: &str, folder: &Path) -> Result<Self, StoreError> {
        let head = File::open(folder.join(MANIFEST)).ok().and_then(Self::parse);
        match head.filter(|head| head.set == set && head.version == VERSION) {
            Some(head) => Ok(head),
            // The fields are in another order, or the manifest is damaged: reading all of it finds out.
            None => Manifest::read(set, folder).map(|manifest| Self {
                version: manifest.version,
                set: manifest.set,
                kind: manifest.kind,
                architecture: manifest.architecture,
                pinned: manifest.pinned,
            }),
        }
    }

    fn parse(file: File) -> Option<Self> {
        let mut fields = serde_json::Map::new();
        let mut json = serde_json::Deserializer::from_reader(BufReader::new(file));
        // A map that is not read to its end is always an error.
        let _ = json.deserialize_map(Before("packages", &mut fields));
        serde_json::from_value(fields.into()).ok()
    }
}

/// Takes the fields of a map before the field of this name, and leaves the rest unread.
struct Before<'a>(
    &'static str,
    &'a mut serde_json::Map<String, serde_json::Value>,
);

impl<'de> Visitor<'de> for Before<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()?.filter(|key| key != self.0) {
            self.1.insert(key, map.next_value()?);
        }
        Ok(())
    }
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
    /// The target, relative to the link's folder; never outside of `root`.
    Link { to: String },
}

/// Digest of packages (see [`crate::store::Unpacked::digest`]).
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

    /// Whether the set has the files that this version keeps of `set`.
    pub(crate) fn is_kept_by(&self, set: &Set) -> bool {
        match &self.kept_by {
            Some(digest) => *digest == set.kept_by(),
            None => set.keeps_as_before(),
        }
    }

    /// Digest of the set (see [`crate::store::Unpacked::digest`]).
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A manifest's text, as this version writes it.
    fn text() -> String {
        let manifest = Manifest {
            version: VERSION,
            set: "q".into(),
            kind: SetKind::Program,
            architecture: Architecture::Aarch64,
            suite: "sid".into(),
            pinned: true,
            instead_of: Some("x".into()),
            cured: BTreeMap::from([("a".into(), "b".into())]),
            kept_by: None,
            packages: Vec::new(),
            files: BTreeMap::new(),
        };
        serde_json::to_string_pretty(&manifest).unwrap()
    }

    fn read(text: &str) -> Result<Head, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MANIFEST), text).unwrap();
        Head::read("q", folder.path()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_head_has_what_the_manifest_says_in_any_order() {
        let head = read(&text()).unwrap();
        assert_eq!(
            (head.kind, head.architecture, head.pinned),
            (SetKind::Program, Architecture::Aarch64, true)
        );
        // The rest is not read.
        let text = text();
        let (before, _) = text.split_once("\"packages\"").unwrap();
        assert_eq!(read(&format!("{before}\"packages\": ...")).unwrap(), head);
        let mut fields: Vec<(String, serde_json::Value)> = Vec::new();
        let parsed: serde_json::Map<_, _> = serde_json::from_str(&text).unwrap();
        fields.extend(parsed);
        fields.reverse();
        let reversed = fields
            .iter()
            .map(|(name, value)| format!("{name:?}: {value}"));
        let reversed = reversed.collect::<Vec<_>>().join(", ");
        assert_eq!(read(&format!("{{{reversed}}}")).unwrap(), head);
    }

    #[test]
    fn what_is_no_manifest_of_the_set_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Head::read("q", folder.path()).unwrap_err();
        assert!(matches!(missing, StoreError::Missing { .. }), "{missing}");
        for (text, why) in [
            (text().replace("\"q\"", "\"other\""), "is that of \"other\""),
            (
                text().replace("\"version\": 1", "\"version\": 2"),
                "version 2, not 1",
            ),
            (
                text().replace("\"pinned\": true,", ""),
                "missing field `pinned`",
            ),
            ("[]".to_owned(), "is damaged"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
