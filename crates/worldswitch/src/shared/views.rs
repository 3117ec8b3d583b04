//! Tables of results, one for each kind of workload.

use super::put;
use crate::cli::{Exports, View};
use anyhow::bail;
use ws_report::{Apps, Kind, Nested, NestedApps, Placement, Requests, Traffics, reference};
use ws_results::ResultFile;

/// Returns the view of the results' workloads.
pub fn of(results: &[ResultFile]) -> View {
    match Kind::of(results) {
        Kind::Benchmark => View::Table,
        Kind::Application => View::Apps,
        Kind::NestedApplication => View::NestedApps,
        Kind::Request => View::Io,
        Kind::Placement => View::Place,
    }
}

/// Shows a view, and exports it. The table of benchmarks is not a view here: it has options of its own.
pub fn show(
    view: View,
    mut results: Vec<ResultFile>,
    traffics: &Traffics,
    forms: &Exports,
) -> anyhow::Result<()> {
    let reference = reference::load()?;
    // A folder lists results by name. In this view, nested VMs follow the VM that they are compared with.
    if matches!(view, View::Nested | View::NestedApps) {
        results.sort_by(|a, b| a.place().cmp(&b.place()));
    }
    match view {
        View::Table => bail!("the table of benchmarks is no view of one kind"),
        View::Apps => {
            let apps = Apps::of(&results, &reference, traffics);
            if apps.workloads.is_empty() && apps.times.is_empty() {
                bail!("these results have no application");
            }
            put(
                forms,
                || apps.to_terminal(),
                || apps.to_json(),
                || apps.to_markdown(),
            )
        }
        View::Io => {
            let requests = Requests::of(&results, &reference);
            if requests.lines.is_empty() {
                bail!("these results have no request to a VM's device");
            }
            put(
                forms,
                || requests.to_terminal(),
                || requests.to_json(),
                || requests.to_markdown(),
            )
        }
        View::Place => {
            let placement = Placement::of(&results, &reference);
            if placement.kinds.is_empty() {
                bail!("these results have no placement");
            }
            put(
                forms,
                || placement.to_terminal(),
                || placement.to_json(),
                || placement.to_markdown(),
            )
        }
        View::Nested => {
            let nested = Nested::of(&results, &reference);
            let mut lines = nested.benchmarks.iter().flat_map(|row| &row.lines);
            if lines.all(|line| line.value.is_none()) {
                bail!("these results have no benchmark of the NEVE paper");
            }
            put(
                forms,
                || nested.to_terminal(),
                || nested.to_json(),
                || nested.to_markdown(),
            )
        }
        View::NestedApps => {
            let nested = NestedApps::of(&results, &reference);
            if nested.workloads.is_empty() {
                bail!("these results have no application");
            }
            put(
                forms,
                || nested.to_terminal(),
                || nested.to_json(),
                || nested.to_markdown(),
            )
        }
    }
}
