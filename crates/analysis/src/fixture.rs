//! A metric for tests of several files.

use ws_results::{Metric, Samples};

/// A metric with these boots' run batches; every control batch takes `control` ticks.
pub fn metric(unit: &str, iterations: u64, control: u64, boots: &[&[u64]]) -> Metric {
    let samples = |(boot, run): (u32, &&[u64])| Samples {
        boot,
        iterations,
        run: run.to_vec(),
        control: vec![control; run.len()],
        ..Samples::default()
    };
    Metric {
        name: "cost".into(),
        unit: unit.into(),
        boots: (1..).zip(boots).map(samples).collect(),
    }
}
