//! Boots a machine of the lab while its emulator records it, and explains the executed instructions.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod counted;
pub mod debug;
mod keeper;
mod operation;
pub mod prices;
mod requests;
mod workloads;

use ws_terminal::output;
use ws_text::Sheet;

pub use keeper::Keeper;
pub use operation::{Explainer, Texts, machine, symbols, temporary_folder};
pub use requests::Requests;
pub use workloads::Workloads;

/// Default threshold of a difference: functions whose own instructions changed by fewer are summed up.
pub const LEAST: u64 = 10;

/// Prints tables, each below its title.
fn titled(tables: impl IntoIterator<Item = (String, Sheet)>) -> anyhow::Result<()> {
    for (title, table) in tables {
        output::data(&format!("\n{title}\n{}", table.to_terminal("")))?;
    }
    Ok(())
}
