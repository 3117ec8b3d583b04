//! Gathers boots into the rows of a result.
//!
//! Pure. Rows whose conditions differ from those of their first boot are not put together with
//! it: such a boot counts as failed for that row, with the reason.

use crate::boot::Settled;
use crate::exits;
use crate::launch::RowReport;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use ws_machines::image::BenchmarkRow;
use ws_records::BenchResult;
use ws_results::{Boot, Metric, Outcome, Row, Samples, Status};

/// What the guest measured of every benchmark; the first of its metrics.
const METRIC: &str = "cost";
/// The same batches as the host timed them.
const METRIC_EXTERNAL: &str = "cost_external";

/// What is known of a benchmark before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub name: String,
    pub category: String,
    /// Digest of its machine code, where the image that ran is known.
    pub digest: Option<String>,
}

impl Known {
    /// As the image that runs has it.
    pub fn of_image(row: &BenchmarkRow) -> Self {
        Self {
            name: row.name.clone(),
            category: row.category.clone(),
            digest: Some(row.digest.clone()),
        }
    }
}

/// What a platform has given so far.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    pub boots: Vec<Boot>,
    rows: Vec<(Known, Row)>,
}

impl Gathered {
    /// Nothing of these benchmarks yet; their order stays.
    pub fn new(known: impl IntoIterator<Item = Known>) -> Self {
        let mut gathered = Self::default();
        for known in known {
            gathered.row(known);
        }
        gathered
    }

    /// The row of a benchmark; a new one at the end where there is none.
    fn row(&mut self, known: Known) -> usize {
        if let Some(index) = self
            .rows
            .iter()
            .position(|(other, _)| other.name == known.name)
        {
            return index;
        }
        let row = Row {
            benchmark: known.name.clone(),
            category: known.category.clone(),
            status: Status::Unreached,
            reason: None,
            outcomes: Vec::new(),
            conditions: BTreeMap::new(),
            exact: None,
            metrics: Vec::new(),
            host: Vec::new(),
        };
        self.rows.push((known, row));
        self.rows.len() - 1
    }

    /// Adds a boot and what became of its rows. `unit` is that of its ticks. In a boot that was
    /// cut short, rows that it did not reach are `Unreached`, because of `cut`.
    pub fn add(&mut self, boot: Boot, settled: Vec<Settled>, unit: &str, cut: Option<&str>) {
        let number = boot.boot;
        for one in settled {
            let index = self.row(Known {
                name: one.report.bench.clone(),
                category: "unknown".into(),
                digest: None,
            });
            if let Some((known, row)) = self.rows.get_mut(index) {
                add_outcome(known, row, number, one, unit);
            }
        }
        for (_, row) in &mut self.rows {
            let reached = row.outcomes.last().map(|outcome| outcome.boot) == Some(number);
            if let Some(why) = cut.filter(|_| !reached) {
                row.outcomes.push(Outcome {
                    boot: number,
                    status: Status::Unreached,
                    reason: Some(why.to_owned()),
                    check: None,
                    external: None,
                });
            }
        }
        self.boots.push(boot);
    }

    /// Whether any benchmark came to anything.
    pub fn is_empty(&self) -> bool {
        let reached = |row: &Row| row.outcomes.iter().any(|o| o.status != Status::Unreached);
        !self.rows.iter().any(|(_, row)| reached(row))
    }

    /// The rows as a result has them.
    pub fn rows(&self) -> Vec<Row> {
        let perturbed = self.boots.iter().filter(|boot| boot.perturbed.is_some());
        let perturbed: BTreeSet<u32> = perturbed.map(|boot| boot.boot).collect();
        let finished = |(_, row): &(Known, Row)| finished(row, &perturbed);
        self.rows.iter().map(finished).collect()
    }
}

