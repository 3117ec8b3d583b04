//! Verdicts on units of time: a row's shift relative to the rest of its suite, the shift of the suite
//! as a whole, and the intervals of both.
//!
//! `docs/method.md` has the assumptions and the source of each step.

use crate::course::{Course, Sides};
use crate::statistics::{Estimate, Interval, difference, midmean, student_quantile};
use crate::verdict::{MAX_BOOTS, Thresholds, Verdict};

/// Scatter of a side's boots (deviation as a fraction) above which a row is too noisy for "no change". Such a row is
/// better or worse only if the two sides' values do not overlap. It has modes that may last for many boots, so tests
/// that treat boots as independent are not safe.
pub const NOISY: f64 = 0.03;

/// [`NOISY`] as a fraction of the minimum effect, if that is more.
const NOISY_OF_EFFECT: f64 = 0.6;

/// The shift of the whole suite that a host may cause between two separate runs; more boots within the runs do not
/// reduce it. A logarithm; a smaller shift is never called better or worse.
const BETWEEN_RUNS: f64 = 0.06;

/// Fraction of the significance that is spent on whether the whole suite moved.
const FOR_ALL: f64 = 0.25;

/// Factor of scatter above which a row does not follow the others: its boots' scatter relative to the others, divided
/// by their scatter alone.
const FOLLOWS: f64 = 1.25;

/// The fewest boots per side from which scatter is estimated.
const LEAST_BOOTS: usize = 3;

/// Values of one row on both sides: boot numbers and costs. All values are above 0, and more is worse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeRow {
    /// The base's values.
    pub base: Vec<(u32, f64)>,
    /// The other's values.
    pub other: Vec<(u32, f64)>,
    /// Whether the values do not depend on how fast the host was. The other rows are then not subtracted from this one,
    /// nor this one from them.
    pub by_itself: bool,
}

/// The verdicts of a suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimesJudged {
    /// Verdicts on the rows; `None` if a side has no boots.
    pub rows: Vec<Option<TimeVerdict>>,
    /// The shift of the median row. `None` with few rows.
    pub together: Option<Ratio>,
}

/// Ratio of the other's cost to the base's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// Interval of the ratio. The intervals of all rows, and that of their common shift, hold simultaneously with
    /// confidence 1 - significance.
    pub interval: Interval,
}

/// The verdict on a row, with its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Reason why the row is inconclusive.
    pub why: Option<Why>,
    /// The ratio of the boots' trimmed means; `None` with fewer than two boots on a side.
    pub ratio: Option<Ratio>,
    /// The scatter of the boots, of the side that scatters more: deviation as a fraction.
    pub scatter: f64,
    /// Whether the row is better or worse only because the whole suite is, not relative to it.
    pub with_all: bool,
}

/// Reasons why a row is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// Too few boots to estimate their scatter.
    TooFewBoots {
        /// Boots per side that are missing.
        more: usize,
    },
    /// The boots scatter by more than [`NOISY`].
    TooNoisy,
    /// The boots do not scatter so much, but the shift is close to the minimum effect, or the boots are too few.
    Unsettled {
        /// Boots per side that would settle the row, about, nine times in ten; `None` if even [`MAX_BOOTS`] would not.
        more: Option<usize>,
    },
}

/// Judges the rows of one suite together. `interleaved`: the boots of both sides took turns, boots with the same number
/// right after each other.
pub fn judge_times(rows: &[TimeRow], interleaved: bool, thresholds: &Thresholds) -> TimesJudged {
    let sides: Vec<Option<Sides>> = rows.iter().map(Sides::of).collect();
    let with_others = rows.iter().zip(&sides).filter(|(row, _)| !row.by_itself);
    let course = Course::of(with_others.filter_map(|(_, sides)| sides.as_ref()));
    let measured = sides.iter().flatten().count().max(1) as f64;
    let together = together(&course.middle(), interleaved, thresholds);
    let for_rows = match together {
        Some(_) => thresholds.significance * (1.0 - FOR_ALL),
        None => thresholds.significance,
    };
    let judge = Judge {
        thresholds,
        interleaved,
        level: for_rows / measured,
        together,
    };
    let verdict = |(row, sides): (&TimeRow, &Option<Sides>)| {
        let sides = sides.as_ref()?;
        let beside = (!row.by_itself).then(|| course.without(sides)).flatten();
        Some(judge.row(sides, beside))
    };
    TimesJudged {
        rows: rows.iter().zip(&sides).map(verdict).collect(),
        together: together.map(|shift| shift.ratio()),
    }
}

/// A shift between the sides, in logarithms, with the half-width of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shift {
    estimate: Estimate,
    limit: f64,
}

impl Shift {
    /// Makes a shift with an interval at the two-sided `level`.
    fn of(estimate: Estimate, level: f64) -> Self {
        Shift {
            estimate,
            limit: student_quantile(level, estimate.df) * estimate.error,
        }
    }

    fn ratio(&self) -> Ratio {
        let at = |log: f64| (self.estimate.value + log).exp();
        Ratio {
            value: at(0.0),
            interval: Interval {
                low: at(-self.limit),
                high: at(self.limit),
            },
        }
    }
}

/// Estimates the other side - the base. `in_pairs`: boots of one number saw the host in the same state.
fn shift(sides: &Sides, in_pairs: bool) -> Option<Estimate> {
    let pairs: Vec<f64> = sides
        .base
        .iter()
        .filter_map(|(boot, base)| Some(sides.other.get(boot)? - base))
        .collect();
    if in_pairs && pairs.len() >= LEAST_BOOTS {
        return midmean(&pairs);
    }
    let (base, other) = sides.values();
    Some(difference(&midmean(&base)?, &midmean(&other)?))
}

