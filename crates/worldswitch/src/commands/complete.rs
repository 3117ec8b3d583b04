//! `worldswitch complete`, which shells' completion scripts call at each Tab. Prints the benchmarks, platforms and
//! workloads that complete a word. Only reads files; starts no program.

use crate::cli::help;
use clap::Arg;
use std::ffi::OsString;
use std::io::stdout;
use ws_catalog::words::{self, Found};

/// Prints the completions of the last word.
pub fn complete(words: Vec<OsString>) -> anyhow::Result<()> {
    ws_manual::complete(&help::command(), values, words, &mut stdout().lock())?;
    Ok(())
}

/// Returns the function that completes an argument, chosen by the name of the argument's value.
fn values(arg: &Arg) -> Option<fn(&str) -> Found> {
    let names = arg.get_value_names().unwrap_or_default();
    let is_chosen = !arg.get_possible_values().is_empty();
    match (names.first()?.as_str(), arg.get_long()) {
        _ if is_chosen => None,
        ("PLATFORM" | "PLATFORM,..." | "PLATFORM|RUN" | "A", _) => Some(words::list_of_platforms),
        ("BENCH" | "BENCHMARK", _) | ("REGEX", Some("bench")) => Some(words::benchmarks),
        ("REGEX", Some("workload")) => Some(words::workloads),
        ("NAME" | "SETS", None) => Some(words::machines),
        _ => None,
    }
}
