//! `worldswitch apps`: applications natively and in virtual machines, in the lab.

use crate::cli::{AppsArgs, RunArgs};
use crate::commands::{Done, exports, parts, spread, whole};
use crate::rounds::rows::RowsOf;
use crate::terminal::columns::columns;
use crate::terminal::{Colours, output};
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
    let choice = match args.explain {
        true => Some(spread::choice(args)?),
        false => None,
    };
    let (results, done) = match args.of.is_empty() {
        true => measured(args, colours)?,
        false => (ws_results::load_all(&args.of)?, Done::Whole),
    };
    let apps = Apps::of(&results, &ws_report::reference::load()?);
    if apps.workloads.is_empty() {
        bail!("no workload was measured: worldswitch apps --list shows all");
    }
    exports(&args.exports, || apps.to_json(), || apps.to_markdown())?;
    output::data(&apps.to_terminal())?;
    match choice {
        Some(choice) if !spread::show(args, &choice, colours)? => Ok(Done::InPart),
        _ => Ok(done),
    }
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
    let run = RunArgs {
        bench: args.workload.clone(),
        rows: Some(RowsOf::Applications),
        ..whole::run(
            &args.on,
            (args.boots, args.perturb),
            &args.parts,
            &args.output,
        )
    };
    let has_no = "applications: choose lab:linux, lab:kvm-linux or another recipe with a [root]";
    whole::measured(&run, |recipe| recipe.root.is_some(), has_no, colours)
}
