//! How figures moved over kernels: for each machine and benchmark a line over its kernels in their order.
//!
//! On time the hosts of one kind are taken together. A step from one kernel to the next is the median over the hosts
//! that measured both, so a kernel that only a faster host measured makes no step. A line says that figures moved, and
//! where. A verdict needs the samples: [`crate::compare_results`].

use crate::boot::OF_MEDIAN;
use crate::{HostKind, Thresholds, UnitKind, median};
use std::collections::{BTreeMap, BTreeSet};

/// A figure of a run of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendPoint {
    /// The platform without its kernel.
    pub machine: String,
    /// Host, on time; else empty.
    pub host: String,
    /// The kernel.
    pub kernel: String,
    /// The run's number.
    pub run: i64,
    /// The benchmark.
    pub benchmark: String,
    /// The unit of `value`.
    pub unit: String,
    /// The cost of one operation.
    pub value: f64,
}

/// The benchmarks of one machine over kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Trends {
    /// The platform without its kernel.
    pub machine: String,
    /// The unit of all values.
    pub unit: String,
    /// Hosts on time, all of one kind; else none.
    pub hosts: Vec<String>,
    /// The kernels that were measured, in their order.
    pub kernels: Vec<String>,
    /// The lines that moved, the farthest first.
    pub moved: Vec<Trend>,
    /// Number of lines that did not move.
    pub still: usize,
    /// Number of benchmarks whose times can't be told from zero.
    pub near_zero: usize,
}

/// A benchmark over kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// The benchmark.
    pub benchmark: String,
    /// Levels on the kernels that measured the benchmark, in their order; at least two.
    pub levels: Vec<Level>,
    /// Distance from the least to the greatest level: on time the logarithm of their ratio.
    pub range: f64,
    /// Index of the level at which the line rose or fell most.
    pub step: usize,
}

/// A benchmark's cost on one kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The index of the kernel.
    pub kernel: usize,
    /// The figure; with several hosts, on a typical one.
    pub value: f64,
    /// The least figure of a run, as it would be on a typical host.
    pub low: f64,
    /// The greatest figure of a run, as it would be on a typical host.
    pub high: f64,
    /// The newest run.
    pub run: i64,
}

/// Standard deviations of a kernel's figure that a line on time must range over to have moved. Over 50 kernels without
/// any difference the range is 4.5, and above 6 in about 2 of 100 lines.
const DEVIATIONS: f64 = 6.0;

/// Computes the trends of figures, which are given newest first. `kernels` are all kernels in their order; hosts of one
/// of these kinds are taken together. Figures on one kernel only have no trend.
pub fn trends(
    points: &[TrendPoint],
    kernels: &[String],
    kinds: &[HostKind],
    thresholds: &Thresholds,
) -> Vec<Trends> {
    let place: BTreeMap<&str, usize> = kernels
        .iter()
        .enumerate()
        .map(|(index, kernel)| (&**kernel, index))
        .collect();
    let of_kind = |point: &TrendPoint| {
        let is_kind = |kind: &HostKind| {
            kind.platform == point.machine
                && kind.unit == point.unit
                && kind.hosts.iter().any(|host| host.host == point.host)
        };
        let kind = kinds.iter().position(is_kind);
        let alone = if kind.is_none() { &*point.host } else { "" };
        (kind, alone.to_owned())
    };
    // The kind of each host is looked up once: a history has far more points than hosts.
    let mut known = BTreeMap::new();
    let mut groups: BTreeMap<_, Vec<&TrendPoint>> = BTreeMap::new();
    for point in points {
        let host = (&*point.machine, &*point.unit, &*point.host);
        let kind = known.entry(host).or_insert_with(|| of_kind(point)).clone();
        let group = groups.entry((&*point.machine, &*point.unit, kind));
        group.or_default().push(point);
    }
    groups
        .into_values()
        .filter_map(|points| of_group(&points, kernels, &place, thresholds))
        .collect()
}

