//! Events files of workloads.

use crate::shared::input;
use std::path::Path;
use ws_analysis::model::Workload;

/// Reads an events file.
pub fn read(path: &Path) -> anyhow::Result<Workload> {
    let name = path.display().to_string();
    Workload::parse(&name, &input::read(path)?).map_err(anyhow::Error::msg)
}
