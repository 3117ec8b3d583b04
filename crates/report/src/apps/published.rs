//! What the papers state of applications in VMs, and in nested VMs.

use crate::reference::{Reference, Value};
use crate::unit_of_work::two;
use schemars::JsonSchema;
use serde::Serialize;

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
    /// As printed: an overhead in percent, or a bound.
    pub printed: String,
    /// The paper's machine.
    pub hardware: String,
    /// What a reader must know.
    pub note: String,
}

impl NestedRatio {
    /// As a ratio: an overhead in percent as such, a bound with its word.
    pub(crate) fn stated(&self) -> String {
        match self.printed.strip_suffix('%') {
            Some(_) => two(self.ratio),
            None => self.printed.trim_end_matches(" times").to_owned(),
        }
    }
}

/// The published time of a workload in a setup relative to the native one of the same machine; a rate is the
/// reciprocal of a time.
pub(super) fn slowdown(
    workload: &str,
    setup: &str,
    hardware: &str,
    reference: &Reference,
) -> Option<f64> {
    let of = |setup: &str| -> Option<&Value> {
        reference.of_table(PAPER, TABLE).find(|value| {
            value.benchmark == workload && value.setup == setup && value.hardware == hardware
        })
    };
    let (native, here) = (of("native")?, of(setup)?);
    let ratio = here.value? / native.value?;
    Some(if here.unit == "s" { ratio } else { 1.0 / ratio })
}

/// What NEVE's text states of a workload.
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
