//! Rows on time that cost nothing on one side and something on the other. Such a row has no ratio, and
//! its batches may differ in length just because its cost changed.
//!
//! The comparison takes the loop with the operation instead, whose time is never zero, relative to the loop without it.
//! That ratio takes out how fast the host was (docs/notebook/method-errors.md has the measured error rates).

use crate::boot::BootEstimate;
use crate::statistics::{lower_median, median};
use crate::summary::Summary;
use crate::times::TimeRow;
use crate::verdict::Verdict;

/// An operation that makes its loop longer by less than this fraction costs nothing.
const NOTHING: f64 = 0.05;

/// Factor by which the side that costs something must cost more than the other side.
const TIMES: f64 = 3.0;

/// Fewest boots per side for a verdict: with fewer, steps of the clock can hide all scatter.
const LEAST_BOOTS: usize = 5;

/// Standard errors between a boot's value and the bounds of its cost, below and above.
const ERRORS: f64 = 3.0;

/// A row that costs nothing on one side and something on the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The loops' times, to be judged by [`crate::judge_times`] beside the other rows.
    pub row: TimeRow,
    /// Whether the base is the side that costs nothing.
    pub grew: bool,
    /// Boots per side that are missing for a verdict.
    pub more_boots: usize,
}

impl Crossing {
    /// Derives the verdict from the verdict on the loops: worse or better if that agrees with the cost, else
    /// inconclusive.
    pub fn verdict(&self, loops: Verdict) -> Verdict {
        match (self.more_boots, self.grew, loops) {
            (0, true, Verdict::Worse) | (0, false, Verdict::Better) => loops,
            _ => Verdict::Inconclusive,
        }
    }
}

/// Returns the row to judge if one side costs nothing and the other something; none otherwise.
///
/// - Nothing: the cost cannot be told from zero, or the operation adds less than [`NOTHING`] to its loop.
/// - Something: the cost is not nothing, and no noise.
/// - The side that costs nothing has at least as many operations in its batches. Still, with their errors, each
///   batch of the other side costs more than [`TIMES`] times any of them.
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

/// Returns the usual value over the boots: the lower median.
fn usual(side: &Summary, value: impl Fn(&BootEstimate) -> f64) -> f64 {
    let values: Vec<f64> = side.boots.iter().map(value).collect();
    lower_median(&values).unwrap_or(0.0)
}

/// Cost of a whole batch, with so many standard errors more.
fn batch(boot: &BootEstimate, errors: f64) -> f64 {
    (boot.value + errors * boot.error) * boot.iterations as f64
}

/// Time of a loop with the operation / time of the loop without it. Each is at least a tick, so the ratio is above 0.
pub(crate) fn loops(run: &[u64], control: &[u64]) -> f64 {
    let middle = |ticks: &[u64]| {
        let ticks: Vec<f64> = ticks.iter().map(|&ticks| ticks as f64).collect();
        median(&ticks).unwrap_or(0.0).max(1.0)
    };
    middle(run) / middle(control)
}
