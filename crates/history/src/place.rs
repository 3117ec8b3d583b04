//! The place of a history.

use crate::{Address, Error};
use std::env;
use std::fmt;
use std::path::PathBuf;

/// A file, or a server.
#[derive(Clone, Debug)]
pub enum Place {
    /// An SQLite file.
    File(PathBuf),
    /// A database of a PostgreSQL server.
    Server(Box<Address>),
}

impl Place {
    /// Returns the place that the environment names, else the user's own file: `worldswitch/history.sqlite` in
    /// `$XDG_DATA_HOME`, by default in `~/.local/share` (XDG Base Directory Specification 0.8).
    pub fn usual() -> Result<Self, Error> {
        match env::var("WORLDSWITCH_HISTORY") {
            Ok(text) if !text.is_empty() => return Self::parse(&text),
            _ => {}
        }
        let absolute = |name: &str| {
            let path = env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let data = absolute("XDG_DATA_HOME");
        let data = data.or_else(|| Some(absolute("HOME")?.join(".local/share")));
        let data = data.ok_or(Error::NoHome)?;
        Ok(Self::File(data.join("worldswitch/history.sqlite")))
    }

    /// Parses a place: `postgresql://...` is a server, all else a file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        match Address::is_one(text) {
            true => Ok(Self::Server(Box::new(Address::parse(text)?))),
            false => Ok(Self::File(text.into())),
        }
    }
}

/// Shows no password.
impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(out),
            Self::Server(address) => address.fmt(out),
        }
    }
}
