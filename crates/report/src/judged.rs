//! Pairs of results, judged: the verdicts, and the rows whose functions explain a change.

use crate::comparison::Comparisons;
use crate::over_hosts::HostsOfSides;
use ws_analysis::{
    Gap, Outcome, Paired, Refused, RowComparison, Thresholds, Verdict, compare_pairs, judge_hosts,
};

/// Judged pairs.
pub struct Judged<'a> {
    pub comparisons: Comparisons,
    /// Pairs that were refused as a whole: reported next to the verdicts on others, not instead of them.
    pub refused: Vec<Refused>,
    pub changed: Vec<Changed<'a>>,
}

/// A benchmark that changed.
pub struct Changed<'a> {
    /// The base, and the result that was compared with it.
    pub pair: Paired<'a>,
    pub benchmark: String,
    /// Added instructions; `None` if the benchmark was compared on time.
    pub added: Option<f64>,
}

impl<'a> Judged<'a> {
    /// Judges pairs of a base and another result. A pair whose conditions differ does not hide the verdicts on other
    /// pairs. `gaps`: results of the base that are in no pair. `only` matches the benchmarks that are compared.
    ///
    /// # Errors
    /// The conditions differ in all pairs.
    pub fn of(
        pairs: &[Paired<'a>],
        mut gaps: Vec<Gap>,
        thresholds: Thresholds,
        allow: &[String],
        only: Option<&dyn Fn(&str) -> bool>,
    ) -> Result<Self, Refused> {
        let (mut compared, mut refused, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        for (pair, one) in compare_pairs(pairs, thresholds, allow, only) {
            match one {
                // The user asked for other benchmarks.
                Ok(one) if one.rows.is_empty() && only.is_some() => {}
                Ok(one) => {
                    let rows = one.rows.iter();
                    changed.extend(rows.filter_map(|row| Changed::of(pair, row)));
                    compared.push(one);
                }
                Err(why) => {
                    gaps.push(why.gap());
                    refused.push(why);
                }
            }
        }
        let is_refused = |gap: &Gap| gap.kind.outcome() == Outcome::Refused;
        if compared.is_empty() && gaps.iter().all(is_refused) {
            if let Some(why) = refused.first() {
                return Err(why.clone());
            }
        }
        let mut comparisons = Comparisons::of(compared).lacking(gaps);
        if !comparisons.over_hosts.is_empty() {
            comparisons.hosts = Some(HostsOfSides {
                base: judge_hosts(pairs.iter().map(|(base, _)| *base), &thresholds),
                other: judge_hosts(pairs.iter().map(|(_, other)| *other), &thresholds),
            });
        }
        Ok(Self {
            comparisons,
            refused,
            changed,
        })
    }

    /// Reasons why figures of the base have no verdict, without the pairs that were refused as a whole.
    pub fn not_judged(&self) -> impl Iterator<Item = &str> {
        let is_said = |gap: &&Gap| !self.refused.iter().any(|why| why.gap() == **gap);
        let gaps = self.comparisons.gaps.iter().filter(is_said);
        gaps.map(|gap| &*gap.why)
    }
}

impl<'a> Changed<'a> {
    fn of(pair: Paired<'a>, row: &RowComparison) -> Option<Self> {
        let added = row.counts.as_ref().map(|counts| counts.added);
        let is_changed = match row.verdict? {
            Verdict::Better | Verdict::Worse => true,
            // Whether layout alone is the cause can be seen in the functions.
            Verdict::Inconclusive => added.is_some_and(|added| added != 0.0),
            Verdict::NoChange => false,
        };
        is_changed.then(|| Self {
            pair,
            benchmark: row.benchmark.clone(),
            added,
        })
    }
}
