//! The history: results of many runs, kernels and machines, in an SQLite file or on a PostgreSQL server.
//!
//! [`Store`] is the one interface to both; [`Place`] names one. The store keeps each whole result as text, so that
//! later questions can be answered from the samples. It keeps each benchmark's figure too, so that a plot over many
//! runs does not read all samples. All statements are the same for both; only the tables' definitions, locks and
//! privileges are a back-end's own (`sqlite/`, `server/`). `docs/history.md` describes the tables.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod by_kernel;
mod copy;
mod database;
mod error;
mod filter;
mod kept;
mod kernel;
mod list;
mod newest;
mod order;
mod place;
mod series;
mod server;
mod sqlite;
mod store;
#[cfg(test)]
mod tests;
mod trends;

pub use by_kernel::KernelFigure;
pub use copy::Copied;
pub use error::Error;
pub use filter::Filter;
pub use kept::cell;
pub use kernel::{by_version, kernel, line_of};
pub use list::{History, list};
pub use newest::{judged, newest, of_each_platform};
pub use order::Kernels;
pub use place::Place;
pub use series::{By, Line, Series, lines};
pub use server::{Address, Right};
pub use store::{Added, Pair, Point, Run, Store};
pub use trends::by_kernel;
