//! Tests whether values rise or fall from group to group: Jonckheere, "A Distribution-Free k-Sample
//! Test Against Ordered Alternatives", Biometrika 41, 1954 (and Terpstra 1952), as a permutation test.
//!
//! Assumes that, without a trend, every value is equally likely in every group.

use fastrand::Rng;

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Rising less falling pairs, divided by all pairs of values in different groups: from -1, all fall, to 1, all
    /// rise.
    pub rise: f64,
    /// The two-sided p-value: the probability of such a rise or fall without a trend. Never 0.
    pub p: f64,
}

/// Sampled assignments.
const DRAWS: u32 = 20_000;
/// The seed of the sampling.
const SEED: u64 = 0x5eed_0002;

/// Tests the groups in their order. `None` if fewer than two have values.
pub fn trend(groups: &[Vec<f64>]) -> Option<Trend> {
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| !group.is_empty()).collect();
    if groups.len() < 2 {
        return None;
    }
    let sizes: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let mut values: Vec<f64> = groups.into_iter().flatten().copied().collect();
    let seen = rising_less_falling(&values, &sizes);
    let mut rng = Rng::with_seed(SEED);
    let mut as_far = 1u32;
    for _ in 0..DRAWS {
        rng.shuffle(&mut values);
        as_far += u32::from(rising_less_falling(&values, &sizes).abs() >= seen.abs());
    }
    let all = sizes.iter().sum::<usize>();
    let within: usize = sizes.iter().map(|n| n * n).sum();
    let pairs = (all * all - within) / 2;
    Some(Trend {
        rise: seen as f64 / pairs as f64,
        p: f64::from(as_far) / f64::from(DRAWS + 1),
    })
}

/// Counts the pairs of a value and a value of a later group: rising pairs less falling pairs.
fn rising_less_falling(values: &[f64], sizes: &[usize]) -> i64 {
    let mut balance = 0;
    let mut end = 0;
    for size in sizes {
        let start = end;
        end += size;
        for value in &values[start..end] {
            for later in &values[end..] {
                balance += i64::from(later > value) - i64::from(later < value);
            }
        }
    }
    balance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_and_a_fall_are_found() {
        let groups = [
            vec![1.0, 2.0, 1.5],
            vec![3.0, 4.0, 3.5],
            vec![5.0, 6.0, 7.0],
        ];
        let rise = trend(&groups).unwrap();
        assert_eq!(rise.rise, 1.0);
        // 2 of 9! / (3!)^3 = 1680 assignments.
        assert!((rise.p - 2.0 / 1680.0).abs() < 0.001, "{}", rise.p);
        let fall = trend(&groups.into_iter().rev().collect::<Vec<_>>()).unwrap();
        assert_eq!((fall.rise, fall.p < 0.01), (-1.0, true));
    }

    #[test]
    fn equal_values_have_no_trend() {
        let flat = trend(&[vec![1.0; 4], vec![1.0; 4], vec![1.0; 4]]).unwrap();
        assert_eq!((flat.rise, flat.p), (0.0, 1.0));
        assert_eq!(trend(&[vec![1.0], vec![]]), None);
    }
}
