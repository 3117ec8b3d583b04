//! Gathers boots into the rows of a result.
//!
//! Pure. If a row's conditions in a boot differ from those of its first boot, that boot counts as
//! failed for the row, with the reason.

use super::exits;
use super::row::{External, RowReport};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use ws_analysis::Summary;
use ws_machines::image::BenchmarkRow;
use ws_records::BenchResult;
use ws_results::{Boot, COST, COST_EXTERNAL, EXITS_UNIT, Outcome, Perturbed, Row, Samples, Status};

/// Category of a row that is in no known image.
pub const UNKNOWN: &str = "unknown";

/// Boots and rows of a platform so far.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    pub boots: Vec<Boot>,
    rows: Vec<Row>,
    /// Digests of machine code by benchmark, if it is known which image ran.
    digests: BTreeMap<String, String>,
}

impl Gathered {
    /// Makes empty rows for these benchmarks, in this order.
    pub fn named(known: &[BenchmarkRow]) -> Self {
        let mut gathered = Self::default();
        for row in known {
            let known = gathered.row(&row.name, &row.category);
            known.work.clone_from(&row.work);
            known.facts.clone_from(&row.facts);
        }
        gathered
    }

    /// Makes empty rows for an image that is known to run.
    pub fn of_image(known: &[BenchmarkRow]) -> Self {
        let digest = |row: &BenchmarkRow| (row.name.clone(), row.digest.clone());
        Self {
            digests: known.iter().map(digest).collect(),
            ..Self::named(known)
        }
    }

    /// Finds the row of a benchmark, or adds one at the end.
    fn row(&mut self, name: &str, category: &str) -> &mut Row {
        let rows = self.rows.iter();
        let index = rows.take_while(|row| row.benchmark != name).count();
        if index == self.rows.len() {
            self.rows.push(Row::new(name, category));
        }
        &mut self.rows[index]
    }

    /// Adds a boot and its rows. `unit` is the unit of its ticks. If the boot was cut short, rows that it
    /// did not reach are `Unreached`, with the reason `cut`.
    pub fn add(&mut self, boot: Boot, reports: Vec<RowReport>, unit: &str, cut: Option<&str>) {
        let number = boot.boot;
        for report in reports {
            let digest = self.digests.get(&report.bench).cloned();
            let launch = boot.launches.get(report.launch as usize);
            let vcpus = launch.map_or(0, |launch| launch.vcpus);
            let row = self.row(&report.bench, UNKNOWN);
            add_report(row, number, report, unit, |result| {
                conditions(digest.as_deref(), vcpus, result)
            });
        }
        for row in &mut self.rows {
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

    /// Whether no benchmark has any outcome other than `Unreached`.
    pub fn is_empty(&self) -> bool {
        let mut outcomes = self.rows.iter().flat_map(|row| &row.outcomes);
        outcomes.all(|outcome| outcome.status == Status::Unreached)
    }

    /// The rows of the result.
    pub fn rows(&self) -> Vec<Row> {
        let perturbed = Perturbed::of(&self.boots);
        let finished = |row: &Row| finished(row, &perturbed);
        self.rows.iter().map(finished).collect()
    }
}

/// Adds the outcome of a row in a boot; `conditions` returns the conditions of a result.
fn add_report(
    row: &mut Row,
    boot: u32,
    report: RowReport,
    unit: &str,
    conditions: impl FnOnce(&BenchResult) -> BTreeMap<String, Value>,
) {
    row.host.extend(exits::view(&report, boot));
    let external = report.external.as_ref();
    let mut outcome = Outcome {
        boot,
        status: report.status,
        reason: report.reason,
        check: report.check,
        external: external.and_then(|external| external.why.clone()),
    };
    if let Some(result) = report.result {
        let conditions = conditions(&result);
        if let Some(why) = unlike(row, &conditions, unit) {
            outcome.status = Status::Failed;
            outcome.reason = Some(why);
        } else {
            row.conditions = conditions;
            let place = Samples {
                boot,
                launch: report.launch,
                ..Samples::default()
            };
            let exits = report.exits.iter().flat_map(|e| exits::samples(e, &place));
            let exits: Vec<_> = exits.collect();
            if unit == EXITS_UNIT {
                // The guest's readings of its clock are dropped.
                let all = exits.iter().find(|(name, _)| *name == "exits");
                row.add(
                    COST,
                    unit,
                    all.map_or(place, |(_, samples)| samples.clone()),
                );
            } else {
                measured(row, unit, &place, result, report.external);
            }
            for (name, samples) in exits {
                row.add(name, "count", samples);
            }
        }
    }
    row.outcomes.push(outcome);
}

/// Adds the samples of a result to the row; `place` is their boot and launch.
fn measured(
    row: &mut Row,
    unit: &str,
    place: &Samples,
    result: BenchResult,
    external: Option<External>,
) {
    let inside = Samples {
        iterations: result.iterations,
        run: result.run,
        control: result.control,
        ..place.clone()
    };
    row.add(COST, unit, inside);
    if let Some(external) = external.filter(|external| !external.run.is_empty()) {
        let outside = Samples {
            iterations: result.iterations,
            run: external.run,
            control: external.control,
            lead_ticks: result.lead.unwrap_or(0),
            missing: external.missing,
            ..place.clone()
        };
        row.add(COST_EXTERNAL, unit, outside);
    }
}

fn conditions(digest: Option<&str>, vcpus: u32, result: &BenchResult) -> BTreeMap<String, Value> {
    let mut conditions = BTreeMap::new();
    conditions.insert("vcpus".to_owned(), json!(vcpus));
    let mut add = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            conditions.insert(key.to_owned(), value);
        }
    };
    add("digest", digest.map(|digest| json!(digest)));
    add("page_bytes", result.page_bytes.map(|bytes| json!(bytes)));
    add("ws_bytes", result.ws_bytes.map(|bytes| json!(bytes)));
    add("port", result.port.map(|port| json!(port)));
    conditions
}

/// Describes how a boot's conditions differ from those of earlier boots.
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

/// Makes the row of the result; `perturbed` boots do not decide whether it is exact.
fn finished(row: &Row, perturbed: &Perturbed) -> Row {
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
    let cost = row.metrics.first();
    row.exact = cost.and_then(|metric| Summary::of(metric, perturbed)?.exact);
    row
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
