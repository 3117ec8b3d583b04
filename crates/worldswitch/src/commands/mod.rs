//! The commands, `worldswitch NAME`: one file or folder each.

mod apps;
mod benchmarks;
mod bisect;
mod compare;
mod complete;
mod doctor;
mod explain;
mod figure;
mod fleet;
mod history;
mod input;
mod io;
mod lab;
mod list;
mod model;
mod nested;
mod paper;
mod parts;
mod patch_hyp;
mod place;
mod recorded;
mod report;
mod run;
#[cfg(test)]
mod schemas;
mod short_hash;
mod show;
mod spread;
mod suite;
mod tables;
mod whole;

use crate::cli::{Command, Exports, Output, STDOUT, help};
use crate::outcome::folder::Folder;
use std::path::Path;
use std::time::SystemTime;
use ws_analysis::Outcome;
use ws_terminal::{Colours, output};

/// Wrong usage that the command line parser does not detect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// How a command ended that returned no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Everything was done.
    Whole,
    /// Only a part was done; standard error says what is missing.
    InPart,
    /// A comparison, and its outcome.
    Judged(Outcome),
    /// Another command was run, and ended with this exit code.
    Code(u8),
}

impl Done {
    /// The exit code.
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

/// Runs a command.
///
/// # Errors
/// What went wrong and how to fix it; [`Usage`] if the command line is wrong.
pub fn command(command: &Command, colours: Colours) -> anyhow::Result<Done> {
    match command {
        Command::Run(args) => return run::run(args, colours),
        Command::Lab { what } => return lab::lab(what, colours),
        Command::Compare(args) => return compare::compare(args, colours).map(Done::Judged),
        Command::Explain(args) => return explain::explain(args, colours),
        Command::Bisect(args) => return bisect::bisect(args, colours),
        Command::Fleet(args) => return fleet::fleet(args, colours),
        Command::Report(args) => return report::report(args, colours),
        Command::History(args) => return history::history(args, colours),
        Command::Io(args) => return io::io(args, colours),
        Command::Apps(args) => return apps::apps(args, colours),
        Command::Place(args) => return place::place(args, colours),
        Command::Nested(args) => return nested::nested(args, colours),
        Command::Paper(args) => return paper::paper(args, colours),
        Command::Doctor(args) => return doctor::doctor(args, colours),
        Command::List { what } => list::list(what)?,
        Command::Show(args) => show::show(args, colours)?,
        Command::Model(args) => model::model(args, colours)?,
        Command::IoClient { task } => ws_io::client::run(task)?,
        Command::PatchHyp(args) => patch_hyp::patch_hyp(args)?,
        Command::Complete { words } => complete::complete(words.clone())?,
        Command::Manual { share } => ws_manual::write(help::command(), share)?,
    }
    Ok(Done::Whole)
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

/// Whether one of these files is standard output, which then has nothing else.
///
/// # Errors
/// Wrong usage: several are.
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

/// Writes a file that the user named, whole or not at all. True if it is one, and not standard output.
///
/// # Errors
/// It can't be made or written.
pub fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<bool> {
    match is_stdout(path) {
        true => output::bytes(bytes)?,
        false => ws_results::write_bytes(path, bytes)?,
    }
    Ok(!is_stdout(path))
}

/// Writes a form of what is shown to a file, if the user named one.
///
/// # Errors
/// As [`write`].
pub fn export(
    path: Option<&Path>,
    text: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    if let Some(path) = path {
        write(path, text()?.as_bytes())?;
    }
    Ok(())
}

/// Shows what a command measured, and writes its other forms to the files that the user named.
///
/// # Errors
/// Wrong usage as in [`on_stdout`], or something can't be written.
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

/// The folder for results.
///
/// # Errors
/// As [`Folder::make`].
fn folder(output: &Output, created: SystemTime) -> anyhow::Result<Folder> {
    Folder::make(output.output.as_deref(), output.force, created)
}
