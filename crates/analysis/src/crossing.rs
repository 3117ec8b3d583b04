//! Rows on time that cost nothing on one side and something on the other. Such a row has no ratio, and
//! its batches may differ in length just because its cost changed.
//!
//! What is compared instead is the loop with the operation, whose time is never zero, relative to the
//! loop without it, which takes out how fast the host was (docs/notebook/method-errors.md has the measured error rates).

use crate::boot::BootEstimate;
use crate::statistics::{lower_median, median};
use crate::summary::Summary;
use crate::times::TimeRow;
use crate::verdict::Verdict;

/// An operation that makes its loop longer by less than this fraction costs nothing.
const NOTHING: f64 = 0.05;

/// The side that costs something must cost more than so many times the other side.
const TIMES: f64 = 3.0;

/// With fewer boots a side than this, steps of the clock can hide all scatter.
const LEAST_BOOTS: usize = 5;

/// A boot's cost is at least its value minus so many standard errors, and at most its value plus as many.
const ERRORS: f64 = 3.0;

/// A row that costs nothing on one side and something on the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The loops' times, to be judged by [`crate::judge_times`] beside the other rows.
    pub row: TimeRow,
    /// Whether it is the base that costs nothing.
    pub grew: bool,
    /// How many more boots a side there must be for a verdict.
    pub more_boots: usize,
}

impl Crossing {
    /// The verdict, from that on the loops: worse or better if that goes the same way, else none.
    pub fn verdict(&self, loops: Verdict) -> Verdict {
        match (self.more_boots, self.grew, loops) {
            (0, true, Verdict::Worse) | (0, false, Verdict::Better) => loops,
            _ => Verdict::Inconclusive,
        }
    }
}

/// The row to judge if one side costs nothing and the other something; none otherwise.
///
/// - Nothing: it cannot be told from zero, or adds less than [`NOTHING`] to the loop without it.
/// - Something: neither, nor noise.
/// - The side that costs nothing has at least as many operations in its batches. Still, with their errors,
///   each batch of the other side costs more than [`TIMES`] times any of them.
pub fn crossing(base: &Summary, other: &Summary) -> Option<Crossing> {
    let is_nothing =
        |side: &Summary| side.is_near_zero() || usual(side, |boot| boot.loops) < 1.0 + NOTHING;
    let (less, more, grew) = match [base, other].map(is_nothing) {
        [true, false] => (base, other, true),
        [false, true] => (other, base, false),
        _ => return None,
    };
    let iterations = |side| usual(side, |boot| boot.iterations as f64);
    let most = less.boots.iter().map(|boot| batch(boot, ERRORS));
    let least = more.boots.iter().map(|boot| batch(boot, -ERRORS));
    let most = most.fold(0.0, f64::max);
    let is_apart = least.fold(f64::INFINITY, f64::min) > TIMES * most;
    let is_sound = !more.is_noisy() && iterations(less) >= iterations(more) && is_apart;
    let loops = |side: &Summary| side.boots.iter().map(|b| (b.boot, b.loops)).collect();
    is_sound.then(|| Crossing {
        row: TimeRow {
            base: loops(base),
            other: loops(other),
            by_itself: true,
        },
        grew,
        more_boots: LEAST_BOOTS.saturating_sub(base.boots.len().min(other.boots.len())),
    })
}

/// The usual value of a boot.
fn usual(side: &Summary, value: impl Fn(&BootEstimate) -> f64) -> f64 {
    let values: Vec<f64> = side.boots.iter().map(value).collect();
    lower_median(&values).unwrap_or(0.0)
}

/// The cost of a whole batch, with so many standard errors more.
fn batch(boot: &BootEstimate, errors: f64) -> f64 {
    (boot.value + errors * boot.error) * boot.iterations as f64
}

/// The time of a loop with the operation / without it; at least a tick each, so that it is above 0.
pub(crate) fn loops(run: &[u64], control: &[u64]) -> f64 {
    let middle = |ticks: &[u64]| {
        let ticks: Vec<f64> = ticks.iter().map(|&ticks| ticks as f64).collect();
        median(&ticks).unwrap_or(0.0).max(1.0)
    };
    middle(run) / middle(control)
}
