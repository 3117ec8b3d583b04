//! The figure of one benchmark in a lab result, and the figure's band.

use crate::{Band, Outcome, Summary};
use ws_results::{COST, ResultFile, Status};

/// A benchmark's count on a lab machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The mode of the samples, in instructions per operation.
    pub insns: f64,
    /// The lowest and the highest mode of all boots, perturbed ones included. Both are equal if no
    /// boot was perturbed.
    pub band: (f64, f64),
}

impl Figure {
    /// Returns the figure of `benchmark` in a result. The error says why there is no reliable figure.
    pub fn of(result: &ResultFile, benchmark: &str) -> Result<Self, String> {
        let row = result.row(benchmark).ok_or("not measured")?;
        if row.status != Status::Ok {
            let word = row.status.word();
            let reason = row.reason.as_ref();
            return Err(reason.map_or_else(|| word.into(), |reason| format!("{word}: {reason}")));
        }
        let metric = row.metric(COST).ok_or("no figures")?;
        if metric.unit != "insns" {
            return Err(format!("measured in {}, not in instructions", metric.unit));
        }
        if row.exact == Some(false) {
            return Err("not exact: boots gave different counts".into());
        }
        let summary = Summary::of(metric, &result.perturbed()).ok_or("no figures")?;
        let Band { low, high } = summary.range();
        Ok(Self {
            insns: summary.value,
            band: (low, high),
        })
    }

    /// Judges the figure by a budget, in instructions: it is over the budget only if its whole band is.
    pub fn against(&self, budget: f64) -> Outcome {
        if self.insns <= budget {
            Outcome::NoRegression
        } else if self.band.0 <= budget {
            Outcome::Inconclusive
        } else {
            Outcome::Regression
        }
    }
}
