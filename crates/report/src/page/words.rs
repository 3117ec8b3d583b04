//! Sentences and small pieces that several views share.

use maud::{Markup, html};
use std::borrow::Cow;
use ws_results::ResultFile;

/// Any string from a result file: what is invisible or moves text becomes visible. maud then
/// escapes what is markup.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    ws_text::terminal(text)
}

/// A JSON value without a string's quotes.
pub(crate) fn value_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => plain(text).into_owned(),
        serde_json::Value::Null => "unknown".into(),
        other => plain(&other.to_string()).into_owned(),
    }
}

/// What instruction counts of the lab do not show. It stands wherever they do.
const LAB: &str = "insns are executed instructions: the length of software paths, exact, not time. \
    They show no microarchitecture: a trap, a page walk or a cache miss itself costs nothing.";

/// The artefact of QEMU's SVM, for machines of the lab with a hypervisor on x86.
const NRIPS: &str = "QEMU's SVM has no NRIPS, so KVM fetches and decodes each instruction that it \
    steps over: about 60 % of a hypercall's instructions here, which no real AMD processor needs.";

/// Which sentences the results call for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Caveat {
    insns: bool,
    nrips: bool,
}

impl Caveat {
    pub(crate) fn of(results: &[ResultFile]) -> Self {
        let mut caveat = Caveat::default();
        for result in results {
            let counted = result
                .rows
                .iter()
                .flat_map(|row| &row.metrics)
                .any(|m| m.unit == "insns");
            let x86 = result
                .identity
                .conditions
                .get("arch")
                .is_none_or(|arch| arch == "x86_64");
            caveat.insns |= counted;
            caveat.nrips |= counted && x86 && result.platform.starts_with("lab:");
        }
        caveat
    }

    /// The sentences; nothing without instruction counts.
    pub(crate) fn markup(self) -> Markup {
        html! {
            @if self.insns {
                p.caveat { (LAB) @if self.nrips { " " (NRIPS) } }
            }
        }
    }
}

/// `1 boot`, `5 boots`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// The unit's name on an axis.
pub(crate) fn per_operation(unit: &str) -> String {
    format!("{unit} for one operation")
}