/// Finds trends of one machine and unit on hosts of one kind; none if they have one kernel.
fn of_group(
    points: &[&TrendPoint],
    kernels: &[String],
    place: &BTreeMap<&str, usize>,
    thresholds: &Thresholds,
) -> Option<Trends> {
    let first = points.first()?;
    let used: BTreeSet<usize> = points
        .iter()
        .filter_map(|point| place.get(&*point.kernel).copied())
        .collect();
    if used.len() < 2 {
        return None;
    }
    let used: Vec<usize> = used.into_iter().collect();
    let hosts: BTreeSet<&String> = points.iter().map(|point| &point.host).collect();
    let scale = match UnitKind::of(&first.unit) {
        UnitKind::Count => Scale::Differences,
        UnitKind::Time | UnitKind::Rate | UnitKind::Unknown => Scale::Ratios,
    };
    let mut found = Trends {
        machine: first.machine.clone(),
        unit: first.unit.clone(),
        hosts: hosts
            .into_iter()
            .filter(|host| !host.is_empty())
            .cloned()
            .collect(),
        kernels: used
            .iter()
            .filter_map(|index| kernels.get(*index))
            .cloned()
            .collect(),
        moved: Vec::new(),
        still: 0,
        near_zero: 0,
    };
    let index = |point: &TrendPoint| used.binary_search(place.get(&*point.kernel)?).ok();
    for (benchmark, seen) in rows(points, index, scale) {
        // The logarithm of a time of zero is not finite.
        if seen.iter().any(|one| !one.value.is_finite()) {
            found.near_zero += 1;
            continue;
        }
        for piece in pieces(seen) {
            let Some(trend) = trend(benchmark, &piece, scale) else {
                continue;
            };
            if trend.range >= piece.least(scale, thresholds) {
                found.moved.push(trend);
            } else {
                found.still += 1;
            }
        }
    }
    found.moved.sort_by(|a, b| b.range.total_cmp(&a.range));
    Some(found)
}

/// Groups the figures by benchmark, with the index of each kernel. Counts are exact, so only the newest one is used.
fn rows<'a>(
    points: &[&'a TrendPoint],
    index: impl Fn(&TrendPoint) -> Option<usize>,
    scale: Scale,
) -> BTreeMap<&'a str, Vec<Seen<'a>>> {
    let mut rows: BTreeMap<&str, Vec<Seen<'_>>> = BTreeMap::new();
    let mut counted = BTreeSet::new();
    for point in points {
        if let Some(kernel) = index(point) {
            let cell = (&*point.benchmark, kernel, &*point.host);
            if scale == Scale::Differences && !counted.insert(cell) {
                continue;
            }
            rows.entry(&point.benchmark).or_default().push(Seen {
                host: &point.host,
                kernel,
                run: point.run,
                value: scale.of(point.value),
            });
        }
    }
    rows
}

/// Scale on which values are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Times and rates: by their logarithms.
    Ratios,
    /// Counts.
    Differences,
}

impl Scale {
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Ratios => value.ln(),
            Self::Differences => value,
        }
    }

    fn back(self, value: f64) -> f64 {
        match self {
            Self::Ratios => value.exp(),
            Self::Differences => value,
        }
    }
}

/// A figure of a benchmark, on the scale.
#[derive(Clone, Copy)]
struct Seen<'a> {
    host: &'a str,
    kernel: usize,
    run: i64,
    value: f64,
}

/// Figures whose hosts have kernels in common.
struct Piece<'a> {
    seen: Vec<Seen<'a>>,
    /// Distance of each kernel's level above the first kernel's.
    levels: BTreeMap<usize, f64>,
    /// Cost of the first kernel on each host.
    hosts: BTreeMap<&'a str, f64>,
}

/// Splits a benchmark's figures into pieces; mostly there is one.
fn pieces(mut rest: Vec<Seen<'_>>) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let levels = levels(&rest);
        let (seen, left) = rest
            .into_iter()
            .partition(|one: &Seen<'_>| levels.contains_key(&one.kernel));
        rest = left;
        let mut above: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for one in &seen {
            let level = levels.get(&one.kernel).copied().unwrap_or_default();
            above.entry(one.host).or_default().push(one.value - level);
        }
        let hosts = above
            .into_iter()
            .filter_map(|(host, values)| Some((host, median(&values)?)))
            .collect();
        pieces.push(Piece {
            seen,
            levels,
            hosts,
        });
    }
    pieces
}

