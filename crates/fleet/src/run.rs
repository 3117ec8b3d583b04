//! Record of a cell's run, kept beside its result (`run.json`).

use crate::digits::Digits;
use serde::{Deserialize, Serialize};
use ws_results::{ResultFile, Status};

/// The format version.
pub const SCHEMA: &str = "worldswitch-fleet-run/1";

/// Run of a cell on a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Campaign that asked for the run.
    pub campaign: String,
    /// Name of the node that measured.
    pub node: String,
    /// Slurm's job, or `local`.
    pub job: String,
    /// End of the run, RFC 3339, UTC.
    pub at: String,
    /// Time of all machines of the run, one after another, in seconds: about that of one processor.
    pub seconds: f64,
    /// Number of boots.
    pub boots: u32,
    /// Number of benchmarks.
    pub rows: u32,
    /// The benchmarks without a figure that were not skipped.
    pub without_figure: Vec<String>,
    /// Digits that other runs of the cell must have too; None if the machine measures time, or an outcome may be
    /// chance.
    pub digits: Option<Digits>,
    /// Name of the result file in the same folder.
    pub result: String,
}

impl Run {
    /// Makes the record of a result; `exact`: its machine counts instructions.
    pub fn of(
        result: &ResultFile,
        exact: bool,
        campaign: &str,
        node: &str,
        job: &str,
        at: &str,
    ) -> Self {
        let launches = result.boots.iter().flat_map(|boot| &boot.launches);
        let wall_ms: u64 = launches.map(|launch| launch.wall_ms).sum();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let bad = result
            .rows
            .iter()
            .filter(|row| ![Status::Ok, Status::Skip].contains(&row.status));
        Self {
            schema: SCHEMA.into(),
            campaign: campaign.to_owned(),
            node: node.to_owned(),
            job: job.to_owned(),
            at: at.to_owned(),
            seconds: wall_ms as f64 / 1000.0,
            boots: count(result.boots.len()),
            rows: count(result.rows.len()),
            without_figure: bad.map(|row| row.benchmark.clone()).collect(),
            digits: Digits::of(result).filter(|_| exact),
            result: ws_results::file_name(&result.platform),
        }
    }
}
