//! Two results, benchmark by benchmark, and as a whole.

use crate::conditions::{Unlike, unlike};
use crate::counts::Band;
use crate::pair::Pair;
use crate::times::{Ratio, TimeRow, judge_times};
use crate::verdict::{Thresholds, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use ws_results::ResultFile;
use crate::statistics::reliability;

/// Chen et al.'s level for a single benchmark, in [`SuiteReliability`].
const RELIABILITY_LEVEL: f64 = 0.05;

/// The conditions of two results differ, so nothing of them may be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{other} and {base} were not measured under the same conditions: {}. \
     --allow FIELD compares them all the same",
    fields.iter().map(Unlike::describe).collect::<Vec<_>>().join(", ")
)]
pub struct Refused {
    /// The base's platform.
    pub base: String,
    /// The other's.
    pub other: String,
    /// What differs, never empty.
    pub fields: Vec<Unlike>,
}

/// One result with another.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SuiteComparison {
    /// What it is compared with.
    pub base: RunHead,
    /// What is compared.
    pub other: RunHead,
    /// What differs in the subject: what the comparison is about.
    pub subject: Vec<Unlike>,
    /// Conditions that differ and were let through.
    pub allowed: Vec<Unlike>,
    /// What a reader of either's figures must know: of the machine (subject `caveat`), and on counts
    /// that other benchmarks ran beside them.
    pub caveats: Vec<String>,
    /// What it took to call a difference one.
    pub thresholds: Thresholds,
    /// Whether both are of one run, in which they took turns boot by boot. If not, whatever changed
    /// on the host between the runs counts as a difference.
    pub interleaved: bool,
    /// One for each benchmark of either, the base's order first.
    pub rows: Vec<RowComparison>,
    /// On time: what the middle row did; null of few rows.
    pub together: Option<SuiteShift>,
    /// What HyperBench's method says of the suite, which counts rows and not how much they moved; null
    /// with nothing compared. It decides nothing.
    pub reliability: Option<SuiteReliability>,
}

/// Which result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunHead {
    /// Its platform.
    pub platform: String,
    /// When its run began.
    pub created: String,
    /// Boots that were not perturbed.
    pub boots: usize,
    /// Boots that were.
    pub perturbed_boots: usize,
}

/// One benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowComparison {
    /// Its name.
    pub benchmark: String,
    /// Its category.
    pub category: String,
    /// The unit of all its figures; null where nothing was compared.
    pub unit: Option<String>,
    /// The base's value; null where it has none.
    pub base: Option<f64>,
    /// The other's.
    pub other: Option<f64>,
    /// Boots behind `base` and `other`.
    pub boots: [usize; 2],
    /// On `insns`: whether both sides' boots each gave the same samples.
    pub exact: Option<bool>,
    /// The verdict; null where the two are not compared, and `why` says why not.
    pub verdict: Option<Verdict>,
    /// Whether it was not compared because its own conditions differ.
    pub refused: bool,
    /// On time.
    pub time: Option<TimeFigures>,
    /// On counts.
    pub counts: Option<CountFigures>,
    /// Why it is inconclusive or not compared, or what was found, in words.
    pub why: Option<String>,
}

/// What a comparison of times found. Ratios are of times: of rates, which are better when greater,
/// they are turned over.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeFigures {
    /// The other's cost over the base's, by the middle half of each side's boots; null of fewer than
    /// two boots.
    pub ratio: Option<f64>,
    /// The ends of its interval. Those of all rows hold at once, with confidence 1 less the
    /// significance.
    pub ratio_low: Option<f64>,
    /// See `ratio_low`.
    pub ratio_high: Option<f64>,
    /// How the boots of the side that scatters more do: a robust standard deviation, as a fraction.
    pub scatter: f64,
    /// The p-value of the rank-sum test on this row alone, for `reliability`; it decides nothing else.
    pub rank_sum_p: Option<f64>,
    /// About so many more boots on each side would end the doubt; null where there is none, where
    /// boots are too noisy, or where no sensible number would.
    pub more_boots: Option<usize>,
}

/// What the rows of a suite did together: the middle row's cost over the base's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SuiteShift {
    /// The ratio.
    pub ratio: f64,
    /// The ends of its interval, which holds at once with those of all rows. What a host did between
    /// two runs apart is not in it.
    pub ratio_low: f64,
    /// See `ratio_low`.
    pub ratio_high: f64,
}

/// What a comparison of counts found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CountFigures {
    /// The other's mode less the base's.
    pub added: f64,
    /// The other's mean less the base's.
    pub added_mean: f64,
    /// Modes of all the base's boots, perturbed ones with them.
    pub band_base: Band,
    /// Of the other's.
    pub band_other: Band,
    /// Whether both distributions are the same to the digit.
    pub identical: bool,
}

