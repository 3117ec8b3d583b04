//! Why fetching fails, and what to do about it.

use crate::lab::LabError;
use crate::store::StoreError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a set could not be fetched. The store is as it was.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(
        "there is no {0} here: fetching needs apt and dpkg, as Debian and its kin have them. Elsewhere: worldswitch lab export FILE on a Debian, then worldswitch lab import FILE here"
    )]
    NoTool(String),
    #[error(
        "apt's sources on this system name no Debian archive: name one with --mirror URL and its keys with --keyring FILE (without network: worldswitch lab import FILE)"
    )]
    NoArchive,
    #[error("apt can't take {_0:?}: it has a blank, a quote or the like; choose another place")]
    NotPlain(PathBuf),
    #[error("{program} failed: {said}\nwithout network: worldswitch lab import FILE")]
    Tool { program: String, said: String },
    #[error(
        "the archive no longer has what lock.toml pins for {set}: {gone}. The newest {newest}: worldswitch lab fetch --newest {set} takes it, and marks it as not pinned"
    )]
    Vanished {
        set: String,
        gone: String,
        newest: String,
    },
    #[error(
        "{name} {version} of the archive is not the file that lock.toml pins: its SHA-256 is {found}, not {pinned}. Nothing was taken"
    )]
    Hash {
        name: String,
        version: String,
        found: String,
        pinned: String,
    },
    #[error("asked apt for {asked} of {set}, and it brought {brought}")]
    Other {
        set: String,
        asked: String,
        brought: String,
    },
    #[error("package {}: {what}", file.display())]
    Package { file: PathBuf, what: String },
    #[error("the packages of {set} are not what it is for: {what}")]
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

    /// Whether only the archive is out of reach or has moved on, so that an older set still does.
    pub(super) fn is_the_archives(&self) -> bool {
        matches!(
            self,
            Self::NoTool(_) | Self::NoArchive | Self::Tool { .. } | Self::Vanished { .. }
        )
    }
}
