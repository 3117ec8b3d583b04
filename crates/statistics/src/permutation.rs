//! Whether two sides differ: a permutation test of ranks within blocks.
//!
//! If both sides are the same thing, then within a block (values taken one after another, in turns)
//! every assignment of the labels was equally likely; that is all the test assumes. Its statistic is
//! the sum of the ranks of one side within each block (Wilcoxon, "Individual Comparisons by Ranking
//! Methods", Biometrics Bulletin 1, 1945; with blocks van Elteren, "On the Combination of Independent
//! Two Sample Tests of Wilcoxon", Bulletin de l'Institut International de Statistique 37, 1960). Ranks,
//! because one boot in which the host was busy elsewhere must not stand for all.

use crate::order::mid_ranks;
use crate::ranksum::{Sums, add, effort, sums};
use fastrand::Rng;
use std::collections::HashMap;

/// Values that were taken near one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Of the base.
    pub base: Vec<f64>,
    /// Of what is compared with it.
    pub other: Vec<f64>,
}

/// How the p-value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Every assignment was counted.
    Exact,
    /// So many assignments were drawn.
    MonteCarlo {
        /// How many.
        draws: u32,
    },
}

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PermutationTest {
    /// The chance, if both sides were the same, of rank sums at least as far from their mean. Never 0.
    pub p: f64,
    /// How far the other side's ranks lie above their mean: positive where its values are greater.
    pub shift: f64,
    /// How `p` was found.
    pub method: Method,
}

/// More additions than this and assignments are drawn instead.
const EXACT_EFFORT: u64 = 25_000_000;
/// Assignments drawn where there are too many to count.
const DRAWS: u32 = 50_000;
/// Of the draws.
const SEED: u64 = 0x5eed_0001;

/// The test, with what it remembers: rows without ties share their distributions.
#[derive(Debug, Default)]
pub struct RankTests {
    known: HashMap<(Vec<u32>, usize), Sums>,
}

/// Tests once. Of several tests [`RankTests`] saves time.
pub fn stratified_rank_sum(blocks: &[Block]) -> Option<PermutationTest> {
    RankTests::default().test(blocks)
}

impl RankTests {
    /// Tests. `None` where no block has values of both sides. A block of one side only says nothing
    /// and is left out.
    pub fn test(&mut self, blocks: &[Block]) -> Option<PermutationTest> {
        let blocks: Vec<Ranked> = blocks.iter().filter_map(Ranked::of).collect();
        if blocks.is_empty() {
            return None;
        }
        let sum = blocks.iter().map(|block| block.sum).sum::<u64>();
        let mean: f64 = blocks.iter().map(Ranked::mean).sum();
        let shift = (sum as f64 - mean) / 2.0;
        let work: u64 = blocks.iter().map(|b| effort(&b.sorted, b.take)).sum();
        if work > EXACT_EFFORT {
            let p = drawn(&blocks, (sum as f64 - mean).abs(), mean);
            let method = Method::MonteCarlo { draws: DRAWS };
            return Some(PermutationTest { p, shift, method });
        }
        let mut all: Option<Sums> = None;
        for block in &blocks {
            let key = (block.sorted.clone(), block.take);
            let here = self
                .known
                .entry(key)
                .or_insert_with(|| sums(&block.sorted, block.take));
            all = Some(match all {
                None => here.clone(),
                Some(before) => add(&before, here),
            });
        }
        Some(PermutationTest {
            p: all?.as_far(sum),
            shift,
            method: Method::Exact,
        })
    }
}

/// A block as ranks.
struct Ranked {
    /// Twice the ranks of all its values, in ascending order.
    sorted: Vec<u32>,
    /// How many of them are the other side's.
    take: usize,
    /// The sum of twice the other side's ranks.
    sum: u64,
}

impl Ranked {
    fn of(block: &Block) -> Option<Self> {
        if block.base.is_empty() || block.other.is_empty() {
            return None;
        }
        let values: Vec<f64> = block.other.iter().chain(&block.base).copied().collect();
        let mut ranks = mid_ranks(&values);
        let take = block.other.len();
        let sum = ranks.iter().take(take).map(|&rank| u64::from(rank)).sum();
        ranks.sort_unstable();
        Some(Ranked {
            sorted: ranks,
            take,
            sum,
        })
    }

    /// The mean of the sum, over all assignments.
    fn mean(&self) -> f64 {
        let all: u64 = self.sorted.iter().map(|&rank| u64::from(rank)).sum();
        all as f64 * self.take as f64 / self.sorted.len() as f64
    }
}

/// The p-value from drawn assignments, the one that was seen among them (Phipson and Smyth,
/// "Permutation P-values Should Never Be Zero", Statistical Applications in Genetics and Molecular
/// Biology 9, 2010).
fn drawn(blocks: &[Ranked], far: f64, mean: f64) -> f64 {
    let mut rng = Rng::with_seed(SEED);
    let mut shuffled: Vec<Vec<u32>> = blocks.iter().map(|b| b.sorted.clone()).collect();
    let mut as_far = 1u32;
    for _ in 0..DRAWS {
        let mut sum = 0u64;
        for (block, ranks) in blocks.iter().zip(&mut shuffled) {
            for place in 0..block.take {
                let chosen = rng.usize(place..ranks.len());
                ranks.swap(place, chosen);
                sum += u64::from(ranks[place]);
            }
        }
        as_far += u32::from((sum as f64 - mean).abs() >= far - 1e-6);
    }
    f64::from(as_far) / f64::from(DRAWS + 1)
}

