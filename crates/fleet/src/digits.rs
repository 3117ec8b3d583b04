//! Digits of a run of an exact cell: all runs of the cell must have the same.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use ws_results::{ResultFile, Row, Status};

/// Hash of each benchmark's counts in all boots, by name; the status of a benchmark without counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digits(BTreeMap<String, String>);

impl Digits {
    /// Takes the digits of a result. None if some row's outcome may be chance: it took too long, was lost on the line,
    /// or the run was stopped.
    pub fn of(result: &ResultFile) -> Option<Self> {
        let by_chance =
            |row: &Row| [Status::Timeout, Status::Lost, Status::Unreached].contains(&row.status);
        if result.interrupted || result.rows.iter().any(by_chance) {
            return None;
        }
        let rows = result.rows.iter();
        Some(Self(
            rows.map(|row| (row.benchmark.clone(), digit(row)))
                .collect(),
        ))
    }

    /// Names the benchmarks in which two runs differ, sorted.
    pub fn differ(&self, other: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let names = names.into_iter();
        let differ = names.filter(|name| self.0.get(*name) != other.0.get(*name));
        differ.cloned().collect()
    }

    /// Makes digits up, for tests.
    #[cfg(test)]
    pub(crate) fn made_up(row: &str, digit: &str) -> Self {
        Self([(row.to_owned(), digit.to_owned())].into())
    }
}

/// Hashes a row's counts of instructions; returns its status if there are none.
fn digit(row: &Row) -> String {
    let mut hash = Sha256::new();
    let mut any = false;
    for metric in row.metrics.iter().filter(|metric| metric.unit == "insns") {
        for samples in &metric.boots {
            any = true;
            hash.update(format!(
                "{} {} {}\n",
                metric.name,
                samples.boot,
                samples.run.len()
            ));
            hash.update(samples.iterations.to_le_bytes());
            for ticks in samples.run.iter().chain(&samples.control) {
                hash.update(ticks.to_le_bytes());
            }
        }
    }
    match any {
        true => hash
            .finalize()
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect(),
        false => format!("{:?}", row.status).to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_results::{Identity, Samples};

    fn result(rows: Vec<Row>) -> ResultFile {
        ResultFile {
            schema: ws_results::SCHEMA.into(),
            created: "2026-01-31T12:00:00Z".into(),
            tool: "worldswitch".into(),
            command: Vec::new(),
            platform: "lab:native".into(),
            position: None,
            identity: Identity::default(),
            disturbances: None,
            interrupted: false,
            boots: Vec::new(),
            rows,
        }
    }

    fn row(name: &str, run: &[u64]) -> Row {
        let mut row = Row::new(name, "io");
        row.status = Status::Ok;
        let samples = Samples {
            boot: 1,
            iterations: 1,
            run: run.to_vec(),
            control: vec![1; run.len()],
            ..Samples::default()
        };
        row.add("cost", "insns", samples);
        row
    }

    #[test]
    fn any_other_count_is_another_digit() {
        let digits =
            |run: &[u64]| Digits::of(&result(vec![row("in", run), row("out", &[5])])).unwrap();
        assert_eq!(digits(&[3, 4]).differ(&digits(&[3, 4])), [""; 0]);
        assert_eq!(digits(&[3, 4]).differ(&digits(&[4, 3])), ["in"]);
        assert_eq!(digits(&[3, 4]).differ(&digits(&[3])), ["in"]);
        let fewer = Digits::of(&result(vec![row("in", &[3, 4])])).unwrap();
        assert_eq!(fewer.differ(&digits(&[3, 4])), ["out"]);
    }

    #[test]
    fn a_row_without_counts_has_its_status() {
        let mut skipped = Row::new("in", "io");
        skipped.status = Status::Skip;
        let mut died = skipped.clone();
        died.status = Status::Died;
        let (skipped, died) = (result(vec![skipped]), result(vec![died]));
        let (skipped, died) = (Digits::of(&skipped).unwrap(), Digits::of(&died).unwrap());
        assert_eq!(skipped.differ(&died), ["in"]);
    }

    #[test]
    fn what_may_be_chance_has_no_digits() {
        let mut late = row("in", &[3]);
        late.status = Status::Timeout;
        assert_eq!(Digits::of(&result(vec![late])), None);
        let stopped = ResultFile {
            interrupted: true,
            ..result(vec![row("in", &[3])])
        };
        assert_eq!(Digits::of(&stopped), None);
    }
}