/// Hierarchical Performance Testing over the rows that have a verdict (Chen et al., IEEE Transactions
/// on Computers 64(5), 2015).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SuiteReliability {
    /// The confidence that the other is better on the whole.
    pub better: f64,
    /// That it is worse.
    pub worse: f64,
    /// Rows that were looked at.
    pub benchmarks: usize,
    /// Rows that differ by themselves, at 0.05.
    pub differing: usize,
}

/// What may be chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// What it takes to call a difference one.
    pub thresholds: Thresholds,
    /// Conditions that may differ.
    pub allow: Vec<String>,
    /// Only these benchmarks; all where it is `None`. What else ran beside them is still looked at.
    pub only: Option<BTreeSet<String>>,
}

/// What all rows together say, for an exit code: the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// No row is worse, and none is in doubt.
    NoRegression,
    /// Some row is in doubt, and none is worse.
    Inconclusive,
    /// Some row could not be compared because its conditions differ, and none is worse.
    Refused,
    /// Some row is worse.
    Regression,
}

impl SuiteComparison {
    /// What it means for whoever has to decide.
    pub fn outcome(&self) -> Outcome {
        let row = |row: &RowComparison| match row.verdict {
            Some(Verdict::Worse) => Outcome::Regression,
            Some(Verdict::Inconclusive) => Outcome::Inconclusive,
            None if row.refused => Outcome::Refused,
            _ => Outcome::NoRegression,
        };
        let rows = self.rows.iter().map(row);
        rows.max().unwrap_or(Outcome::NoRegression)
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
    let interleaved = base.created == other.created && base.command == other.command;
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
            created: result.created.clone(),
            boots: result.boots.len() - perturbed_boots,
            perturbed_boots,
        }
    }
}

/// Of both, each once.
fn caveats(base: &ResultFile, other: &ResultFile) -> Vec<String> {
    let said = [base, other].map(ResultFile::caveat);
    let mut said: Vec<String> = said.into_iter().flatten().map(str::to_owned).collect();
    said.dedup();
    said
}

/// Names in a sentence; the rest are counted.
const MOST_NAMES: usize = 3;

impl RowComparison {
    /// Other benchmarks ran beside on one side: a difference of counts can be theirs.
    fn doubt_counts(&mut self) {
        let differs = matches!(self.verdict, Some(Verdict::Better | Verdict::Worse));
        if self.counts.is_some() && differs {
            self.verdict = Some(Verdict::Inconclusive);
            let found = self.why.take().unwrap_or_default();
            self.why = Some(format!(
                "{found}, or what ran beside: compare runs of the same --bench"
            ));
        }
    }
}

/// On counts: which benchmarks ran beside in one of the two only. What a kernel did for one is there
/// for the next, so that figures of other selections can differ where nothing changed (docs/lab.md).
/// No condition, for then a benchmark more in the suite would end every history.
fn other_selection(
    base: &ResultFile,
    other: &ResultFile,
    rows: &[RowComparison],
) -> Option<String> {
    let only = |of: &ResultFile, beside: &ResultFile| {
        let there: BTreeSet<&str> = names(beside).collect();
        let lacking: Vec<&str> = names(of).filter(|name| !there.contains(name)).collect();
        let shown = lacking.len().min(MOST_NAMES);
        let more = match lacking.len() - shown {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!lacking.is_empty()).then(|| format!("{}{more}", lacking[..shown].join(", ")))
    };
    rows.iter().find(|row| row.counts.is_some())?;
    let ran: Vec<String> = [
        only(base, other).map(|names| format!("{names} in the base alone")),
        only(other, base).map(|names| format!("{names} in the other alone")),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!ran.is_empty()).then(|| {
        format!(
            "other benchmarks ran beside ({}): what was done for one is there for the next, so a \
             difference can be the selection's and is no verdict; compare runs of the same --bench",
            ran.join("; ")
        )
    })
}

/// What was selected. A platform that skips one of them is another platform, not another selection.
fn names(result: &ResultFile) -> impl Iterator<Item = &str> {
    result.rows.iter().map(|row| row.benchmark.as_str())
}

/// All names, the base's first.
fn benchmarks<'a>(base: &'a ResultFile, other: &'a ResultFile) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let all = base.rows.iter().chain(&other.rows);
    all.map(|row| row.benchmark.as_str())
        .filter(|name| seen.insert(*name))
        .collect()
}

/// A row counts as differing where its own test says so at 0.05, and on counts where it has a verdict
/// of better or worse. Sizes are of ratios, so that rows of all magnitudes weigh the same.
fn suite_reliability(rows: &[RowComparison]) -> Option<SuiteReliability> {
    let differences: Vec<f64> = rows
        .iter()
        .filter(|row| row.verdict.is_some())
        .filter_map(|row| match (&row.time, &row.counts) {
            (Some(time), _) if time.rank_sum_p? > RELIABILITY_LEVEL => Some(0.0),
            (Some(time), _) => Some(time.ratio?.ln()),
            (None, Some(_)) => match row.verdict {
                // One is added to both: a cost may be 0.
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
