//! `worldswitch run`: measures workloads on machines, writes result files and prints a table.

mod apps;
mod benchmarks;
mod fleet;
mod io;
mod nested;
mod place;

use crate::cli::{RunArgs, Work};
use crate::shared::Done;
use ws_terminal::Colours;

/// Measures, shows the table and keeps the results.
pub fn run(args: &RunArgs, colours: Colours) -> anyhow::Result<Done> {
    match &args.work {
        Some(Work::Apps(args)) => apps::apps(args, colours),
        Some(Work::Io(args)) => io::io(args, colours),
        Some(Work::Place(args)) => place::place(args, colours),
        Some(Work::Fleet(args)) => fleet::fleet(args, colours),
        Some(Work::Nested(args)) => nested::nested(args, colours),
        None => benchmarks::benchmarks(args, colours),
    }
}
