//! Code that several commands share: outcomes of commands, and their output.

pub mod events;
pub mod judged;
pub mod page;
pub mod suite;
pub mod tables;
pub mod traffics;
pub mod views;

use crate::cli::{Exports, STDOUT};
use std::path::Path;
use ws_analysis::Outcome;
use ws_terminal::{Usage, output};

/// Outcome of a command that returned no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Everything was done.
    Whole,
    /// Only a part was done; standard error says what is missing.
    InPart,
    /// Outcome of a comparison.
    Judged(Outcome),
    /// Exit code of another command that this one ran.
    Code(u8),
}

impl Done {
    /// Returns [`Done::Whole`], or [`Done::InPart`] if something is missing.
    pub fn whole_if(is_whole: bool) -> Self {
        match is_whole {
            true => Done::Whole,
            false => Done::InPart,
        }
    }

    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Done::Whole | Done::Judged(Outcome::NoRegression) => 0,
            Done::InPart | Done::Judged(Outcome::Refused) => 1,
            Done::Judged(Outcome::Regression) => 3,
            Done::Judged(Outcome::Inconclusive) => 4,
            Done::Code(code) => code,
        }
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

/// Says whether one of these files is standard output, which then has no other output.
///
/// # Errors
/// Wrong usage: several of the files are standard output.
pub fn on_stdout<'a>(files: impl IntoIterator<Item = Option<&'a Path>>) -> Result<bool, Usage> {
    let files = files.into_iter().flatten();
    match files.filter(|file| is_stdout(file)).count() {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Usage(
            "only one thing can go to standard output: name a file for the others".to_owned(),
        )),
    }
}

/// Writes a file that the user named, whole or not at all. Returns false for standard output.
pub fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<bool> {
    match is_stdout(path) {
        true => output::bytes(bytes)?,
        false => ws_results::write_bytes(path, bytes)?,
    }
    Ok(!is_stdout(path))
}

/// Exports a table to a file, if the user named one.
pub fn export(
    path: Option<&Path>,
    text: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    if let Some(path) = path {
        write(path, text()?.as_bytes())?;
    }
    Ok(())
}

/// Shows the table of a measurement, and exports it to the files that the user named.
pub fn put(
    to: &Exports,
    text: impl FnOnce() -> String,
    json: impl FnOnce() -> serde_json::Result<String>,
    markdown: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    if !on_stdout(to.files())? {
        output::data(&text())?;
    }
    export(to.json_to(), || Ok(json()?))?;
    export(to.markdown_to(), || Ok(markdown()))
}
