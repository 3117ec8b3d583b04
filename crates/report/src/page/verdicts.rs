//! Comparisons with verdicts. The report draws them; who decides them is the caller, so this
//! module knows nothing of statistics.

use super::words::plain;
use maud::{Markup, html};

/// What a comparison of one row came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Cheaper than the base.
    Better,
    /// Dearer.
    Worse,
    /// The same, within the least effect that counts.
    NoChange,
    /// Too few boots to say.
    Inconclusive,
}

impl Verdict {
    /// As the commands say it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoChange => "no change",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoChange => "same",
            Verdict::Inconclusive => "open",
        }
    }
}

/// One benchmark of a comparison; numbers as text, in the unit that is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The benchmark.
    pub benchmark: String,
    /// The unit of `base` and `other`.
    pub unit: String,
    /// The base's value.
    pub base: String,
    /// The other's.
    pub other: String,
    /// A ratio of times, or a difference of counts.
    pub change: String,
    /// Its interval, or `exact`.
    pub interval: String,
    /// What it comes to.
    pub verdict: Verdict,
    /// What a reader must know; empty where nothing.
    pub note: String,
}

/// Two results compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What the other is compared with.
    pub base: String,
    /// What is compared.
    pub other: String,
    /// What differs in the subject: a field, the base's value, the other's.
    pub differs: Vec<[String; 3]>,
    /// The test and its thresholds, in words.
    pub method: String,
    /// A row each.
    pub rows: Vec<Compared>,
}

/// The view.
pub(crate) fn verdicts(comparisons: &[Comparison]) -> Markup {
    html! {
        section #verdicts {
            h2 { "Verdicts" }
            @if comparisons.is_empty() {
                p.absent { "No comparison was asked for." }
            }
            @for comparison in comparisons { (one(comparison)) }
        }
    }
}

fn one(comparison: &Comparison) -> Markup {
    let name = format!(
        "{} against {}",
        plain(&comparison.other),
        plain(&comparison.base)
    );
    html! {
        h3 { (name) }
        @if !comparison.differs.is_empty() {
            ul { @for [field, base, other] in &comparison.differs {
                li { (plain(field)) ": " (plain(base)) ", here " (plain(other)) }
            } }
        }
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table.grid {
                caption { (plain(&comparison.method)) }
                thead { tr {
                    @for head in ["benchmark", "unit", "base", "other", "change", "interval", "verdict", "note"] {
                        th scope="col" { (head) }
                    }
                } }
                tbody { @for row in &comparison.rows {
                    tr data-b=(plain(&row.benchmark)) {
                        th scope="row" { (plain(&row.benchmark)) }
                        td { (plain(&row.unit)) }
                        td.value { (plain(&row.base)) }
                        td.value { (plain(&row.other)) }
                        td.value { (plain(&row.change)) }
                        td { (plain(&row.interval)) }
                        td class={ "verdict " (row.verdict.class()) } { (row.verdict.word()) }
                        td { (plain(&row.note)) }
                    }
                } }
            }
        }
    }
}
