//! `worldswitch run`: measures workloads on machines, writes result files and prints a table.

mod apps;
mod benchmarks;
mod fleet;
mod io;
mod nested;
mod place;

use crate::cli::{RunArgs, Work};
use crate::shared::Done;

/// Measures, shows the table and keeps the results.
pub fn run(args: &RunArgs) -> anyhow::Result<Done> {
    match &args.work {
        Some(Work::Apps(args)) => apps::apps(args),
        Some(Work::Io(args)) => io::io(args),
        Some(Work::Place(args)) => place::place(args),
        Some(Work::Fleet(args)) => fleet::fleet(args),
        Some(Work::Nested(args)) => nested::nested(args),
        None => benchmarks::benchmarks(args),
    }
}
