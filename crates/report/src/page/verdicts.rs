//! The view of comparisons with their verdicts: the table of `worldswitch compare`.

use super::words::plain;
use crate::comparison::{cells, legend, remarks, tally};
use maud::{Markup, html};
use ws_analysis::{SuiteComparison, Verdict};

/// The view. `refused`: comparisons that were not possible, with reasons.
pub(crate) fn verdicts(comparisons: &[SuiteComparison], refused: &[String]) -> Markup {
    html! {
        section #verdicts {
            h2 { "Verdicts" }
            @if comparisons.is_empty() && refused.is_empty() {
                p.absent {
                    "No comparison: it needs a base (" code { "worldswitch report RUN --base OLDER" }
                    "), or lab:kvm and lab:kvm-shadow in one run."
                }
            }
            @for why in refused { p.absent { "Not compared: " (plain(why)) } }
            @for comparison in comparisons { (one(comparison)) }
            @if !comparisons.is_empty() {
                ul.legend { @for line in legend(comparisons) { li { (line) } } }
            }
        }
    }
}

fn one(comparison: &SuiteComparison) -> Markup {
    let (base, other) = (&comparison.base, &comparison.other);
    let mut name = format!(
        "{} against {}",
        plain(&other.platform),
        plain(&base.platform)
    );
    if base.platform == other.platform {
        name = format!("{name} of {}", plain(&base.created));
    }
    let timed = comparison.rows.iter().any(|row| row.time.is_some());
    html! {
        h3 { (name) }
        ul { @for remark in remarks(comparison) { li { (plain(&remark)) } } }
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table.grid {
                caption { (name) ": " (tally(comparison)) }
                thead { tr {
                    @for head in ["benchmark", "verdict", "unit", "base", "other"] { th scope="col" { (head) } }
                    @if timed {
                        @for head in ["ratio", "interval", "scatter", ""] { th scope="col" { (head) } }
                    } @else {
                        @for head in ["added", "mean", "what was found"] { th scope="col" { (head) } }
                    }
                } }
                tbody { @for row in &comparison.rows {
                    @let [benchmark, base, other, change, interval, scatter, verdict, why] = cells(row);
                    tr data-b=(plain(&row.benchmark)) {
                        th scope="row" { (plain(&benchmark)) }
                        td class={ "verdict " (class(row.verdict)) } { (verdict) }
                        td { (plain(row.unit.as_deref().unwrap_or(""))) }
                        td.value { (base) }
                        td.value { (other) }
                        td.value { (change) }
                        td.value { (interval) }
                        @if timed { td.value { (scatter) } }
                        td { (plain(&why)) }
                    }
                } }
            }
        }
    }
}

fn class(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Better) => "better",
        Some(Verdict::Worse) => "worse",
        Some(Verdict::NoChange) => "same",
        Some(Verdict::Inconclusive) => "open",
        None => "",
    }
}