fn together(middle: &Sides, interleaved: bool, thresholds: &Thresholds) -> Option<Shift> {
    let estimate = shift(middle, interleaved)?;
    Some(Shift::of(estimate, thresholds.significance * FOR_ALL))
}

struct Judge<'a> {
    thresholds: &'a Thresholds,
    interleaved: bool,
    /// The level for each row's own shift.
    level: f64,
    together: Option<Shift>,
}

impl Judge<'_> {
    /// Judges a row. `beside`: the row relative to the others.
    fn row(&self, sides: &Sides, beside: Option<Sides>) -> TimeVerdict {
        let scatter = sides.scatter();
        let boots = sides.base.len().min(sides.other.len());
        let inconclusive = |why, ratio| TimeVerdict {
            verdict: Verdict::Inconclusive,
            why: Some(why),
            ratio,
            scatter,
            with_all: false,
        };
        // The common course is subtracted unless that increases the scatter: not every row follows the
        // host.
        let calmer = |beside: &Sides| beside.scatter() <= FOLLOWS * sides.scatter();
        let follows = beside.filter(calmer).zip(self.together);
        let (own, all) = match &follows {
            Some((beside, all)) => (shift(beside, false), Some(*all)),
            None => (
                shift(sides, self.interleaved && self.together.is_none()),
                None,
            ),
        };
        let few = Why::TooFewBoots {
            more: LEAST_BOOTS.saturating_sub(boots),
        };
        let Some(own) = own.map(|own| Shift::of(own, self.level)) else {
            return inconclusive(few, None);
        };
        let total = add(&own, all.as_ref());
        if boots < LEAST_BOOTS {
            return inconclusive(few, Some(total.ratio()));
        }
        let found = Found {
            own,
            all,
            total,
            quiet: scatter.min(follows.map_or(scatter, |(beside, _)| beside.scatter()))
                < self.noisy(),
            disjoint: sides.are_disjoint(),
        };
        if let Some((verdict, with_all)) = self.differs(&found) {
            return TimeVerdict {
                verdict,
                why: None,
                ratio: Some(total.ratio()),
                scatter,
                with_all,
            };
        }
        let band = self.thresholds.min_effect.ln_1p();
        if scatter >= self.noisy() {
            return inconclusive(Why::TooNoisy, Some(total.ratio()));
        }
        if total.estimate.value.abs() + total.limit <= band {
            return TimeVerdict {
                verdict: Verdict::NoChange,
                why: None,
                ratio: Some(total.ratio()),
                scatter,
                with_all: false,
            };
        }
        let more = more_boots(&total, boots, band);
        inconclusive(Why::Unsettled { more }, Some(total.ratio()))
    }

    fn noisy(&self) -> f64 {
        NOISY.max(NOISY_OF_EFFECT * self.thresholds.min_effect)
    }

    /// Decides whether a row is better or worse, and whether only because the whole suite is.
    fn differs(&self, found: &Found) -> Option<(Verdict, bool)> {
        let band = self.thresholds.min_effect.ln_1p();
        // A change of the host between two runs shows in the common shift of all rows.
        let between = if self.interleaved { 0.0 } else { BETWEEN_RUNS };
        let unseen = if self.together.is_none() {
            between
        } else {
            0.0
        };
        let (own, total) = (found.own.estimate.value, found.total.estimate.value);
        if !found.quiet && !found.disjoint {
            return None;
        }
        for (sign, verdict) in [(1.0, Verdict::Worse), (-1.0, Verdict::Better)] {
            // Relative to the others, unless the others moved as far the other way: then either may have moved.
            let alone = sign * own > found.own.limit.hypot(unseen)
                && sign * own >= band
                && sign * total >= band / 2.0;
            let with_all = found.all.is_some_and(|all| {
                let limit = all.limit.hypot(between);
                sign * all.estimate.value > limit
                    && sign * total >= band
                    && sign * total > limit.hypot(found.own.limit)
            });
            if alone || with_all {
                return Some((verdict, !alone));
            }
        }
        None
    }
}

/// The shifts of a row and its suite.
struct Found {
    own: Shift,
    /// Absent if the row does not follow the others.
    all: Option<Shift>,
    total: Shift,
    /// Whether the boots scatter little, by themselves or relative to the others.
    quiet: bool,
    disjoint: bool,
}

/// Adds a row's own shift and the suite's: limits of independent shifts add in quadrature (Zou and Donner,
/// "Construction of Confidence Limits about Effect Measures", Statistics in Medicine 27, 2008).
fn add(own: &Shift, all: Option<&Shift>) -> Shift {
    let Some(all) = all else { return *own };
    Shift {
        estimate: Estimate {
            value: own.estimate.value + all.estimate.value,
            error: own.estimate.error.hypot(all.estimate.error),
            df: own.estimate.df.min(all.estimate.df),
        },
        limit: own.limit.hypot(all.limit),
    }
}

/// Estimates how many more boots per side would settle the row if they scatter as before. The interval is then, nine
/// times in ten, so narrow that it excludes 0 or lies within the band.
fn more_boots(total: &Shift, boots: usize, band: f64) -> Option<usize> {
    let shift = total.estimate.value.abs();
    let distance = if shift >= band { shift } else { band - shift };
    // One-sided 0.1 is two-sided 0.2.
    let needed = total.limit + student_quantile(0.2, total.estimate.df) * total.estimate.error;
    let times = (needed / distance).powi(2);
    let boots = boots as f64;
    let more = (boots * times - boots).max(boots / 2.0).ceil();
    (boots + more <= MAX_BOOTS as f64).then_some(more as usize)
}

#[cfg(test)]
#[path = "times_tests.rs"]
mod tests;
