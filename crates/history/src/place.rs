//! Where a history is.

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
    /// `postgresql://...` is a server, all else a file.
    ///
    /// # Errors
    /// The address is wrong.
    pub fn parse(text: &str) -> Result<Self, Error> {
        match Address::is_one(text) {
            true => Ok(Self::Server(Box::new(Address::parse(text)?))),
            false => Ok(Self::File(text.into())),
        }
    }
}

/// Without a password.
impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(out),
            Self::Server(address) => address.fmt(out),
        }
    }
}
