//! Texts that several views share.

use maud::{Markup, html};
use std::borrow::Cow;
use ws_results::ResultFile;

/// Any string from a result file, with invisible characters and those that move text made visible.
/// maud then escapes the markup.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    crate::text::terminal(text)
}

/// Renders a platform's name as [`plain`] does. A line may break before its variant and its options.
pub(crate) fn breakable(name: &str) -> Markup {
    let name = plain(name);
    let ends = name.match_indices(['@', '+']).map(|(at, _)| at);
    let starts = [0].into_iter().chain(ends.clone());
    let parts = starts.zip(ends.chain([name.len()]));
    html! {
        @for (index, (from, to)) in parts.enumerate() {
            @if index > 0 { wbr; }
            (&name[from..to])
        }
    }
}

/// A JSON value without a string's quotes.
pub(crate) fn value_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => plain(text).into_owned(),
        serde_json::Value::Null => "unknown".into(),
        other => plain(&other.to_string()).into_owned(),
    }
}

/// The limits of the lab's instruction counts.
const LAB: &str = "insns are executed instructions: the length of software paths, exact, not time. \
    They show no microarchitecture: a trap, a page walk or a cache miss itself costs nothing.";

/// The caveats on instruction counts that apply to the results.
#[derive(Clone, Default)]
pub(crate) struct Caveat {
    insns: bool,
    /// The caveats of lab machines (subject `caveat`), with their platforms.
    machines: Vec<(String, Vec<String>)>,
}

impl Caveat {
    pub(crate) fn of(results: &[ResultFile]) -> Self {
        let mut caveat = Caveat::default();
        for result in results {
            let metrics = result.rows.iter().flat_map(|row| &row.metrics);
            caveat.insns |= metrics.into_iter().any(|m| m.unit == "insns");
            let Some(said) = result.caveat() else {
                continue;
            };
            let known = caveat.machines.iter().position(|(text, _)| text == said);
            let at = known.unwrap_or(caveat.machines.len());
            if known.is_none() {
                caveat.machines.push((said.to_owned(), Vec::new()));
            }
            let platforms = &mut caveat.machines[at].1;
            if !platforms.contains(&result.platform) {
                platforms.push(result.platform.clone());
            }
        }
        caveat
    }

    /// The caveats; empty without any.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            @if self.insns || !self.machines.is_empty() {
                p.caveat {
                    @if self.insns { (LAB) }
                    @for (text, platforms) in &self.machines {
                        " " (plain(&platforms.join(", "))) ": " (plain(text)) "."
                    }
                }
            }
        }
    }

    /// Whether the caveat has a machine's text.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.machines.iter().any(|(said, _)| said == text)
    }
}

/// A section of details, folded.
pub(crate) fn folded(id: &str, head: &str, remark: &str, body: &Markup) -> Markup {
    html! {
        section id=(id) {
            details.fold {
                summary { h2 { (head) } " " span.unit { (plain(remark)) } }
                (body)
            }
        }
    }
}

/// `1 boot`, `5 boots`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// The label of an axis with this unit.
pub(crate) fn per_operation(unit: &str) -> String {
    format!("{unit} for one operation")
}
