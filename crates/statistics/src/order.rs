//! Order statistics: medians, quantiles, ranks, and a deviation that is robust against outliers.

/// Sorts values in ascending order, NaN as [`f64::total_cmp`] sorts it.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The middle value, or the mean of the two in the middle; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some(lower + (upper - lower) / 2.0)
}

/// The middle value, or the lower of the two in the middle: always one of the values.
pub fn lower_median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

/// The least value that at least the fraction `p` of the values do not exceed: the inverse of the
/// empirical distribution (Hyndman and Fan, "Sample Quantiles in Statistical Packages", The
/// American Statistician 50, 1996, definition 1). `sorted` is in ascending order. `None` without
/// values.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = (p.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(place.saturating_sub(1).min(last)).copied()
}

/// The median distance from the median, times 1.4826, which makes it the standard deviation of
/// normal values (Rousseeuw and Croux, "Alternatives to the Median Absolute Deviation", JASA 88,
/// 1993). `None` with fewer than two values.
pub fn robust_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    Some(1.4826 * median(&distances)?)
}

/// Twice the rank of each value, from 2 on; equal values share the mean of their ranks. Doubled
/// ranks are integers, so sums of them are exact.
pub fn mid_ranks(values: &[f64]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0; values.len()];
    let mut start = 0;
    while start < order.len() {
        // -0.0 and 0.0 are ties here, although total_cmp orders them.
        let tied = order[start..]
            .iter()
            .take_while(|&&index| values[index] == values[order[start]])
            .count()
            .max(1);
        let doubled = u32::try_from(2 * start + tied + 1).unwrap_or(u32::MAX);
        for &index in &order[start..start + tied] {
            ranks[index] = doubled;
        }
        start += tied;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(lower_median(&[4.0, 1.0, 2.0, 3.0]), Some(2.0));
        assert_eq!((median(&[]), lower_median(&[])), (None, None));
    }

    #[test]
    fn known_quantiles() {
        let values = [1.0, 2.0, 3.0, 4.0];
        let of = |p| quantile(&values, p).unwrap();
        assert_eq!([of(0.0), of(0.25), of(0.26), of(1.0)], [1.0, 1.0, 2.0, 4.0]);
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn known_deviations() {
        // The distances of 1 to 5 from 3 are 2 1 0 1 2.
        let five = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(robust_deviation(&five), Some(1.4826));
        assert_eq!(robust_deviation(&[1.0, 2.0, 3.0, 4.0, 5e9]), Some(1.4826));
        assert_eq!(robust_deviation(&[1.0]), None);
    }

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(mid_ranks(&[30.0, 10.0, 20.0]), [6, 2, 4]);
        assert_eq!(mid_ranks(&[5.0, 1.0, 5.0, 5.0]), [6, 2, 6, 6]);
        assert_eq!(mid_ranks(&[0.0, -0.0]), [3, 3]);
        assert!(mid_ranks(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn ranks_add_up(values in prop::collection::vec(-5i8..5, 0..40)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let n = u32::try_from(values.len()).unwrap();
            prop_assert_eq!(mid_ranks(&values).iter().sum::<u32>(), n * (n + 1));
        }

        #[test]
        fn a_median_has_as_many_above_as_below(values in prop::collection::vec(any::<i32>(), 1..40)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let middle = median(&values).unwrap();
            let above = values.iter().filter(|value| **value > middle).count();
            let below = values.iter().filter(|value| **value < middle).count();
            prop_assert!(2 * above <= values.len() && 2 * below <= values.len());
        }
    }
}
