//! Reduces the samples of one boot to its estimate.

use crate::cost::{Cost, costs};
use crate::crossing::loops;
use crate::statistics::{median, outliers, robust_deviation, sorted};
use crate::unit::UnitKind;
use std::collections::BTreeMap;
use ws_results::Samples;

/// How often each cost occurred, in ascending order of cost. Exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Costs and their counts, never empty.
    pub bars: Vec<(Cost, u64)>,
}

impl Histogram {
    /// Counts each cost of `costs`.
    pub fn of(costs: &[Cost]) -> Self {
        let mut bars = BTreeMap::new();
        for &cost in costs {
            *bars.entry(cost).or_insert(0u64) += 1;
        }
        Histogram {
            bars: bars.into_iter().collect(),
        }
    }

    /// The most frequent cost; of equally frequent ones the smallest.
    pub fn mode(&self) -> Option<Cost> {
        let highest = self.bars.iter().map(|&(_, count)| count).max()?;
        self.bars
            .iter()
            .find(|&&(_, count)| count == highest)
            .map(|&(cost, _)| cost)
    }
}

/// Estimate of the cost of one operation from one boot, in the metric's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct BootEstimate {
    /// The boot's number in its file.
    pub boot: u32,
    /// The number of samples.
    pub samples: usize,
    /// Operations in a batch.
    pub iterations: u64,
    /// The boot's value: the mode of counts, the median of anything else.
    pub value: f64,
    /// The least cost. On units of time, the cost of an undisturbed operation.
    pub min: f64,
    /// The middle cost, or the mean of the two middle ones.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The greatest cost.
    pub max: f64,
    /// The first and third quartile of the samples.
    pub quartiles: (f64, f64),
    /// The scatter of the samples within the boot: robust standard deviation (from the median absolute
    /// deviation) / median. `None` for counts, which have their histogram, with fewer than two samples,
    /// and if the median is 0.
    pub scatter: Option<f64>,
    /// The standard error of the median within the boot, in the metric's unit; 0 for counts and with fewer
    /// than two samples.
    pub error: f64,
    /// The time of the loop with the operation / without it, of the middle batches.
    pub loops: f64,
    /// The indices of outliers among the samples; see [`crate::statistics::outliers`]. All other figures
    /// include them. Always empty for counts.
    pub outliers: Vec<usize>,
    /// All costs; for counts only, where costs repeat.
    pub histogram: Option<Histogram>,
}

/// Robust standard deviation / value, above which a figure is noise.
pub(crate) const TOO_WIDE: f64 = 1.0 / 3.0;
/// Median / minimum, above which nearly all batches were disturbed.
const FAR_ABOVE: f64 = 3.0;
/// Standard error of the median / standard error of the mean, for normal values: sqrt(pi / 2).
pub(crate) const OF_MEDIAN: f64 = 1.2533;
/// Standard errors by which a cost must differ from zero.
const ERRORS: f64 = 3.0;

impl BootEstimate {
    /// Whether the time cannot be told from zero: it is zero or less, or within three standard errors of zero.
    pub fn is_near_zero(&self) -> bool {
        let error = |scatter: f64| OF_MEDIAN * scatter / (self.samples as f64).sqrt();
        self.value <= 0.0 || self.scatter.is_some_and(|s| ERRORS * error(s) >= 1.0)
    }

    /// Whether the time shows disturbances by the host rather than the operation: it is far above the minimum, the
    /// undisturbed cost, or the samples scatter widely.
    pub fn is_disturbed(&self) -> bool {
        let far = self.min > 0.0 && self.value > FAR_ABOVE * self.min;
        far || self.scatter.is_some_and(|scatter| scatter > TOO_WIDE)
    }

