//! The view of comparisons with a base: how many rows changed, which, and on request all of them, as
//! `worldswitch compare` prints them.

use super::words::{Caveat, plain, plural};
use crate::comparison::{changed, legend, noted, remarks, tally};
use maud::{Markup, html};
use std::collections::BTreeSet;
use ws_analysis::{RowComparison, SuiteComparison, Verdict};
use ws_results::ResultFile;

/// The view; empty without a base. `refused`: comparisons that were not possible, with reasons. With results of several
/// hosts each comparison names its own.
pub(crate) fn verdicts(
    results: &[ResultFile],
    comparisons: &[SuiteComparison],
    refused: &[String],
    caveat: &Caveat,
) -> Markup {
    let hosts: BTreeSet<&str> = results.iter().filter_map(ResultFile::host).collect();
    let with_host = hosts.len() > 1;
    html! {
        @if !comparisons.is_empty() || !refused.is_empty() {
            section #verdicts {
                h2 { "Against the base" }
                @for why in refused { p.absent { "Not compared: " (plain(why)) } }
                @for comparison in comparisons { (one(comparison, with_host, caveat)) }
                @if !comparisons.is_empty() {
                    ul.legend { @for line in legend(comparisons) { li { (line) } } }
                }
            }
        }
    }
}

/// Renders a comparison; `with_host` adds the host that measured it.
fn one(comparison: &SuiteComparison, with_host: bool, caveat: &Caveat) -> Markup {
    let (base, other) = (&comparison.base, &comparison.other);
    let on = |host: &Option<String>| match host.as_deref().filter(|_| with_host) {
        Some(host) => format!(" on {}", plain(host)),
        None => String::new(),
    };
    let measured = format!("{}{}", plain(&other.platform), on(&other.host));
    let mut against = match base.platform == other.platform {
        true => format!("against that of {}", plain(&base.created)),
        false => format!("against {}", plain(&base.platform)),
    };
    if base.host != other.host {
        against += &on(&base.host);
    }
    let name = format!("{measured} {against}");
    let changed = changed(comparison);
    let all: Vec<&RowComparison> = comparison.rows.iter().collect();
    let remarks = remarks(comparison);
    let remarks = remarks.iter().filter(|text| !caveat.says(text));
    let head = html! { (measured) ": " (tally(comparison)) };
    let rest = html! {
        ul { @for remark in remarks { li { (plain(remark)) } } }
        (table(&format!("{name}: all rows"), &all))
    };
    html! {
        @if changed.is_empty() {
            details.tally { summary { (head) } (rest) }
        } @else {
            h3 { (head) }
            (table(&format!("{name}: what changed"), &changed))
            details {
                summary { "All " (plural(all.len(), "row")) ", and what else differs" }
                (rest)
            }
        }
    }
}

fn table(name: &str, rows: &[&RowComparison]) -> Markup {
    let timed = rows.iter().any(|row| row.time.is_some());
    let (notes, texts) = noted(rows);
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table.grid {
                caption { (name) }
                thead { tr {
                    @for head in ["benchmark", "verdict", "unit", "base", "now"] { th scope="col" { (head) } }
                    @if timed {
                        @for head in ["ratio", "interval", "scatter", ""] { th scope="col" { (head) } }
                    } @else {
                        @for head in ["added", "mean", "what was found"] { th scope="col" { (head) } }
                    }
                } }
                tbody { @for (row, cells) in rows.iter().zip(&texts) {
                    @let [benchmark, base, other, change, interval, scatter, verdict, why] = cells;
                    tr data-b=(plain(&row.benchmark)) {
                        th scope="row" { (plain(benchmark)) }
                        td class={ "verdict " (class(row.verdict)) } { (verdict) }
                        td { (plain(row.unit.as_deref().unwrap_or(""))) }
                        td.value { (base) }
                        td.value { (other) }
                        td.value { (change) }
                        td.value { (interval) }
                        @if timed { td.value { (scatter) } }
                        td { (plain(why)) }
                    }
                } }
            }
        }
        @for (index, note) in notes.iter().enumerate() {
            p.legend { "[" (index + 1) "] " (plain(note)) }
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
