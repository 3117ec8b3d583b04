//! `worldswitch machines`: platforms to measure on, what each needs, and whether it is usable here.

use crate::cli::MachinesArgs;
use ws_runner::parts;
use ws_terminal::output;

/// Prints the platforms.
pub fn machines(args: &MachinesArgs) -> anyhow::Result<()> {
    let resources = parts::resources(&args.parts.to_parts());
    output::data(&ws_catalog::platforms(&resources, args.json)?)
}
