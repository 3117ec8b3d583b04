//! What the views draw: results with a short name each, and what each boot of a benchmark says.

use std::collections::BTreeMap;
use ws_analysis::Summary;
use ws_results::{ResultFile, platforms};

/// One result.
pub(crate) struct Series<'a> {
    pub result: &'a ResultFile,
    /// Its platform, with the run's date where another run has the same.
    pub label: String,
    /// What of the label stands behind the platform; empty where nothing.
    pub when: String,
    /// Which of the distinct platforms it is of, from 0: its colour, and what filters go by.
    pub platform: usize,
    costs: BTreeMap<&'a str, Summary>,
}

impl Series<'_> {
    /// The benchmark's figures; absent where it has none, or where its check failed.
    pub(crate) fn cost(&self, benchmark: &str) -> Option<&Summary> {
        self.costs.get(benchmark)
    }

    /// Whether any of its figures has a band.
    pub(crate) fn has_band(&self) -> bool {
        self.costs.values().any(|cost| !cost.perturbed.is_empty())
    }
}

/// All results, in their order.
pub(crate) fn all(results: &[ResultFile]) -> Vec<Series<'_>> {
    let platforms = platforms(results);
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

/// The run's date, where another run has the same platform, and a number where that is the same.
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

/// The units that a benchmark was measured in, in the order in which they come: a plot each.
pub(crate) fn units(series: &[Series], benchmark: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for cost in series.iter().filter_map(|s| s.cost(benchmark)) {
        if !units.contains(&cost.unit) {
            units.push(cost.unit.clone());
        }
    }
    units
}
