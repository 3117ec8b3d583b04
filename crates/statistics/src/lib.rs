//! Non-parametric statistics of a few values: pure functions of numbers that know nothing about
//! benchmarks, boots or files.
//!
//! Resampling takes a seed; the same seed gives the same digits on every machine. Times of world
//! switches are not normally distributed; only [`midmean`] assumes that their middle half roughly
//! is. The head of each file names the method's publication and its assumptions.
//!
//! A crate of its own, because quick builds optimize it: resampling and permutations are nearly all that an analysis
//! computes.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod bootstrap;
mod deviations;
mod midmean;
mod order;
mod outliers;
mod permutation;
mod ranksum;
mod student;
mod suite;
mod trend;

pub use bootstrap::{Interval, bootstrap, drawn_median};
pub use deviations::least_deviations;
pub use midmean::{Estimate, deviation, difference, midmean};
pub use order::{lower_median, median, mid_ranks, quantile, robust_deviation, sorted};
pub use outliers::outliers;
pub use permutation::rank_sum_p;
pub use student::{student_p, student_quantile};
pub use suite::{Reliability, reliability};
pub use trend::{Trend, trend};

/// The random number generator of this crate (wyrand, seeded).
pub use fastrand::Rng;
