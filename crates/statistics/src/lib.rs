//! Non-parametric statistics of a few values: pure functions of numbers, which know nothing of
//! benchmarks, boots or files.
//!
//! What is random (resampling) takes a seed, and the same seed gives the same digits on every
//! machine. Nothing assumes a normal distribution: times of world switches have none. Each file
//! names the publication that its method is from and what the method assumes.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod bootstrap;
mod holm;
mod normal;
mod order;
mod outliers;
mod permutation;
mod ranksum;
mod suite;
mod trend;

pub use bootstrap::{Interval, bootstrap, drawn_median};
pub use holm::holm;
pub use normal::{needed_to_agree, needed_to_differ};
pub use order::{lower_median, median, mid_ranks, quantile, robust_deviation, sorted};
pub use outliers::outliers;
pub use permutation::{Block, Method, PermutationTest, RankTests, smallest_p, stratified_rank_sum};
pub use suite::{Reliability, reliability};
pub use trend::{Trend, trend};

/// The random numbers of this crate (wyrand, seeded).
pub use fastrand::Rng;
