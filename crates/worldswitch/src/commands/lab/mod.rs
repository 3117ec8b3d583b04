//! `worldswitch lab`: lab machines, their recipes, and the store of their packages.

mod boot;
mod budget;
mod check;
mod ending;
mod fetch;
mod list;
mod show;

use crate::cli::lab::LabCommand;
use crate::commands::Done;
use crate::commands::parts::{recipes, store};
use crate::terminal::Colours;
use std::io::Write;
use ws_lab::carry;

/// Runs a subcommand.
///
/// # Errors
/// What went wrong and how to fix it.
pub fn lab(what: &LabCommand, colours: Colours) -> anyhow::Result<Done> {
    match what {
        LabCommand::Boot(args) => return boot::boot(args),
        LabCommand::Check(args) => return check::check(args, colours),
        LabCommand::List { json, places } => list::list(&recipes(places)?, &store(places)?, *json)?,
        LabCommand::Show { name, json, places } => {
            show::show(&recipes(places)?, &store(places)?, name, *json)?;
        }
        LabCommand::Fetch(args) => {
            fetch::fetch(args, &recipes(&args.places)?, &store(&args.places)?)?;
        }
        LabCommand::Export { file, sets, places } => {
            carry::export(&store(places)?, sets, file, &mut say)?;
        }
        LabCommand::Import { file, places } => {
            carry::import(&store(places)?, file, &mut say)?;
        }
    }
    Ok(Done::Whole)
}

/// Prints progress.
fn say(line: &str) {
    let lines: Vec<_> = line.lines().map(ws_report::text::terminal).collect();
    // If standard error is gone, there is nowhere to report it.
    let _ = writeln!(std::io::stderr(), "lab: {}", lines.join("\n  "));
}
