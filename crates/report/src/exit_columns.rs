//! The columns of tables with the reasons of a VM's exits to KVM for one unit of work. Tables of requests to devices
//! have them, and tables of applications by who serves their network.

use crate::unit_of_work::{dash, two};
use std::collections::BTreeMap;

/// KVM's counters of all exits, and of interrupts injected into the guest.
const EXITS: &str = "exits";
const INJECTED: &str = "irq_injections";

/// The reasons that have a column: head, and the names in KVM's tracing, of SVM and of VMX.
const REASONS: [(&str, &[&str]); 5] = [
    ("kick", &["npf", "ept_misconfig"]),
    ("hlt", &["hlt"]),
    ("intr", &["interrupt"]),
    ("msr", &["msr", "msr_write"]),
    ("vintr", &["vintr", "interrupt_window"]),
];

/// Legend of the columns.
pub(crate) const LEGEND: &str = "kick: the guest's notification of the device, a write to an absent page (npf of SVM, ept_misconfig of VMX). hlt: the guest waits. intr: the host's interrupt arrives. msr: the guest's timer and end of interrupt. vintr: the guest can take an interrupt again.";

/// The heads after that of all exits.
pub(crate) fn heads() -> impl Iterator<Item = &'static str> {
    let reasons = REASONS.into_iter().map(|(head, _)| head);
    reasons.chain(["other", "injected"])
}

/// The cells of one unit below [`heads`].
pub(crate) fn cells(
    counts: &BTreeMap<String, f64>,
    reasons: &BTreeMap<String, f64>,
) -> Vec<String> {
    let of = |(_, names): &(&str, &[&str])| dash(by(reasons, names).map(two));
    let mut cells: Vec<String> = REASONS.iter().map(of).collect();
    cells.push(dash(others(reasons).map(two)));
    cells.push(dash(injected(counts).map(two)));
    cells
}

/// All exits of one unit, if the host counted them.
pub(crate) fn exits(counts: &BTreeMap<String, f64>) -> Option<f64> {
    counted(counts, EXITS)
}

/// Interrupts injected into the guest for one unit.
pub(crate) fn injected(counts: &BTreeMap<String, f64>) -> Option<f64> {
    counted(counts, INJECTED)
}

/// Exits of one unit for these reasons, if they were counted by reason.
pub(crate) fn by(reasons: &BTreeMap<String, f64>, names: &[&str]) -> Option<f64> {
    names.iter().map(|name| counted(reasons, name)).sum()
}

/// Exits of one unit for other reasons than those with a column.
pub(crate) fn others(reasons: &BTreeMap<String, f64>) -> Option<f64> {
    let named = |reason: &str| REASONS.iter().any(|(_, names)| names.contains(&reason));
    let others = reasons.iter().filter(|(reason, _)| !named(reason));
    (!reasons.is_empty()).then(|| others.fold(0.0, |sum, (_, count)| sum + count))
}

/// Returns a count: zero if only other counters moved, `None` if nothing was counted.
pub(crate) fn counted(counts: &BTreeMap<String, f64>, name: &str) -> Option<f64> {
    (!counts.is_empty()).then(|| counts.get(name).copied().unwrap_or(0.0))
}
