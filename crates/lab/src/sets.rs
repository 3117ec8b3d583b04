//! Sets of packages (`packages.toml`) and the versions that they are pinned to (`lock.toml`).

use crate::lab::LabError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The architecture of a lab machine or of a set's packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    #[serde(rename = "x86_64")]
    X86_64,
    Aarch64,
}

impl Architecture {
    /// Debian's name for it.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }
}

/// What a set is for, and so what is asked of it once it is unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetKind {
    /// Programs of this host's, with all libraries that they need.
    Program,
    /// A Linux kernel with its modules.
    Kernel,
    /// Xen's hypervisor.
    Xen,
}

/// Some packages of Debian's that are fetched, kept and named together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// What it is, in one line.
    pub summary: String,
    pub kind: SetKind,
    pub architecture: Architecture,
    /// Debian's name of the suite, as `bookworm`.
    pub suite: String,
    /// The packages that are asked for; what they need comes with them.
    pub packages: Vec<String>,
    /// Of what comes, only the packages that match one of these are taken ('*' is any text).
    /// Nothing: all.
    #[serde(default)]
    pub take: Vec<String>,
    /// The files that are kept, as paths in the packages ('*' is any text, '/' too).
    pub keep: Vec<String>,
    /// Whether `lab fetch --all` takes it.
    #[serde(default)]
    pub on_request: bool,
}

/// A package of an exact version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    pub name: String,
    /// Debian's version, as `1:10.0.13+ds-0+deb13u1`.
    pub version: String,
    /// Debian's name of the architecture: `amd64`, `arm64`, `all`.
    pub architecture: String,
    /// Of the package file, in hexadecimal.
    pub sha256: String,
}

/// All sets by name.
pub type Sets = BTreeMap<String, Set>;

/// The pinned packages of each set, in the order in which they were found.
pub type Lock = BTreeMap<String, Vec<Package>>;

/// Reads sets.
///
/// # Errors
/// What is wrong, with its line.
pub fn parse_sets(text: &str, path: &Path) -> Result<Sets, LabError> {
    let sets: Sets = toml::from_str(text).map_err(|e| LabError::toml(path, &e))?;
    Ok(sets)
}
