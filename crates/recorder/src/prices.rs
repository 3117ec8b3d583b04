//! Cycles that an operation's register accesses and traps would take, at given prices.

use std::fs;
use std::path::PathBuf;
use ws_explain::explained::Explained;
use ws_explain::prices::Prices;
use ws_explain::reckoning::{Published, Reckoning};
use ws_terminal::Usage;

/// Reads prices from built-in names and files.
pub fn prices(given: &[PathBuf]) -> anyhow::Result<Option<Prices>> {
    let mut all: Option<Prices> = None;
    for path in given {
        let name = path.display().to_string();
        let prices = match Prices::built_in(&name) {
            Some(built_in) => built_in?,
            None => {
                let text = fs::read_to_string(path).map_err(|error| {
                    let known: Vec<&str> = Prices::built_in_names().collect();
                    Usage(format!(
                        "--prices {name}: {error}; built in: {}",
                        known.join(", ")
                    ))
                })?;
                Prices::read(&name, &text).map_err(|error| Usage(error.to_string()))?
            }
        };
        all = Some(match all {
            Some(earlier) => earlier.and(prices),
            None => prices,
        });
    }
    Ok(all)
}

/// Estimates an explanation in cycles. With the built-in prices, adds the cycles that Dall et al. measured for the
/// same operation on that machine.
pub fn reckon(explained: &Explained, prices: &Prices) -> anyhow::Result<Reckoning> {
    let reference = ws_report::reference::load()?;
    // Dall et al. measured a VM of one level.
    let is_nested = explained.hypervisors > 1;
    let same = reference.of_table("dall-2015", "2").filter(|value| {
        !is_nested && value.benchmark == explained.benchmark && value.hardware == "m400"
    });
    let published = same.filter_map(|value| {
        Some(Published {
            of: value.column.clone(),
            cycles: value.value? as u64,
        })
    });
    let reckoning = Reckoning::of(explained, prices, published.collect());
    Ok(reckoning.map_err(|error| Usage(error.to_string()))?)
}

#[cfg(test)]
#[path = "prices_tests.rs"]
mod tests;
