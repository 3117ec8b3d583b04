//! Outcome of a benchmark in a launch.

use ws_records::{BenchResult, Exits};
use ws_results::{Check, Status};

/// Outcome of a benchmark in a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct RowReport {
    pub bench: String,
    /// Index into the boot's launches.
    pub launch: u32,
    pub status: Status,
    pub reason: Option<String>,
    pub check: Option<Check>,
    /// Samples; only if the status is `Ok`.
    pub result: Option<BenchResult>,
    /// Counts of the monitor while the benchmark ran.
    pub exits: Option<Exits>,
    /// vCPU threads that were seen on other CPUs than they are pinned to, in words.
    pub strayed: Vec<String>,
    /// Samples as timed by the host; only with `--external`.
    pub external: Option<External>,
}

impl RowReport {
    /// A report without a result.
    pub fn without(bench: &str, status: Status, reason: impl Into<String>) -> Self {
        Self {
            bench: bench.to_owned(),
            launch: 0,
            status,
            reason: Some(reason.into()),
            check: None,
            result: None,
            exits: None,
            strayed: Vec::new(),
            external: None,
        }
    }
}

/// A row's samples as timed by the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct External {
    /// Ticks of the run batch and of the control batch of each sample whose marks all have a time.
    pub run: Vec<u64>,
    pub control: Vec<u64>,
    /// Indices of the other samples, from 0.
    pub missing: Vec<u32>,
    /// Reason why samples are missing.
    pub why: Option<String>,
}

impl External {
    /// Reports all of `count` samples as missing, for one reason.
    pub fn none(count: usize, why: String) -> Self {
        Self {
            missing: (0..).take(count).collect(),
            why: Some(why),
            ..Self::default()
        }
    }
}
