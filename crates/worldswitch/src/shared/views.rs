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
    // A folder lists results by name. In these views, nested VMs follow the VM that they are compared with.
    if matches!(view, View::Nested | View::NestedApps) {
        results.sort_by(|a, b| a.place().cmp(&b.place()));
    }
    let reference = &reference::load()?;
    match view {
        View::Table => bail!("the table of benchmarks is no view of one kind"),
        View::Apps => shown(&Apps::of(&results, reference, traffics), forms),
        View::Io => shown(&Requests::of(&results, reference), forms),
        View::Place => shown(&Placement::of(&results, reference), forms),
        View::Nested => shown(&Nested::of(&results, reference), forms),
        View::NestedApps => shown(&NestedApps::of(&results, reference), forms),
    }
}

/// Shows a view that is not empty.
fn shown(view: &impl Viewed, forms: &Exports) -> anyhow::Result<()> {
    if view.is_empty() {
        bail!("these results have no {}", view.row());
    }
    put(forms, || view.text(), || view.json(), || view.markdown())
}

/// A view in its forms.
trait Viewed {
    /// Returns the name of the view's rows, for the message on results without such rows.
    fn row(&self) -> &'static str;
    fn is_empty(&self) -> bool;
    fn text(&self) -> String;
    fn json(&self) -> serde_json::Result<String>;
    fn markdown(&self) -> String;
}

/// Implements [`Viewed`] by the methods that all views have.
macro_rules! viewed {
    ($view:ty, $row:literal, $is_empty:expr) => {
        impl Viewed for $view {
            fn row(&self) -> &'static str {
                $row
            }
            fn is_empty(&self) -> bool {
                let is_empty: fn(&Self) -> bool = $is_empty;
                is_empty(self)
            }
            fn text(&self) -> String {
                self.to_terminal()
            }
            fn json(&self) -> serde_json::Result<String> {
                self.to_json()
            }
            fn markdown(&self) -> String {
                self.to_markdown()
            }
        }
    };
}

viewed!(Apps, "application", |view| view.workloads.is_empty()
    && view.times.is_empty());
viewed!(Requests, "request to a VM's device", |view| view
    .lines
    .is_empty());
viewed!(Placement, "placement", |view| view.kinds.is_empty());
viewed!(Nested, "benchmark of the NEVE paper", |view| {
    let mut lines = view.benchmarks.iter().flat_map(|row| &row.lines);
    lines.all(|line| line.value.is_none())
});
viewed!(NestedApps, "application", |view| view.workloads.is_empty());
