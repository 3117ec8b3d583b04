//! Tries a change: compares what was measured without it and with it, and names the functions that are the cause.
//!
//! [`Tried`] makes both sides, measures and records them. [`Trial`] judges their results, one pair for each machine, and
//! keeps the functions of the rows that changed ([`guilty`]). It is shown as text, as a page, as Markdown for a comment
//! on a patch, or as JSON.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod budget;
mod changed;
mod explained;
mod flame;
mod guilty;
mod hunks;
mod markdown;
mod measured;
mod page;
mod picture;
mod row;
mod sides;
mod text;
mod trial;
mod tried;

pub use budget::{HeadFigure, OverBudget};
pub use changed::changed;
pub use flame::{Call, calls};
pub use guilty::{Guilty, guilty};
pub use hunks::Hunks;
pub use row::TrialRow;
pub use sides::{Sides, machines};
pub use trial::{Explanation, Machine, Pair, Side, TRIAL_SCHEMA, Trial};
pub use tried::{Asked, Tried};
