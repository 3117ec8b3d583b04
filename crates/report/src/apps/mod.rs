//! Applications: for each workload the instructions of one unit of work, natively and in each machine,
//! in the order of Table 5 of Dall et al. (2015), with the ratios that can be derived from it. Where rows
//! have them, also the parts of a transaction ([`parts`]) and the instructions by vCPU ([`vcpus`]).

mod networks;
mod parts;
mod predicted;
mod predicted_text;
pub(crate) mod published;
mod text;
mod timed;
mod timed_parts;
mod traffic;
mod vcpus;

pub use parts::{Part, Transaction};
pub use predicted::{Predicted, PricedExit};
pub use published::NestedRatio;
pub(crate) use timed::is_timed;
pub use timed::{TimedApp, TimedLine};
pub use timed_parts::{TimedPart, TimedTransaction};
pub use traffic::{TrafficPrices, Traffics};
pub use vcpus::Spread;

use crate::baselines::{architecture, of_its_run};
use crate::exit_columns;
use crate::reference::Reference;
use crate::requests::{PublishedRate, idle, published as exits_a_second};
use crate::unit_of_work::{Unit, cpus};
use predicted::Known;
use published::{PAPER, TABLE};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_explain::spread::WorkloadExplained;
use ws_results::{APPLICATION, Facts, ResultFile, Row, System};

/// The schema of the JSON.
pub const APPS_SCHEMA: &str = "worldswitch-apps/2";

/// All data of this view. Strings are not escaped yet; the renderers do that.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Apps {
    /// Always `worldswitch-apps/2`.
    #[schemars(extend("const" = APPS_SCHEMA))]
    pub schema: &'static str,
    /// Measured platforms without a hypervisor. Ratios relate to the one of the same architecture and number of CPUs
    /// (`+cpus=`).
    pub natives: Vec<String>,
    /// Workloads whose instructions were counted: the paper's in its order, then the others.
    pub workloads: Vec<App>,
    /// Workloads whose time was measured, in the same order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<TimedApp>,
    /// Time of a transaction by part, for workloads and platforms that report it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timed_transactions: Vec<TimedTransaction>,
    /// Instructions of a transaction by part, for workloads and platforms that report them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<Transaction>,
    /// Instructions by vCPU, for workloads with several vCPUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vcpus: Vec<Spread>,
    /// Rates of exits that ELVIS states, if a platform's name says who serves its network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exits_stated: Vec<PublishedRate>,
    /// Predictions of the cost model, if there are results with prices of exits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predicted: Vec<Predicted>,
    /// Instructions of workloads by function, with `--explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<WorkloadExplained>,
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct App {
    pub workload: String,
    /// Name of a unit of work, such as `transaction`.
    pub unit: Option<String>,
    /// Lines of the workload, one for each result with a workload, in their order.
    pub lines: Vec<AppLine>,
    /// Ratios that Lim et al. (NEVE, 2017) state for the workload in nested VMs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<NestedRatio>,
    /// Whether the workload is an operation of lmbench, not an application.
    #[serde(skip)]
    pub(crate) primitive: bool,
}

/// A workload on a platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AppLine {
    pub platform: String,
    /// Instructions of client, server and hypervisor together, for one unit; absent if there are none,
    /// with the reason in `why`.
    pub insns: Option<f64>,
    /// The least and the greatest figure over all boots, perturbed ones too.
    pub band: Option<[f64; 2]>,
    /// Whether all boots but the perturbed ones gave the same samples.
    pub exact: Option<bool>,
    /// Instructions relative to the native platform of the same architecture and number of CPUs: that of the same run,
    /// else the first.
    pub ratio: Option<f64>,
    /// The range of the ratio that follows from both bands.
    pub ratio_band: Option<[f64; 2]>,
    /// KVM's counters for one unit, by the kernel's names.
    pub counts: BTreeMap<String, f64>,
    /// Exits for one unit by reason.
    pub reasons: BTreeMap<String, f64>,
    /// The share of `insns` in which all CPUs were idle, on a machine with several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<f64>,
    /// Dall et al., Table 5: the time in a VM relative to the time natively.
    pub published: Option<f64>,
    /// The setup of `published`, such as `KVM on ARM`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_setup: Option<&'static str>,
    pub why: Option<String>,
    /// Facts of the machine.
    #[serde(skip)]
    pub facts: Facts,
}

