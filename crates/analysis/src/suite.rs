//! Two results, benchmark by benchmark, and as a whole.

use crate::conditions::{Unlike, unlike};
use crate::counts::{Band, CountSide, CountVerdict, judge_counts};
use crate::measured::Measured;
use crate::summary::Summary;
use crate::times::{TimeRow, TimeVerdict, Why, judge_times};
use crate::unit::UnitKind;
use crate::verdict::{Thresholds, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use ws_results::{ResultFile, Row, Status};
use ws_statistics::{Method, reliability};

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
    /// What a reader of either's figures must know of the machine (subject `caveat`).
    pub caveats: Vec<String>,
    /// What it took to call a difference one.
    pub thresholds: Thresholds,
    /// Whether both are of one run, in which they took turns boot by boot. If not, whatever changed
    /// on the host between the runs counts as a difference.
    pub interleaved: bool,
    /// One for each benchmark of either, the base's order first.
    pub rows: Vec<RowComparison>,
    /// How sure it is that one is better over the whole suite; null with nothing compared.
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
    /// The other's value over the base's.
    pub ratio: f64,
    /// The ends of its interval, with confidence 1 less the significance.
    pub ratio_low: Option<f64>,
    /// See `ratio_low`.
    pub ratio_high: Option<f64>,
    /// The permutation test's p-value.
    pub p: f64,
    /// The same corrected for all rows of the suite (Holm).
    pub p_suite: f64,
    /// Assignments drawn for `p`; null where all were counted.
    pub draws: Option<u32>,
    /// Blocks that labels were exchanged in.
    pub blocks: usize,
    /// About so many more boots on each side would end the doubt; null where there is none, or where
    /// no sensible number would.
    pub more_boots: Option<usize>,
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
    let pairs: Vec<Pair> = benchmarks(base, other)
        .into_iter()
        .map(|name| Pair::of(name, base, other, &options.allow))
        .collect();
    for pair in &pairs {
        let new = pair.allowed.iter().filter(|field| !allowed.contains(field));
        let new: Vec<Unlike> = new.cloned().collect();
        allowed.extend(new);
    }
    let times: Vec<TimeRow> = pairs.iter().map(Pair::times).collect();
    let judged = judge_times(&times, interleaved, &options.thresholds);
    let rows: Vec<RowComparison> = pairs
        .iter()
        .zip(judged)
        .map(|(pair, time)| pair.row(time, &options.thresholds))
        .collect();
    Ok(SuiteComparison {
        base: RunHead::of(base),
        other: RunHead::of(other),
        subject: unlike(&ours.subject, &theirs.subject, &[]),
        allowed,
        caveats: caveats(base, other),
        thresholds: options.thresholds,
        interleaved,
        reliability: suite_reliability(&rows),
        rows,
    })
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
    let said = [base, other].map(|result| result.identity.subject.get("caveat")?.as_str());
    let mut said: Vec<String> = said.into_iter().flatten().map(str::to_owned).collect();
    said.dedup();
    said
}

/// All names, the base's first.
fn benchmarks<'a>(base: &'a ResultFile, other: &'a ResultFile) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let all = base.rows.iter().chain(&other.rows);
    all.map(|row| row.benchmark.as_str())
        .filter(|name| seen.insert(*name))
        .collect()
}

/// One benchmark's row in both results.
struct Pair<'a> {
    base: Option<Side<'a>>,
    other: Option<Side<'a>>,
    /// Row conditions that differ and were let through.
    allowed: Vec<Unlike>,
    /// Row conditions that differ and were not.
    refused: Vec<Unlike>,
}

/// A row of a result.
struct Side<'a> {
    row: &'a Row,
    /// Absent where it has no figures that mean anything.
    measured: Option<Measured>,
}

impl<'a> Side<'a> {
    fn of(name: &str, result: &'a ResultFile) -> Option<Self> {
        let row = result.rows.iter().find(|row| row.benchmark == name)?;
        Some(Side {
            row,
            measured: Measured::of(row, &result.perturbed()),
        })
    }

