//! `worldswitch`: measures what virtualization costs.
//!
//! Everything ends here, by one exit code: 0 ok, 1 error, 2 wrong usage, 3 regression, 4
//! inconclusive.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod bisect;
mod boot;
mod choose;
mod cli;
mod compare;
mod data;
mod digits;
mod doctor;
mod exits;
mod external;
mod figure;
mod folder;
mod follow;
mod gather;
mod hear;
mod history;
mod identity;
mod io;
mod job;
mod lab;
mod launch;
mod limits;
mod line;
mod list;
mod listen;
mod measure;
mod model;
mod nested;
mod nonce;
mod output;
mod patch_hyp;
mod perturb;
mod plan;
mod progress;
mod quick;
mod remarks;
mod report;
mod run;
mod show;
mod stop;
mod suite;
mod time;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

/// Wrong usage that the command line's definition alone does not show.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to be told when the terminal is gone.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let colours = output::Colours::choose(cli.color);
    let done = match cli.command {
        Command::Run(args) => run::run(&args, colours),
        Command::List { what } => list::list(&what).map(|()| run::Done::Whole),
        Command::Show(args) => show::show(&args, colours).map(|()| run::Done::Whole),
        Command::Lab { what } => lab::lab(&what, colours),
        Command::Compare(args) => compare::compare(&args, colours).map(run::Done::Judged),
        Command::Bisect(args) => bisect::bisect(&args, colours),
        Command::Report(args) => report::report(&args, colours).map(|()| run::Done::Whole),
        Command::History(args) => history::history(&args, colours),
        Command::Model(args) => model::model(&args, colours).map(|()| run::Done::Whole),
        Command::Io(args) => io::io(&args, colours),
        Command::IoClient { task } => ws_io::client::run(&task).map(|()| run::Done::Whole),
        Command::Nested(args) => nested::nested(&args, colours),
        Command::PatchHyp(args) => patch_hyp::patch_hyp(&args).map(|()| run::Done::Whole),
        Command::Doctor(args) => doctor::doctor(&args, colours).map(|()| run::Done::Whole),
    };
    match done {
        Ok(run::Done::Whole) => ExitCode::SUCCESS,
        Ok(run::Done::InPart) => ExitCode::from(1),
        Ok(run::Done::Judged(outcome)) => ExitCode::from(compare::exit_code(outcome)),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error, colours);
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}
