//! The parts of a transaction, after Table 6 of Dall et al. (2015): the instructions between a packet and its reply,
//! natively and in a VM.

use super::{Apps, published};
use crate::reference::Reference;
use crate::unit_of_work::Unit;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_results::{Facts, ResultFile};

/// The paper's table, and the workload that it takes apart.
const TABLE: &str = "6";
const WORKLOAD: &str = "tcp-rr";

/// The part of the measured system: natively one part, in a VM the sum of the three below.
const SERVING: &str = "recv-to-send";

/// All parts in the order of the paper's table: their names in results and in the paper, and whether
/// they are within [`SERVING`].
const PARTS: [(&str, &str, bool); 5] = [
    ("send-to-recv", "send to recv", false),
    (SERVING, "recv to send", false),
    ("recv-to-vm-recv", "recv to VM recv", true),
    ("vm-recv-to-vm-send", "VM recv to VM send", true),
    ("vm-send-to-send", "VM send to send", true),
];

/// A transaction of a workload on a platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Transaction {
    pub workload: String,
    /// Name of the unit of work: `transaction`.
    pub unit: Option<String>,
    pub platform: String,
    /// Instructions for one unit in the traced runs.
    pub traced_insns: f64,
    /// Instructions for one unit without tracing, where they were measured.
    pub insns: Option<f64>,
    /// Parts, in the paper's order.
    pub parts: Vec<Part>,
    /// Whether the parts are of a run that the emulator recorded: nothing was traced.
    #[serde(skip)]
    pub(crate) is_recorded: bool,
}

/// A part of a transaction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    /// The paper's name, such as `recv to VM recv`.
    pub part: String,
    /// Whether the part is within `recv to send`, and so not counted a second time.
    pub within: bool,
    /// Instructions, with tracing on if packets were traced.
    pub insns: f64,
    /// The part's share of the transaction, as a fraction.
    pub share: f64,
    /// Time of the part on ARM, from Table 6 of Dall et al.
    pub published_us: Option<f64>,
}

/// Collects all transactions of the results, by workload.
pub(super) fn transactions(
    results: &[&ResultFile],
    workloads: &[&str],
    reference: &Reference,
) -> Vec<Transaction> {
    let of = |workload: &str| {
        let mut found = Vec::new();
        for result in results {
            found.extend(transaction(workload, result, reference));
        }
        found
    };
    workloads.iter().flat_map(|workload| of(workload)).collect()
}

/// A part's name in the paper, whether it is within [`SERVING`], and its value.
type NamedPart = (&'static str, bool, f64);

/// Splits `steps`, all of one unit, into the whole and the parts in the paper's order. `None` if they are not the steps
/// of a transaction.
pub(super) fn whole_and_parts(steps: &BTreeMap<String, f64>) -> Option<(f64, Vec<NamedPart>)> {
    let step = |name: &str| steps.get(name).copied();
    let within = PARTS.iter().filter(|(_, _, within)| *within);
    let within: Vec<f64> = within.filter_map(|(name, ..)| step(name)).collect();
    let serving = step(SERVING).or_else(|| (!within.is_empty()).then(|| within.iter().sum()));
    let whole = step(PARTS[0].0)? + serving?;
    let parts = PARTS.iter().filter_map(|(name, part, within)| {
        let value = step(name).or(serving.filter(|_| *name == SERVING))?;
        Some((*part, *within, value))
    });
    (whole > 0.0).then(|| (whole, parts.collect()))
}

/// The paper's time of a part, by its name there.
pub(super) fn published_us(
    workload: &str,
    facts: &Facts,
    part: &str,
    reference: &Reference,
) -> Option<f64> {
    let published = facts.published_in(published::PAPER, TABLE).next()?;
    let mut values = reference.of_table(published::PAPER, TABLE);
    let value = values.find(|value| value.row == part && value.is_of(published));
    value.filter(|_| workload == WORKLOAD)?.value
}

fn transaction(workload: &str, result: &ResultFile, reference: &Reference) -> Option<Transaction> {
    let row = result.row(workload)?;
    let unit = Unit::of(Some(row), result);
    let of = Of {
        workload,
        unit: row.work.as_deref(),
        platform: &result.platform,
        facts: &result.facts(),
        insns: unit.insns,
    };
    let traced = of.transaction(&unit.steps, reference)?;
    Some(Transaction {
        traced_insns: unit.traced.unwrap_or(traced.traced_insns),
        ..traced
    })
}

/// The workload and the platform of a transaction.
struct Of<'a> {
    workload: &'a str,
    unit: Option<&'a str>,
    platform: &'a str,
    facts: &'a Facts,
    insns: Option<f64>,
}

impl Of<'_> {
    fn transaction(
        &self,
        steps: &BTreeMap<String, f64>,
        reference: &Reference,
    ) -> Option<Transaction> {
        let (whole, parts) = whole_and_parts(steps)?;
        let parts = parts.into_iter().map(|(part, within, insns)| Part {
            part: part.to_owned(),
            within,
            insns,
            share: insns / whole,
            published_us: published_us(self.workload, self.facts, part, reference),
        });
        Some(Transaction {
            workload: self.workload.to_owned(),
            unit: self.unit.map(str::to_owned),
            platform: self.platform.to_owned(),
            traced_insns: whole,
            insns: self.insns,
            parts: parts.collect(),
            is_recorded: false,
        })
    }
}

impl Apps {
    /// Adds a workload's transaction whose `steps` the emulator recorded. Nothing is added if these are not the steps of
    /// a transaction, or the platform did not measure the workload.
    pub fn take_apart(
        &mut self,
        workload: &str,
        platform: &str,
        steps: &BTreeMap<String, f64>,
        reference: &Reference,
    ) {
        let app = self.workloads.iter().find(|app| app.workload == workload);
        let line = app.and_then(|app| app.lines.iter().find(|line| line.platform == platform));
        let (Some(app), Some(line)) = (app, line) else {
            return;
        };
        let of = Of {
            workload,
            unit: app.unit.as_deref(),
            platform,
            facts: &line.facts,
            insns: line.insns,
        };
        let recorded = of
            .transaction(steps, reference)
            .map(|recorded| Transaction {
                is_recorded: true,
                ..recorded
            });
        self.transactions.extend(recorded);
    }
}
