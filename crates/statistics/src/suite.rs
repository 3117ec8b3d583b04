//! The confidence that one of two sides is better over a whole suite.
//!
//! Hierarchical Performance Testing: Chen, Chen, Guo, Temam, Wu and Hu, "Statistical Performance Comparisons of
//! Computers", HPCA 2012; Chen et al., the same title, IEEE Transactions on Computers 64(5), 2015, which HyperBench
//! (SIGMETRICS 2019, reference 6) used for its Table 4. The method has two steps. Each benchmark's difference counts
//! only if a rank-sum test finds one, else it is 0. Then Wilcoxon's signed-rank test over the benchmarks gives the
//! confidence that one side is better.
//!
//! Assumes that the benchmarks are independent, representative and equally important. A chosen suite
//! is not; so this is a summary, and no exit code depends on it.

use crate::order::mid_ranks;

/// The confidence that one side is better over the suite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// The confidence that the differences are positive on the whole: 1 minus the one-sided p-value
    /// of the signed-rank test, exact, ties and zeros included.
    pub positive: f64,
    /// The confidence that the differences are negative on the whole. The sum of both confidences is below 1.
    pub negative: f64,
    /// The number of benchmarks.
    pub benchmarks: usize,
    /// The number of benchmarks that differ.
    pub differing: usize,
}

/// Computes the reliability from one difference per benchmark, all on one scale, 0 if none was found. `None` without
/// benchmarks.
///
/// A difference of 0 is ranked too; half of its rank counts for each side, as the method defines.
pub fn reliability(differences: &[f64]) -> Option<Reliability> {
    if differences.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    // Twice the ranks. The ranks of zeros are the same for both sides and cancel out.
    let ranks = mid_ranks(&sizes);
    let signed = || differences.iter().zip(&ranks).filter(|(d, _)| **d != 0.0);
    let positive: usize = signed()
        .filter(|(d, _)| **d > 0.0)
        .map(|(_, r)| *r as usize)
        .sum();
    let all: usize = signed().map(|(_, r)| *r as usize).sum();

    // The probability of each sum of positive ranks if both signs are equally likely.
    let mut chances = vec![0.0; all + 1];
    chances[0] = 1.0;
    for (_, &rank) in signed() {
        let rank = rank as usize;
        for sum in (0..=all).rev() {
            let with = if sum >= rank {
                chances[sum - rank]
            } else {
                0.0
            };
            chances[sum] = (chances[sum] + with) / 2.0;
        }
    }
    let at_least: f64 = chances[positive..].iter().sum();
    let at_most: f64 = chances[..=positive].iter().sum();
    Some(Reliability {
        positive: (1.0 - at_least).max(0.0),
        negative: (1.0 - at_most).max(0.0),
        benchmarks: differences.len(),
        differing: signed().count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_answers() {
        // All five are positive: 1 of 32 sums is as great.
        let all = reliability(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((all.positive, all.negative), (1.0 - 1.0 / 32.0, 0.0));
        // R: wilcox.test(c(1.5, -0.5, 2.5, 3.5), alternative = "greater")$p.value is 0.125.
        let most = reliability(&[1.5, -0.5, 2.5, 3.5]).unwrap();
        assert!((most.positive - 0.875).abs() < 1e-12);
        assert_eq!((most.benchmarks, most.differing), (4, 4));
    }

    #[test]
    fn what_does_not_differ_takes_certainty_away() {
        let none = reliability(&[0.0; 6]).unwrap();
        assert_eq!(
            (none.positive, none.negative, none.differing),
            (0.0, 0.0, 0)
        );
        let few = reliability(&[0.0, 0.0, 0.0, 0.1]).unwrap();
        assert_eq!((few.positive, few.negative), (0.5, 0.0));
        assert_eq!(reliability(&[]), None);
    }

    proptest! {
        #[test]
        fn turning_the_sides_turns_the_answer(d in prop::collection::vec(-9i8..9, 1..30)) {
            let forth: Vec<f64> = d.iter().map(|&x| f64::from(x)).collect();
            let back: Vec<f64> = forth.iter().map(|x| -x).collect();
            let (forth, back) = (reliability(&forth).unwrap(), reliability(&back).unwrap());
            prop_assert!((forth.positive - back.negative).abs() < 1e-9);
            prop_assert!((forth.negative - back.positive).abs() < 1e-9);
            prop_assert!(forth.positive + forth.negative <= 1.0 + 1e-9);
        }
    }
}
