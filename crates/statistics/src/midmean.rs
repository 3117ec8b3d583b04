//! The trimmed mean of the middle half of the values, and its standard error from the winsorized
//! variance (Tukey and McLaughlin, "Less Vulnerable Confidence and Significance Procedures for
//! Location", Sankhya A 25, 1963). The difference of two such means is Yuen's ("The Two-Sample
//! Trimmed t for Unequal Population Variances", Biometrika 61, 1974).
//!
//! Assumes that the values are independent and, but for outliers, roughly normal; up to a quarter
//! at each end may be anything.

use crate::order::{robust_deviation, sorted};

/// An estimate whose error follows Student's t distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Standard error of the value.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub df: f64,
}

/// The mean without the lowest and the highest quarter (each rounded down) of the values. `None`
/// with fewer than two values.
pub fn midmean(values: &[f64]) -> Option<Estimate> {
    let values = sorted(values);
    let (n, cut) = (values.len(), values.len() / 4);
    if n < 2 {
        return None;
    }
    let kept = &values[cut..n - cut];
    let (low, high) = (*kept.first()?, *kept.last()?);
    let h = kept.len() as f64;
    let drawn_in: Vec<f64> = values.iter().map(|v| v.clamp(low, high)).collect();
    let mean = drawn_in.iter().sum::<f64>() / n as f64;
    let squares: f64 = drawn_in.iter().map(|v| (v - mean).powi(2)).sum();
    Some(Estimate {
        value: kept.iter().sum::<f64>() / h,
        error: (squares / (h * (h - 1.0))).sqrt(),
        df: h - 1.0,
    })
}

/// The scatter of values with a few outliers: the greater of two deviations. One is [`robust_deviation`], which ignores
/// outliers. The other is half of the deviation that corresponds to the [`midmean`]'s error, which grows with the
/// outliers once they are more than a quarter. With fewer than four values nothing is trimmed, so only the first is
/// used. `None` with fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let robust = robust_deviation(values)?;
    if values.len() < 4 {
        return Some(robust);
    }
    let of_error = midmean(values)?.error * (values.len() as f64).sqrt();
    Some(robust.max(of_error / 2.0))
}

/// `other` - `base`, which must be independent (Welch, "The Generalization of Student's Problem when
/// Several Different Population Variances are Involved", Biometrika 34, 1947).
pub fn difference(base: &Estimate, other: &Estimate) -> Estimate {
    let (a, b) = (base.error.powi(2), other.error.powi(2));
    let df = (a + b).powi(2) / (a * a / base.df + b * b / other.df);
    Estimate {
        value: other.value - base.value,
        error: (a + b).sqrt(),
        // 0 / 0 if neither side scatters.
        df: if df.is_nan() { base.df + other.df } else { df },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wild_values_are_seen_where_they_are_more_than_a_quarter() {
        let with = |wild: usize| -> f64 {
            let mut values: Vec<f64> = (0..16).map(|i| 100.0 + f64::from(i % 5)).collect();
            values.iter_mut().take(wild).for_each(|value| *value *= 5.0);
            deviation(&values).unwrap()
        };
        let alike = with(0);
        assert!((1.0..3.0).contains(&alike), "{alike}");
        assert!(with(4) < 3.0 * alike, "{}", with(4));
        assert!(with(5) > 50.0, "{}", with(5));
        // One of three may be an outlier; one value has no deviation.
        assert_eq!(deviation(&[1.0, 1.0, 50.0]), Some(0.0));
        assert_eq!(deviation(&[1.0]), None);
    }

    #[test]
    fn known_estimates() {
        // 1, 2, 3, 4 and 100 lose one value at each end: 2, 3, 4 are left. Winsorized they are
        // 2, 2, 3, 4, 4, with a sum of squares of 4 about their mean.
        let five = midmean(&[100.0, 3.0, 2.0, 4.0, 1.0]).unwrap();
        assert_eq!((five.value, five.df), (3.0, 2.0));
        assert!((five.error - (4.0f64 / 6.0).sqrt()).abs() < 1e-12);
        // Of three values none is cut: the mean and its standard error.
        let three = midmean(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((three.value, three.df), (2.0, 2.0));
        assert!((three.error - (1.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(midmean(&[1.0]), None);
        let apart = difference(&three, &three);
        assert_eq!((apart.value, apart.df), (0.0, 4.0));
    }

    #[test]
    fn no_scatter_is_no_error() {
        let flat = midmean(&[7.0; 4]).unwrap();
        let apart = difference(&flat, &flat);
        assert_eq!((apart.value, apart.error, apart.df), (0.0, 0.0, 2.0));
    }

    proptest! {
        #[test]
        fn a_quarter_at_an_end_may_be_anything(
            values in prop::collection::vec(0.0..1.0f64, 8..30), wild in 1.0..1e9f64,
        ) {
            let mut changed = sorted(&values);
            let (n, cut) = (values.len(), values.len() / 4);
            changed[n - cut..].iter_mut().for_each(|value| *value += wild);
            let (before, after) = (midmean(&values).unwrap(), midmean(&changed).unwrap());
            prop_assert!((before.value - after.value).abs() < 1e-9);
            prop_assert!((before.error - after.error).abs() < 1e-9);
        }
    }
}
