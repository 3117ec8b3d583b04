//! The commands, `worldswitch NAME`: one file or folder each.

mod benchmarks;
mod compare;
mod complete;
mod doctor;
mod explain;
mod history;
mod lab;
mod machines;
mod paper;
mod report;
mod run;
#[cfg(test)]
mod schemas;
mod show;
mod test;

use crate::cli::{Command, help};
use crate::shared::Done;
use ws_terminal::Colours;

/// Runs a command.
pub fn command(command: &Command, colours: Colours) -> anyhow::Result<Done> {
    match command {
        Command::Run(args) => return run::run(args, colours),
        Command::Lab { what } => return lab::lab(what, colours),
        Command::Compare(args) => return compare::compare(args, colours).map(Done::Judged),
        Command::Explain(args) => return explain::explain(args, colours),
        Command::Test(args) => return test::test(args, colours),
        Command::Report(args) => return report::report(args, colours),
        Command::History(args) => return history::history(args, colours),
        Command::Paper(args) => return paper::paper(args, colours),
        Command::Doctor(args) => return doctor::doctor(args, colours),
        Command::Benchmarks(args) => benchmarks::benchmarks(args)?,
        Command::Machines(args) => machines::machines(args)?,
        Command::Show(args) => show::show(args, colours)?,
        Command::IoClient { task } => ws_io::client::run(task)?,
        Command::Complete { words } => complete::complete(words.clone())?,
        Command::Manual { share } => ws_manual::write(help::command(), share)?,
    }
    Ok(Done::Whole)
}
