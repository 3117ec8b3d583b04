//! `worldswitch run apps --explain`: the functions that execute a workload's instructions, natively and in a VM.

use crate::cli::{AppsArgs, session};
use crate::shared::tables::titled;
use anyhow::{Context, bail};
use ws_explain::spread::{Comparison, Run, Spread, WorkloadExplained};
use ws_lab::lab::Lab;
use ws_lab::recipe::Hypervisor;
use ws_lab::sets::Architecture;
use ws_lab::workload::Workload;
use ws_machines::name::PlatformName;
use ws_recorder::{Recorded, symbols_of_linux, ticks};
use ws_report::Predicted;
use ws_runner::rows::RowsOf;
use ws_runner::{Session, parts};
use ws_terminal::{Colours, Usage, output};

/// Limit of workloads: a recorded boot takes minutes, and the table is long.
const WORKLOADS_AT_MOST: usize = 3;

/// Choice to explain: a platform without a VM, one with a VM, and workloads.
pub struct Choice {
    natively: PlatformName,
    in_vm: PlatformName,
    workloads: Vec<Workload>,
}

/// Reads the choice of `--explain`.
///
/// # Errors
/// Wrong usage: the platforms are not one native and one with a VM, or there are too many workloads.
pub fn choice(args: &AppsArgs) -> anyhow::Result<Choice> {
    let lab = parts::recipes(&args.usual.parts.lab.to_places())?;
    let workloads = workloads(args, &lab)?;
    let names: Vec<&PlatformName> = args.on.iter().flatten().collect();
    let [natively, in_vm] = *names else {
        bail!(Usage(
            "--explain compares two platforms: --on lab:linux,lab:kvm-linux".to_owned()
        ));
    };
    for (name, has_vm) in [(natively, false), (in_vm, true)] {
        let recipe = lab.recipe(&name.name, None)?;
        if recipe.architecture != Architecture::X86_64 {
            bail!(Usage(format!(
                "--explain records only x86 machines, and {name} is not one: choose --on lab:linux,lab:kvm-linux"
            )));
        }
        if matches!(recipe.hypervisor, Hypervisor::Xen { .. }) {
            bail!(Usage(format!(
                "--explain records only KVM, and {name} has Xen: choose --on lab:linux,lab:kvm-linux; \
                 worldswitch explain in --on lab:xen-hvm explains an operation with Xen"
            )));
        }
        if let Some(cpus) = name.options.get("cpus") {
            bail!(Usage(format!(
                "--explain can't separate the instructions of {cpus} CPUs: leave out +cpus={cpus}"
            )));
        }
        if (recipe.hypervisor == Hypervisor::Kvm) != has_vm {
            bail!(Usage(format!(
                "--explain compares a machine without a VM with one that has one, in this order: {name} does not fit; choose --on lab:linux,lab:kvm-linux"
            )));
        }
    }
    Ok(Choice {
        natively: natively.clone(),
        in_vm: in_vm.clone(),
        workloads,
    })
}

fn workloads(args: &AppsArgs, lab: &Lab) -> anyhow::Result<Vec<Workload>> {
    let is_chosen = |name: &String| args.workload.as_ref().is_some_and(|of| of.is_match(name));
    let mut names = lab.workloads()?;
    names.retain(is_chosen);
    if names.is_empty() || names.len() > WORKLOADS_AT_MOST {
        let found = match args.workload {
            Some(_) => format!("{} match", names.len()),
            None => "none was named".to_owned(),
        };
        bail!(Usage(format!(
            "--explain takes one to {WORKLOADS_AT_MOST} workloads by --workload REGEX, and {found}: \
             worldswitch benchmarks --on lab:kvm-linux lists them"
        )));
    }
    let workloads: Vec<Workload> = names
        .iter()
        .map(|name| lab.workload(name))
        .collect::<Result<_, _>>()?;
    if let Some(workload) = workloads.iter().find(|workload| workload.vcpus > 1) {
        bail!(Usage(format!(
            "{} needs {} CPUs, so it is not measured natively and there is nothing to compare it with",
            workload.name, workload.vcpus
        )));
    }
    Ok(workloads)
}

/// Boots each platform once more, recorded. `print`: also prints the functions. `predicted`: the cost model's
/// predictions for these workloads. Returns `None` if the user stopped the command.
pub fn explained(
    args: &AppsArgs,
    choice: &Choice,
    print: bool,
    predicted: &[Predicted],
    colours: Colours,
) -> anyhow::Result<Option<Vec<WorkloadExplained>>> {
    let session = session(colours)?;
    let of = |name: &PlatformName| spreads(args, choice, name, &session);
    let Some(natively) = of(&choice.natively)? else {
        return Ok(None);
    };
    let Some(in_vm) = of(&choice.in_vm)? else {
        return Ok(None);
    };
    let names = [&choice.natively, &choice.in_vm].map(ToString::to_string);
    let mut explained = Vec::new();
    let pairs = natively.iter().zip(&in_vm);
    for (workload, (natively, in_vm)) in choice.workloads.iter().zip(pairs) {
        let comparison = Comparison {
            workload: (&workload.name, &workload.unit),
            units: workload.units - workload.shorter(),
            natively: (&names[0], natively),
            in_vm: (&names[1], in_vm),
        };
        if print {
            let mut of_it = predicted.iter();
            let of_it = of_it.find(|of| of.workload == workload.name && of.platform == names[1]);
            let exits_cost = of_it.and_then(|predicted| predicted.exits_cost);
            let tables = [comparison.table(), comparison.components_table(exits_cost)];
            for (title, table) in tables {
                titled(&title, &table)?;
            }
            output::data(&format!("\n{}", comparison.proof()))?;
        }
        explained.push(comparison.explained());
    }
    Ok(Some(explained))
}

/// Counts the functions that a platform executes in each workload, in order. Returns `None` if the user stopped the
/// command.
fn spreads(
    args: &AppsArgs,
    choice: &Choice,
    name: &PlatformName,
    session: &Session,
) -> anyhow::Result<Option<Vec<Spread>>> {
    let parts = &args.usual.parts.to_parts();
    let Some(symbols) = symbols_of_linux(name, parts, session)? else {
        return Ok(None);
    };
    let mut spreads = Vec::new();
    for workload in &choice.workloads {
        let recorded = Recorded {
            platform: name,
            row: &workload.name,
            rows: RowsOf::Applications,
            marks: None,
        };
        let Some((counts, samples)) = recorded.counts(parts, session)? else {
            return Ok(None);
        };
        let run = Run {
            row: &workload.name,
            ticks: ticks(&samples),
            has_shorter: workload.shorter() > 0,
        };
        let spread = Spread::of(&counts, &symbols, &run);
        spreads.push(spread.with_context(|| name.to_string())?);
    }
    Ok(Some(spreads))
}
