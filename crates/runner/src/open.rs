//! Opens a run's platforms: from the specification to machines that are ready to boot.

use crate::outcome::digits::Digits;
use crate::rounds::job::{Common, Job, Selection};
use crate::rounds::plan::Parameters;
use crate::rounds::rows::RowsOf;
use crate::spec::{Benchmarks, RunSpec};
use crate::{benchmarks, choose, parts};
use anyhow::Context;
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::Arc;
use ws_lab::sets::Architecture;
use ws_machines::image::{BenchmarkRow, GuestImage};
use ws_machines::machine::{Control, Description, Machine};
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_machines::resources::Resources;
use ws_results::RowFacts;
use ws_terminal::{Stop, Usage};

/// Default number of boots where instructions are counted: the second proves that the counts of the first are exact.
const EXACT_BOOTS: u32 = 2;
/// Default number of perturbed boots: one, with another padding and more memory.
const PERTURBED_BOOTS: u32 = 1;

/// Opens the machines, selects the benchmarks of their images, and prepares each machine.
pub fn open(
    spec: &RunSpec,
    names: &[PlatformName],
    resources: &Resources,
    stop: Stop,
) -> anyhow::Result<(Common, Vec<Job>)> {
    let mut machines = Vec::new();
    for name in names {
        let opened = match spec.rows.as_ref().is_some_and(RowsOf::are_of_hosts) {
            true => platforms::open_applications(name, resources),
            false => platforms::open(name, resources),
        };
        let machine = opened.with_context(|| name.to_string())?;
        machines.push((name.to_string(), machine));
    }
    let architectures: Vec<Architecture> = machines
        .iter()
        .map(|(_, machine)| machine.description().architecture)
        .collect();
    parts::check_named(&spec.parts, &architectures)?;
    if spec.parameters.apic.is_some() {
        check_apic(&machines)?;
    }
    let bench = spec.benchmarks.regex()?;
    let selections = select(spec, bench.as_ref(), resources, &machines)?;
    let rows = selections.values().flat_map(|selection| &selection.rows);
    choose::check_pins(spec, &resources.pins, rows)?;
    let common = common(spec, bench, resources, stop);
    let mut jobs = Vec::new();
    for (name, machine) in machines {
        let selection = selections.get(&source_of(&name, machine.description()));
        let selection = selection.map(Arc::clone).unwrap_or_default();
        let wanted = spec.boots.or_else(|| boots(machine.description()));
        let mut job = Job::new(name, machine, selection, wanted, &common);
        job.prepare().with_context(|| job.name.clone())?;
        if job.control() != Control::Launched && common.parameters != Parameters::default() {
            job.remark(format!(
                "{}: this program does not boot it: options for the guest belong on that guest's own command line",
                job.name
            ));
        }
        jobs.push(job);
    }
    Ok((common, jobs))
}

/// Checks that `--apic` has a meaning on all machines. A machine without a local APIC has no use for it, nor has a
/// Linux, which chooses by itself.
fn check_apic(machines: &[(String, Box<dyn Machine>)]) -> Result<(), Usage> {
    for (name, machine) in machines {
        let facts = machine.description();
        let why = match (facts.architecture, &facts.workloads) {
            (Architecture::X86_64, Some(_)) => "measures workloads of a Linux".to_owned(),
            (Architecture::X86_64, None) => continue,
            (other, _) => format!("is {} machine", other.facts().processor),
        };
        return Err(Usage(format!(
            "--apic is for the benchmark kernel on x86, and {name} {why}: leave one of them out"
        )));
    }
    Ok(())
}

/// Settings that all platforms of the run share.
fn common(spec: &RunSpec, bench: Option<Regex>, resources: &Resources, stop: Stop) -> Common {
    let store = resources.store().ok();
    Common {
        bench,
        parameters: spec.parameters.clone(),
        smp: spec.smp,
        seed: spec.seed,
        perturbed_boots: spec.perturb.unwrap_or(match spec.boots {
            Some(_) => 0,
            None => PERTURBED_BOOTS,
        }),
        digits: store.map(|store| Digits::beside(store.root())),
        bench_limit: spec.timeout,
        stop,
        turns: spec.turns.clone(),
    }
}

/// Default number of boots of a machine; None for a log, of which all boots are read.
fn boots(machine: &Description) -> Option<u32> {
    match (machine.control, machine.unit, machine.sizes) {
        (Control::Replayed, _, _) => None,
        (Control::Listened, _, _) => Some(1),
        (Control::Launched, _, Some(sizes)) => Some(sizes.boots),
        (Control::Launched, Some("insns"), _) => Some(EXACT_BOOTS),
        (Control::Launched, _, _) => Some(ws_analysis::SUITE_BOOTS),
    }
}

