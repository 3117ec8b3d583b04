//! `worldswitch benchmarks`: lists benchmarks, and the platforms that can measure each.

use crate::cli::BenchmarksArgs;
use ws_runner::parts;
use ws_terminal::output;

/// Prints the benchmarks of these platforms; by default, of the platforms that `run` uses.
pub fn benchmarks(args: &BenchmarksArgs) -> anyhow::Result<()> {
    let resources = parts::resources(&args.parts.to_parts());
    let text = ws_catalog::benchmarks(&args.on.concat(), &resources, args.json)?;
    output::data(&text)
}
