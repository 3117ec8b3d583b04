//! Paravirtual I/O in the lab (`worldswitch run io --on lab:...`): for each device of a VM the instructions and exits of
//! one request, by reason, beside the rates of exits that ELVIS (2013) states.

pub(crate) mod text;

use crate::exit_columns;
use crate::reference::Reference;
use crate::unit_of_work::Unit;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_explain::requests::RequestsExplained;
use ws_results::{IoRow, ResultFile, Row};

/// The schema of the JSON.
pub const IO_SCHEMA: &str = "worldswitch-io/1";

/// The paper, and its section.
const PAPER: &str = "elvis-2013";
const TEXT: &str = "text 4.3";

/// The part of a row's ticks in which all CPUs of the machine were idle.
const IDLE: &str = "idle";
/// Share of idle ticks above which a note names it.
pub(crate) const MUCH_IDLE: f64 = 0.01;

/// All data of this view. Strings are not escaped yet; the renderers do that.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Requests {
    /// Always `worldswitch-io/1`.
    #[schemars(extend("const" = IO_SCHEMA))]
    pub schema: &'static str,
    /// Lines by row: for each row one line for each result that has it, in their order.
    pub lines: Vec<IoLine>,
    /// Rates of exits that ELVIS states.
    pub published: Vec<PublishedRate>,
    /// The rows that were explained, by function.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<RequestsExplained>,
}

/// A row on a platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IoLine {
    /// The row's name: `io-qemu-d1`.
    pub benchmark: String,
    pub platform: String,
    /// The device's name, and how it is used.
    #[serde(flatten)]
    pub row: IoRow,
    /// Instructions of all CPUs for one request; absent if there are none, with the reason in `why`.
    pub insns: Option<f64>,
    /// The least and the greatest figure over all boots, perturbed ones too.
    pub band: Option<[f64; 2]>,
    /// Whether all boots but the perturbed ones gave the same samples.
    pub exact: Option<bool>,
    /// Exits for one request, the least and the greatest of the boots, of a machine that counts exits only.
    pub exits_of_boots: Option<[f64; 2]>,
    /// KVM's counters for one request, by the kernel's names.
    pub counts: BTreeMap<String, f64>,
    /// Exits for one request by reason.
    pub reasons: BTreeMap<String, f64>,
    /// The share of `insns` in which all CPUs were idle.
    pub idle: Option<f64>,
    pub why: Option<String>,
}

/// A number of exits in a second that a paper states.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PublishedRate {
    /// Name of the rate: `exits, Apache, 1 VM`.
    pub row: String,
    /// The paper's name of the system.
    pub column: String,
    pub per_s: f64,
    /// The rate as printed.
    pub printed: String,
    /// The paper's machine.
    pub hardware: String,
    /// Remark that a reader must know.
    pub note: String,
}

impl IoLine {
    /// Exits of one request, if the host counted them.
    pub fn exits(&self) -> Option<f64> {
        exit_columns::exits(&self.counts)
    }

    /// Exits of one request for reasons, if they were counted by reason.
    pub fn exits_by(&self, reasons: &[&str]) -> Option<f64> {
        exit_columns::by(&self.reasons, reasons)
    }

    /// Interrupts injected into the guest for one request.
    pub fn injected(&self) -> Option<f64> {
        exit_columns::injected(&self.counts)
    }
}

/// Whether a row is of requests to a VM's device.
pub(crate) fn is_request(row: &Row) -> bool {
    row.facts().io.is_some()
}

impl Requests {
    /// Whether the results have no row of the view.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Builds the view from results, in their order; other rows are left out.
    pub fn of(results: &[ResultFile], reference: &Reference) -> Self {
        let rows = results.iter().flat_map(|result| &result.rows);
        let mut names: Vec<(&str, IoRow)> = Vec::new();
        for row in rows {
            let Some(io) = row.facts().into_owned().io else {
                continue;
            };
            if !names.iter().any(|(name, _)| *name == row.benchmark) {
                names.push((&row.benchmark, io));
            }
        }
        let mut lines = Vec::new();
        for (name, row) in &names {
            let has = results.iter().filter(|result| result.row(name).is_some());
            lines.extend(has.map(|result| line(name, row, result)));
        }
        Self {
            schema: IO_SCHEMA,
            lines,
            published: published(reference),
            explained: Vec::new(),
        }
    }

    /// Whether any of these results has a row of a VM's device.
    pub fn concerns(results: &[ResultFile]) -> bool {
        let mut rows = results.iter().flat_map(|result| &result.rows);
        rows.any(is_request)
    }

    /// Renders the data as JSON, with a newline at the end.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

fn line(name: &str, row: &IoRow, result: &ResultFile) -> IoLine {
    let unit = Unit::of(result.row(name), result);
    IoLine {
        benchmark: name.to_owned(),
        platform: result.platform.clone(),
        row: row.clone(),
        idle: idle(&unit),
        insns: unit.insns,
        band: unit.band,
        exact: unit.exact,
        exits_of_boots: unit.exits,
        counts: unit.counts,
        reasons: unit.reasons,
        why: unit.why,
    }
}

/// The share of a row's instructions in which all CPUs of its machine were idle, of a machine with several.
pub(crate) fn idle(unit: &Unit) -> Option<f64> {
    let ticks = unit.steps.get(IDLE).copied().zip(unit.insns);
    let (idle, insns) = ticks.filter(|(_, insns)| *insns > 0.0)?;
    Some(idle / insns)
}

/// Returns the paper's exits a second.
pub(crate) fn published(reference: &Reference) -> Vec<PublishedRate> {
    let values = reference.of_table(PAPER, TEXT);
    let exits = values.filter(|value| value.unit == "per_s" && value.row.starts_with("exits"));
    let rate = |value: &crate::reference::Value| {
        Some(PublishedRate {
            row: value.row.clone(),
            column: value.column.clone(),
            per_s: value.value?,
            printed: value.printed.clone(),
            hardware: reference.hardware_of(value).unwrap_or_default().to_owned(),
            note: value.note.clone(),
        })
    };
    exits.filter_map(rate).collect()
}