impl AppLine {
    /// Exits of one unit, if the host counted them.
    pub fn exits(&self) -> Option<f64> {
        exit_columns::exits(&self.counts)
    }
}

impl App {
    /// The workload with its unit: `tcp-rr (transaction)`.
    pub(crate) fn name(&self) -> String {
        named(&self.workload, self.unit.as_deref())
    }
}

/// A workload with its unit.
fn named(workload: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) => format!("{workload} ({unit})"),
        None => workload.to_owned(),
    }
}

/// Whether a row is a workload. Rows of placements are left out: they have a view of their own.
pub(crate) fn is_workload(row: &&Row) -> bool {
    row.category == APPLICATION && row.facts().placement.is_none()
}

impl Apps {
    /// Whether the results have no row of the view.
    pub fn is_empty(&self) -> bool {
        self.workloads.is_empty() && self.times.is_empty()
    }

    /// Builds the view from results, the native ones first, the others in their order. Rows that are no workloads are
    /// left out. The cost model takes the traffic of workloads from `traffics`.
    pub fn of(results: &[ResultFile], reference: &Reference, traffics: &Traffics) -> Self {
        let is_native =
            |result: &&ResultFile| result.facts().is_native(System::Linux) && !is_timed(result);
        let natives: Vec<&ResultFile> = results.iter().filter(is_native).collect();
        // Units are never mixed: times have tables of their own.
        let (timed, mut results): (Vec<&ResultFile>, Vec<&ResultFile>) =
            results.iter().partition(|result| {
                is_timed(result) && result.rows.iter().any(|row| is_workload(&row))
            });
        results.sort_by_key(|result| !is_native(result));
        let measured = rows_of(&results);
        let timed_rows = rows_of(&timed);
        let names = names_of(&measured, reference);
        let workloads: Vec<App> = names
            .iter()
            .map(|name| app(name, &measured, &results, &natives, reference))
            .collect();
        let timed_names = names_of(&timed_rows, reference);
        let exits_stated = match networks::concern(&workloads) {
            true => exits_a_second(reference),
            false => Vec::new(),
        };
        let all: Vec<ResultFile> = results.iter().map(|result| (*result).clone()).collect();
        Self {
            schema: APPS_SCHEMA,
            predicted: predicted::predictions(&workloads, &all, &|workload, result| {
                known(workload, result, traffics)
            }),
            workloads,
            times: timed::of(&timed, &timed_names, reference),
            timed_transactions: timed_parts::transactions(&timed, &timed_names, reference),
            natives: natives
                .iter()
                .map(|native| native.platform.clone())
                .collect(),
            transactions: parts::transactions(&results, &names, reference),
            vcpus: vcpus::spreads(&results, &names, reference),
            exits_stated,
            explained: Vec::new(),
        }
    }

    /// Whether any of these results has a workload.
    pub fn concerns(results: &[ResultFile]) -> bool {
        let mut rows = results.iter().flat_map(|result| &result.rows);
        rows.any(|row| is_workload(&row))
    }

    /// Renders the data as JSON, with a newline at the end.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// Builds the workload `name`, whose rows are among the `measured` ones.
fn app(
    name: &str,
    measured: &[&Row],
    results: &[&ResultFile],
    natives: &[&ResultFile],
    reference: &Reference,
) -> App {
    let row = measured.iter().find(|row| row.benchmark == name);
    let application = row.and_then(|row| row.facts().into_owned().application);
    App {
        workload: name.to_owned(),
        unit: row.and_then(|row| row.work.clone()),
        lines: results
            .iter()
            .filter(|result| result.rows.iter().any(|row| is_workload(&row)))
            .filter(|result| result.row(name).is_some() || !needs_vm(name, results))
            .map(|result| line(name, result, natives, reference))
            .collect(),
        nested: published::nested(name, reference),
        primitive: application.is_some_and(|application| application.primitive),
    }
}

/// All rows of workloads.
fn rows_of<'a>(results: &[&'a ResultFile]) -> Vec<&'a Row> {
    let rows = results.iter().flat_map(|result| &result.rows);
    rows.filter(is_workload).collect()
}

