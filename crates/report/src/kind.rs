//! Kinds of workloads, each of which has a table of its own.

use crate::{apps, requests};
use ws_results::{ResultFile, Row};

/// A kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A benchmark of the project's guest.
    Benchmark,
    /// An application.
    Application,
    /// An application, of which some machine of the results runs a nested VM.
    NestedApplication,
    /// A request to a VM's device.
    Request,
    /// Work at a placement on host CPUs.
    Placement,
}

impl Kind {
    fn of_row(row: &Row) -> Self {
        if requests::is_request(row) {
            Kind::Request
        } else if row.facts().placement.is_some() {
            Kind::Placement
        } else if apps::is_workload(&row) {
            Kind::Application
        } else {
            Kind::Benchmark
        }
    }

    /// The one kind of all rows. Results of several kinds are of benchmarks, whose table takes any row.
    pub fn of(results: &[ResultFile]) -> Self {
        let mut rows = results.iter().flat_map(|result| &result.rows);
        let Some(kind) = rows.next().map(Self::of_row) else {
            return Kind::Benchmark;
        };
        let is_nested = |result: &ResultFile| result.facts().is_nested();
        match kind {
            _ if rows.any(|row| Self::of_row(row) != kind) => Kind::Benchmark,
            Kind::Application if results.iter().any(is_nested) => Kind::NestedApplication,
            kind => kind,
        }
    }
}
