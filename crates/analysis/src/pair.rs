//! The pair of one benchmark's rows in two results: whether it can be judged, and its comparison.

use crate::conditions::{Unlike, unlike};
use crate::counts::{CountVerdict, judge_counts};
use crate::crossing::{Crossing, crossing};
use crate::gap::GapKind;
use crate::statistics::{lower_median, rank_sum_p};
use crate::suite::{CountFigures, RowComparison, TimeFigures};
use crate::summary::Summary;
use crate::times::{TimeRow, TimeVerdict, Why};
use crate::unit::UnitKind;
use crate::verdict::{Thresholds, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use ws_results::{ResultFile, Row, Status};

/// Name of the condition that batches have equally many operations.
const ITERATIONS: &str = "iterations";

/// A benchmark's row in both results.
pub(crate) struct Pair<'a> {
    base: Option<Side<'a>>,
    other: Option<Side<'a>>,
    /// Row conditions that differ and are allowed to.
    pub allowed: Vec<Unlike>,
    /// Row conditions that differ and are not allowed to.
    refused: Vec<Unlike>,
    /// The loops to judge if the row cost nothing on one side and something on the other.
    crossing: Option<Crossing>,
}

/// Reason why a row is not judged.
struct Obstacle {
    why: String,
    /// Whether the obstacle is a doubt, which makes the row inconclusive.
    doubt: bool,
    /// Kind of the gap, if the base has figures and the other side has none that can be compared.
    gap: Option<GapKind>,
}

impl Obstacle {
    fn doubt(why: impl Into<String>) -> Self {
        Obstacle {
            why: why.into(),
            doubt: true,
            gap: None,
        }
    }

    fn none(why: impl Into<String>) -> Self {
        Obstacle {
            doubt: false,
            ..Self::doubt(why)
        }
    }

    fn gap(kind: GapKind, why: impl Into<String>) -> Self {
        Obstacle {
            gap: Some(kind),
            ..Self::doubt(why)
        }
    }
}

/// A row of a result.
struct Side<'a> {
    row: &'a Row,
    /// Absent if the row has no valid figures.
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

    /// Returns the row's conditions and the usual number of operations per batch: on time each boot chooses its own.
    fn conditions(&self) -> BTreeMap<String, Value> {
        let mut conditions = self.row.conditions.clone();
        // In I/O rows it is the number of completed requests, a measurement and not a condition.
        let timed = self.summary.as_ref().filter(|s| s.unit.ends_with("_ticks"));
        let most = timed.and_then(|summary| {
            let boots = summary.boots.iter();
            lower_median(&boots.map(|boot| boot.iterations as f64).collect::<Vec<_>>())
        });
        conditions.extend(most.map(|most| (ITERATIONS.to_owned(), json!(most as u64))));
        conditions
    }
}

impl<'a> Pair<'a> {
    pub fn of(name: &str, base: &'a ResultFile, other: &'a ResultFile, allow: &[String]) -> Self {
        let mut pair = Pair {
            base: Side::of(name, base),
            other: Side::of(name, other),
            allowed: Vec::new(),
            refused: Vec::new(),
            crossing: None,
        };
        let unlike_batches = |fields: &[Unlike]| fields.iter().any(|f| f.field == ITERATIONS);
        pair.refused = pair.unlike(allow);
        if let Some(both) = pair.summaries().filter(|both| have_one_unit(*both)) {
            let stuck = pair.zero_or_noise(both).is_some() || unlike_batches(&pair.refused);
            pair.crossing = stuck.then(|| crossing(both.0, both.1)).flatten();
        }
        if pair.crossing.is_some() {
            pair.refused.retain(|field| field.field != ITERATIONS);
        }
        pair.allowed = pair.unlike(&[]);
        pair.allowed.retain(|unlike| allow.contains(&unlike.field));
        pair
    }

    /// Lists the conditions of the row that differ, if both sides have figures of one unit.
    fn unlike(&self, allow: &[String]) -> Vec<Unlike> {
        match (&self.base, &self.other) {
            (Some(base), Some(other)) if self.summaries().is_some_and(have_one_unit) => {
                unlike(&other.conditions(), &base.conditions(), allow)
            }
            _ => Vec::new(),
        }
    }

    fn summaries(&self) -> Option<(&Summary, &Summary)> {
        Some((
            self.base.as_ref()?.summary.as_ref()?,
            self.other.as_ref()?.summary.as_ref()?,
        ))
    }

