//! `worldswitch list`: benchmarks and platforms.

mod benchmarks;
mod platforms;

#[cfg(test)]
pub use benchmarks::Benchmarks;
#[cfg(test)]
pub use platforms::Platforms;

use crate::cli::ListWhat;
use ws_runner::parts;

/// Prints the list.
///
/// # Errors
/// What a list is made of is missing, or standard output can't be written.
pub fn list(what: &ListWhat) -> anyhow::Result<()> {
    match what {
        ListWhat::Benchmarks { on, json, parts } => {
            benchmarks::benchmarks(*json, on, &parts::resources(&parts.to_parts()))
        }
        ListWhat::Platforms { json, parts } => {
            platforms::platforms(*json, &parts::resources(&parts.to_parts()))
        }
    }
}