    fn summary(&self) -> Option<&Summary> {
        self.measured.as_ref().map(|measured| &measured.summary)
    }

    fn counts(&self) -> CountSide {
        let sides = self.measured.as_ref().map(|measured| CountSide {
            boots: measured.summary.boots.clone(),
            perturbed: measured.perturbed.clone(),
        });
        sides.unwrap_or_default()
    }
}

impl<'a> Pair<'a> {
    fn of(name: &str, base: &'a ResultFile, other: &'a ResultFile, allow: &[String]) -> Self {
        let (base, other) = (Side::of(name, base), Side::of(name, other));
        let differ = |allow: &[String]| match (&base, &other) {
            (Some(base), Some(other)) if base.measured.is_some() && other.measured.is_some() => {
                unlike(&other.row.conditions, &base.row.conditions, allow)
            }
            _ => Vec::new(),
        };
        let refused = differ(allow);
        let mut allowed = differ(&[]);
        allowed.retain(|field| !refused.contains(field));
        Pair {
            allowed,
            refused,
            base,
            other,
        }
    }

    fn summaries(&self) -> Option<(&Summary, &Summary)> {
        Some((
            self.base.as_ref()?.summary()?,
            self.other.as_ref()?.summary()?,
        ))
    }

    /// Why there is nothing to judge: the words, and whether that leaves a doubt.
    fn obstacle(&self) -> Option<(String, bool)> {
        let missing = |side: &Option<Side>| match side {
            None => Some("not asked for".to_owned()),
            Some(side) if side.measured.is_none() => {
                let reason = side.row.reason.as_deref().unwrap_or("no reason is given");
                Some(format!("{}: {reason}", word(side.row.status)))
            }
            Some(_) => None,
        };
        let (base, other) = (missing(&self.base), missing(&self.other));
        match (base, other) {
            (Some(base), Some(other)) if base == other => return Some((base, false)),
            (Some(base), Some(other)) => {
                return Some((format!("in the base {base}; in the other {other}"), false));
            }
            (Some(base), None) => return Some((format!("in the base {base}"), false)),
            // What was measured before and is no longer may be a regression.
            (None, Some(other)) => {
                let asked = self.other.is_some();
                return Some((format!("in the other {other}"), asked));
            }
            (None, None) => {}
        }
        let (base, other) = self.summaries()?;
        if base.unit != other.unit {
            let units = format!("measured in {}, in the base in {}", other.unit, base.unit);
            return Some((units, false));
        }
        match UnitKind::of(&base.unit) {
            UnitKind::Unknown => {
                Some((format!("nothing is known of the unit {}", base.unit), false))
            }
            UnitKind::Count => None,
            UnitKind::Time | UnitKind::Rate => {
                let zero =
                    [base, other].map(|side| side.values().iter().any(|value| *value <= 0.0));
                match zero {
                    [false, false] => None,
                    [true, true] => Some(("neither can be told from zero".into(), false)),
                    [true, false] => Some(("the base's cannot be told from zero".into(), true)),
                    [false, true] => Some(("the other's cannot be told from zero".into(), true)),
                }
            }
        }
    }

    /// The per-boot values, where times are judged; else nothing.
    fn times(&self) -> TimeRow {
        let judged = self.refused.is_empty() && self.obstacle().is_none();
        let Some((base, other)) = self.summaries().filter(|_| judged) else {
            return TimeRow::default();
        };
        let values = |summary: &Summary| -> Vec<(u32, f64)> {
            let boots = summary.boots.iter();
            match UnitKind::of(&summary.unit) {
                UnitKind::Time => boots.map(|boot| (boot.boot, boot.value)).collect(),
                UnitKind::Rate => boots.map(|boot| (boot.boot, 1.0 / boot.value)).collect(),
                UnitKind::Count | UnitKind::Unknown => Vec::new(),
            }
        };
        TimeRow {
            base: values(base),
            other: values(other),
        }
    }

