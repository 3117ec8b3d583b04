//! Tries a change: compares what was measured without it and with it, and names the functions that are the cause.
//!
//! [`Trial::of`] judges pairs of results, one pair for each machine. A caller records the rows that changed and adds
//! their functions ([`guilty`]); then a trial is shown as text, as Markdown for a comment on a patch, or as JSON.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod budget;
mod flame;
mod guilty;
mod hunks;
mod markdown;
mod page;
mod picture;
mod row;
mod text;
mod trial;

pub use budget::{HeadFigure, Limits, OverBudget};
pub use flame::{Call, calls};
pub use guilty::{Guilty, guilty};
pub use hunks::Hunks;
pub use row::TrialRow;
pub use trial::{Explanation, Machine, Pair, Side, TRIAL_SCHEMA, Trial};
