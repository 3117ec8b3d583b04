//! The commands, `worldswitch NAME`: one file or folder each.

mod apps;
mod bisect;
mod compare;
mod doctor;
mod explain;
mod figure;
mod history;
mod input;
mod io;
mod lab;
mod list;
mod model;
mod nested;
mod parts;
mod patch_hyp;
mod report;
mod run;
mod show;
mod spread;
mod suite;
mod tables;
mod whole;

use crate::cli::{Cli, Command, Exports, Output};
use crate::outcome::folder::Folder;
use crate::terminal::Colours;
use clap::CommandFactory;
use std::path::Path;
use std::time::SystemTime;
use ws_analysis::Outcome;

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
}

impl Done {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Done::Whole | Done::Judged(Outcome::NoRegression) => 0,
            Done::InPart | Done::Judged(Outcome::Refused) => 1,
            Done::Judged(Outcome::Regression) => 3,
            Done::Judged(Outcome::Inconclusive) => 4,
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
        Command::History(args) => return history::history(args, colours),
        Command::Io(args) => return io::io(args, colours),
        Command::Apps(args) => return apps::apps(args, colours),
        Command::Nested(args) => return nested::nested(args, colours),
        Command::List { what } => list::list(what)?,
        Command::Show(args) => show::show(args, colours)?,
        Command::Report(args) => report::report(args, colours)?,
        Command::Model(args) => model::model(args, colours)?,
        Command::IoClient { task } => ws_io::client::run(task)?,
        Command::PatchHyp(args) => patch_hyp::patch_hyp(args)?,
        Command::Doctor(args) => doctor::doctor(args, colours)?,
        Command::Manual { share } => ws_manual::write(Cli::command(), share)?,
    }
    Ok(Done::Whole)
}

/// Writes a table to a file, if the user named one.
///
/// # Errors
/// It can't be made or written.
pub fn export(
    path: Option<&Path>,
    text: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    if let Some(path) = path {
        ws_results::write_bytes(path, text()?.as_bytes())?;
    }
    Ok(())
}

/// Writes what a command shows to the files that the user named.
///
/// # Errors
/// One can't be made or written.
pub fn exports(
    to: &Exports,
    json: impl FnOnce() -> serde_json::Result<String>,
    markdown: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    export(to.export_json.as_deref(), || Ok(json()?))?;
    export(to.export_markdown.as_deref(), || Ok(markdown()))
}

/// The folder for results.
///
/// # Errors
/// As [`Folder::make`].
fn folder(output: &Output, created: SystemTime) -> anyhow::Result<Folder> {
    Folder::make(output.output.as_deref(), output.force, created)
}
