//! What became of one benchmark in one launch.

use ws_records::{BenchResult, Exits};
use ws_results::{Check, Status};

/// What became of a benchmark in a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct RowReport {
    pub bench: String,
    /// Index into its boot's launches.
    pub launch: u32,
    pub status: Status,
    pub reason: Option<String>,
    pub check: Option<Check>,
    /// Its samples; only where the status is `Ok`.
    pub result: Option<BenchResult>,
    /// What the monitor counted meanwhile.
    pub exits: Option<Exits>,
    /// vCPU threads that were seen elsewhere than they were pinned to, in words.
    pub strayed: Vec<String>,
    /// The same samples as the host timed them; only where it was to.
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

/// What the host measured of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct External {
    /// Ticks of each batch of which both ends were heard, and of its control batch.
    pub run: Vec<u64>,
    pub control: Vec<u64>,
    /// The samples, counted from 0, that are not among these.
    pub missing: Vec<u32>,
    /// Why they are not.
    pub why: Option<String>,
}

impl External {
    /// Of `count` samples none, for one reason.
    pub fn none(count: usize, why: String) -> Self {
        Self {
            missing: (0..).take(count).collect(),
            why: Some(why),
            ..Self::default()
        }
    }
}
