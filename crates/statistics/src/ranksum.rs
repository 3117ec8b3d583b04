//! The exact distribution of a sum of ranks under random labels, ties included.
//!
//! Streitberg and Röhmel, "Exact Distributions for Permutation and Rank Tests: An Introduction to Some
//! Recently Published Algorithms", Statistical Software Newsletter 12, 1986: scores are added one
//! after another, keeping the number of subsets of each size and sum. The result is the same as by
//! enumerating every assignment, in polynomial time.

/// A discrete distribution over equally spaced sums.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sums {
    /// The probability of the sum `start + step * index`.
    pub probabilities: Vec<f64>,
    /// The sum at index 0, the least.
    pub start: u64,
    /// The distance between two sums.
    pub step: u64,
}

/// The cost of [`sums`], in additions.
pub(crate) fn effort(scores: &[u32], take: usize) -> u64 {
    let (_, _, reduced) = reduce(scores);
    let most = greatest_sum(&reduced, take);
    (scores.len() as u64)
        .saturating_mul(take as u64)
        .saturating_mul(most + 1)
}

/// The distribution of the sum of `take` scores drawn from `scores` without replacement. `take` is
/// at most their number.
pub(crate) fn sums(scores: &[u32], take: usize) -> Sums {
    let (least, step, reduced) = reduce(scores);
    let width = usize::try_from(greatest_sum(&reduced, take) + 1).unwrap_or(usize::MAX);
    // Row k: how many subsets of k scores have each sum. In place, so from the greatest k down.
    let mut ways = vec![0.0f64; (take + 1) * width];
    ways[0] = 1.0;
    let mut reach = 0;
    for (seen, &score) in reduced.iter().enumerate() {
        let score = usize::try_from(score).unwrap_or(usize::MAX);
        reach = (reach + score).min(width - 1);
        for k in (1..=take.min(seen + 1)).rev() {
            let (below, from_here) = ways.split_at_mut(k * width);
            let below = &below[(k - 1) * width..];
            for sum in score..=reach {
                from_here[sum] += below[sum - score];
            }
        }
    }
    let mut probabilities = ways.split_off(take * width);
    let all: f64 = probabilities.iter().sum();
    for probability in &mut probabilities {
        *probability /= all;
    }
    Sums {
        probabilities,
        start: u64::from(least) * take as u64,
        step: u64::from(step),
    }
}

impl Sums {
    /// The probability of a sum at least as far from the mean as `sum`.
    pub fn as_far(&self, sum: u64) -> f64 {
        let values = || (0u64..).zip(&self.probabilities);
        // In steps from the start; each sum is a whole number of steps.
        let mean: f64 = values().map(|(index, p)| index as f64 * p).sum();
        let seen = (sum - self.start) as f64 / self.step as f64;
        // The mean may be off in its last digits, but ">=" must also hold for the mirror image of the
        // observed sum.
        let far = (seen - mean).abs() - 1e-6;
        let chance: f64 = values()
            .filter(|(index, _)| (*index as f64 - mean).abs() >= far)
            .map(|(_, p)| p)
            .sum();
        chance.min(1.0)
    }
}

/// The least score, the greatest common divisor of all distances from it, and the distances in units
/// of that divisor.
fn reduce(scores: &[u32]) -> (u32, u32, Vec<u64>) {
    let least = scores.iter().copied().min().unwrap_or(0);
    let step = scores
        .iter()
        .fold(0, |divisor, score| gcd(divisor, u64::from(score - least)))
        .max(1);
    let reduced = scores
        .iter()
        .map(|score| u64::from(score - least) / step)
        .collect();
    (least, u32::try_from(step).unwrap_or(1), reduced)
}

fn greatest_sum(scores: &[u64], take: usize) -> u64 {
    let mut scores = scores.to_vec();
    scores.sort_unstable();
    scores.iter().rev().take(take).sum()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes the share of subsets that pass the test, by enumerating every subset.
    fn tried(scores: &[u32], take: usize, test: impl Fn(f64) -> bool) -> f64 {
        let (mut hits, mut all) = (0.0, 0.0);
        for subset in 0u32..1 << scores.len() {
            if subset.count_ones() as usize == take {
                let chosen = (0..scores.len()).filter(|i| subset >> i & 1 == 1);
                all += 1.0;
                hits += f64::from(u8::from(test(chosen.map(|i| f64::from(scores[i])).sum())));
            }
        }
        hits / all
    }

    #[test]
    fn the_rank_sum_of_three_and_three_is_as_printed() {
        // Wilcoxon 1945: one of 20 assignments has the least sum, 1 + 2 + 3.
        let three = sums(&[2, 4, 6, 8, 10, 12], 3);
        let at = |sum: u64| three.probabilities[((sum - three.start) / three.step) as usize];
        assert!((at(12) - 0.05).abs() < 1e-12 && at(10) == 0.0);
        assert!((three.as_far(12) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn equal_scores_have_one_sum() {
        assert_eq!(sums(&[5; 6], 2).probabilities, [1.0]);
        assert_eq!(sums(&[5; 6], 2).as_far(10), 1.0);
    }

    proptest! {
        #[test]
        fn it_counts_what_trying_counts(
            scores in prop::collection::vec(0u32..30, 1..9), take in 0usize..9,
        ) {
            let take = take.min(scores.len());
            let sum: u32 = scores.iter().take(take).sum();
            let mean = f64::from(scores.iter().sum::<u32>()) * take as f64 / scores.len() as f64;
            let far = (f64::from(sum) - mean).abs() - 1e-9;
            let exact = sums(&scores, take).as_far(u64::from(sum));
            prop_assert!((exact - tried(&scores, take, |s| (s - mean).abs() >= far)).abs() < 1e-9);
        }
    }
}
