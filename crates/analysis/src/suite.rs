//! Compares two results, benchmark by benchmark and as a whole.

use crate::conditions::{Unlike, unlike};
use crate::counts::Band;
use crate::gap::{Gap, GapKind, named};
use crate::pair::Pair;
use crate::statistics::reliability;
use crate::times::{Ratio, TimeRow, judge_times};
use crate::verdict::{Thresholds, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use ws_results::ResultFile;

/// The significance level for a single benchmark in [`SuiteReliability`], by Chen et al.
const RELIABILITY_LEVEL: f64 = 0.05;

/// The conditions of two results differ, so they must not be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{other} and {base} were not measured under the same conditions: {}. {}",
    fields.iter().map(Unlike::describe).collect::<Vec<_>>().join(", "),
    cure(fields)
)]
pub struct Refused {
    /// The base's platform.
    pub base: String,
    /// The other's.
    pub other: String,
    /// The conditions that differ, never empty.
    pub fields: Vec<Unlike>,
}

/// Returns the cure for conditions that differ.
fn cure(fields: &[Unlike]) -> &'static str {
    match fields.iter().any(|unlike| unlike.field == UNIT) {
        true => "Units are never converted: compare results of one unit",
        false => "--allow FIELD compares them anyway",
    }
}

/// Name of the condition that figures are of one unit.
const UNIT: &str = "unit";

impl Refused {
    /// Returns the gap: nothing of these two results was compared.
    pub fn gap(&self) -> Gap {
        let units = self.fields.iter().any(|unlike| unlike.field == UNIT);
        Gap {
            kind: if units {
                GapKind::Unit
            } else {
                GapKind::Conditions
            },
            platform: self.other.clone(),
            benchmarks: Vec::new(),
            why: self.to_string(),
        }
    }
}

/// The comparison of two results.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SuiteComparison {
    /// The result that the other is compared with.
    pub base: RunHead,
    /// The compared result.
    pub other: RunHead,
    /// The fields of the subject that differ: the object of the comparison.
    pub subject: Vec<Unlike>,
    /// Conditions that differ and are allowed to.
    pub allowed: Vec<Unlike>,
    /// Caveats for a reader of the figures: those of the machine (subject `caveat`), and on counts that only one side
    /// ran certain other benchmarks.
    pub caveats: Vec<String>,
    /// Thresholds above which a difference counts.
    pub thresholds: Thresholds,
    /// Whether both results are of one run, in which they took turns boot by boot. If not, any change of the host
    /// between the runs counts as a difference.
    pub interleaved: bool,
    /// Comparisons of the benchmarks of either result, the base's order first.
    pub rows: Vec<RowComparison>,
    /// Shift of the median row, on time; null with few rows.
    pub together: Option<SuiteShift>,
    /// Reliability by HyperBench's method over the suite, which counts rows and not how much they moved; null if
    /// nothing was compared. No verdict depends on it.
    pub reliability: Option<SuiteReliability>,
}

/// Identifies a compared result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunHead {
    /// Platform of the result.
    pub platform: String,
    /// The host that measured; null if the result does not say.
    pub host: Option<String>,
    /// Start of the result's run.
    pub created: String,
    /// Boots that were not perturbed.
    pub boots: usize,
    /// Perturbed boots.
    pub perturbed_boots: usize,
}

/// The comparison of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowComparison {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Category of the benchmark.
    pub category: String,
    /// The unit of all figures of the row; null if nothing was compared.
    pub unit: Option<String>,
    /// The base's value; null if the base has none.
    pub base: Option<f64>,
    /// The other's value; null if the other has none.
    pub other: Option<f64>,
    /// Boots from which `base` and `other` are computed.
    pub boots: [usize; 2],
    /// Whether both sides' boots each gave the same samples, on `insns`.
    pub exact: Option<bool>,
    /// The verdict; null if the two are not compared, with the reason in `why`.
    pub verdict: Option<Verdict>,
    /// Whether the row was not compared because its own conditions differ.
    pub refused: bool,
    /// Reason why the other side has no figures that can be compared with the base's; null if it has such figures, or
    /// if the base has none.
    pub gap: Option<GapKind>,
    /// Figures of a comparison on time; also null if one side cost nothing.
    pub time: Option<TimeFigures>,
    /// Figures of a comparison on counts.
    pub counts: Option<CountFigures>,
    /// The reason why the row is inconclusive or not compared, or the finding, as text.
    pub why: Option<String>,
}

/// The figures of a comparison of times. Ratios are ratios of times: for rates, where more is better,
/// they are inverted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeFigures {
    /// The other's cost / the base's, from the middle half of each side's boots; null with fewer than
    /// two boots.
    pub ratio: Option<f64>,
    /// The lower end of the interval of `ratio`. The intervals of all rows hold simultaneously, with confidence 1 -
    /// significance.
    pub ratio_low: Option<f64>,
    /// The upper end of that interval.
    pub ratio_high: Option<f64>,
    /// The scatter of the boots, of the side that scatters more: a robust standard deviation, as a
    /// fraction.
    pub scatter: f64,
    /// The p-value of the rank-sum test on this row alone; used for `reliability` only.
    pub rank_sum_p: Option<f64>,
    /// Boots per side that would settle the row, about; null if the row is settled, if the boots are too noisy, or if
    /// no practical number would.
    pub more_boots: Option<usize>,
}

