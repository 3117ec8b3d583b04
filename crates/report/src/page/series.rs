//! The data of the views: results with a short label each, and the boots' values of each benchmark.

use crate::baselines::has_baseline;
use crate::table::{Table, TableRow};
use std::collections::BTreeMap;
use ws_analysis::Summary;
use ws_results::ResultFile;

/// A result with the data of its views.
pub(crate) struct Series<'a> {
    pub result: &'a ResultFile,
    /// Name of the platform, with the run's date if another run has the same platform.
    pub label: String,
    /// The part of the label after the platform, possibly empty.
    pub when: String,
    /// Index of the platform among the distinct ones, for colours and filters.
    pub platform: usize,
    costs: BTreeMap<&'a str, Summary>,
}

impl Series<'_> {
    /// The benchmark's figures; absent if it has none, or if its check failed.
    pub(crate) fn cost(&self, benchmark: &str) -> Option<&Summary> {
        self.costs.get(benchmark)
    }

    /// Whether any figure of the result has a band.
    pub(crate) fn has_band(&self) -> bool {
        self.costs.values().any(|cost| !cost.perturbed.is_empty())
    }
}

/// Returns the distinct platforms, baselines last. The order is that of colours, so that the compared platforms get the
/// first ones.
pub(crate) fn platforms<'a>(results: &'a [ResultFile], named: Option<&str>) -> Vec<&'a str> {
    let mut platforms = ws_results::platforms(results);
    platforms.sort_by_cached_key(|platform| has_baseline(results, platform, named));
    platforms
}

/// All results, in their order.
pub(crate) fn all<'a>(results: &'a [ResultFile], platforms: &[&str]) -> Vec<Series<'a>> {
    results
        .iter()
        .map(|result| Series {
            result,
            label: [result.platform.as_str(), &when(result, results)]
                .join(" ")
                .trim_end()
                .to_owned(),
            when: when(result, results),
            platform: platforms
                .iter()
                .position(|p| *p == result.platform)
                .unwrap_or(0),
            costs: Summary::costs(result),
        })
        .collect()
}

/// The run's date if another run has the same platform, plus a number if the dates are the same too.
fn when(result: &ResultFile, results: &[ResultFile]) -> String {
    let alike = |other: &&ResultFile| other.platform == result.platform;
    if results.iter().filter(alike).count() == 1 {
        return String::new();
    }
    let twins = results
        .iter()
        .filter(alike)
        .filter(|other| other.created == result.created);
    let number = twins.clone().position(|other| std::ptr::eq(other, result));
    match number.filter(|_| twins.count() > 1) {
        Some(number) => format!("{} ({})", result.created, number + 1),
        None => result.created.clone(),
    }
}

/// The units that a benchmark was measured in, in order of first use: one plot each.
pub(crate) fn units(series: &[Series], benchmark: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for cost in series.iter().filter_map(|s| s.cost(benchmark)) {
        if !units.contains(&cost.unit) {
            units.push(cost.unit.clone());
        }
    }
    units
}

/// Chooses a result for each platform: the newest of those with figures of the most benchmarks. Returns them in their
/// order.
pub(crate) fn newest(series: &[Series], table: &Table) -> Vec<usize> {
    let rank = |index: usize| {
        let measured = |row: &&TableRow| {
            let cell = row.cells[index].as_ref();
            cell.is_some_and(|cell| cell.value.is_some())
        };
        let count = table.rows.iter().filter(measured).count();
        (count, &series[index].result.created, index)
    };
    let best = |index: &usize| {
        let alike = |&other: &usize| series[other].platform == series[*index].platform;
        let alike = (0..series.len()).filter(alike);
        alike.max_by_key(|&other| rank(other)) == Some(*index)
    };
    (0..series.len()).filter(best).collect()
}