/// Computes the levels of the first kernel, and of the kernels that hosts link with it.
fn levels(seen: &[Seen<'_>]) -> BTreeMap<usize, f64> {
    let mut cells: BTreeMap<usize, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for one in seen {
        let hosts = cells.entry(one.kernel).or_default();
        hosts.entry(one.host).or_default().push(one.value);
    }
    let cells: BTreeMap<usize, BTreeMap<&str, f64>> = cells
        .into_iter()
        .map(|(kernel, hosts)| {
            let hosts = hosts.into_iter();
            let hosts = hosts.filter_map(|(host, values)| Some((host, median(&values)?)));
            (kernel, hosts.collect())
        })
        .collect();
    let mut levels = BTreeMap::new();
    // The last kernel with a level, of each host.
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (kernel, hosts) in &cells {
        let level = match hosts.keys().filter_map(|host| last.get(host)).max() {
            None if levels.is_empty() => 0.0,
            None => continue,
            Some(before) => {
                let steps = cells[before].iter().filter_map(|(host, value)| {
                    let now = hosts.get(host)?;
                    Some(now - value)
                });
                let step = median(&steps.collect::<Vec<_>>()).unwrap_or_default();
                levels.get(before).copied().unwrap_or_default() + step
            }
        };
        levels.insert(*kernel, level);
        last.extend(hosts.keys().map(|host| (*host, *kernel)));
    }
    levels
}

impl Piece<'_> {
    /// Returns a figure less the parts that its host and kernel explain.
    fn rest(&self, one: &Seen<'_>) -> f64 {
        let level = self.levels.get(&one.kernel).copied().unwrap_or_default();
        let host = self.hosts.get(one.host).copied().unwrap_or_default();
        one.value - level - host
    }

    /// Returns the least range that counts as a move.
    fn least(&self, scale: Scale, thresholds: &Thresholds) -> f64 {
        if scale == Scale::Differences {
            return thresholds.min_effect_insns.max(f64::MIN_POSITIVE);
        }
        let squares: f64 = self.seen.iter().map(|one| self.rest(one).powi(2)).sum();
        let fitted = self.levels.len() + self.hosts.len() - 1;
        let free = self.seen.len().saturating_sub(fitted).max(1);
        let runs = self.seen.len() as f64 / self.levels.len().max(1) as f64;
        let deviation = OF_MEDIAN * (squares / free as f64 / runs).sqrt();
        thresholds.min_effect.ln_1p().max(DEVIATIONS * deviation)
    }
}

/// Draws the line of a piece; none for a single kernel.
fn trend(benchmark: &str, piece: &Piece<'_>, scale: Scale) -> Option<Trend> {
    let typical = median(&piece.hosts.values().copied().collect::<Vec<_>>())?;
    let level = |(kernel, level): (&usize, &f64)| {
        let here = piece.seen.iter().filter(|one| one.kernel == *kernel);
        // Newest figures come first.
        let newest = here.clone().next();
        let own = here.map(|one| piece.rest(one));
        let middle = level + typical;
        Level {
            kernel: *kernel,
            value: scale.back(middle),
            low: scale.back(middle + own.clone().fold(0.0, f64::min)),
            high: scale.back(middle + own.fold(0.0, f64::max)),
            run: newest.map_or(0, |one| one.run),
        }
    };
    let levels: Vec<Level> = piece.levels.iter().map(level).collect();
    let heights: Vec<f64> = piece.levels.values().copied().collect();
    let least = heights.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let steps = heights.windows(2).enumerate();
    let steps = steps.filter_map(|(index, pair)| match pair {
        [before, after] => Some((index + 1, (after - before).abs())),
        _ => None,
    });
    // The first of equal steps.
    let (step, _) = steps.rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Trend {
        benchmark: benchmark.to_owned(),
        levels,
        range: greatest - least,
        step,
    })
}

#[cfg(test)]
#[path = "trends_tests.rs"]
mod tests;
