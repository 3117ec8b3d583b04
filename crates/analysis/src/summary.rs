//! What all boots of a row say together: the one place that turns boots into a figure.

use crate::boot::{BootEstimate, TOO_WIDE};
use crate::counts::Band;
use crate::unit::UnitKind;
use std::collections::BTreeMap;
use ws_results::{COST, Metric, Perturbed, ResultFile, Row, Samples, Status};
use crate::statistics::{
    Interval, bootstrap, deviation, drawn_median, lower_median, median, outliers, sorted,
};

/// A row's cost on one platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// As the result file names it.
    pub unit: String,
    /// One for each boot that counts and has samples, never empty.
    pub boots: Vec<BootEstimate>,
    /// What each perturbed boot says, which stands in no figure but the band.
    pub perturbed: Vec<BootEstimate>,
    /// The headline: the median of the boots' values. Of an even number of counts it is the lower
    /// of the two in the middle, a figure that was measured.
    pub value: f64,
    /// See [`spread`].
    pub spread: Option<f64>,
    /// On `insns`: whether every boot gave the same samples, exactly and in the same order. `None` with
    /// fewer than two boots, and on any other unit.
    pub exact: Option<bool>,
}

/// The confidence of [`Summary::interval`].
pub const CONFIDENCE: f64 = 0.95;
/// Resamples behind an interval. Every interval of this crate has as many.
pub(crate) const REPLICATES: usize = 4000;
/// The seed of all intervals: the same boots give the same digits.
pub(crate) const SEED: u64 = 0x5eed_0003;

impl Summary {
    /// Of a row's cost. `None` where no boot that counts has samples, and where the benchmark's check
    /// failed: those figures mean nothing.
    pub fn cost(row: &Row, perturbed: &Perturbed) -> Option<Self> {
        let metric = row.metric(COST)?;
        (row.status != Status::Failed).then(|| Self::of(metric, perturbed))?
    }

    /// The costs of a result by benchmark, of those that have one.
    pub fn costs(result: &ResultFile) -> BTreeMap<&str, Self> {
        let perturbed = result.perturbed();
        let rows = result.rows.iter();
        rows.filter_map(|row| Some((row.benchmark.as_str(), Self::cost(row, &perturbed)?)))
            .collect()
    }

    /// Of any metric. `None` where no boot that counts has samples.
    pub fn of(metric: &Metric, perturbed: &Perturbed) -> Option<Self> {
        let kind = UnitKind::of(&metric.unit);
        let (own, others) = perturbed.split(metric);
        let estimates = |boots: &[&Samples]| -> Vec<BootEstimate> {
            let boots = boots.iter();
            boots.filter_map(|b| BootEstimate::of(b, kind)).collect()
        };
        let boots = estimates(&own);
        let values: Vec<f64> = boots.iter().map(|boot| boot.value).collect();
        let value = match kind {
            UnitKind::Count => lower_median(&values)?,
            _ => median(&values)?,
        };
        Some(Summary {
            unit: metric.unit.clone(),
            spread: spread(&values),
            exact: exact(&metric.unit, &own),
            perturbed: estimates(&others),
            boots,
            value,
        })
    }

    /// The least and the greatest value of all boots, perturbed ones with them.
    pub fn range(&self) -> Band {
        let boots = self.boots.iter().chain(&self.perturbed);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        boots.for_each(|boot| (low, high) = (low.min(boot.value), high.max(boot.value)));
        Band { low, high }
    }

    /// The invariance band: the [range](Summary::range) where some boot was perturbed.
    pub fn band(&self) -> Option<Band> {
        (!self.perturbed.is_empty()).then(|| self.range())
    }

    /// Where the value lies, with [`CONFIDENCE`]: a bootstrap over the boots. `None` of counts, which
    /// are exact or are not, and of fewer than three boots.
    pub fn interval(&self) -> Option<Interval> {
        if UnitKind::of(&self.unit) == UnitKind::Count || self.boots.len() < 3 {
            return None;
        }
        let (values, mut counts) = (sorted(&self.values()), Vec::new());
        bootstrap(SEED, CONFIDENCE, REPLICATES, |rng| {
            drawn_median(&values, rng, &mut counts)
        })
    }

    /// How the boots scatter: the [`deviation`] of their values over the row's. `None` of
    /// counts, of fewer than two boots, and around a value of 0.
    pub fn scatter_between(&self) -> Option<f64> {
        let counts = UnitKind::of(&self.unit) == UnitKind::Count;
        let deviation = deviation(&self.values())?;
        (!counts && self.value != 0.0).then(|| deviation / self.value.abs())
    }

    /// How samples scatter within a boot: the median of the boots' own scatter.
    pub fn scatter_within(&self) -> Option<f64> {
        let within: Vec<f64> = self.boots.iter().filter_map(|boot| boot.scatter).collect();
        median(&within)
    }

