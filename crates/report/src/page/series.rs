//! What the views draw: results with a short name each, and what each boot of a benchmark says.

use std::collections::BTreeMap;
use ws_analysis::{Band, Measured, Summary, costs};
use ws_results::{Metric, ResultFile};

/// One result.
pub(crate) struct Series<'a> {
    pub result: &'a ResultFile,
    /// Its platform, with the run's date where another run has the same.
    pub label: String,
    /// What of the label stands behind the platform; empty where nothing.
    pub when: String,
    /// Which of the distinct platforms it is of, from 0: its colour, and what filters go by.
    pub platform: usize,
    costs: BTreeMap<&'a str, Cost>,
}

/// A benchmark in one result.
pub(crate) struct Cost {
    pub summary: Summary,
    /// Of each boot of the summary.
    pub boots: Vec<BootDetail>,
    /// From where to where perturbed boots move the value.
    pub band: Option<Band>,
    /// How many of those there are.
    pub perturbed: usize,
}

/// What a boot's samples say beside its estimate.
pub(crate) struct BootDetail {
    /// Operations in a batch.
    pub iterations: u64,
    /// Between these lies the middle half of its samples.
    pub quartiles: (f64, f64),
}

impl Series<'_> {
    /// The benchmark's figures; absent where it has none, or where its check failed.
    pub(crate) fn cost(&self, benchmark: &str) -> Option<&Cost> {
        self.costs.get(benchmark)
    }

    /// Whether any of its figures has a band.
    pub(crate) fn has_band(&self) -> bool {
        self.costs.values().any(|cost| cost.band.is_some())
    }
}

/// The distinct platforms, in the order in which they come.
pub(crate) fn platforms(results: &[ResultFile]) -> Vec<&str> {
    let mut platforms: Vec<&str> = Vec::new();
    for result in results {
        if !platforms.contains(&result.platform.as_str()) {
            platforms.push(&result.platform);
        }
    }
    platforms
}

/// All results, in their order.
pub(crate) fn all(results: &[ResultFile]) -> Vec<Series<'_>> {
    let platforms = platforms(results);
    results
        .iter()
        .map(|result| (result, result.perturbed()))
        .map(|(result, perturbed)| Series {
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
            costs: result
                .rows
                .iter()
                .filter_map(|row| {
                    Some((row.benchmark.as_str(), cost(Measured::of(row, &perturbed)?)))
                })
                .collect(),
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

fn cost(measured: Measured) -> Cost {
    let band = measured.band();
    let boots = measured.summary.boots.iter();
    Cost {
        boots: boots
            .map(|boot| detail(&measured.metric, boot.boot))
            .collect(),
        summary: measured.summary,
        band,
        perturbed: measured.perturbed.len(),
    }
}

fn detail(metric: &Metric, boot: u32) -> BootDetail {
    let samples = metric.boots.iter().find(|samples| samples.boot == boot);
    let mut values: Vec<f64> = samples.map_or_else(Vec::new, |samples| {
        costs(samples)
            .into_iter()
            .map(|cost| cost.value())
            .collect()
    });
    values.sort_by(f64::total_cmp);
    let at = |quarter: usize| values.get(values.len().saturating_sub(1) * quarter / 4);
    BootDetail {
        iterations: samples.map_or(0, |samples| samples.iterations),
        quartiles: (
            at(1).copied().unwrap_or(f64::NAN),
            at(3).copied().unwrap_or(f64::NAN),
        ),
    }
}

/// The units that a benchmark was measured in, in the order in which they come: a plot each.
pub(crate) fn units(series: &[Series], benchmark: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for cost in series.iter().filter_map(|s| s.cost(benchmark)) {
        if !units.contains(&cost.summary.unit) {
            units.push(cost.summary.unit.clone());
        }
    }
    units
}
