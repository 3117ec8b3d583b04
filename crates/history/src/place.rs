//! The place of a history.

use crate::{Address, Error};
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
