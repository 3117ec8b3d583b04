//! Verdicts on units of time: what a row did beside the rest of its suite, what the suite did as a
//! whole, and how sure both are.
//!
//! What each step assumes, and where it is from, stands in `docs/method.md`.

use crate::course::{Course, Sides};
use crate::verdict::{MAX_BOOTS, Thresholds, Verdict};
use crate::statistics::{Estimate, Interval, difference, midmean, student_quantile};

/// A side whose boots scatter by more than this, their deviation as a fraction, is too
/// noisy for "no change", and for more only where the two sides' values do not meet: such rows have
/// modes that may last for many boots, and no test that counts boots as independent is safe there.
pub const NOISY: f64 = 0.03;

/// The same as a part of the minimum effect, where that is more.
const NOISY_OF_EFFECT: f64 = 0.6;

/// Two runs apart: how far a host moved between them, as all rows show it together, which no number of
/// boots within either run tells. A logarithm; less than this is never called better or worse.
const BETWEEN_RUNS: f64 = 0.06;

/// Of the significance, the part that is spent on the one question whether the whole suite moved.
const FOR_ALL: f64 = 0.25;

/// A row whose boots scatter beside the others by more than so many times what they do by themselves
/// does not follow them.
const FOLLOWS: f64 = 1.25;

/// Fewer boots a side than this tell nothing of their scatter.
const LEAST_BOOTS: usize = 3;

/// One row's values on both sides: a boot's number, and what it costs by that boot. All values are
/// above 0, and more is worse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeRow {
    /// The base's.
    pub base: Vec<(u32, f64)>,
    /// The other's.
    pub other: Vec<(u32, f64)>,
}

/// What was found of a suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimesJudged {
    /// One for each row; `None` where a side has no boots.
    pub rows: Vec<Option<TimeVerdict>>,
    /// What the middle row did. `None` of few rows.
    pub together: Option<Ratio>,
}

/// The other's cost over the base's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// Where it lies. The intervals of all rows, and of what they did together, hold at once with a
    /// confidence of 1 less the significance.
    pub interval: Interval,
}

/// What is known of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is inconclusive.
    pub why: Option<Why>,
    /// Of the middles of the boots; `None` of fewer than two on a side.
    pub ratio: Option<Ratio>,
    /// How the boots of the side that scatters more do: their deviation, as a fraction.
    pub scatter: f64,
    /// Better or worse because the whole suite is, and not beside it.
    pub with_all: bool,
}

/// Why a row is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// So few boots tell nothing of their scatter.
    TooFewBoots {
        /// More boots a side that do.
        more: usize,
    },
    /// The boots scatter by more than [`NOISY`].
    TooNoisy,
    /// They do not, but what there is lies at the edge of the minimum effect, or they are too few.
    Unsettled {
        /// About so many more boots a side would tell, nine times in ten; `None` where even
        /// [`MAX_BOOTS`] would not.
        more: Option<usize>,
    },
}

/// Judges the rows of one suite together. `interleaved`: the boots of both sides took turns, and
/// those of one number stood next to each other.
pub fn judge_times(rows: &[TimeRow], interleaved: bool, thresholds: &Thresholds) -> TimesJudged {
    let sides: Vec<Option<Sides>> = rows.iter().map(Sides::of).collect();
    let course = Course::of(&sides);
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
    let verdict = |sides: &Sides| judge.row(sides, course.without(sides));
    TimesJudged {
        rows: sides
            .iter()
            .map(|sides| sides.as_ref().map(verdict))
            .collect(),
        together: together.map(|shift| shift.ratio()),
    }
}

/// A shift between the sides, in logarithms, and how far from the truth it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shift {
    estimate: Estimate,
    limit: f64,
}

impl Shift {
    /// At a two-sided level.
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

/// The other side less the base. Boots that stood next to each other had the same host.
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
    /// For each row's own shift.
    level: f64,
    together: Option<Shift>,
}

impl Judge<'_> {
    /// `beside`: the row without what the others did.
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
        // Taken out unless that makes its boots agree less: not every row follows the host.
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

    /// Better or worse, and whether as the whole suite is.
    fn differs(&self, found: &Found) -> Option<(Verdict, bool)> {
        let band = self.thresholds.min_effect.ln_1p();
        // What may have happened to the host between two runs is in all rows together.
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
            // Beside the others; but if the others moved the other way as far, nobody knows which did.
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

/// What a row and its suite did.
struct Found {
    own: Shift,
    /// Absent where the row does not follow the others.
    all: Option<Shift>,
    total: Shift,
    /// Whether boots scatter little, by themselves or beside the others.
    quiet: bool,
    disjoint: bool,
}

/// Both together: limits of independent shifts add like the sides of a right triangle (Zou and
/// Donner, "Construction of Confidence Limits about Effect Measures", Statistics in Medicine 27, 2008).
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

/// About how many more boots a side would end the doubt, if boots go on as they did: until the limit
/// is so narrow, nine times in ten, that it leaves 0 or stays within the band.
fn more_boots(total: &Shift, boots: usize, band: f64) -> Option<usize> {
    let shift = total.estimate.value.abs();
    let distance = if shift >= band { shift } else { band - shift };
    // One side of 0.1 is 0.2 to both.
    let needed = total.limit + student_quantile(0.2, total.estimate.df) * total.estimate.error;
    let times = (needed / distance).powi(2);
    let boots = boots as f64;
    let more = (boots * times - boots).max(boots / 2.0).ceil();
    (boots + more <= MAX_BOOTS as f64).then_some(more as usize)
}

#[cfg(test)]
#[path = "times_tests.rs"]
mod tests;
