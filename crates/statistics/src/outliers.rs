//! Finds outliers. They are reported, never dropped.

use crate::order::median;

/// A value with a greater modified z-score is an outlier (Iglewicz and Hoaglin, "How to Detect and
/// Handle Outliers", ASQC 1993, section 3.3.2).
const LIMIT: f64 = 3.5;

/// Median absolute deviation / standard deviation, of normal values.
const OF_MEDIAN: f64 = 0.6745;

/// Standard deviation / mean absolute deviation, of normal values: used if more than half of the
/// values are equal, where the median absolute deviation is 0.
const OF_MEAN: f64 = 1.253_314;

/// The indices of outliers in `values`, in ascending order; empty with fewer than five values.
///
/// Assumes a symmetric middle. Times have a long upper tail, so correct values are reported too; no verdict may depend
/// on them.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(middle) = median(values).filter(|_| values.len() >= 5) else {
        return Vec::new();
    };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let typical = match median(&distances) {
        Some(distance) if distance > 0.0 => distance / OF_MEDIAN,
        _ => OF_MEAN * distances.iter().sum::<f64>() / distances.len() as f64,
    };
    (0..values.len())
        .filter(|&index| distances[index] > LIMIT * typical)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wild_value_is_named() {
        assert_eq!(outliers(&[10.0, 11.0, 9.0, 10.5, 90.0, 9.5]), [4]);
        assert_eq!(outliers(&[10.0, 11.0, 9.0, 10.5, -90.0, 9.5]), [4]);
    }

    #[test]
    fn one_among_equals_is_named() {
        let mut values = vec![7.0; 20];
        values[3] = 8.0;
        assert_eq!(outliers(&values), [3]);
        assert!(outliers(&[7.0; 20]).is_empty());
    }

    #[test]
    fn ordinary_values_and_few_values_are_not() {
        assert!(outliers(&[10.0, 11.0, 9.0, 10.5, 9.5, 12.0]).is_empty());
        assert!(outliers(&[1.0, 1.0, 1.0, 900.0]).is_empty());
        assert!(outliers(&[]).is_empty());
    }
}
