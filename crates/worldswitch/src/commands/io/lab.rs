//! Devices of a VM in the lab: instructions and exits of one request.

use crate::cli::RunArgs;
use crate::cli::io::IoArgs;
use crate::cli::io::lab::Busy;
use crate::commands::{Done, export, parts, whole};
use crate::rounds::rows::{Devices, RowsOf};
use crate::terminal::columns::columns;
use crate::terminal::{Colours, output};
use anyhow::{Context, bail};
use ws_lab::recipe::Recipe;
use ws_machines::name::{PlatformName, parse_list};
use ws_machines::platforms;
use ws_report::Requests;

/// The platform with devices that the lab has itself.
const PLATFORM: &str = "lab:kvm-linux";

/// Measures, or loads earlier results, and shows them.
///
/// # Errors
/// Nothing could be measured, there is no such result, or a table can't be written.
pub fn lab(args: &IoArgs, colours: Colours) -> anyhow::Result<Done> {
    let lab = &args.lab;
    let devices = RowsOf::Devices(Devices {
        device: lab.device.clone(),
        depths: args.depth.clone(),
        busy: lab.busy.map(|busy| busy == Busy::Yes),
    });
    if lab.list {
        return list(args, &devices);
    }
    let (results, done) = match lab.of.is_empty() {
        true => {
            let run = RunArgs {
                rows: Some(devices),
                ..whole::run(&lab.on, (lab.boots, lab.perturb), &lab.parts, &args.output)
            };
            let has_no =
                "VM with devices to measure: choose lab:kvm-linux or another recipe with a [vm.io]";
            let suited = |recipe: &Recipe| recipe.vm.is_some();
            whole::measured(&run, suited, has_no, colours)?
        }
        false => (ws_results::load_all(&lab.of)?, Done::Whole),
    };
    let requests = Requests::of(&results, &ws_report::reference::load()?);
    if requests.lines.is_empty() {
        bail!("no device was measured: worldswitch io --list shows all");
    }
    export(lab.export_json.as_deref(), || Ok(requests.to_json()?))?;
    export(
        lab.export_markdown.as_deref(),
        || Ok(requests.to_markdown()),
    )?;
    output::data(&requests.to_terminal())?;
    Ok(done)
}

fn list(args: &IoArgs, devices: &RowsOf) -> anyhow::Result<Done> {
    let lab = &args.lab;
    let names: Vec<PlatformName> = match lab.on.is_empty() {
        true => parse_list(PLATFORM)?,
        false => lab.on.iter().flatten().cloned().collect(),
    };
    let resources = parts::resources(&lab.parts, Vec::new());
    let mut lines: Vec<[String; 3]> = Vec::new();
    for name in &names {
        let machine = platforms::open(name, &resources).with_context(|| name.to_string())?;
        for row in machine.workloads().unwrap_or_default() {
            let work = format!(
                "{} x {}",
                row.max_iterations,
                row.work.as_deref().unwrap_or("-")
            );
            let is_new = lines.iter().all(|[name, ..]| *name != row.name);
            if devices.wants(&row) && is_new {
                lines.push([row.name, work, row.summary]);
            }
        }
    }
    output::data(&columns(["row", "work", "what it does"], lines.into_iter()))?;
    Ok(Done::Whole)
}
