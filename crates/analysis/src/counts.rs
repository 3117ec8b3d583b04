//! Verdicts on instruction counts, from whole distributions of single operations and the band in which layout alone
//! moves them.
//!
//! Counts repeat exactly, so no statistical test is needed. But code and data may move in memory, and that alone
//! changes counts. Boots that were perturbed on purpose show how far each figure moves with the layout (its band). A
//! shift counts only outside of both sides' bands, or if each boot shifts by as much as the other side's boot of the same
//! perturbation.

use crate::boot::BootEstimate;
use crate::statistics::lower_median;
use crate::summary::Summary;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// Number of equal parts of the operations that are compared one by one. A slow path that a tenth of the operations
/// take is found; a path that fewer than a twentieth take shows in the mean only.
const PARTS: usize = 20;

/// The range of the measured values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Band {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

/// How the other side's distribution differs from the base's.
#[derive(Clone, Debug, PartialEq)]
pub struct CountVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// The other's mode - the base's, in instructions per operation.
    pub added: f64,
    /// The other's mean - the base's.
    pub added_mean: f64,
    /// The modes of the base's boots, perturbed ones included.
    pub band_base: Band,
    /// The modes of the other's boots, perturbed ones included.
    pub band_other: Band,
    /// Whether all boots of both sides, perturbed ones aside, have the same distribution.
    pub identical: bool,
    /// The finding, as text: `1 instruction more`.
    pub finding: String,
}

/// A figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    Mode,
    Mean,
    /// Cost that this many twentieths of the operations do not exceed.
    Part(usize),
}

/// The shift of a figure between the sides.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shift {
    /// None, or less than the minimum effect.
    Same,
    /// The shift between the unperturbed boots; the bands do not overlap, or all boots shift alike.
    Outside(f64),
    /// Some shift, but the bands overlap or are not known.
    Inside,
}

/// Judges a row on counts. `None` if a side has no histograms.
pub fn judge_counts(base: &Summary, other: &Summary, min_effect: f64) -> Option<CountVerdict> {
    let figures: Vec<Figure> = [Figure::Mode, Figure::Mean]
        .into_iter()
        .chain((1..PARTS).map(Figure::Part))
        .collect();
    let perturbed = [base, other].map(|side| !side.perturbed.is_empty());
    let banded = perturbed == [true, true];
    let sides = |figure| Some((base.figure(figure)?, other.figure(figure)?));
    let shifts: Vec<(Figure, Shift)> = figures
        .iter()
        .map(|&figure| {
            let (base, other) = sides(figure)?;
            Some((figure, shift(&base, &other, banded, min_effect)))
        })
        .collect::<Option<_>>()?;
    let ((base_mode, other_mode), (base_mean, other_mean)) =
        (sides(Figure::Mode)?, sides(Figure::Mean)?);
    // The same samples need no band. Any other shift counts only outside of both bands.
    let identical = base.is_same(other);
    let (verdict, finding) = if identical {
        (Verdict::NoChange, "exactly the same".to_owned())
    } else {
        conclude(&shifts, perturbed)
    };
    Some(CountVerdict {
        verdict,
        added: other_mode.value - base_mode.value,
        added_mean: other_mean.value - base_mean.value,
        band_base: base_mode.band,
        band_other: other_mode.band,
        identical,
        finding,
    })
}

/// A figure on one side.
struct Seen {
    /// The lower median of the unperturbed boots, as [`Summary::value`]: the figure of a real boot, and
    /// the one in tables.
    value: f64,
    /// The range over the unperturbed boots.
    own: Band,
    /// The range over all boots.
    band: Band,
    /// The figures of the perturbed boots. The n-th has the n-th perturbation, on any side.
    perturbed: Vec<f64>,
}

/// Fewest perturbed boots for shifts to be compared by perturbation.
const PAIRS: usize = 2;

impl Seen {
    /// Whether all boots shift by the same number to the other side, each pair with the same perturbation. Layout moves
    /// each perturbed boot by another number.
    fn shifts_alike(&self, other: &Self) -> bool {
        let is_point = |seen: &Self| seen.own.low == seen.own.high;
        let by = other.value - self.value;
        is_point(self)
            && is_point(other)
            && self.perturbed.len() == other.perturbed.len()
            && self.perturbed.len() >= PAIRS
            && self
                .perturbed
                .iter()
                .zip(&other.perturbed)
                .all(|(base, other)| other - base == by)
    }
}

impl Summary {
    fn figure(&self, figure: Figure) -> Option<Seen> {
        let of = |boots: &[BootEstimate]| -> Option<Vec<f64>> {
            boots.iter().map(|boot| figure.of(boot)).collect()
        };
        let own = of(&self.boots)?;
        let perturbed = of(&self.perturbed)?;
        let all = [own.clone(), perturbed.clone()].concat();
        Some(Seen {
            value: lower_median(&own)?,
            own: band(&own)?,
            band: band(&all)?,
            perturbed,
        })
    }

    /// Whether all unperturbed boots of both sides have the same distribution.
    fn is_same(&self, other: &Summary) -> bool {
        let mut all = self.boots.iter().chain(&other.boots);
        let first = all.next();
        first.is_some_and(|first| all.all(|boot| boot.histogram == first.histogram))
    }
}

