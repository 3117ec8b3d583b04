//! `worldswitch`: measures what virtualization costs.
//!
//! Folders, each using only those after it: `commands` (what each command does), `shared` (what several of them
//! need), `cli` (the command line). No command uses another.
//!
//! The only exit point. Exit codes: 0 ok, 1 error, 2 wrong usage, 3 regression, 4 inconclusive or nothing compared.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod cli;
mod commands;
mod shared;

use clap::FromArgMatches;
use cli::Cli;
use std::process::ExitCode;
use ws_terminal::{Usage, output};

fn main() -> ExitCode {
    let given = cli::old::translated(std::env::args_os().collect());
    let parsed = cli::help::command().try_get_matches_from(given.words);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // If the terminal is gone, there is nowhere to report the error.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    output::choose_colours(cli.color.asked());
    output::be_quiet(cli.quiet);
    if let Some(note) = given.note {
        output::remark(&note);
    }
    match commands::command(&cli.command) {
        Ok(done) => ExitCode::from(done.code()),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}
