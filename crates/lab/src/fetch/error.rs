//! Errors of fetching, and what to do about each.

use crate::lab::LabError;
use crate::store::StoreError;
use std::io;
use std::path::{Path, PathBuf};

/// Reason why a set could not be fetched. The store is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(
        "{0} is not installed: fetching needs apt and dpkg, as on Debian and its derivatives. Otherwise run worldswitch lab export FILE on a Debian host, and worldswitch lab import FILE here"
    )]
    NoTool(String),
    #[error(
        "apt's sources on this system name no Debian archive: name one with --mirror URL and its keys with --keyring FILE (without network: worldswitch lab import FILE)"
    )]
    NoArchive,
    #[error("apt can't use {_0:?}: it has a space, a quote or the like in it; choose another path")]
    NotPlain(PathBuf),
    #[error("{program} failed: {said}\nwithout network: worldswitch lab import FILE")]
    Tool { program: String, said: String },
    #[error(
        "the archive no longer has what lock.toml pins for {set}: {gone}. {tried}. The newest {newest}: worldswitch lab fetch --newest {set} takes the newest versions and marks them as not pinned; --old-archive URL names another archive of old versions"
    )]
    Vanished {
        set: String,
        gone: String,
        /// Result of asking an archive of old versions.
        tried: String,
        newest: String,
    },
    #[error(
        "{name} {version} of the archive is not the file that lock.toml pins: its SHA-256 is {found}, not {pinned}. It was not used"
    )]
    Hash {
        name: String,
        version: String,
        found: String,
        pinned: String,
    },
    #[error("apt was to download {asked} for {set}, but downloaded {brought}")]
    Other {
        set: String,
        asked: String,
        brought: String,
    },
    #[error("package {}: {what}", file.display())]
    Package { file: PathBuf, what: String },
    #[error("the packages of {set} can't be used: {what}")]
    Useless { set: String, what: String },
    #[error("can't {doing} {}: {cause}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Lab(#[from] LabError),
}

impl FetchError {
    pub(super) fn io(doing: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::Io {
            doing,
            path: path.to_owned(),
            cause,
        }
    }

    /// Whether the archive is unreachable or no longer has the pinned versions, so that an older
    /// set can still be used.
    pub(super) fn is_the_archives(&self) -> bool {
        matches!(
            self,
            Self::NoTool(_) | Self::NoArchive | Self::Tool { .. } | Self::Vanished { .. }
        )
    }
}