/// The shift of a suite as a whole: the median row's cost / the base's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SuiteShift {
    /// The ratio.
    pub ratio: f64,
    /// The lower end of the interval of `ratio`, which holds simultaneously with those of all rows. The interval does
    /// not cover changes of the host between two separate runs.
    pub ratio_low: f64,
    /// The upper end of that interval.
    pub ratio_high: f64,
}

/// The figures of a comparison of counts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CountFigures {
    /// The other's mode - the base's.
    pub added: f64,
    /// The other's mean - the base's.
    pub added_mean: f64,
    /// The modes of all boots of the base, perturbed ones included.
    pub band_base: Band,
    /// The modes of all boots of the other, perturbed ones included.
    pub band_other: Band,
    /// Whether both distributions are exactly the same.
    pub identical: bool,
}

/// Hierarchical Performance Testing over the rows that have a verdict (Chen et al., IEEE Transactions
/// on Computers 64(5), 2015).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SuiteReliability {
    /// The confidence that the other is better on the whole.
    pub better: f64,
    /// The confidence that the other is worse on the whole.
    pub worse: f64,
    /// The number of rows.
    pub benchmarks: usize,
    /// The number of rows that differ by their own test, at 0.05.
    pub differing: usize,
}

/// Options of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// Thresholds above which a difference counts.
    pub thresholds: Thresholds,
    /// Conditions that may differ.
    pub allow: Vec<String>,
    /// Benchmarks to compare; all if `None`. Other benchmarks that ran are still taken into account.
    pub only: Option<BTreeSet<String>>,
}

/// The overall outcome, for an exit code: that of the worst row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every figure of the base was judged, and nothing is worse or inconclusive.
    NoRegression,
    /// Something is inconclusive, missing, or measured in another unit, or nothing was compared; nothing is worse.
    Inconclusive,
    /// Something was not compared because its conditions differ, and nothing is worse.
    Refused,
    /// Some row is worse.
    Regression,
}

impl SuiteComparison {
    /// The overall outcome.
    pub fn outcome(&self) -> Outcome {
        let row = |row: &RowComparison| match row.verdict {
            Some(Verdict::Worse) => Outcome::Regression,
            Some(Verdict::Inconclusive) => Outcome::Inconclusive,
            None if row.refused => Outcome::Refused,
            _ => Outcome::NoRegression,
        };
        let rows = self.rows.iter().map(row);
        let gaps = self.gaps().into_iter().map(|gap| gap.kind.outcome());
        rows.chain(gaps).max().unwrap_or(Outcome::Inconclusive)
    }
}

impl GapKind {
    /// Returns the least severe outcome of a comparison with such a gap.
    pub fn outcome(self) -> Outcome {
        match self {
            GapKind::Conditions => Outcome::Refused,
            _ => Outcome::Inconclusive,
        }
    }
}

/// Compares two results.
///
/// # Errors
/// Their conditions differ, other than in `options.allow`.
pub fn compare_results(
    base: &ResultFile,
    other: &ResultFile,
    options: &CompareOptions,
) -> Result<SuiteComparison, Refused> {
    let (theirs, ours) = (&base.identity, &other.identity);
    let fields = unlike(&ours.conditions, &theirs.conditions, &options.allow);
    if !fields.is_empty() {
        return Err(Refused {
            base: base.platform.clone(),
            other: other.platform.clone(),
            fields,
        });
    }
    let mut allowed = unlike(&ours.conditions, &theirs.conditions, &[]);
    // Two machines take no turns, even if they begin in the same second.
    let [a, b] = [base, other].map(|result| result.identity.subject.get("host"));
    let interleaved = base.created == other.created && base.command == other.command && a == b;
    let wanted = |name: &&str| {
        options
            .only
            .as_ref()
            .is_none_or(|only| only.contains(*name))
    };
    let pairs: Vec<Pair> = benchmarks(base, other)
        .into_iter()
        .filter(wanted)
        .map(|name| Pair::of(name, base, other, &options.allow))
        .collect();
    for pair in &pairs {
        let new = pair.allowed.iter().filter(|field| !allowed.contains(field));
        let new: Vec<Unlike> = new.cloned().collect();
        allowed.extend(new);
    }
    let times: Vec<TimeRow> = pairs.iter().map(Pair::times).collect();
    let judged = judge_times(&times, interleaved, &options.thresholds);
    let mut rows: Vec<RowComparison> = pairs
        .iter()
        .zip(judged.rows)
        .map(|(pair, time)| pair.row(time, &options.thresholds))
        .collect();
    // Doubts come last: they depend on which rows were judged on counts.
    let selection = other_selection(base, other, &rows);
    if selection.is_some() {
        rows.iter_mut().for_each(RowComparison::doubt_counts);
    }
    Ok(SuiteComparison {
        base: RunHead::of(base),
        other: RunHead::of(other),
        subject: unlike(&ours.subject, &theirs.subject, &[]),
        allowed,
        caveats: caveats(base, other).into_iter().chain(selection).collect(),
        thresholds: options.thresholds,
        interleaved,
        together: judged.together.map(SuiteShift::of),
        reliability: suite_reliability(&rows),
        rows,
    })
}