/// The least p-value that blocks of these sizes (base, other) can give, without ties: two
/// assignments, the one that separates the sides and its mirror image.
pub fn smallest_p(sizes: &[(usize, usize)]) -> f64 {
    let all: f64 = sizes
        .iter()
        .map(|&(base, other)| binomial(base + other, other))
        .product();
    (2.0 / all).min(1.0)
}

/// n over k; infinite where it is too great.
fn binomial(n: usize, k: usize) -> f64 {
    let k = k.min(n - k);
    (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use proptest::prelude::*;

    fn block(base: &[f64], other: &[f64]) -> Block {
        Block {
            base: base.to_vec(),
            other: other.to_vec(),
        }
    }

    fn p(blocks: &[Block]) -> f64 {
        stratified_rank_sum(blocks).unwrap().p
    }

    #[test]
    fn known_answers() {
        // Separated, five a side: 2 of 252 assignments. R: wilcox.test(1:5, 6:10)$p.value 0.007937.
        let apart = block(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]);
        assert!((p(std::slice::from_ref(&apart)) - 2.0 / 252.0).abs() < 1e-12);
        let test = stratified_rank_sum(&[apart]).unwrap();
        assert_eq!((test.shift, test.method), (12.5, Method::Exact));
        // R: wilcox.test(c(1.1, 2.2, 3.3, 0.4), c(2.5, 3.1, 4.7, 5.9))$p.value 0.1143 (8 of 70).
        let mixed = block(&[1.1, 2.2, 3.3, 0.4], &[2.5, 3.1, 4.7, 5.9]);
        assert!((p(&[mixed]) - 8.0 / 70.0).abs() < 1e-12);
        // Four a side cannot reach 0.01, five can.
        assert!(smallest_p(&[(4, 4)]) > 0.01 && smallest_p(&[(5, 5)]) < 0.01);
        assert_eq!(smallest_p(&[(1, 1)]), 1.0);
    }

    #[test]
    fn a_drift_that_meets_both_sides_is_no_difference_in_blocks() {
        // Each pair rises by 100 and the other is 1 greater each time: one pooled block can't see it.
        let pairs: Vec<Block> = (0..8)
            .map(|i| f64::from(i) * 100.0)
            .map(|drift| block(&[drift], &[drift + 1.0]))
            .collect();
        assert!((p(&pairs) - smallest_p(&[(1, 1); 8])).abs() < 1e-12);
        let pooled = block(
            &pairs.iter().map(|b| b.base[0]).collect::<Vec<_>>(),
            &pairs.iter().map(|b| b.other[0]).collect::<Vec<_>>(),
        );
        assert!(p(&[pooled]) > 0.5);
    }

    #[test]
    fn blocks_of_one_side_say_nothing() {
        assert_eq!(stratified_rank_sum(&[]), None);
        assert_eq!(stratified_rank_sum(&[block(&[1.0], &[])]), None);
        let both = block(&[1.0, 2.0], &[3.0]);
        assert_eq!(p(&[both.clone(), block(&[9.0], &[])]), p(&[both]));
    }

    #[test]
    fn drawing_agrees_with_counting() {
        let mut rng = Rng::with_seed(4);
        let mut values = |n: u32, plus: f64| -> Vec<f64> {
            (0..n).map(|_| (rng.f64() * 40.0).round() + plus).collect()
        };
        let blocks = [
            block(&values(8, 0.0), &values(8, 9.0)),
            block(&values(6, 0.0), &values(7, 9.0)),
        ];
        let ranked: Vec<Ranked> = blocks.iter().filter_map(Ranked::of).collect();
        let mean: f64 = ranked.iter().map(Ranked::mean).sum();
        let sum: u64 = ranked.iter().map(|block| block.sum).sum();
        let exact = p(&blocks);
        let drawn = drawn(&ranked, (sum as f64 - mean).abs(), mean);
        // Four standard deviations of the drawn share.
        let tolerance = 4.0 * (exact * (1.0 - exact) / f64::from(DRAWS)).sqrt();
        assert!((exact - drawn).abs() < tolerance, "{exact} {drawn}");
    }

    #[test]
    fn many_tied_values_are_drawn_and_never_give_zero() {
        let many =
            |plus: f64| -> Vec<f64> { (0..200).map(|i| f64::from(i / 2) * 0.01 + plus).collect() };
        let test = stratified_rank_sum(&[block(&many(0.0), &many(100.0))]).unwrap();
        assert_eq!(test.method, Method::MonteCarlo { draws: DRAWS });
        assert_eq!(test.p, 1.0 / f64::from(DRAWS + 1));
    }

    proptest! {
        /// The p-value does not change when the sides change places, or with any scale.
        #[test]
        fn it_is_symmetric(
            base in prop::collection::vec(-9i8..9, 1..8), other in prop::collection::vec(-9i8..9, 1..8),
        ) {
            let floats = |v: &[i8]| -> Vec<f64> { v.iter().map(|&x| f64::from(x)).collect() };
            let (base, other) = (floats(&base), floats(&other));
            let forth = stratified_rank_sum(&[block(&base, &other)]).unwrap();
            let back = stratified_rank_sum(&[block(&other, &base)]).unwrap();
            prop_assert!((forth.p - back.p).abs() < 1e-9 && forth.p > 0.0 && forth.p <= 1.0);
            prop_assert!((forth.shift + back.shift).abs() < 1e-9);
            let scaled = |v: &[f64]| -> Vec<f64> { v.iter().map(|x| (x / 9.0).exp()).collect() };
            let p_scaled = p(&[block(&scaled(&base), &scaled(&other))]);
            prop_assert!((forth.p - p_scaled).abs() < 1e-9);
        }
    }
}