    /// The numbers of boots whose values lie far from the others'. They are in all other figures.
    pub fn outlying_boots(&self) -> Vec<u32> {
        let far = outliers(&self.values());
        far.into_iter()
            .map(|place| self.boots[place].boot)
            .collect()
    }

    /// What each boot says, in order: the numbers for tests between rows.
    pub fn values(&self) -> Vec<f64> {
        self.boots.iter().map(|boot| boot.value).collect()
    }

    /// On units of time: whether some boot says that the operation costs nothing, or less, or half of
    /// them or more can't tell their cost from nothing ([`BootEstimate::is_near_zero`]). The row's value
    /// cannot be told from zero then, and no ratio of it means anything. False on counts, where zero is a
    /// measurement like any other.
    pub fn is_near_zero(&self) -> bool {
        let below = self.boots.iter().any(|boot| boot.value <= 0.0);
        self.is_timed() && (below || self.half(BootEstimate::is_near_zero))
    }

    /// On units of time: whether the value is noise, good for an order of magnitude at most. Half of the
    /// boots or more were disturbed ([`BootEstimate::is_disturbed`]), or the boots, three or more, scatter
    /// by more than [`TOO_WIDE`].
    pub fn is_noisy(&self) -> bool {
        let apart = self.boots.len() > 2 && self.scatter_between() > Some(TOO_WIDE);
        self.is_timed() && (apart || self.half(BootEstimate::is_disturbed))
    }

    fn is_timed(&self) -> bool {
        UnitKind::of(&self.unit) == UnitKind::Time
    }

    /// Whether there are boots, and this is so of half of them or more.
    fn half(&self, is_so: fn(&BootEstimate) -> bool) -> bool {
        let count = self.boots.iter().filter(|boot| is_so(boot)).count();
        count > 0 && 2 * count >= self.boots.len()
    }
}

/// Summarizes a metric whose boots all count; `None` when none has samples.
pub fn summarize(metric: &Metric) -> Option<Summary> {
    Summary::of(metric, &Perturbed::default())
}

/// See [`Summary::exact`].
fn exact(unit: &str, boots: &[&Samples]) -> Option<bool> {
    if unit != "insns" || boots.len() < 2 {
        return None;
    }
    let same = boots.windows(2).all(|pair| {
        let [a, b] = pair else { return false };
        (&a.run, &a.control, a.iterations) == (&b.run, &b.control, b.iterations)
    });
    Some(same)
}

