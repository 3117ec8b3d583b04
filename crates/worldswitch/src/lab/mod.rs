//! `worldswitch lab`: recipes of lab machines, and the store of packages that they are made of.

mod boot;
mod budget;
mod check;
pub mod cli;
mod ending;
mod fetch;
mod list;
mod show;

use crate::data;
use crate::output::Colours;
use crate::run::Done;
use anyhow::Context;
use cli::{LabCommand, Places};
use std::env;
use std::io::Write;
use ws_lab::carry;
use ws_lab::lab::Lab;
use ws_lab::store::Store;
use ws_machines::resources::LabFiles;

/// Does what was typed.
///
/// # Errors
/// What went wrong, with the cure.
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

/// Recipes and store together, for machines that are made of them.
///
/// # Errors
/// As those of [`recipes`] and [`store`].
pub fn files(places: &Places) -> anyhow::Result<LabFiles> {
    Ok(LabFiles {
        lab: recipes(places)?,
        store: store(places)?,
    })
}

/// The recipes and sets of the user's folders and of the installed one.
///
/// # Errors
/// One of them can't be read, or there is none.
pub fn recipes(places: &Places) -> anyhow::Result<Lab> {
    let mut folders = places.lab_dir.clone();
    match data::lab_folder() {
        Ok(folder) => folders.push(folder),
        Err(why) if folders.is_empty() => anyhow::bail!(why),
        // The user's own may do without.
        Err(_) => {}
    }
    Ok(Lab::open(&folders)?)
}

/// The store that the user named, or the one in the user's cache.
///
/// # Errors
/// The environment does not say where that is.
pub fn store(places: &Places) -> anyhow::Result<Store> {
    let root = match &places.cache {
        Some(root) => root.clone(),
        None => Store::default_root(|name| env::var_os(name)).context(
            "neither XDG_CACHE_HOME nor HOME says where fetched packages are kept: name a folder with --cache DIR",
        )?,
    };
    Ok(Store::at(root))
}

/// Tells of progress.
fn say(line: &str) {
    let lines: Vec<_> = line.lines().map(ws_text::terminal).collect();
    // Nobody is left to be told when standard error is gone.
    let _ = writeln!(std::io::stderr(), "lab: {}", lines.join("\n  "));
}
