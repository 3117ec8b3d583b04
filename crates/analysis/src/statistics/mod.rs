//! Non-parametric statistics of a few values: pure functions of numbers, which know nothing of
//! benchmarks, boots or files.
//!
//! What is random (resampling) takes a seed, and the same seed gives the same digits on every
//! machine. Times of world switches have no normal distribution; what assumes one of their middle
//! half ([`midmean`]) says so. Each file names the publication that its method is from and what the
//! method assumes.

mod bootstrap;
mod midmean;
mod order;
mod outliers;
mod permutation;
mod ranksum;
mod student;
mod suite;
mod trend;

pub use bootstrap::{Interval, bootstrap, drawn_median};
pub use midmean::{Estimate, deviation, difference, midmean};
pub use order::{lower_median, median, mid_ranks, quantile, robust_deviation, sorted};
pub use outliers::outliers;
pub use permutation::rank_sum_p;
pub use student::{student_p, student_quantile};
pub use suite::{Reliability, reliability};
pub use trend::{Trend, trend};

/// The random numbers of this crate (wyrand, seeded).
pub use fastrand::Rng;
