//! The opening of the page: one sentence with the finding, and one figure that shows it.

use super::series::Series;
use super::{Report, apps, explained, io, nested, place, ranked, requests};
use crate::reference::Reference;
use crate::table::Table;
use maud::Markup;

/// The opening.
pub(crate) struct Lead {
    /// The finding, not escaped.
    pub sentence: String,
    pub figure: Markup,
    /// The view that the figure was taken from.
    pub of: View,
}

/// A view that can open the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Benchmarks,
    Nested,
    Requests,
    Io,
    Apps,
    Place,
    Explained,
}

/// Returns the opening of a report. Nested VMs come first if there are any, then benchmarks of the suite's main rows,
/// then all other measurements.
pub(crate) fn lead(
    report: &Report,
    reference: &Reference,
    series: &[Series],
    platforms: &[&str],
    table: &Table,
) -> Option<Lead> {
    let benchmarks = |main| ranked::lead(table, series, platforms, &report.comparisons, main);
    nested::lead(reference, report.results)
        .or_else(|| benchmarks(ranked::Rows::Main))
        .or_else(|| requests::lead(reference, report.results, platforms))
        .or_else(|| io::lead(series))
        .or_else(|| apps::lead(reference, report.results, platforms))
        .or_else(|| place::lead(reference, report.results))
        .or_else(|| explained::lead(&report.explained))
        .or_else(|| benchmarks(ranked::Rows::All))
}