    /// Returns the reason why the row cannot be judged, whatever its conditions.
    fn obstacle(&self) -> Option<Obstacle> {
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
            (Some(base), Some(other)) if base == other => return Some(Obstacle::none(base)),
            (Some(base), Some(other)) => {
                let why = format!("in the base {base}; in the other {other}");
                return Some(Obstacle::none(why));
            }
            (Some(base), None) => return Some(Obstacle::none(format!("in the base {base}"))),
            // A row that is no longer measured may be a regression.
            (None, Some(other)) => {
                let kind = match self.other {
                    Some(_) => GapKind::NotMeasured,
                    None => GapKind::Missing,
                };
                return Some(Obstacle::gap(kind, format!("in the other {other}")));
            }
            (None, None) => {}
        }
        let both = self.summaries()?;
        let (base, other) = (&both.0.unit, &both.1.unit);
        if base != other {
            let units = format!("measured in {other}, in the base in {base}");
            return Some(Obstacle::gap(GapKind::Unit, units));
        }
        if UnitKind::of(base) == UnitKind::Unknown {
            let unknown = format!("unknown unit {base}");
            return Some(Obstacle::gap(GapKind::Unit, unknown));
        }
        match self.crossing {
            Some(_) => None,
            None => self.zero_or_noise(both),
        }
    }

    /// Returns an obstacle on time: a side cannot be told from zero, or is noise.
    fn zero_or_noise(&self, (base, other): (&Summary, &Summary)) -> Option<Obstacle> {
        if !matches!(UnitKind::of(&base.unit), UnitKind::Time | UnitKind::Rate) {
            return None;
        }
        let is_zero = |side: &Summary| {
            let below = side.boots.iter().any(|boot| boot.value <= 0.0);
            below || side.is_near_zero()
        };
        match [base, other].map(is_zero) {
            [false, false] => noise([base, other].map(Summary::is_noisy)).map(Obstacle::doubt),
            [true, true] => Some(Obstacle::none("neither cost can be told from zero")),
            [true, false] => Some(Obstacle::doubt("the base's cost cannot be told from zero")),
            [false, true] => Some(Obstacle::doubt("the other cost cannot be told from zero")),
        }
    }

    /// Returns the per-boot values, if times are judged; else nothing.
    pub fn times(&self) -> TimeRow {
        let judged = self.refused.is_empty() && self.obstacle().is_none();
        let Some((base, other)) = self.summaries().filter(|_| judged) else {
            return TimeRow::default();
        };
        if let Some(crossing) = &self.crossing {
            return crossing.row.clone();
        }
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
            by_itself: false,
        }
    }

    /// Returns the comparison of the row; `time` is the verdict on a row of times.
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
                .filter(|both| have_one_unit(*both))
                .map(|(base, _)| base.unit.clone()),
            base: value(&self.base),
            other: value(&self.other),
            boots: [boots(&self.base), boots(&self.other)],
            exact: both.and_then(|(base, other)| Some(base.exact? && other.exact?)),
            verdict: None,
            refused: !self.refused.is_empty(),
            gap: (!self.refused.is_empty()).then_some(GapKind::Conditions),
            time: None,
            counts: None,
            why: None,
        };
        // The order matters: unlike conditions allow no verdict, then a row without figures has none, then a row that
        // costs nothing on one side has no ratio.
        if row.refused {
            let fields: Vec<String> = self.refused.iter().map(Unlike::describe).collect();
            row.why = Some(format!("different {}", fields.join(", ")));
        } else if let Some(obstacle) = self.obstacle() {
            row.verdict = obstacle.doubt.then_some(Verdict::Inconclusive);
            row.gap = obstacle.gap;
            row.why = Some(obstacle.why);
        } else if let (Some(time), Some(crossing)) = (&time, &self.crossing) {
            row.verdict = Some(crossing.verdict(time.verdict));
            row.why = Some(crossed(crossing, time));
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

/// Describes a row that costs nothing on one side. Its figures have no ratio.
fn crossed(crossing: &Crossing, time: &TimeVerdict) -> String {
    match crossing.verdict(time.verdict) {
        Verdict::Worse => "cost nothing in the base".to_owned(),
        Verdict::Better => "costs nothing any more".to_owned(),
        Verdict::NoChange | Verdict::Inconclusive => {
            let side = if crossing.grew { "base" } else { "other" };
            let why = match crossing.more_boots {
                0 => {
                    reason(time).unwrap_or_else(|| "the time of its loop did not change".to_owned())
                }
                more => format!("too few boots: needs {more} more per side"),
            };
            format!("the {side} costs nothing; {why}")
        }
    }
}

/// Whether both sides have figures of the same unit.
fn have_one_unit((base, other): (&Summary, &Summary)) -> bool {
    base.unit == other.unit
}

/// Refuses a verdict to figures that only give an order of magnitude. `noisy`: of base and other.
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
        other => other.word(),
    }
}
