//! The operator between a count and a cost, which HyperBench leaves open (SIGMETRICS 2019, section
//! 6.2): is the cost linear in the count, or do many events cost less than as many single ones?
//!
//! The paper runs each benchmark with three iteration counts and looks at the cost of one operation,
//! normalized to that of the first count (its Fig. 5).

use crate::statistics::{Interval, bootstrap, drawn_median, median, sorted, trend};
use crate::summary::{REPLICATES, SEED};
use crate::unit::UnitKind;
use crate::verdict::Thresholds;
use schemars::JsonSchema;
use serde::Serialize;

/// Fewest counts, and on time fewest boots at each count.
const COUNTS: usize = 3;
const BOOTS: usize = 3;

/// The kinds of operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperatorKind {
    /// Multiplication: each operation costs the same.
    Linear,
    /// An operation among many costs less than an operation among few: they share some work.
    SubLinear,
    /// The data do not show the operator.
    NotDetermined,
}

impl OperatorKind {
    /// The name shown to users.
    pub fn word(self) -> &'static str {
        match self {
            OperatorKind::Linear => "linear",
            OperatorKind::SubLinear => "sub-linear (amortised)",
            OperatorKind::NotDetermined => "not determined",
        }
    }
}

/// The operator of a benchmark, with the points of Fig. 5.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Operator {
    /// The operator.
    pub kind: OperatorKind,
    /// Reason why the operator is not determined.
    pub why: Option<String>,
    /// The points, by ascending count.
    pub points: Vec<OperatorPoint>,
}

/// The cost of one operation at one iteration count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OperatorPoint {
    /// Operations in a batch.
    pub iterations: u64,
    /// The number of boots.
    pub boots: usize,
    /// The cost of one operation.
    pub cost: f64,
    /// The cost / that of the first point; null if the first point's cost is 0 or less.
    pub normalized: Option<f64>,
    /// The lower end of the interval of `normalized`, on time; null at the first point.
    pub low: Option<f64>,
    /// The upper end of that interval.
    pub high: Option<f64>,
}

/// Determines the operator from the boots' costs of one operation, by ascending iterations.
pub fn operator(kind: UnitKind, groups: &[(u64, Vec<f64>)], thresholds: &Thresholds) -> Operator {
    let points: Vec<OperatorPoint> = groups
        .iter()
        .enumerate()
        .filter_map(|(place, (iterations, costs))| {
            let (first, cost) = (median(&groups[0].1)?, median(costs)?);
            let interval = (kind != UnitKind::Count && place > 0)
                .then(|| interval(&groups[0].1, costs, thresholds))
                .flatten();
            Some(OperatorPoint {
                iterations: *iterations,
                boots: costs.len(),
                cost,
                normalized: (first > 0.0).then(|| cost / first),
                low: interval.map(|interval| interval.low),
                high: interval.map(|interval| interval.high),
            })
        })
        .collect();
    let found = if groups.len() < COUNTS {
        Err(format!(
            "needs results with {COUNTS} iteration counts (worldswitch run --iters N), and there are {}",
            groups.len()
        ))
    } else if kind == UnitKind::Count {
        of_counts(&points, thresholds)
    } else {
        of_times(&points, groups, thresholds)
    };
    let (kind, why) = match found {
        Ok(kind) => (kind, None),
        Err(why) => (OperatorKind::NotDetermined, Some(why)),
    };
    Operator { kind, why, points }
}

fn interval(first: &[f64], costs: &[f64], thresholds: &Thresholds) -> Option<Interval> {
    let (over, under) = (sorted(costs), sorted(first));
    let mut counts = Vec::new();
    bootstrap(SEED, 1.0 - thresholds.significance, REPLICATES, |rng| {
        let over = drawn_median(&over, rng, &mut counts)?;
        Some(over / drawn_median(&under, rng, &mut counts)?)
    })
}

/// Finds the operator on time: linear if every point's interval is within the minimum effect; sub-linear if the trend
/// falls and the last point is below that band.
fn of_times(
    points: &[OperatorPoint],
    groups: &[(u64, Vec<f64>)],
    thresholds: &Thresholds,
) -> Result<OperatorKind, String> {
    if let Some(few) = points.iter().find(|point| point.boots < BOOTS) {
        return Err(format!(
            "needs {BOOTS} boots at each number of iterations, but {} iterations have {}",
            few.iterations, few.boots
        ));
    }
    if groups
        .iter()
        .any(|(_, costs)| costs.iter().any(|cost| *cost <= 0.0))
    {
        return Err("the cost cannot be told from zero".into());
    }
    let (low, high) = (
        1.0 / (1.0 + thresholds.min_effect),
        1.0 + thresholds.min_effect,
    );
    let later = || points.iter().skip(1);
    if later().all(|p| p.low.is_some_and(|l| l >= low) && p.high.is_some_and(|h| h <= high)) {
        return Ok(OperatorKind::Linear);
    }
    let costs: Vec<Vec<f64>> = groups.iter().map(|(_, costs)| costs.clone()).collect();
    let last = points.last().and_then(|point| point.normalized);
    let (Some(trend), Some(last)) = (trend(&costs), last) else {
        return Err("there is nothing to test".into());
    };
    let trends = trend.p <= thresholds.significance;
    match () {
        _ if trends && trend.rise < 0.0 && last <= low => Ok(OperatorKind::SubLinear),
        _ if trends && trend.rise > 0.0 && last >= high => {
            Err("the cost of one operation rises with the count".into())
        }
        _ => Err("the boots scatter too much to tell".into()),
    }
}