impl SuiteShift {
    fn of(ratio: Ratio) -> Self {
        SuiteShift {
            ratio: ratio.value,
            ratio_low: ratio.interval.low,
            ratio_high: ratio.interval.high,
        }
    }
}

impl RunHead {
    fn of(result: &ResultFile) -> Self {
        let perturbed_boots = result.perturbed().len();
        RunHead {
            platform: result.platform.clone(),
            host: result.host().map(str::to_owned),
            created: result.created.clone(),
            boots: result.boots.len() - perturbed_boots,
            perturbed_boots,
        }
    }
}

/// Returns the caveats of both machines, each once.
fn caveats(base: &ResultFile, other: &ResultFile) -> Vec<String> {
    let said = [base, other].map(ResultFile::caveat);
    let mut said: Vec<String> = said.into_iter().flatten().map(str::to_owned).collect();
    said.dedup();
    said
}

impl RowComparison {
    /// Makes a difference of counts inconclusive: it may come from other benchmarks of the run.
    fn doubt_counts(&mut self) {
        let differs = matches!(self.verdict, Some(Verdict::Better | Verdict::Worse));
        if self.counts.is_some() && differs {
            self.verdict = Some(Verdict::Inconclusive);
            let found = self.why.take().unwrap_or_default();
            self.why = Some(format!(
                "{found}, or due to other benchmarks in the run: compare runs with the same --bench"
            ));
        }
    }
}

/// On counts, names the benchmarks that ran in only one of the two results. State that a kernel sets up for one
/// benchmark remains for the next, so the figures of different selections can differ although nothing changed
/// (docs/lab.md). A different selection is no condition: else each new benchmark would break the history of all others.
fn other_selection(
    base: &ResultFile,
    other: &ResultFile,
    rows: &[RowComparison],
) -> Option<String> {
    let only = |of: &ResultFile, beside: &ResultFile| {
        let there: BTreeSet<&str> = names(beside).collect();
        let lacking: Vec<&str> = names(of).filter(|name| !there.contains(name)).collect();
        named(&lacking)
    };
    rows.iter().find(|row| row.counts.is_some())?;
    let ran: Vec<String> = [
        only(base, other).map(|names| format!("{names} only in the base")),
        only(other, base).map(|names| format!("{names} only in the other")),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!ran.is_empty()).then(|| {
        format!(
            "the runs have different benchmarks ({}): one can change the cost of the next, so a \
             difference gives no verdict; compare runs with the same --bench",
            ran.join("; ")
        )
    })
}

/// Returns the names of the selected benchmarks. A row that the platform skips was selected too.
fn names(result: &ResultFile) -> impl Iterator<Item = &str> {
    result.rows.iter().map(|row| row.benchmark.as_str())
}

/// Returns the benchmarks of both results, the base's first.
fn benchmarks<'a>(base: &'a ResultFile, other: &'a ResultFile) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let all = base.rows.iter().chain(&other.rows);
    all.map(|row| row.benchmark.as_str())
        .filter(|name| seen.insert(*name))
        .collect()
}

/// Computes the reliability over the rows. A row differs if its own test finds a difference at 0.05, or on counts if
/// its verdict is better or worse. The differences are logarithms of ratios, so that rows of all magnitudes weigh the
/// same.
fn suite_reliability(rows: &[RowComparison]) -> Option<SuiteReliability> {
    let differences: Vec<f64> = rows
        .iter()
        .filter(|row| row.verdict.is_some())
        .filter_map(|row| match (&row.time, &row.counts) {
            (Some(time), _) if time.rank_sum_p? > RELIABILITY_LEVEL => Some(0.0),
            (Some(time), _) => Some(time.ratio?.ln()),
            (None, Some(_)) => match row.verdict {
                // Plus 1, since a cost may be 0.
                Some(Verdict::Worse | Verdict::Better) => {
                    Some(((row.other?.max(0.0) + 1.0) / (row.base?.max(0.0) + 1.0)).ln())
                }
                _ => Some(0.0),
            },
            (None, None) => None,
        })
        .collect();
    let found = reliability(&differences)?;
    Some(SuiteReliability {
        better: found.negative,
        worse: found.positive,
        benchmarks: found.benchmarks,
        differing: found.differing,
    })
}

#[cfg(test)]
#[path = "suite_tests.rs"]
mod tests;
