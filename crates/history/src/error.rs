//! Errors of a history, each with its cure.

use std::path::PathBuf;

/// Why an operation on a history failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no usual place of a history.
    #[error("neither XDG_DATA_HOME nor HOME is set: name the history file with --store")]
    NoHome,
    /// There is no history. Only [`crate::Store::create`] makes one.
    #[error("there is no history in {0} yet: create it with history add")]
    NotThere(String),
    /// The file or schema is something else.
    #[error("{0} is not a history of worldswitch")]
    Foreign(String),
    /// A newer version of this program wrote it.
    #[error(
        "{place} has version {found}, and this program knows versions up to {known}: use a newer worldswitch"
    )]
    Newer {
        /// The history.
        place: String,
        /// The version of its tables.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// An older version of this program made the tables, and other programs may still use them so.
    #[error(
        "{place} has version {found}, and this program uses version {known}: its owner {owner} can upgrade it with history migrate. Older programs are refused afterwards"
    )]
    Older {
        /// The history.
        place: String,
        /// The version of its tables.
        found: i64,
        /// The version that this program uses.
        known: i64,
        /// The role that may upgrade the tables.
        owner: String,
    },
    /// The tables have a version that no version of this program made.
    #[error("{place} has version {found}, which this program cannot upgrade to version {known}")]
    NoWay {
        /// The history.
        place: String,
        /// The version of its tables.
        found: i64,
        /// The version that this program uses.
        known: i64,
    },
    /// The file's folder can't be made.
    #[error("can't make the folder for {}: {cause}", path.display())]
    Folder {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The address of a server is wrong.
    #[error("{0}")]
    Address(String),
    /// A file that the address names can't be used.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Reason, and cure.
        why: String,
    },
    /// The server can't be reached or refuses, or a statement fails there.
    #[error("{place}: {what}")]
    Server {
        /// The address without its password.
        place: String,
        /// The failure, and its cure.
        what: String,
    },
    /// Only a server has roles, and the history is a file.
    #[error("{0} is a file: grant access by its permissions (chmod)")]
    NoRoles(String),
    /// There is no such run.
    #[error("there is no run {0} in the history: history list shows all runs")]
    NoRun(i64),
    /// A result in the history can't be read.
    #[error("run {run} is damaged: {cause}")]
    Damaged {
        /// The run's number.
        run: i64,
        /// Place and kind of the damage.
        cause: serde_json::Error,
    },
    /// A value in the history has an unexpected type.
    #[error("{place} is damaged: {found} is a value of the wrong kind")]
    Column {
        /// The history.
        place: String,
        /// The value.
        found: String,
    },
    /// A result can't be written as JSON.
    #[error("cannot keep the result: {0}")]
    Json(#[from] serde_json::Error),
    /// A name in a result has a NUL character, which no database stores.
    #[error("cannot keep the result: its {0} has a NUL character")]
    Nul(&'static str),
    /// A history is copied to itself.
    #[error("{0} would be copied to itself")]
    Itself(String),
    /// SQLite failed.
    #[error("{}: {cause}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        cause: rusqlite::Error,
    },
}
