//! The parts of a transaction, after Table 6 of Dall et al. (2015): the instructions between a packet and its reply,
//! natively and in a VM.

use super::published;
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
}

/// A part of a transaction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    /// The paper's name, such as `recv to VM recv`.
    pub part: String,
    /// Whether the part is within `recv to send`, and so not counted a second time.
    pub within: bool,
    /// Instructions, with tracing on.
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
    let (whole, parts) = whole_and_parts(&unit.steps)?;
    let parts = parts.into_iter().map(|(part, within, insns)| Part {
        part: part.to_owned(),
        within,
        insns,
        share: insns / whole,
        published_us: published_us(workload, &result.facts(), part, reference),
    });
    Some(Transaction {
        workload: workload.to_owned(),
        unit: row.work.clone(),
        platform: result.platform.clone(),
        traced_insns: unit.traced.unwrap_or(whole),
        insns: unit.insns,
        parts: parts.collect(),
    })
}
