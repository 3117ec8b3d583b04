//! One benchmark's row in two results: whether it can be judged, and its comparison.

use crate::conditions::{Unlike, unlike};
use crate::counts::{CountVerdict, judge_counts};
use crate::statistics::{lower_median, rank_sum_p};
use crate::suite::{CountFigures, RowComparison, TimeFigures};
use crate::summary::Summary;
use crate::times::{TimeRow, TimeVerdict, Why};
use crate::unit::UnitKind;
use crate::verdict::{Thresholds, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use ws_results::{ResultFile, Row, Status};

/// One benchmark's row in both results.
pub(crate) struct Pair<'a> {
    base: Option<Side<'a>>,
    other: Option<Side<'a>>,
    /// Row conditions that differ and are allowed to.
    pub allowed: Vec<Unlike>,
    /// Row conditions that differ and are not allowed to.
    refused: Vec<Unlike>,
}

/// A row of a result.
struct Side<'a> {
    row: &'a Row,
    /// Absent if it has no valid figures.
    summary: Option<Summary>,
}

impl<'a> Side<'a> {
    fn of(name: &str, result: &'a ResultFile) -> Option<Self> {
        let row = result.row(name)?;
        Some(Side {
            row,
            summary: Summary::cost(row, &result.perturbed()),
        })
    }

    /// The row's conditions, plus the usual number of operations per batch: on time each boot chooses
    /// its own.
    fn conditions(&self) -> BTreeMap<String, Value> {
        let mut conditions = self.row.conditions.clone();
        // In I/O rows it is the number of completed requests, a measurement and not a condition.
        let timed = self.summary.as_ref().filter(|s| s.unit.ends_with("_ticks"));
        let most = timed.and_then(|summary| {
            let boots = summary.boots.iter();
            lower_median(&boots.map(|boot| boot.iterations as f64).collect::<Vec<_>>())
        });
        conditions.extend(most.map(|most| ("iterations".to_owned(), json!(most as u64))));
        conditions
    }
}

impl<'a> Pair<'a> {
    pub fn of(name: &str, base: &'a ResultFile, other: &'a ResultFile, allow: &[String]) -> Self {
        let (base, other) = (Side::of(name, base), Side::of(name, other));
        let differ = |allow: &[String]| match (&base, &other) {
            (Some(base), Some(other)) if base.summary.is_some() && other.summary.is_some() => {
                unlike(&other.conditions(), &base.conditions(), allow)
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
            self.base.as_ref()?.summary.as_ref()?,
            self.other.as_ref()?.summary.as_ref()?,
        ))
    }

    /// Why the row cannot be judged: the reason as text, and whether it counts as inconclusive.
    fn obstacle(&self) -> Option<(String, bool)> {
        let missing = |side: &Option<Side>| match side {
            None => Some("not selected".to_owned()),
            Some(side) if side.summary.is_none() => {
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
            // A row that is no longer measured may be a regression.
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
            UnitKind::Unknown => Some((format!("unknown unit {}", base.unit), false)),
            UnitKind::Count => None,
            UnitKind::Time | UnitKind::Rate => {
                let zero =
                    [base, other].map(|side| side.values().iter().any(|value| *value <= 0.0));
                let noisy = [base, other].map(Summary::is_noisy);
                match zero {
                    [false, false] => noise(noisy).map(|words| (words, true)),
                    [true, true] => Some(("neither can be told from zero".into(), false)),
                    [true, false] => Some(("the base's cannot be told from zero".into(), true)),
                    [false, true] => Some(("the other's cannot be told from zero".into(), true)),
                }
            }
        }
    }

    /// The per-boot values, if times are judged; else nothing.
    pub fn times(&self) -> TimeRow {
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

    pub fn row(&self, time: Option<TimeVerdict>, thresholds: &Thresholds) -> RowComparison {
        let some = self.base.as_ref().or(self.other.as_ref());
        let value = |side: &Option<Side>| Some(side.as_ref()?.summary.as_ref()?.value);
        let boots = |side: &Option<Side>| {
            let summary = side.as_ref().and_then(|side| side.summary.as_ref());
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
            row.why = Some(format!("different {}", fields.join(", ")));
        } else if let Some((why, doubt)) = self.obstacle() {
            row.verdict = doubt.then_some(Verdict::Inconclusive);
            row.why = Some(why);
        } else if let Some(time) = time {
            row.verdict = Some(time.verdict);
            row.why = reason(&time);
            row.time = Some(time_figures(&time, &self.times()));
        } else if let Some((base, other)) = both {
            let judged = judge_counts(base, other, thresholds.min_effect_insns);
            if let Some(judged) = judged {
                row.verdict = Some(judged.verdict);
                row.counts = Some(count_figures(&judged));
                row.why = Some(judged.finding);
            }
        }
        row
    }
}

/// Figures that only give an order of magnitude get no verdict. `noisy`: of base and other.
fn noise(noisy: [bool; 2]) -> Option<String> {
    let whose = match noisy {
        [false, false] => return None,
        [true, false] => "the base is",
        [false, true] => "the other is",
        [true, true] => "both are",
    };
    Some(format!(
        "too noisy to tell: {whose} noise (worldswitch doctor lists disturbances)"
    ))
}

fn time_figures(time: &TimeVerdict, values: &TimeRow) -> TimeFigures {
    let of = |side: &[(u32, f64)]| -> Vec<f64> { side.iter().map(|&(_, value)| value).collect() };
    TimeFigures {
        ratio: time.ratio.map(|ratio| ratio.value),
        ratio_low: time.ratio.map(|ratio| ratio.interval.low),
        ratio_high: time.ratio.map(|ratio| ratio.interval.high),
        scatter: time.scatter,
        rank_sum_p: rank_sum_p(&of(&values.base), &of(&values.other)),
        more_boots: match time.why {
            Some(Why::TooFewBoots { more }) => Some(more),
            Some(Why::Unsettled { more }) => more,
            Some(Why::TooNoisy) | None => None,
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

fn reason(time: &TimeVerdict) -> Option<String> {
    let Some(why) = time.why else {
        return time.with_all.then(|| "like the whole suite".to_owned());
    };
    Some(match why {
        Why::TooFewBoots { more } => {
            format!("too few boots to know their scatter: needs {more} more per side")
        }
        Why::TooNoisy => format!(
            "too noisy to tell: boots scatter by {:.1} %",
            100.0 * time.scatter
        ),
        Why::Unsettled { more: Some(more) } => {
            format!("not settled: needs about {more} more boots per side")
        }
        Why::Unsettled { more: None } => {
            "too close to the minimum effect for any practical number of boots".into()
        }
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
