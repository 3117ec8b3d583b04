//! Budget files, for `test` and `lab check`.

use std::path::Path;
use ws_budget::{Budget, parse, sound};
use ws_machines::resources::Resources;
use ws_terminal::{Usage, input};

/// Reads a budget, whose platforms and benchmarks must exist.
///
/// # Errors
/// The file can't be read; wrong usage: it is not a budget, or names what does not exist.
pub fn read(path: &Path, resources: &Resources) -> anyhow::Result<Budget> {
    let budget = parse(&input::read(path)?).map_err(|why| not_a_budget(path, &why))?;
    sound(&budget, resources).map_err(|why| Usage(format!("{}: {why}", path.display())))?;
    Ok(budget)
}

/// Wrong usage: a text is not a budget.
pub fn not_a_budget(path: &Path, why: &str) -> Usage {
    Usage(format!("{} is not a budget: {why}", path.display()))
}