/// The spread between boots: (greatest - least) / |median|, a fraction. `None` with fewer than two
/// values, and around a median of 0 unless all are 0.
pub fn spread(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if least == greatest {
        return Some(0.0);
    }
    let middle = median(values)?.abs();
    (middle > 0.0).then(|| (greatest - least) / middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn metric(unit: &str, boots: &[&[u64]]) -> Metric {
        fixture::metric(unit, 1, 0, boots)
    }

    #[test]
    fn a_time_that_some_boot_puts_at_zero_or_less_cannot_be_told_from_zero() {
        let near_zero =
            |unit, boots: &[&[u64]]| summarize(&metric(unit, boots)).unwrap().is_near_zero();
        assert!(near_zero("tsc_ticks", &[&[5], &[0], &[7]]));
        assert!(!near_zero("tsc_ticks", &[&[5], &[1], &[7]]));
        assert!(!near_zero("insns", &[&[0], &[0]]));
    }

    #[test]
    fn noise_is_no_figure() {
        let of = |boots: &[&[u64]]| summarize(&metric("tsc_ticks", boots)).unwrap();
        // The middle sample happens to be a little above zero: of these none says more.
        let small = fixture::metric("tsc_ticks", 1000, 500, &[&[100, 501, 900, 480, 520]]);
        let small = summarize(&small).unwrap();
        assert!(small.value > 0.0 && small.is_near_zero());
        // As long as a time slice of the host's scheduler, in nearly all batches of one boot.
        let sliced: &[u64] = &[4498, 20_704_385, 20_704_385, 20_704_390, 20_704_380];
        let still: &[u64] = &[4498, 4500, 4510, 4490, 20_704_380];
        assert!(of(&[sliced]).is_noisy() && !of(&[sliced]).is_near_zero());
        assert!(!of(&[still]).is_noisy());
        assert!(
            !of(&[still, still, sliced]).is_noisy(),
            "two of three are still"
        );
        assert!(of(&[still, sliced]).is_noisy());
        assert!(of(&[&[100], &[200], &[300]]).is_noisy());
        assert!(
            !summarize(&metric("insns", &[&[1, 1, 900], &[1, 900, 900]]))
                .unwrap()
                .is_noisy()
        );
    }

    #[test]
    fn boots_count_the_same_however_many_samples_they_have() {
        // Pooled, the median would be 1.
        let row = summarize(&metric("ns", &[&[1, 1, 1, 1, 1, 1, 1], &[4], &[5]])).unwrap();
        assert_eq!((row.value, row.values()), (4.0, vec![1.0, 4.0, 5.0]));
        assert_eq!(row.spread, Some(1.0));
    }

    #[test]
    fn counts_stand_by_a_measured_figure() {
        let row = summarize(&metric("insns", &[&[7, 7, 9], &[8, 8, 9]])).unwrap();
        assert_eq!((row.value, row.exact), (7.0, Some(false)));
        assert_eq!(summarize(&metric("ns", &[&[7], &[8]])).unwrap().value, 7.5);
    }

    #[test]
    fn exact_means_every_sample_of_every_boot() {
        let exact = |unit: &str, boots: &[&[u64]]| summarize(&metric(unit, boots)).unwrap().exact;
        assert_eq!(exact("insns", &[&[7, 9], &[7, 9], &[7, 9]]), Some(true));
        assert_eq!(
            exact("insns", &[&[7, 9], &[7, 9], &[9, 7]]),
            Some(false),
            "another order"
        );
        assert_eq!(exact("insns", &[&[7, 7], &[7]]), Some(false));
        assert_eq!(exact("insns", &[&[7, 9]]), None, "one boot proves nothing");
        assert_eq!(
            exact("tsc_ticks", &[&[7], &[7]]),
            None,
            "time is never exact"
        );
        let mut other = metric("insns", &[&[7], &[7]]);
        other.boots[1].iterations = 2;
        assert_eq!(summarize(&other).unwrap().exact, Some(false));
    }

    #[test]
    fn known_spreads() {
        assert_eq!(spread(&[100.0, 110.0, 105.0]), Some(10.0 / 105.0));
        assert_eq!(spread(&[0.0, 0.0]), Some(0.0));
        assert_eq!(spread(&[-2.0, -2.5, -1.5]), Some(0.5), "never negative");
        assert_eq!(spread(&[-1.0, 0.0, 1.0]), None, "nothing to relate it to");
        assert_eq!(spread(&[1.0]), None);
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn scatter_is_told_apart_and_an_interval_is_of_boots() {
        // Tight within boots, apart between them.
        let boots: [&[u64]; 5] = [
            &[100, 101, 102],
            &[120, 121, 122],
            &[140, 141, 142],
            &[160, 161, 162],
            &[180, 181, 182],
        ];
        let row = summarize(&metric("ns", &boots)).unwrap();
        assert_eq!(row.scatter_within(), Some(1.4826 / 141.0));
        assert_eq!(row.scatter_between(), Some(1.4826 * 20.0 / 141.0));
        let interval = row.interval().unwrap();
        assert_eq!((interval.low, interval.high), (101.0, 181.0));
        assert!(row.outlying_boots().is_empty());
        let two = summarize(&metric("ns", &[&[5], &[6]])).unwrap();
        assert_eq!(two.interval(), None);
        let counts = summarize(&metric("insns", &[&[5, 6], &[6, 6], &[5, 5]])).unwrap();
        assert_eq!((counts.interval(), counts.scatter_within()), (None, None));
        assert_eq!(counts.scatter_between(), None);
    }

    #[test]
    fn a_boot_far_out_is_named() {
        let boots: [&[u64]; 6] = [&[100], &[101], &[300], &[99], &[100], &[102]];
        let row = summarize(&metric("ns", &boots)).unwrap();
        assert_eq!((row.outlying_boots(), row.boots.len()), (vec![3], 6));
    }

    #[test]
    fn no_samples_are_no_summary() {
        assert_eq!(summarize(&metric("ns", &[])), None);
        assert_eq!(summarize(&metric("ns", &[&[]])), None);
    }

    fn a_row(boots: &[&[u64]]) -> Row {
        Row {
            benchmark: "in".into(),
            category: "io".into(),
            status: Status::Ok,
            reason: None,
            outcomes: vec![],
            conditions: Default::default(),
            exact: None,
            metrics: vec![fixture::metric("insns", 1, 0, boots)],
            host: vec![],
        }
    }

    #[test]
    fn a_perturbed_boot_stands_in_the_band_and_nowhere_else() {
        let mut row = a_row(&[&[7], &[7], &[90]]);
        let cost = Summary::cost(&row, &[3].into()).unwrap();
        assert_eq!(cost.values(), [7.0, 7.0]);
        assert_eq!(cost.exact, Some(true));
        assert_eq!(cost.boots.len(), 2);
        let band = cost.band().unwrap();
        assert_eq!((band.low, band.high), (7.0, 90.0));
        assert_eq!(
            Summary::cost(&row, &Perturbed::default()).unwrap().band(),
            None
        );
        assert_eq!(Summary::cost(&row, &[1, 2, 3].into()), None);
        row.status = Status::Failed;
        assert_eq!(Summary::cost(&row, &Perturbed::default()), None);
    }
}
