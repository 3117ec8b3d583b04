//! `worldswitch lab`: lab machines, their recipes, and the store of their packages.

mod bisect;
mod boot;
mod diverge;
mod fetch;
mod patch;
mod symbols;

use crate::cli::STDOUT;
use crate::cli::lab::LabCommand;
use crate::shared::Done;
use std::path::Path;
use ws_lab::carry;
use ws_runner::parts::{lab_machine, recipes, store};
use ws_terminal::output;

/// Runs a subcommand.
pub fn lab(what: &LabCommand) -> anyhow::Result<Done> {
    match what {
        LabCommand::Bisect(args) => return bisect::bisect(args),
        LabCommand::Boot(args) => return boot::boot(args),
        LabCommand::Diverge(args) => return diverge::diverge(args),
        LabCommand::List { json, places } => {
            let places = places.to_places();
            output::data(&ws_catalog::recipes(
                &recipes(&places)?,
                &store(&places)?,
                *json,
            )?)?;
        }
        LabCommand::Show { name, json, places } => {
            let places = places.to_places();
            let (lab, store) = (recipes(&places)?, store(&places)?);
            output::data(&ws_catalog::recipe(
                &lab,
                &store,
                &lab_machine(name)?,
                *json,
            )?)?;
        }
        LabCommand::Symbols { name, qemu, places } => {
            return symbols::symbols(name, qemu.as_ref(), &places.to_places());
        }
        LabCommand::Patch(args) => patch::patch(args)?,
        LabCommand::Fetch(args) => {
            let places = args.places.to_places();
            fetch::fetch(args, &recipes(&places)?, &store(&places)?)?;
        }
        LabCommand::Export { file, sets, places } => {
            let store = store(&places.to_places())?;
            match file == Path::new(STDOUT) {
                true => {
                    let to = (std::io::stdout().lock(), "standard output");
                    carry::export_into(&store, sets, to, &mut say)?;
                }
                false => carry::export(&store, sets, file, &mut say)?,
            }
        }
        LabCommand::Import { file, places } => {
            carry::import(&store(&places.to_places())?, file, &mut say)?;
        }
    }
    Ok(Done::Whole)
}

/// Prints progress.
fn say(line: &str) {
    output::progress("lab", line);
}
