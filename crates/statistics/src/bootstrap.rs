//! Intervals by resampling: Efron, "Bootstrap Methods: Another Look at the Jackknife", The Annals of
//! Statistics 7, 1979; the percentile interval is Efron and Tibshirani, "An Introduction to the
//! Bootstrap", 1993, chapter 13.
//!
//! Assumes that the values are independent draws from one distribution, of any shape. With few
//! values the coverage is below the nominal confidence.

use crate::order::{quantile, sorted};
use fastrand::Rng;

/// An interval, ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end, not below the lower.
    pub high: f64,
}

impl Interval {
    /// Whether the whole interval lies between `low` and `high`.
    pub fn is_within(&self, low: f64, high: f64) -> bool {
        self.low >= low && self.high <= high
    }
}

/// The percentile interval at `confidence` (such as 0.95). `statistic` is called `replicates` times
/// and must draw its values with the random numbers it is given. Replicates that are `None` or not
/// finite (a ratio to zero) are left out; `None` if more than 1 % are.
pub fn bootstrap(
    seed: u64,
    confidence: f64,
    replicates: usize,
    mut statistic: impl FnMut(&mut Rng) -> Option<f64>,
) -> Option<Interval> {
    let mut rng = Rng::with_seed(seed);
    let drawn: Vec<f64> = (0..replicates)
        .filter_map(|_| statistic(&mut rng).filter(|value| value.is_finite()))
        .collect();
    if drawn.is_empty() || drawn.len() < replicates - replicates / 100 {
        return None;
    }
    let drawn = sorted(&drawn);
    let tail = (1.0 - confidence) / 2.0;
    Some(Interval {
        low: quantile(&drawn, tail)?,
        high: quantile(&drawn, 1.0 - tail)?,
    })
}

/// The median of a resample of `sorted`: as many draws as it has values, with replacement. `sorted`
/// is in ascending order; `counts` is scratch space. `None` without values.
pub fn drawn_median(sorted: &[f64], rng: &mut Rng, counts: &mut Vec<u32>) -> Option<f64> {
    let n = sorted.len();
    counts.clear();
    counts.resize(n, 0);
    // Counting how often each value is drawn avoids sorting the draws.
    for _ in 0..n {
        counts[rng.usize(0..n)] += 1;
    }
    let mut places = counts.iter().enumerate();
    let (mut seen, mut last) = (0, None);
    let mut value_at = |rank: usize| {
        while seen <= rank {
            let (place, count) = places.next()?;
            seen += *count as usize;
            last = Some(sorted[place]);
        }
        last
    };
    let lower = value_at((n.checked_sub(1)?) / 2)?;
    let upper = value_at(n / 2)?;
    Some(lower + (upper - lower) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of_median(values: &[f64], seed: u64) -> Option<Interval> {
        let (sorted, mut counts) = (sorted(values), Vec::new());
        bootstrap(seed, 0.95, 2000, |rng| {
            drawn_median(&sorted, rng, &mut counts)
        })
    }

    /// The bootstrap distribution of the median of n distinct values is known exactly (Efron 1979,
    /// section 3): P(median* > x(k)) = P(Binomial(n, k / n) <= (n - 1) / 2) for odd n. Of 1 to 15,
    /// that is 0.0165 below 4, 0.0556 below 5, so 2.5 % lies at 4 or 5, and by symmetry 11 or 12.
    #[test]
    fn a_known_interval() {
        let values: Vec<f64> = (1..=15).map(f64::from).collect();
        let Interval { low, high } = of_median(&values, 1).unwrap();
        assert!(
            (4.0..=5.0).contains(&low) && (11.0..=12.0).contains(&high),
            "{low} {high}"
        );
    }

    #[test]
    fn equal_values_have_an_interval_without_width() {
        let interval = of_median(&[7.0; 9], 1).unwrap();
        assert_eq!((interval.low, interval.high), (7.0, 7.0));
        assert!(interval.is_within(7.0, 8.0));
    }

    #[test]
    fn a_seed_gives_the_same_digits() {
        let values = [1.0, 5.0, 2.0, 9.0, 4.0, 4.5];
        assert_eq!(of_median(&values, 7), of_median(&values, 7));
    }

    #[test]
    fn a_statistic_that_is_mostly_undefined_has_no_interval() {
        let mut calls = 0;
        let interval = bootstrap(1, 0.95, 1000, |_| {
            calls += 1;
            (calls % 20 != 0).then_some(1.0)
        });
        assert_eq!(interval, None);
        assert_eq!(bootstrap(1, 0.95, 0, |_| Some(1.0)), None);
    }

    proptest! {
        #[test]
        fn an_interval_lies_among_the_values(values in prop::collection::vec(-1e9..1e9, 1..20)) {
            let Interval { low, high } = of_median(&values, 3).unwrap();
            let values = sorted(&values);
            prop_assert!(values[0] <= low && low <= high && high <= values[values.len() - 1]);
        }
    }
}
