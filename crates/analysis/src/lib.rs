//! Analyses results: pure functions without clock or files. Random draws have fixed seeds.
//!
//! The order is always the same. Samples give the cost of one operation ([`costs`]). The costs of one boot give that
//! boot's estimate ([`BootEstimate`]). The boots' estimates, never pooled samples, give the row's [`Summary`]. Two
//! summaries give a [`Comparison`]. Two boots of one binary can differ by more than the spread within each; pooling
//! would hide that.
//!
//! [`compare_results`] compares two results and gives each benchmark a [`Verdict`]: on time from the
//! boots' estimates ([`judge_times`]), on counts from whole distributions ([`judge_counts`]).
//! [`judge_hosts`] finds machines that differ from others of their kind, [`trends`] shows how figures moved over
//! kernels.
//! [`model`] fits HyperBench's cost model and predicts with it. The statistical methods and their
//! sources are in [`statistics`].

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod boot;
mod compare;
mod conditions;
mod cost;
mod counts;
mod course;
mod crossing;
mod figure;
#[cfg(test)]
mod fixture;
mod gap;
mod hosts;
pub mod model;
mod outside;
mod pair;
mod pairs;
mod suite;
mod summary;
mod times;
mod trends;
mod unit;
mod verdict;

pub use boot::{BootEstimate, Histogram};
pub use compare::{CompareError, Comparison, compare};
pub use conditions::{Unlike, unlike};
pub use cost::{Cost, costs};
pub use counts::{Band, CountVerdict, instructions, judge_counts};
pub use crossing::{Crossing, crossing};
pub use figure::Figure;
pub use gap::{Gap, GapKind};
pub use hosts::{Host, HostKind, HostUnlike, Standing, judge_hosts};
pub use outside::{batch_cost, batch_span, difference, same_samples};
pub use pairs::{Paired, Unpaired, compare_pairs, counterpart, only_in_base, pairs};
pub use statistics::median;
pub use suite::{
    CompareOptions, CountFigures, Outcome, Refused, RowComparison, RunHead, SuiteComparison,
    SuiteReliability, SuiteShift, TimeFigures, compare_results,
};
pub use summary::{CONFIDENCE, Summary, spread, summarize};
pub use times::{NOISY, Ratio, TimeRow, TimeVerdict, TimesJudged, Why, judge_times};
pub use trends::{Level, Trend, TrendPoint, Trends, trends};
pub use unit::UnitKind;
pub use verdict::{MAX_BOOTS, SUITE_BOOTS, Thresholds, Verdict};
pub use ws_statistics as statistics;
