//! Tables of results, one for each kind of workload.

use super::put;
use super::traffics::traffics;
use crate::cli::{Exports, View};
use anyhow::bail;
use ws_report::{Apps, Kind, Nested, NestedApps, Placement, Requests, reference};
use ws_results::ResultFile;
use ws_runner::parts::Places;

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

/// Shows a view, or says that the results have no such row.
macro_rules! show {
    ($view:expr, $row:literal, $forms:expr) => {{
        let view = $view;
        if view.is_empty() {
            bail!("these results have no {}", $row);
        }
        put(
            $forms,
            || view.to_terminal(),
            || view.to_json(),
            || view.to_markdown(),
        )
    }};
}

/// Shows a view, and exports it. The table of benchmarks is not a view here: it has options of its own.
pub fn show(
    view: View,
    results: &[ResultFile],
    places: &Places,
    forms: &Exports,
) -> anyhow::Result<()> {
    let reference = &reference::load()?;
    // A folder lists results by name. In these views, nested VMs follow the VM that they are compared with.
    let as_measured = || {
        let mut results = results.to_vec();
        results.sort_by(|a, b| a.place().cmp(&b.place()));
        results
    };
    match view {
        View::Table => bail!("the table of benchmarks is not a view of one kind"),
        View::Apps => {
            let apps = Apps::of(results, reference, &traffics(places)?);
            show!(apps, "application", forms)
        }
        View::Io => show!(
            Requests::of(results, reference),
            "request to a VM's device",
            forms
        ),
        View::Place => show!(Placement::of(results, reference), "placement", forms),
        View::Nested => {
            let nested = Nested::of(&as_measured(), reference);
            show!(nested, "benchmark of the NEVE paper", forms)
        }
        View::NestedApps => {
            let nested = NestedApps::of(&as_measured(), reference);
            show!(nested, "application", forms)
        }
    }
}
