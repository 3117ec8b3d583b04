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

/// Runs a command.
pub fn command(command: &Command) -> anyhow::Result<Done> {
    match command {
        Command::Run(args) => return run::run(args),
        Command::Lab { what } => return lab::lab(what),
        Command::Compare(args) => return compare::compare(args).map(Done::Judged),
        Command::Explain(args) => return explain::explain(args),
        Command::Test(args) => return test::test(args),
        Command::Report(args) => return report::report(args),
        Command::History(args) => return history::history(args),
        Command::Paper(args) => return paper::paper(args),
        Command::Doctor(args) => return doctor::doctor(args),
        Command::Benchmarks(args) => benchmarks::benchmarks(args)?,
        Command::Machines(args) => machines::machines(args)?,
        Command::Show(args) => show::show(args)?,
        Command::IoClient { task } => ws_io::client::run(task)?,
        Command::Complete { words } => complete::complete(words.clone())?,
        Command::Manual { share } => ws_manual::write(help::command(), share)?,
    }
    Ok(Done::Whole)
}
