//! Events files of workloads.

use std::path::Path;
use ws_analysis::model::Workload;
use ws_terminal::input;

/// Reads an events file.
pub fn read(path: &Path) -> anyhow::Result<Workload> {
    let name = path.display().to_string();
    Workload::parse(&name, &input::read(path)?).map_err(anyhow::Error::msg)
}
