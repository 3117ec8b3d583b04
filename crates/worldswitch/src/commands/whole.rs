//! What commands have in common that measure one kind of row of whole Linux machines in the lab.

use crate::cli::{Output, Parts, PlatformList, RunArgs};
use crate::commands::run::{Measured, measure};
use crate::commands::{Done, Usage, parts};
use crate::rounds::rows::RowsOf;
use anyhow::bail;
use ws_cpus::Cpus;
use ws_lab::lab::Lab;
use ws_lab::recipe::Recipe;
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_results::ResultFile;
use ws_terminal::{Colours, Stop, output};

/// Such a run: its boots and perturbed boots.
pub fn run(
    on: &[PlatformList],
    (boots, perturb): (u32, u32),
    parts: &Parts,
    output: &Output,
) -> RunArgs {
    RunArgs {
        on: on.to_vec(),
        boots: Some(boots),
        perturb: Some(perturb),
        parts: parts.clone(),
        output: output.clone(),
        ..RunArgs::default()
    }
}

/// Measures, and tells problems and remarks.
///
/// # Errors
/// A platform is not of the lab or has a recipe that is not `suited`: `has_no` says what it does not have,
/// and which to choose; or as [`measure`].
pub fn measured(
    run: &RunArgs,
    suited: fn(&Recipe) -> bool,
    has_no: &str,
    colours: Colours,
) -> anyhow::Result<(Vec<ResultFile>, Done)> {
    Ok(quietly(run, suited, has_no, &Stop::listen()?, colours)?.told(colours))
}

/// Only measures, until `stop` says so.
///
/// # Errors
/// As [`measured`].
pub fn quietly(
    run: &RunArgs,
    suited: fn(&Recipe) -> bool,
    has_no: &str,
    stop: &Stop,
    colours: Colours,
) -> anyhow::Result<Measured> {
    let lab = parts::recipes(&run.parts.lab)?;
    let of_host = |name: &PlatformName| {
        let is_applications = matches!(run.rows, Some(RowsOf::Applications));
        is_applications && platforms::APPLICATIONS.contains(&&*name.base())
    };
    for name in run.on.iter().flatten() {
        if of_host(name) {
            continue;
        }
        let is_of_lab = name.family.as_deref() == Some("lab");
        if !is_of_lab || !suited(&lab.recipe(&name.name, None)?) {
            bail!(Usage(format!(
                "{name} has no {has_no} (worldswitch lab list)"
            )));
        }
    }
    let mut names = run.on.iter().flatten();
    let has_vm = names.any(|name| of_host(name) && name.base() != "host");
    if let Some(why) = Cpus::here().too_few(2).filter(|_| has_vm) {
        output::remark(
            &format!("a VM and its clients share one CPU: {why} (cure: worldswitch doctor)"),
            colours,
        );
    }
    measure(run, None, stop, colours)
}

/// The recipe of a platform, without its variant.
///
/// # Errors
/// As [`measured`]: it is not of the lab, or not `suited`.
pub fn recipe(
    lab: &Lab,
    name: &PlatformName,
    suited: fn(&Recipe) -> bool,
    has_no: &str,
) -> anyhow::Result<Recipe> {
    if name.family.as_deref() == Some("lab") {
        let recipe = lab.recipe(&name.name, None)?;
        if suited(&recipe) {
            return Ok(recipe);
        }
    }
    bail!(Usage(format!(
        "{name} has no {has_no} (worldswitch lab list)"
    )))
}