/// Source of a machine's benchmarks: the guest image of its architecture, or the machine itself if it is a whole Linux.
/// A whole Linux with a VM has more benchmarks than one without.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// The guest image of an architecture, or another one by its file name.
    Image(Architecture, Option<String>),
    Machine(String),
}

fn source_of(name: &str, machine: &Description) -> Source {
    match machine.workloads {
        Some(_) => Source::Machine(name.to_owned()),
        None => Source::Image(machine.architecture, machine.guest_image.clone()),
    }
}

/// Reads the guest image of each architecture of the machines, or their workloads, and selects the
/// benchmarks.
fn select(
    spec: &RunSpec,
    bench: Option<&Regex>,
    resources: &Resources,
    machines: &[(String, Box<dyn Machine>)],
) -> anyhow::Result<BTreeMap<Source, Arc<Selection>>> {
    let mut selections = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for (name, machine) in machines {
        let machine = machine.description();
        let source = source_of(name, machine);
        if selections.contains_key(&source) {
            continue;
        }
        let (rows, image_sha256) = match &machine.workloads {
            Some(rows) => (with_facts(rows.clone(), &spec.facts), None),
            None => match image(spec, resources, machine, machines)? {
                Some(image) => (image.rows, Some(image.sha256)),
                None => continue,
            },
        };
        let known = |row: &&BenchmarkRow| spec.rows.as_ref().is_none_or(|of| of.knows(row));
        names.extend(rows.iter().filter(known).map(|row| row.name.clone()));
        let is_wanted = |row: &BenchmarkRow| {
            let wants = spec.rows.as_ref().is_none_or(|of| of.wants(row));
            wants && bench.is_none_or(|regex| regex.is_match(&row.name))
        };
        let selection = Selection {
            image_rows: rows.len(),
            image_sha256,
            rows: rows.into_iter().filter(is_wanted).collect(),
        };
        selections.insert(source, Arc::new(selection));
    }
    let booted = machines
        .iter()
        .any(|(_, machine)| machine.description().control == Control::Launched);
    if booted {
        names.sort_unstable();
        names.dedup();
        must_choose(spec, bench, &selections, &names)?;
    }
    Ok(selections)
}

/// Returns the rows, with the facts of those that the run itself made.
fn with_facts(
    mut rows: Vec<BenchmarkRow>,
    facts: &BTreeMap<String, RowFacts>,
) -> Vec<BenchmarkRow> {
    for row in &mut rows {
        if let Some(known) = facts.get(&row.name) {
            row.facts.clone_from(known);
        }
    }
    rows
}

/// Checks that the benchmarks that the user named exist, and that any is chosen.
fn must_choose(
    spec: &RunSpec,
    bench: Option<&Regex>,
    selections: &BTreeMap<Source, Arc<Selection>>,
    known: &[String],
) -> Result<(), Usage> {
    if let Benchmarks::Named(names) = &spec.benchmarks {
        for name in names {
            benchmarks::check(name, known)?;
        }
    }
    let mut selections = selections.values();
    if !selections.all(|selection| selection.rows.is_empty()) {
        return Ok(());
    }
    Err(match (&spec.rows, bench) {
        (None, Some(bench)) => benchmarks::none_matches(bench, known),
        _ if known.is_empty() => Usage("these platforms have no such workload".to_owned()),
        _ => Usage(format!("nothing is chosen among {}", known.join(", "))),
    })
}

/// Reads the guest image of a machine; None if there is none and no machine needs it.
fn image(
    spec: &RunSpec,
    resources: &Resources,
    of: &Description,
    machines: &[(String, Box<dyn Machine>)],
) -> anyhow::Result<Option<GuestImage>> {
    let wanted = Source::Image(of.architecture, of.guest_image.clone());
    let booted = machines.iter().any(|(name, machine)| {
        let machine = machine.description();
        let of_image = source_of(name, machine) == wanted;
        of_image && machine.control == Control::Launched
    });
    // A log can be read without an image. To boot, or if the user names one, it must be valid.
    Ok(
        match resources.guest_elf(of.architecture, of.guest_image.as_deref()) {
            Ok(path) if booted || spec.parts.guest.is_some() => Some(GuestImage::read(&path)?),
            Ok(path) => GuestImage::read(&path).ok(),
            Err(why) if spec.parts.guest.is_some() => return Err(why.into()),
            Err(_) => None,
        },
    )
}
