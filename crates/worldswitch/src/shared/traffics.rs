//! The network traffic of the lab's workloads.

use ws_report::Traffics;
use ws_runner::parts::{Places, recipes};

/// Reads the network traffic of all workloads, by their digests. Empty without the lab's recipes: results can be shown
/// without them.
pub fn traffics(places: &Places) -> anyhow::Result<Traffics> {
    let Ok(lab) = recipes(places) else {
        return Ok(Traffics::new());
    };
    let of = |name: String| {
        let workload = lab.workload(&name)?;
        Ok((workload.digest(), workload.bytes))
    };
    lab.workloads()?.into_iter().map(of).collect()
}