fn add_outcome(known: &Known, row: &mut Row, boot: u32, settled: Settled, unit: &str) {
    row.host
        .extend(exits::view(&settled.report, boot, settled.launch));
    let RowReport {
        status,
        reason,
        check,
        result,
        exits,
        external,
        ..
    } = settled.report;
    let mut outcome = Outcome {
        boot,
        status,
        reason,
        check,
        external: external.as_ref().and_then(|external| external.why.clone()),
    };
    if let Some(result) = result {
        let conditions = conditions(known, settled.vcpus, &result);
        match unlike(row, &conditions, unit) {
            Some(why) => {
                outcome.status = Status::Failed;
                outcome.reason = Some(why);
            }
            None => {
                row.conditions = conditions;
                let place = Samples {
                    boot,
                    launch: settled.launch,
                    iterations: result.iterations,
                    ..Samples::default()
                };
                let inside = Samples {
                    run: result.run,
                    control: result.control,
                    ..place.clone()
                };
                keep(row, METRIC, unit, inside);
                if let Some(external) = external.filter(|external| !external.run.is_empty()) {
                    let outside = Samples {
                        run: external.run,
                        control: external.control,
                        lead_ticks: result.lead.unwrap_or(0),
                        missing: external.missing,
                        ..place.clone()
                    };
                    keep(row, METRIC_EXTERNAL, unit, outside);
                }
                for (name, total) in exits.iter().flat_map(exits::totals) {
                    // A count over all samples of a boot is one sample of as many operations.
                    let counted = Samples {
                        iterations: exits.as_ref().map_or(0, |exits| exits.operations),
                        run: vec![total],
                        control: vec![0],
                        ..place.clone()
                    };
                    keep(row, name, "count", counted);
                }
            }
        }
    }
    row.outcomes.push(outcome);
}

fn conditions(known: &Known, vcpus: u32, result: &BenchResult) -> BTreeMap<String, Value> {
    let mut conditions = BTreeMap::new();
    conditions.insert("vcpus".to_owned(), json!(vcpus));
    let mut add = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            conditions.insert(key.to_owned(), value);
        }
    };
    add("digest", known.digest.as_ref().map(|digest| json!(digest)));
    add("page_bytes", result.page_bytes.map(|bytes| json!(bytes)));
    add("ws_bytes", result.ws_bytes.map(|bytes| json!(bytes)));
    add("port", result.port.map(|port| json!(port)));
    conditions
}

/// How a boot's conditions differ from those of the boots before it.
fn unlike(row: &Row, conditions: &BTreeMap<String, Value>, unit: &str) -> Option<String> {
    let metric = row.metrics.first()?;
    if metric.unit != unit {
        return Some(format!(
            "measured in {unit}, earlier boots in {}",
            metric.unit
        ));
    }
    let keys = row.conditions.keys().chain(conditions.keys());
    let differs = keys
        .into_iter()
        .find(|key| row.conditions.get(*key) != conditions.get(*key))?;
    let show = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
    Some(format!(
        "measured with {differs} {}, earlier boots with {}",
        show(conditions.get(differs)),
        show(row.conditions.get(differs))
    ))
}

fn keep(row: &mut Row, name: &str, unit: &str, samples: Samples) {
    match row.metrics.iter_mut().find(|metric| metric.name == name) {
        Some(metric) => metric.boots.push(samples),
        None => row.metrics.push(Metric {
            name: name.into(),
            unit: unit.into(),
            boots: vec![samples],
        }),
    }
}

/// A row as a result has it; boots that were `perturbed` do not speak for its digits.
fn finished(row: &Row, perturbed: &BTreeSet<u32>) -> Row {
    let mut row = row.clone();
    let first = row
        .outcomes
        .iter()
        .find(|outcome| outcome.status != Status::Ok);
    (row.status, row.reason) = match first {
        Some(outcome) => (outcome.status, outcome.reason.clone()),
        None if row.outcomes.is_empty() => (Status::Unreached, None),
        None => (Status::Ok, None),
    };
    let cost = row.metrics.first().map(|metric| metric.without(perturbed));
    row.exact = cost.as_ref().and_then(ws_analysis::exact);
    row
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