    /// Estimates the cost from one boot; `None` if the boot has no samples.
    pub fn of(samples: &Samples, unit: UnitKind) -> Option<Self> {
        let costs = costs(samples);
        let values: Vec<f64> = costs.iter().map(|cost| cost.value()).collect();
        let median = median(&values)?;
        let histogram = (unit == UnitKind::Count).then(|| Histogram::of(&costs));
        let mode = histogram.as_ref().and_then(Histogram::mode);
        let deviation = robust_deviation(&values).filter(|_| histogram.is_none());
        let error = |deviation: f64| OF_MEDIAN * deviation / (values.len() as f64).sqrt();
        Some(BootEstimate {
            boot: samples.boot,
            samples: costs.len(),
            iterations: samples.iterations,
            value: mode.map_or(median, Cost::value),
            min: costs.iter().min()?.value(),
            median,
            mean: mean(samples),
            max: costs.iter().max()?.value(),
            quartiles: (quarter(&values, 1)?, quarter(&values, 3)?),
            scatter: deviation
                .filter(|_| median != 0.0)
                .map(|deviation| deviation / median.abs()),
            error: deviation.map_or(0.0, error),
            loops: loops(&samples.run, &samples.control),
            outliers: match histogram {
                None => outliers(&values),
                Some(_) => Vec::new(),
            },
            histogram,
        })
    }
}

/// Returns the cost that `quarters` quarters of the samples do not exceed.
fn quarter(values: &[f64], quarters: usize) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    sorted(values).get(last * quarters / 4).copied()
}

/// Returns the mean cost. Summed as integers, so that the mean of a constant cost is exact.
fn mean(samples: &Samples) -> f64 {
    let pairs = samples.run.iter().zip(&samples.control);
    let ticks: i128 = pairs
        .map(|(&run, &control)| i128::from(run) - i128::from(control))
        .sum();
    let count = samples.run.len().min(samples.control.len());
    ticks as f64 / (samples.iterations as f64 * count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(iterations: u64, run: &[u64]) -> Samples {
        Samples {
            boot: 1,
            launch: 0,
            iterations,
            run: run.into(),
            control: vec![10; run.len()],
            ..Samples::default()
        }
    }

    #[test]
    fn a_boot_of_times_stands_by_its_median() {
        let boot = BootEstimate::of(&samples(2, &[30, 20, 90, 28]), UnitKind::Time).unwrap();
        assert_eq!((boot.min, boot.median, boot.max), (5.0, 9.5, 40.0));
        assert_eq!((boot.value, boot.mean), (9.5, 16.0));
        assert_eq!(boot.histogram, None);
        // Distances from 9.5: 0.5, 4.5, 30.5, 0.5; their median is 2.5.
        assert_eq!(boot.scatter, Some(1.4826 * 2.5 / 9.5));
    }

    #[test]
    fn a_sample_far_out_is_named_and_still_counts() {
        let boot = BootEstimate::of(&samples(1, &[20, 21, 22, 20, 21, 900]), UnitKind::Time);
        let boot = boot.unwrap();
        assert_eq!((boot.outliers, boot.max), (vec![5], 890.0));
    }

    #[test]
    fn a_boot_of_counts_stands_by_its_mode_and_keeps_its_histogram() {
        let boot = BootEstimate::of(&samples(1, &[24, 24, 510, 24, 25]), UnitKind::Count).unwrap();
        assert_eq!(
            (boot.value, boot.min, boot.mean, boot.max),
            (14.0, 14.0, 111.4, 500.0)
        );
        let bars: Vec<_> = boot.histogram.unwrap().bars;
        let shown: Vec<_> = bars
            .iter()
            .map(|(cost, n)| format!("{cost} x {n}"))
            .collect();
        assert_eq!(shown, ["14 x 3", "15 x 1", "500 x 1"]);
    }

    #[test]
    fn the_mode_is_the_most_frequent_cost_wherever_it_lies() {
        for run in [[11, 17, 17, 17], [17, 17, 17, 40], [11, 17, 17, 40]] {
            let boot = BootEstimate::of(&samples(1, &run), UnitKind::Count).unwrap();
            assert_eq!(boot.value, 7.0);
        }
    }

    #[test]
    fn of_equally_frequent_costs_the_least_is_the_mode() {
        let boot = BootEstimate::of(&samples(1, &[19, 12, 19, 12]), UnitKind::Count).unwrap();
        assert_eq!(boot.value, 2.0);
    }

    #[test]
    fn noise_may_make_a_cost_negative() {
        let boot = BootEstimate::of(&samples(4, &[8, 12, 9]), UnitKind::Time).unwrap();
        assert_eq!((boot.min, boot.median, boot.max), (-0.5, -0.25, 0.5));
    }

    #[test]
    fn no_samples_are_no_estimate() {
        assert_eq!(BootEstimate::of(&samples(1, &[]), UnitKind::Time), None);
    }
}