/// Finds the operator on exact counts, where a point equals the first one within either minimum effect, in instructions
/// or relative.
fn of_counts(points: &[OperatorPoint], thresholds: &Thresholds) -> Result<OperatorKind, String> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Err("there is nothing to compare".into());
    };
    let equal = |point: &OperatorPoint| {
        let off = (point.cost - first.cost).abs();
        off < thresholds.min_effect_insns || off <= thresholds.min_effect * first.cost.abs()
    };
    if points.iter().all(equal) {
        return Ok(OperatorKind::Linear);
    }
    let falls = points.windows(2).all(|pair| match pair {
        [before, after] => after.cost <= before.cost,
        _ => true,
    });
    if falls && !equal(last) {
        return Ok(OperatorKind::SubLinear);
    }
    Err("the cost of one operation is neither constant nor falling with the count".into())
}

impl Operator {
    /// Returns the cost of one operation among `count`: linear interpolation of the logarithms between points, the
    /// nearest point's cost outside of them. `None` without points, or if a cost is not above 0.
    pub fn cost_among(&self, count: f64) -> Option<f64> {
        let place = |point: &OperatorPoint| (point.iterations as f64).ln();
        let at = count.max(1.0).ln();
        let (first, last) = (self.points.first()?, self.points.last()?);
        if self.points.iter().any(|point| point.cost <= 0.0) {
            return None;
        }
        if at <= place(first) {
            return Some(first.cost);
        }
        let pair = self.points.windows(2).find(|pair| at <= place(&pair[1]));
        let Some([before, after]) = pair else {
            return Some(last.cost);
        };
        let share = (at - place(before)) / (place(after) - place(before));
        Some((before.cost.ln() * (1.0 - share) + after.cost.ln() * share).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(cost: f64) -> Vec<f64> {
        [-0.004, 0.002, 0.0, 0.005, -0.001]
            .iter()
            .map(|off| cost * (1.0 + off))
            .collect()
    }

    fn found(kind: UnitKind, groups: &[(u64, Vec<f64>)]) -> Operator {
        operator(kind, groups, &Thresholds::default())
    }

    #[test]
    fn a_steady_cost_is_linear() {
        let groups = [
            (100, around(50.0)),
            (1000, around(50.3)),
            (10_000, around(49.8)),
        ];
        let found = found(UnitKind::Time, &groups);
        assert_eq!((found.kind, found.why), (OperatorKind::Linear, None));
        assert_eq!(found.points[0].normalized, Some(1.0));
        assert!((found.points[1].normalized.unwrap() - 50.3 / 50.0).abs() < 1e-9);
    }

    /// IN of QEMU in the paper: its cost fell to 0.4 of the first count's.
    #[test]
    fn a_cost_that_falls_is_amortised() {
        let groups = [
            (100, around(50.0)),
            (1000, around(30.0)),
            (10_000, around(20.0)),
        ];
        let found = found(UnitKind::Time, &groups);
        assert_eq!(found.kind, OperatorKind::SubLinear);
        assert!((found.points[2].normalized.unwrap() - 0.4).abs() < 1e-9);
        // 316 is half way between 100 and 1,000 in logarithms.
        assert_eq!(found.cost_among(10.0), Some(50.0));
        assert_eq!(found.cost_among(1e6), Some(20.0));
        assert!((found.cost_among(1000.0).unwrap() - 30.0).abs() < 1e-9);
        let between = found.cost_among(316.227_766).unwrap();
        assert!(
            (between - (50.0f64 * 30.0).sqrt()).abs() < 1e-6,
            "{between}"
        );
    }

    #[test]
    fn what_cannot_be_said_says_why() {
        let why = |groups: &[(u64, Vec<f64>)]| found(UnitKind::Time, groups).why.unwrap();
        assert!(why(&[(1, around(5.0))]).contains("there are 1"));
        assert!(why(&[(1, around(5.0)), (2, around(5.0)), (3, vec![5.0])]).contains("have 1"));
        assert!(why(&[(1, around(5.0)), (2, around(9.0)), (3, around(14.0))]).contains("rises"));
        let wild = vec![1.0, 9.0, 5.0, 3.0, 7.0];
        assert!(why(&[(1, wild.clone()), (2, wild.clone()), (3, wild)]).contains("scatter"));
        let zero = vec![0.0, 1.0, 2.0];
        assert!(why(&[(1, zero.clone()), (2, zero.clone()), (3, zero)]).contains("zero"));
    }

    #[test]
    fn counts_need_no_test() {
        let of = |costs: [f64; 3]| {
            let groups = [
                (1, vec![costs[0]]),
                (10, vec![costs[1]]),
                (100, vec![costs[2]]),
            ];
            found(UnitKind::Count, &groups).kind
        };
        assert_eq!(of([3022.0, 3022.0, 3025.5]), OperatorKind::Linear);
        assert_eq!(of([1.0, 1.0, 1.5]), OperatorKind::Linear);
        assert_eq!(of([3022.0, 900.0, 400.0]), OperatorKind::SubLinear);
        assert_eq!(of([3022.0, 400.0, 3022.0]), OperatorKind::NotDetermined);
    }
}
