//! Budgets of instructions: whether benchmarks of lab machines are within them, for `worldswitch test`.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod budget;
mod check;
mod file;
mod table;
mod update;

pub use budget::{Budget, parse};
pub use check::{Checked, Line, Measured, lines, outcome, sound};
pub use file::{KeptUp, Limits, fresh};
pub use table::{markdown, table};
pub use update::{Figures, updated};
