//! Measures how long the report of 50 runs takes: `cargo bench -p ws-report`. It only prints the
//! time, which depends on the host.

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

#[path = "../tests/it/support/mod.rs"]
#[allow(dead_code)]
mod support;

use std::time::{Duration, Instant};
use ws_report::page::{Report, render};

fn main() {
    let results = support::many_runs(50);
    let report = Report {
        results: &results,
        ..Report::default()
    };
    let mut bytes = 0;
    let mut times: Vec<Duration> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            bytes = render(&report).unwrap().len();
            begun.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "report of 50 runs ({} results): {bytes} bytes, median of 5 {:?}",
        results.len(),
        times[2]
    );
}
