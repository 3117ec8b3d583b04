//! `worldswitch list`: benchmarks and platforms.

use crate::cli::ListWhat;
use crate::commands::parts;
use crate::terminal::columns::{columns, pretty};
use crate::terminal::output;
use serde_json::json;
use ws_machines::hypercall::Hypercall;
use ws_machines::image::{BenchmarkRow, GuestImage};
use ws_machines::machine::Engine;
use ws_machines::platforms::{self, Usable};
use ws_machines::resources::Resources;
use ws_report::text::terminal;

/// Prints the list.
///
/// # Errors
/// There is no guest image, or standard output can't be written.
pub fn list(what: &ListWhat) -> anyhow::Result<()> {
    match what {
        ListWhat::Benchmarks { json, parts } => {
            benchmarks(*json, &parts::resources(parts, Vec::new()))
        }
        ListWhat::Platforms { json, parts } => {
            platforms(*json, &parts::resources(parts, Vec::new()))
        }
    }
}

fn benchmarks(json: bool, resources: &Resources) -> anyhow::Result<()> {
    let rows = GuestImage::read(&resources.guest()?)?.rows;
    let missing = |row: &BenchmarkRow| missing(row, resources);
    output::data(&if json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| benchmark_json(row, missing(row)))
            .collect();
        pretty(&json!({ "benchmarks": rows }))
    } else {
        let lines = rows.iter().map(|row| {
            let needs = needs(row);
            [
                row.name.clone(),
                row.category.clone(),
                row.summary.clone(),
                needs,
                missing(row).map_or("yes", |_| "no").to_owned(),
            ]
        });
        let table = columns(
            ["benchmark", "category", "measures", "needs", "here"],
            lines,
        );
        let reasons = rows
            .iter()
            .filter_map(|row| Some(format!("{}: {}\n", row.name, missing(row)?)));
        table + &reasons.collect::<String>()
    })
}

/// Why no platform of this host can measure the row, and what to do.
fn missing(row: &BenchmarkRow, resources: &Resources) -> Option<&'static str> {
    let engine = resources.kvm().map_or(Engine::Emulator, |kvm| kvm.engine);
    let answered = Hypercall::answered_by(engine) != Hypercall::None;
    (row.parameters.contains(&"hypercall") && !answered).then_some(
        "no hypervisor here is known to answer hypercalls; use KVM on a processor with VMX or SVM \
         (worldswitch list platforms)",
    )
}

fn benchmark_json(row: &BenchmarkRow, missing: Option<&str>) -> serde_json::Value {
    json!({
        "usable": missing.is_none(),
        "why": missing,
        "name": row.name,
        "category": row.category,
        "summary": row.summary,
        "requires": row.requires,
        "vcpus": row.cpus,
        "parameters": row.parameters,
        "min_iterations": row.min_iterations,
        "max_iterations": row.max_iterations,
        "insns_iterations": row.insns_iterations,
        "insns_samples": row.insns_samples,
        "digest": row.digest,
    })
}

fn needs(row: &BenchmarkRow) -> String {
    match (row.requires.as_str(), row.cpus) {
        ("", 1) => "nothing".to_owned(),
        ("", cpus) => format!("{cpus} CPUs"),
        (requires, _) => requires.to_owned(),
    }
}

/// The note on every platform on a software KVM.
const SOFTWARE: &str =
    "a software KVM, without VMX or SVM: its figures and counts say nothing about hardware";

fn platforms(json: bool, resources: &Resources) -> anyhow::Result<()> {
    let all = platforms::all(resources)?;
    let all = all
        .iter()
        .map(|platform| (platform, platforms::usable(platform, resources)));
    output::data(&if json {
        let all: Vec<_> = all
            .map(|(platform, usable)| {
                let software = usable == Usable::Software;
                let default = platform.default && usable == Usable::Yes;
                let (usable, why) = match usable {
                    Usable::Yes | Usable::Software => (Some(true), None),
                    Usable::No(why) => (Some(false), Some(why)),
                    Usable::Depends => (None, None),
                };
                json!({
                    "name": platform.name,
                    "summary": platform.summary,
                    "needs": platform.needs,
                    "unit": platform.unit,
                    // Whether `run` without `--on` uses it on this host.
                    "default": default,
                    "usable": usable,
                    "why_not": why,
                    "note": software.then_some(SOFTWARE),
                })
            })
            .collect();
        pretty(&json!({ "platforms": all }))
    } else {
        all.map(|(platform, usable)| {
            let usable = match usable {
                Usable::Yes if platform.default => "usable, and run by default".to_owned(),
                Usable::Yes => "usable".to_owned(),
                Usable::Software => format!("usable, and not run by default: {SOFTWARE}"),
                Usable::Depends => "usable with the device or file that you name".to_owned(),
                Usable::No(why) => format!("not usable here: {why}"),
            };
            format!(
                "{}: {}\n    {}\n    unit: {}; needs {}\n",
                platform.name,
                terminal(&usable),
                platform.summary,
                platform.unit,
                platform.needs
            )
        })
        .collect()
    })
}
