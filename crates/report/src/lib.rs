//! Renders result files: the tables that `run` prints, the output of `show`, the page of `report`.
//!
//! [`table`] makes the table as data, which renders itself for a terminal, as Markdown, CSV and
//! JSON. [`show`] renders one result file. Every string from a guest or a file is escaped here for
//! its output format, so callers print the text unchanged.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod apps;
mod baselines;
mod comparison;
mod comparison_csv;
mod comparison_markdown;
mod exit_columns;
mod export;
pub mod figure;
mod finding;
mod grid;
mod hosts;
mod judged;
mod kind;
mod main_rows;
mod model;
mod nested;
mod notes;
mod number;
mod outside;
mod over_hosts;
pub mod page;
mod place;
pub mod reference;
mod relative;
mod requests;
mod show;
mod suite;
mod table;
mod terminal;
mod unit_of_work;

// By this name in all modules.
use ws_text as text;

pub use apps::{
    APPS_SCHEMA, App, AppLine, Apps, NestedRatio, Part, Predicted, PricedExit, Spread, TimedPart,
    TimedTransaction, TrafficPrices, Traffics, Transaction,
};
pub use baselines::{architecture, baselines, has_baseline, is_baseline};
pub use comparison::{COMPARISON_SCHEMA, ChangeExplained, Comparisons, comparison_schema};
pub use finding::finding;
pub use hosts::{HOSTS_SCHEMA, Hosts};
pub use judged::{Changed, Judged};
pub use kind::Kind;
pub use main_rows::{MAIN, MainRow};
pub use model::{MODEL_SCHEMA, Modelled, Models, model_schema};
pub use nested::{
    NESTED_APPS_SCHEMA, NESTED_SCHEMA, Nested, NestedApp, NestedAppLine, NestedApps,
    NestedBenchmark, NestedLine, Published, Slowdown, Took,
};
pub use number::value;
pub use outside::Outside;
pub use over_hosts::{Change, HostsOfSides, OverHosts, RowOverHosts};
pub use place::{PLACEMENT_SCHEMA, Placement};
pub use requests::{IO_SCHEMA, IoLine, PublishedRate, Requests};
pub use show::show;
pub use table::{Cell, Column, Options, SCHEMA, Table, TableError, TableRow, table, table_schema};
