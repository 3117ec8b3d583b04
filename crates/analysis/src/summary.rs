//! Summarizes all boots of a row: the only place that turns boots into a figure.

use crate::boot::{BootEstimate, TOO_WIDE};
use crate::counts::Band;
use crate::statistics::{
    Interval, bootstrap, deviation, drawn_median, lower_median, median, outliers, sorted,
};
use crate::unit::UnitKind;
use std::collections::BTreeMap;
use ws_results::{COST, Metric, Perturbed, ResultFile, Row, Samples, Status};

/// A row's cost on one platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The unit as in the result file.
    pub unit: String,
    /// The estimates of the boots that count and have samples, never empty.
    pub boots: Vec<BootEstimate>,
    /// The estimates of perturbed boots, which are used for the band only.
    pub perturbed: Vec<BootEstimate>,
    /// The row's value: the median of the boots' values. For counts with an even number of boots it is
    /// the lower of the two in the middle, so that it was measured.
    pub value: f64,
    /// Spread between the boots; see [`spread`].
    pub spread: Option<f64>,
    /// Whether every boot gave the same samples, exactly and in the same order, on `insns`. `None` with fewer than two
    /// boots, and on any other unit.
    pub exact: Option<bool>,
}

/// The confidence of [`Summary::interval`].
pub const CONFIDENCE: f64 = 0.95;
/// Resamples for an interval.
pub(crate) const REPLICATES: usize = 4000;
/// The seed of all intervals: the same boots give the same digits.
pub(crate) const SEED: u64 = 0x5eed_0003;

impl Summary {
    /// Summarizes a row's cost. `None` if no unperturbed boot has samples, or if the benchmark's check failed: its
    /// figures mean nothing.
    pub fn cost(row: &Row, perturbed: &Perturbed) -> Option<Self> {
        let metric = row.metric(COST)?;
        (row.status != Status::Failed).then(|| Self::of(metric, perturbed))?
    }

    /// Summarizes the costs in a result, by benchmark.
    pub fn costs(result: &ResultFile) -> BTreeMap<&str, Self> {
        let perturbed = result.perturbed();
        let rows = result.rows.iter();
        rows.filter_map(|row| Some((row.benchmark.as_str(), Self::cost(row, &perturbed)?)))
            .collect()
    }

    /// Summarizes any metric. `None` if no unperturbed boot has samples.
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

    /// The least and the greatest value of all boots, perturbed ones included.
    pub fn range(&self) -> Band {
        let boots = self.boots.iter().chain(&self.perturbed);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        boots.for_each(|boot| (low, high) = (low.min(boot.value), high.max(boot.value)));
        Band { low, high }
    }

    /// The invariance band: the [range](Summary::range) if some boot was perturbed.
    pub fn band(&self) -> Option<Band> {
        (!self.perturbed.is_empty()).then(|| self.range())
    }

    /// The interval of the value at [`CONFIDENCE`], by a bootstrap over the boots. `None` for counts, which
    /// are exact or not, and with fewer than three boots.
    pub fn interval(&self) -> Option<Interval> {
        if UnitKind::of(&self.unit) == UnitKind::Count || self.boots.len() < 3 {
            return None;
        }
        let (values, mut counts) = (sorted(&self.values()), Vec::new());
        bootstrap(SEED, CONFIDENCE, REPLICATES, |rng| {
            drawn_median(&values, rng, &mut counts)
        })
    }

    /// The scatter of the boots: the [`deviation`] of their values / the row's value. `None` for counts,
    /// with fewer than two boots, and if the value is 0.
    pub fn scatter_between(&self) -> Option<f64> {
        let counts = UnitKind::of(&self.unit) == UnitKind::Count;
        let deviation = deviation(&self.values())?;
        (!counts && self.value != 0.0).then(|| deviation / self.value.abs())
    }

    /// The scatter of samples within a boot: the median over the boots.
    pub fn scatter_within(&self) -> Option<f64> {
        let within: Vec<f64> = self.boots.iter().filter_map(|boot| boot.scatter).collect();
        median(&within)
    }

    /// The numbers of boots whose values are outliers. All other figures include them.
    pub fn outlying_boots(&self) -> Vec<u32> {
        let far = outliers(&self.values());
        far.into_iter()
            .map(|place| self.boots[place].boot)
            .collect()
    }

    /// The boots' values, in order, for tests between rows.
    pub fn values(&self) -> Vec<f64> {
        self.boots.iter().map(|boot| boot.value).collect()
    }

    /// Whether the value cannot be told from zero, on units of time, so that its ratios mean nothing. Some boot's value
    /// is zero or less, or half of the boots or more cannot be told from zero ([`BootEstimate::is_near_zero`]). False
    /// on counts, where zero is a valid measurement.
    pub fn is_near_zero(&self) -> bool {
        let below = self.boots.iter().any(|boot| boot.value <= 0.0);
        self.is_timed() && (below || self.half(BootEstimate::is_near_zero))
    }

    /// Whether the value is noise, on units of time: an order of magnitude at best. Half of the boots or more were
    /// disturbed ([`BootEstimate::is_disturbed`]), or three or more boots scatter by more than [`TOO_WIDE`].
    pub fn is_noisy(&self) -> bool {
        let apart = self.boots.len() > 2 && self.scatter_between() > Some(TOO_WIDE);
        self.is_timed() && (apart || self.half(BootEstimate::is_disturbed))
    }

    fn is_timed(&self) -> bool {
        UnitKind::of(&self.unit) == UnitKind::Time
    }

    /// Whether `is_so` holds for half of the boots or more (and at least one).
    fn half(&self, is_so: fn(&BootEstimate) -> bool) -> bool {
        let count = self.boots.iter().filter(|boot| is_so(boot)).count();
        count > 0 && 2 * count >= self.boots.len()
    }
}

/// Summarizes a metric without perturbed boots; `None` if no boot has samples.
pub fn summarize(metric: &Metric) -> Option<Summary> {
    Summary::of(metric, &Perturbed::default())
}

/// Tells whether boots agree exactly; see [`Summary::exact`].
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

/// The spread between boots: (max - min) / |median|, a fraction. `None` with fewer than two values,
/// and if the median is 0 unless all values are 0.
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
        // The median sample happens to be just above zero: within the error it is zero.
        let small = fixture::metric("tsc_ticks", 1000, 500, &[&[100, 501, 900, 480, 520]]);
        let small = summarize(&small).unwrap();
        assert!(small.value > 0.0 && small.is_near_zero());
        // The length of a time slice of the host's scheduler, in nearly all batches of one boot.
        let sliced: &[u64] = &[4498, 20_704_385, 20_704_385, 20_704_390, 20_704_380];
        let still: &[u64] = &[4498, 4500, 4510, 4490, 20_704_380];
        assert!(of(&[sliced]).is_noisy() && !of(&[sliced]).is_near_zero());
        assert!(!of(&[still]).is_noisy());
        assert!(
            !of(&[still, still, sliced]).is_noisy(),
            "two of three are quiet"
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
        // The median of pooled samples would be 1.
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
        assert_eq!(spread(&[-1.0, 0.0, 1.0]), None, "no ratio to 0");
        assert_eq!(spread(&[1.0]), None);
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn scatter_is_told_apart_and_an_interval_is_of_boots() {
        // Small scatter within boots, large between them.
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
            work: None,
            facts: Default::default(),
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
