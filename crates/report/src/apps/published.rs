//! Numbers that the papers state for applications in VMs, and in nested VMs.

use crate::reference::{Reference, Value};
use crate::unit_of_work::two;
use schemars::JsonSchema;
use serde::Serialize;
use ws_results::Facts;

/// The paper with applications in VMs, and its table.
pub(super) const PAPER: &str = "dall-2015";
pub(super) const TABLE: &str = "5";

/// The paper with applications in nested VMs; its section, as its Figure 2 has no numbers.
const NESTED_PAPER: &str = "neve-2017";
const NESTED_TEXT: &str = "text 7.2";

/// The time of a workload in a nested VM relative to that natively, as a paper states it in its text.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NestedRatio {
    /// The paper's column, such as `NEVE Nested VM`.
    pub column: String,
    /// The time relative to the native machine's.
    pub ratio: f64,
    /// The number as printed: an overhead in percent, or a bound.
    pub printed: String,
    /// The paper's machine.
    pub hardware: String,
    /// Remark that a reader must know.
    pub note: String,
}

impl NestedRatio {
    /// Writes the ratio: an overhead in percent as a number, a bound with its word.
    pub(crate) fn stated(&self) -> String {
        match self.printed.strip_suffix('%') {
            Some(_) => two(self.ratio),
            None => self.printed.trim_end_matches(" times").to_owned(),
        }
    }
}

/// The published time of a workload in a VM like this machine's, relative to the native one of the same machine, with
/// the setup's name. A rate is the reciprocal of a time.
pub(super) fn slowdown(
    workload: &str,
    facts: &Facts,
    reference: &Reference,
) -> Option<(f64, &'static str)> {
    let published = facts.published_in(PAPER, TABLE).next()?;
    let (setup, hardware) = (&*published.setup, &*published.hardware);
    let name = match (setup, hardware) {
        ("kvm", "r320") => "KVM on x86",
        ("xen", "r320") => "Xen on x86",
        ("kvm", "m400") => "KVM on ARM",
        ("xen", "m400") => "Xen on ARM",
        _ => return None,
    };
    let of = |setup: &str| -> Option<&Value> {
        reference.of_table(PAPER, TABLE).find(|value| {
            value.benchmark == workload && value.setup == setup && value.hardware == hardware
        })
    };
    let (native, here) = (of("native")?, of(setup)?);
    let ratio = here.value? / native.value?;
    let slowdown = if here.unit == "s" { ratio } else { 1.0 / ratio };
    Some((slowdown, name))
}

/// Returns the ratio that NEVE's text states for a workload on a machine like this one.
pub(crate) fn nested_beside(
    workload: &str,
    facts: &Facts,
    reference: &Reference,
) -> Option<NestedRatio> {
    let stated = nested(workload, reference);
    let published = facts.published_in(NESTED_PAPER, NESTED_TEXT);
    let mut columns = published.filter_map(|of| reference.column(NESTED_PAPER, NESTED_TEXT, of));
    let column = |name: &str| stated.iter().find(|ratio| ratio.column == name).cloned();
    columns.find_map(column)
}

/// Returns all ratios that NEVE's text states for a workload.
pub(crate) fn nested(workload: &str, reference: &Reference) -> Vec<NestedRatio> {
    let values = reference.of_table(NESTED_PAPER, NESTED_TEXT);
    let of_workload = values.filter(|value| value.benchmark == workload);
    let ratio = |value: &Value| {
        let number = value.value?;
        Some(NestedRatio {
            column: value.column.clone(),
            ratio: match &*value.unit {
                "percent" => 1.0 + number / 100.0,
                _ => number,
            },
            printed: value.printed.clone(),
            hardware: reference.hardware_of(value).unwrap_or_default().to_owned(),
            note: value.note.clone(),
        })
    };
    of_workload.filter_map(ratio).collect()
}
