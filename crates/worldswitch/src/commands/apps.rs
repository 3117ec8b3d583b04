//! `worldswitch apps`: applications natively and in virtual machines, in the lab.

use crate::cli::{AppsArgs, RunArgs};
use crate::commands::run::measure;
use crate::commands::{Done, Usage, export, parts};
use crate::rounds::WORKLOAD_LIMIT;
use crate::terminal::columns::columns;
use crate::terminal::{Colours, Stop, output};
use anyhow::bail;
use ws_report::Apps;
use ws_results::ResultFile;

/// Measures, or loads earlier results, and shows them.
///
/// # Errors
/// Nothing could be measured, there is no such result, or a table can't be written.
pub fn apps(args: &AppsArgs, colours: Colours) -> anyhow::Result<Done> {
    if args.list {
        return list(args);
    }
    let (results, done) = match args.of.is_empty() {
        true => measured(args, colours)?,
        false => (earlier(&args.of)?, Done::Whole),
    };
    let apps = Apps::of(&results, &ws_report::reference::load()?);
    if apps.workloads.is_empty() {
        bail!("no workload was measured: worldswitch apps --list shows all");
    }
    export(args.export_json.as_deref(), || Ok(apps.to_json()?))?;
    export(args.export_markdown.as_deref(), || Ok(apps.to_markdown()))?;
    output::data(&apps.to_terminal())?;
    Ok(done)
}

fn earlier(runs: &[String]) -> anyhow::Result<Vec<ResultFile>> {
    let mut results = ws_results::load_all(runs)?;
    // As they are measured by default; a folder has them in the order of their names.
    results.sort_by_key(|result| !result.platform.starts_with("lab:linux"));
    Ok(results)
}

fn list(args: &AppsArgs) -> anyhow::Result<Done> {
    let lab = parts::recipes(&args.parts.lab)?;
    let names = lab.workloads()?;
    let workloads = names.iter().map(|name| lab.workload(name));
    let workloads = workloads.collect::<Result<Vec<_>, _>>()?;
    let lines = workloads.into_iter().map(|workload| {
        let work = format!("{} x {}", workload.units, workload.unit);
        [workload.name, work, workload.summary]
    });
    output::data(&columns(["workload", "work", "what it does"], lines))?;
    Ok(Done::Whole)
}

fn measured(args: &AppsArgs, colours: Colours) -> anyhow::Result<(Vec<ResultFile>, Done)> {
    let lab = parts::recipes(&args.parts.lab)?;
    for name in args.on.iter().flatten() {
        let is_whole =
            name.family.as_deref() == Some("lab") && lab.recipe(&name.name, None)?.root.is_some();
        if !is_whole {
            bail!(Usage(format!(
                "{name} has no applications: choose lab:linux, lab:kvm-linux or another recipe with a [root] (worldswitch lab list)"
            )));
        }
    }
    let run = RunArgs {
        on: args.on.clone(),
        bench: args.workload.clone(),
        boots: Some(args.boots),
        perturb: Some(args.perturb),
        timeout: WORKLOAD_LIMIT,
        parts: args.parts.clone(),
        output: args.output.clone(),
        ..RunArgs::default()
    };
    let measured = measure(&run, None, &Stop::listen()?, colours)?;
    Ok(measured.told(colours))
}
