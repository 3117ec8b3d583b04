//! One command a file or folder: `worldswitch NAME`.

mod bisect;
mod compare;
mod doctor;
mod figure;
mod history;
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
mod suite;

use crate::cli::{Command, Output};
use crate::outcome::folder::Folder;
use crate::terminal::Colours;
use std::path::Path;
use std::time::SystemTime;
use ws_analysis::Outcome;

/// Wrong usage that the command line's definition alone does not show.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// How a command ended that did not fail as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// All that was asked for.
    Whole,
    /// Some of it; standard error has the rest.
    InPart,
    /// A comparison, with what came of it.
    Judged(Outcome),
}

impl Done {
    /// What the shell gets.
    pub fn code(self) -> u8 {
        match self {
            Done::Whole | Done::Judged(Outcome::NoRegression) => 0,
            Done::InPart | Done::Judged(Outcome::Refused) => 1,
            Done::Judged(Outcome::Regression) => 3,
            Done::Judged(Outcome::Inconclusive) => 4,
        }
    }
}

/// Does what was typed.
///
/// # Errors
/// What went wrong, with the cure; [`Usage`] where it was typed wrong.
pub fn command(command: &Command, colours: Colours) -> anyhow::Result<Done> {
    match command {
        Command::Run(args) => return run::run(args, colours),
        Command::Lab { what } => return lab::lab(what, colours),
        Command::Compare(args) => return compare::compare(args, colours).map(Done::Judged),
        Command::Bisect(args) => return bisect::bisect(args, colours),
        Command::History(args) => return history::history(args, colours),
        Command::Io(args) => return io::io(args, colours),
        Command::Nested(args) => return nested::nested(args, colours),
        Command::List { what } => list::list(what)?,
        Command::Show(args) => show::show(args, colours)?,
        Command::Report(args) => report::report(args, colours)?,
        Command::Model(args) => model::model(args, colours)?,
        Command::IoClient { task } => ws_io::client::run(task)?,
        Command::PatchHyp(args) => patch_hyp::patch_hyp(args)?,
        Command::Doctor(args) => doctor::doctor(args, colours)?,
    }
    Ok(Done::Whole)
}

/// Writes a table to a file, where one was asked for.
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

/// The folder that results come into.
///
/// # Errors
/// As [`Folder::make`].
fn folder(output: &Output, created: SystemTime) -> anyhow::Result<Folder> {
    Folder::make(output.output.as_deref(), output.force, created)
}