/// The names of rows, once each, the paper's first.
fn names_of<'a>(rows: &[&'a Row], reference: &'a Reference) -> Vec<&'a str> {
    let published = reference.of_table(PAPER, TABLE);
    let of_paper = published.map(|value| &*value.benchmark);
    let mut names: Vec<&str> = Vec::new();
    for name in of_paper.chain(rows.iter().map(|row| &*row.benchmark)) {
        let known = rows.iter().any(|row| row.benchmark == name);
        if known && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Whether a workload has several vCPUs of its own: machines without a VM do not have its row.
fn needs_vm(workload: &str, results: &[&ResultFile]) -> bool {
    let of_one_cpu = results.iter();
    let of_one_cpu = of_one_cpu.filter(|result| cpus(&result.platform).is_none());
    let mut rows = of_one_cpu.filter_map(|result| result.row(workload));
    let vcpus = |row: &Row| row.conditions.get("vcpus")?.as_u64();
    rows.any(|row| vcpus(row).is_some_and(|vcpus| vcpus > 1))
}

/// Collects the inputs of the cost model for a workload on a platform, beside its line.
fn known(workload: &str, result: &ResultFile, traffics: &Traffics) -> Known {
    let row = result.row(workload);
    let digest = row.and_then(|row| row.conditions.get("digest")?.as_str());
    let bytes = digest.and_then(|digest| traffics.get(digest));
    Known {
        architecture: architecture(result).map(str::to_owned),
        bytes: bytes.copied().unwrap_or_default(),
        serving: serving(row, result),
    }
}

/// Instructions of one unit that threads beside the vCPUs execute for the VM's devices.
fn serving(row: Option<&Row>, result: &ResultFile) -> Option<f64> {
    let threads = Unit::of(row, result).threads;
    let of = |name: &str| threads.get(name).copied().unwrap_or(0.0);
    (!threads.is_empty()).then(|| of("vhost") + of("qemu"))
}

fn line(
    workload: &str,
    result: &ResultFile,
    natives: &[&ResultFile],
    reference: &Reference,
) -> AppLine {
    let unit = |result: &ResultFile| Unit::of(result.row(workload), result);
    let here = unit(result);
    let others = natives.iter().filter(|native| {
        architecture(native) == architecture(result)
            && cpus(&native.platform) == cpus(&result.platform)
    });
    let other = of_its_run(result, others, |native| native)
        .filter(|native| native.platform != result.platform);
    let there = other.map(|native| unit(native));
    let there = there.filter(|there| there.insns.is_some_and(|insns| insns > 0.0));
    let bands = here.band.zip(there.as_ref().and_then(|there| there.band));
    let insns = here.insns.zip(there.and_then(|there| there.insns));
    // The paper's network is the usual one: a platform that chooses another has no published ratio.
    let facts = result.facts().into_owned();
    let published = published::slowdown(workload, &facts, reference)
        .filter(|_| !networks::is_chosen(&result.platform));
    AppLine {
        platform: result.platform.clone(),
        ratio: insns.map(|(here, there)| here / there),
        ratio_band: bands.and_then(|([low, high], [least, most])| {
            (least > 0.0).then(|| [low / most, high / least])
        }),
        published: published.map(|(ratio, _)| ratio),
        published_setup: published.map(|(_, name)| name),
        idle: idle(&here),
        insns: here.insns,
        band: here.band,
        exact: here.exact,
        counts: here.counts,
        reasons: here.reasons,
        why: here.why,
        facts,
    }
}