impl Figure {
    fn of(self, boot: &BootEstimate) -> Option<f64> {
        let histogram = boot.histogram.as_ref()?;
        match self {
            Figure::Mode => Some(boot.value),
            Figure::Mean => Some(boot.mean),
            Figure::Part(part) => {
                // The least cost that part / PARTS of the operations do not exceed, in integers.
                let all: u64 = histogram.bars.iter().map(|(_, count)| count).sum();
                let wanted = (u128::from(all) * part as u128).div_ceil(PARTS as u128);
                let mut seen = 0u128;
                let mut bars = histogram.bars.iter();
                let bar = bars.find(|(_, count)| {
                    seen += u128::from(*count);
                    seen >= wanted
                });
                bar.map(|(cost, _)| cost.value())
            }
        }
    }
}

fn shift(base: &Seen, other: &Seen, banded: bool, min_effect: f64) -> Shift {
    // Equal figures are the same even with a minimum of 0.
    let min_effect = min_effect.max(f64::MIN_POSITIVE);
    let farthest = (other.own.high - base.own.low).max(base.own.high - other.own.low);
    if farthest < min_effect {
        return Shift::Same;
    }
    let above = other.band.low - base.band.high;
    let below = base.band.low - other.band.high;
    if banded && (above.max(below) >= min_effect || base.shifts_alike(other)) {
        Shift::Outside(other.value - base.value)
    } else {
        Shift::Inside
    }
}

/// Draws the verdict from all figures. `perturbed`: whether base and other have perturbed boots. The finding names the
/// mode first, which is the typical cost, then the parts, then the mean.
fn conclude(shifts: &[(Figure, Shift)], perturbed: [bool; 2]) -> (Verdict, String) {
    let outside = |figure: &Figure, shift: &Shift| match shift {
        Shift::Outside(by) => Some((*figure, *by)),
        _ => None,
    };
    let found: Vec<(Figure, f64)> = shifts.iter().filter_map(|(f, s)| outside(f, s)).collect();
    let costlier: Vec<_> = found.iter().filter(|(_, by)| *by > 0.0).collect();
    let cheaper: Vec<_> = found.iter().filter(|(_, by)| *by < 0.0).collect();
    let moved = |figure: Figure| {
        shifts
            .iter()
            .any(|(f, s)| *f == figure && *s != Shift::Same)
    };
    if found.is_empty() {
        let typical = |figure: &Figure| !matches!(figure, Figure::Mean);
        if shifts.iter().all(|(f, s)| !typical(f) || *s == Shift::Same) {
            return (Verdict::NoChange, rarely(moved(Figure::Mean)));
        }
        let why = match perturbed {
            [true, true] => "the shift is inside the band that layout alone causes",
            [false, true] => {
                "the base did not test how much code layout moves it: repeat the base with --perturb 1"
            }
            [true, false] => {
                "this run did not test how much code layout moves it: repeat this run with --perturb 1"
            }
            [false, false] => {
                "neither run tested how much code layout moves it: repeat both with --perturb 1"
            }
        };
        return (Verdict::Inconclusive, why.to_owned());
    }
    // Some operations cost more and others less: only the mean can decide.
    if !costlier.is_empty() && !cheaper.is_empty() {
        let mean = found.iter().find(|(figure, _)| *figure == Figure::Mean);
        let verdict = match mean {
            Some((_, by)) if *by > 0.0 => Verdict::Worse,
            Some(_) => Verdict::Better,
            None => Verdict::Inconclusive,
        };
        return (verdict, "some operations cost more, others less".into());
    }
    let (verdict, one_way) = if costlier.is_empty() {
        (Verdict::Better, cheaper)
    } else {
        (Verdict::Worse, costlier)
    };
    (verdict, describe(&one_way))
}

fn rarely(moved: bool) -> String {
    match moved {
        true => "fewer than one operation in twenty differ, and not beyond the band".into(),
        false => "no operation differs by the minimum effect".into(),
    }
}

/// Describes shifts that all go the same way.
fn describe(shifts: &[&(Figure, f64)]) -> String {
    let more = |by: f64| if by > 0.0 { "more" } else { "fewer" };
    let of = |figure: Figure| shifts.iter().find(|(f, _)| *f == figure).map(|(_, by)| *by);
    if let Some(by) = of(Figure::Mode) {
        return format!("{} {}", instructions(by.abs()), more(by));
    }
    let parts: Vec<f64> = shifts
        .iter()
        .filter(|(figure, _)| matches!(figure, Figure::Part(_)))
        .map(|(_, by)| *by)
        .collect();
    let most = |a: f64, b: f64| if a.abs() >= b.abs() { a } else { b };
    if let Some(by) = parts.iter().copied().reduce(most) {
        let share = parts.len() * 100 / PARTS;
        let by_most = instructions(by.abs());
        return format!(
            "a path that about {share} % of the operations take: up to {by_most} {} there, usual cost unchanged",
            more(by)
        );
    }
    let by = of(Figure::Mean).unwrap_or_default();
    format!(
        "rare operations: {} {} in the mean, usual cost unchanged",
        instructions(by.abs()),
        more(by)
    )
}

/// Writes a count: `1 instruction`, `12 instructions`, `2.5 instructions`.
pub fn instructions(count: f64) -> String {
    let shown = (count * 1000.0).round() / 1000.0;
    let ending = if shown == 1.0 { "" } else { "s" };
    format!("{shown} instruction{ending}")
}

fn band(values: &[f64]) -> Option<Band> {
    Some(Band {
        low: values.iter().copied().reduce(f64::min)?,
        high: values.iter().copied().reduce(f64::max)?,
    })
}

#[cfg(test)]
#[path = "counts_tests.rs"]
mod tests;
