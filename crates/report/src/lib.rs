//! Tables and pages drawn from result files: what `run` prints and `show` shows.
//!
//! Every string from a guest or a file is escaped for its medium here, so callers print what they
//! get as it is.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod table;

pub use table::{Options, Table, TableError, table};

/// A result file for a reader: identity, boots and launches, rows with their distributions.
pub fn show(_result: &ws_results::ResultFile, _colour: bool) -> String {
    todo!()
}