    fn row(&self, time: Option<TimeVerdict>, thresholds: &Thresholds) -> RowComparison {
        let some = self.base.as_ref().or(self.other.as_ref());
        let value = |side: &Option<Side>| Some(side.as_ref()?.summary()?.value);
        let boots = |side: &Option<Side>| {
            let summary = side.as_ref().and_then(Side::summary);
            summary.map_or(0, |summary| summary.boots.len())
        };
        let both = self.summaries();
        let mut row = RowComparison {
            benchmark: some.map_or(String::new(), |side| side.row.benchmark.clone()),
            category: some.map_or(String::new(), |side| side.row.category.clone()),
            unit: both
                .filter(|(b, o)| b.unit == o.unit)
                .map(|(base, _)| base.unit.clone()),
            base: value(&self.base),
            other: value(&self.other),
            boots: [boots(&self.base), boots(&self.other)],
            exact: both.and_then(|(base, other)| Some(base.exact? && other.exact?)),
            verdict: None,
            refused: !self.refused.is_empty(),
            time: None,
            counts: None,
            why: None,
        };
        if row.refused {
            let fields: Vec<String> = self.refused.iter().map(Unlike::describe).collect();
            row.why = Some(format!("unlike {}", fields.join(", ")));
        } else if let Some((why, doubt)) = self.obstacle() {
            row.verdict = doubt.then_some(Verdict::Inconclusive);
            row.why = Some(why);
        } else if let Some(time) = time {
            row.verdict = Some(time.verdict);
            row.why = time.why.map(reason);
            row.time = Some(time_figures(&time));
        } else if let (Some(base), Some(other)) = (&self.base, &self.other) {
            let judged = judge_counts(&base.counts(), &other.counts(), thresholds.min_effect_insns);
            if let Some(judged) = judged {
                row.verdict = Some(judged.verdict);
                row.counts = Some(count_figures(&judged));
                row.why = Some(judged.finding);
            }
        }
        row
    }
}

fn time_figures(time: &TimeVerdict) -> TimeFigures {
    TimeFigures {
        ratio: time.ratio,
        ratio_low: time.interval.map(|interval| interval.low),
        ratio_high: time.interval.map(|interval| interval.high),
        p: time.p,
        p_suite: time.p_suite,
        draws: match time.method {
            Method::Exact => None,
            Method::MonteCarlo { draws } => Some(draws),
        },
        blocks: time.blocks,
        more_boots: match time.why {
            Some(Why::TooFewBoots { more }) => Some(more),
            Some(Why::TooNoisy { more }) => more,
            None => None,
        },
    }
}

fn count_figures(judged: &CountVerdict) -> CountFigures {
    CountFigures {
        added: judged.added,
        added_mean: judged.added_mean,
        band_base: judged.band_base,
        band_other: judged.band_other,
        identical: judged.identical,
    }
}

fn reason(why: Why) -> String {
    match why {
        Why::TooFewBoots { more } => {
            format!("too few boots for the significance: {more} more a side could reach it")
        }
        Why::TooNoisy { more: Some(more) } => {
            format!("too noisy: about {more} more boots a side would tell")
        }
        Why::TooNoisy { more: None } => {
            "too noisy, or at the edge of the minimum effect, for any sensible number of boots"
                .into()
        }
    }
}

/// A row counts as differing where its own test says so at 0.05, and on counts where it has a verdict
/// of better or worse. Sizes are of ratios, so that rows of all magnitudes weigh the same.
fn suite_reliability(rows: &[RowComparison]) -> Option<SuiteReliability> {
    let differences: Vec<f64> = rows
        .iter()
        .filter(|row| row.verdict.is_some())
        .filter_map(|row| match (&row.time, &row.counts) {
            (Some(time), _) if time.p > RELIABILITY_LEVEL => Some(0.0),
            (Some(time), _) => Some(time.ratio.ln()),
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

fn word(status: Status) -> &'static str {
    match status {
        Status::Ok => "no samples",
        Status::Skip => "skipped",
        Status::Fault => "fault",
        Status::Timeout => "timeout",
        Status::Died => "died",
        Status::Failed => "failed",
        Status::Lost => "lost",
        Status::Unreached => "unreached",
    }
}

#[cfg(test)]
#[path = "suite_tests.rs"]
mod tests;
