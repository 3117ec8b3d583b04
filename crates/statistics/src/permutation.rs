//! Wilcoxon's rank-sum test of whether two sides differ ("Individual Comparisons by Ranking
//! Methods", Biometrics Bulletin 1, 1945), exact if the label assignments can be counted. Assumes
//! that, if nothing differs, every assignment of the labels is equally likely.

use crate::order::mid_ranks;
use crate::ranksum::{effort, sums};
use fastrand::Rng;

/// Above this number of additions, assignments are sampled instead of counted.
const EXACT_EFFORT: u64 = 25_000_000;
/// Sampled assignments.
const DRAWS: u32 = 50_000;
/// The seed of the sampling.
const SEED: u64 = 0x5eed_0001;

/// The p-value: the probability, if nothing differs, of a rank sum at least as far from its mean.
/// Never 0. `None` if a side has no values.
pub fn rank_sum_p(base: &[f64], other: &[f64]) -> Option<f64> {
    if base.is_empty() || other.is_empty() {
        return None;
    }
    let values: Vec<f64> = other.iter().chain(base).copied().collect();
    let ranks = mid_ranks(&values);
    let take = other.len();
    let sum: u64 = ranks.iter().take(take).map(|&rank| u64::from(rank)).sum();
    if effort(&ranks, take) > EXACT_EFFORT {
        return Some(drawn(&ranks, take, sum));
    }
    Some(sums(&ranks, take).as_far(sum))
}

/// The p-value from sampled assignments, with the observed one counted among them (Phipson and
/// Smyth, "Permutation P-values Should Never Be Zero", Statistical Applications in Genetics and
/// Molecular Biology 9, 2010).
fn drawn(ranks: &[u32], take: usize, seen: u64) -> f64 {
    let all: u64 = ranks.iter().map(|&rank| u64::from(rank)).sum();
    let mean = all as f64 * take as f64 / ranks.len() as f64;
    let far = (seen as f64 - mean).abs() - 1e-6;
    let mut rng = Rng::with_seed(SEED);
    let mut ranks = ranks.to_vec();
    let mut as_far = 1u32;
    for _ in 0..DRAWS {
        let mut sum = 0u64;
        for place in 0..take {
            let chosen = rng.usize(place..ranks.len());
            ranks.swap(place, chosen);
            sum += u64::from(ranks[place]);
        }
        as_far += u32::from((sum as f64 - mean).abs() >= far);
    }
    f64::from(as_far) / f64::from(DRAWS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn p(base: &[f64], other: &[f64]) -> f64 {
        rank_sum_p(base, other).unwrap()
    }

    #[test]
    fn known_answers() {
        // Disjoint, five per side: 2 of 252 assignments. R: wilcox.test(1:5, 6:10)$p.value 0.007937.
        let apart = p(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]);
        assert!((apart - 2.0 / 252.0).abs() < 1e-12);
        // R: wilcox.test(c(1.1, 2.2, 3.3, 0.4), c(2.5, 3.1, 4.7, 5.9))$p.value 0.1143 (8 of 70).
        let mixed = p(&[1.1, 2.2, 3.3, 0.4], &[2.5, 3.1, 4.7, 5.9]);
        assert!((mixed - 8.0 / 70.0).abs() < 1e-12);
        assert_eq!(p(&[7.0; 4], &[7.0; 3]), 1.0);
        assert_eq!(rank_sum_p(&[], &[1.0]), None);
    }

    #[test]
    fn drawing_comes_near_to_counting() {
        let ranks: Vec<u32> = (1..=24).map(|rank| 2 * rank).collect();
        let sum = ranks
            .iter()
            .rev()
            .take(10)
            .map(|&rank| u64::from(rank))
            .sum::<u64>()
            - 80;
        let (exact, drawn) = (sums(&ranks, 10).as_far(sum), drawn(&ranks, 10, sum));
        assert!((exact - drawn).abs() < 0.005, "{exact} {drawn}");
    }

    proptest! {
        #[test]
        fn turning_the_sides_and_scaling_change_nothing(
            base in prop::collection::vec(0u8..20, 1..9), other in prop::collection::vec(0u8..20, 1..9),
        ) {
            let of = |side: &[u8], scale: f64| -> Vec<f64> {
                side.iter().map(|&value| f64::from(value) * scale).collect()
            };
            let forth = p(&of(&base, 1.0), &of(&other, 1.0));
            let back = p(&of(&other, 1.0), &of(&base, 1.0));
            let scaled = p(&of(&base, 3.0), &of(&other, 3.0));
            prop_assert!((forth - back).abs() < 1e-9 && (forth - scaled).abs() < 1e-9);
            prop_assert!(forth > 0.0 && forth <= 1.0);
        }
    }
}
