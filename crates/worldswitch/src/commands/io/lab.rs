//! Devices of a VM in the lab: instructions and exits of one request.

use crate::cli::RunArgs;
use crate::cli::io::IoArgs;
use crate::cli::io::lab::Busy;
use crate::commands::{Done, exports, parts, whole};
use crate::rounds::rows::{Devices, RowsOf};
use crate::terminal::columns::columns;
use crate::terminal::{Colours, output};
use anyhow::bail;
use serde::Serialize;
use ws_lab::recipe::Recipe;
use ws_machines::name::{PlatformName, parse_list};
use ws_report::Requests;

/// The platform with devices that the lab has itself.
const PLATFORM: &str = "lab:kvm-linux";

/// What a platform does not have that is no VM with devices, and which to choose.
const HAS_NO: &str =
    "VM with devices to measure: choose lab:kvm-linux or another recipe with a [vm.io]";

fn has_devices(recipe: &Recipe) -> bool {
    recipe.vm.as_ref().is_some_and(|vm| vm.io.is_some())
}

/// Measures, or loads earlier results, and shows them.
///
/// # Errors
/// Nothing could be measured, there is no such result, or a table can't be written.
pub fn lab(args: &IoArgs, colours: Colours) -> anyhow::Result<Done> {
    let lab = &args.lab;
    if lab.list {
        return list(args);
    }
    let devices = RowsOf::Devices(Devices {
        device: lab.device.clone(),
        depths: args.depth.clone(),
        busy: lab.busy.map(|busy| busy == Busy::Yes),
    });
    let (results, done) = match lab.of.is_empty() {
        true => {
            let run = RunArgs {
                rows: Some(devices),
                ..whole::run(&lab.on, (lab.boots, lab.perturb), &lab.parts, &args.output)
            };
            whole::measured(&run, has_devices, HAS_NO, colours)?
        }
        false => (ws_results::load_all(&lab.of)?, Done::Whole),
    };
    let requests = Requests::of(&results, &ws_report::reference::load()?);
    if requests.lines.is_empty() {
        bail!("no device was measured: worldswitch io --list shows all");
    }
    exports(
        &lab.exports,
        || requests.to_json(),
        || requests.to_markdown(),
    )?;
    output::data(&requests.to_terminal())?;
    Ok(done)
}

/// The devices of the recipes; it needs no packages.
fn list(args: &IoArgs) -> anyhow::Result<Done> {
    let args = &args.lab;
    let names: Vec<PlatformName> = match args.on.is_empty() {
        true => parse_list(PLATFORM)?,
        false => args.on.iter().flatten().cloned().collect(),
    };
    let lab = parts::recipes(&args.parts.lab)?;
    let mut lines: Vec<[String; 4]> = Vec::new();
    for name in &names {
        let recipe = whole::recipe(&lab, name, has_devices, HAS_NO)?;
        for device in recipe
            .vm
            .and_then(|vm| vm.io)
            .map_or_else(Vec::new, |io| io.devices)
        {
            let is_wanted = args
                .device
                .as_ref()
                .is_none_or(|regex| regex.is_match(&device.name));
            let (kind, served) = (word(device.kind)?, word(device.served)?);
            let line = [device.name, kind, served, device.why];
            if is_wanted && !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    let heads = ["device", "kind", "served by", "why"];
    output::data(&columns(heads, lines.into_iter()))?;
    Ok(Done::Whole)
}

/// A value's word in a recipe.
fn word(value: impl Serialize) -> anyhow::Result<String> {
    let value = serde_json::to_value(value)?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}
