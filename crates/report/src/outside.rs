//! What the table says of a row that the host timed too.

use schemars::JsonSchema;
use serde::Serialize;
use ws_analysis::{Summary, batch_cost, batch_span, difference, same_samples, summarize};
use ws_results::{COST, COST_EXTERNAL, ResultFile, Row, Status};

/// The row that measures the measurement.
const IDLE: &str = "idle";

/// A row's cost as the host timed it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outside {
    /// The cost of one operation, in the cell's unit; absent where the host timed no sample.
    pub value: Option<f64>,
    /// Whether it cannot be told from zero.
    pub near_zero: bool,
    /// How far it lies from what the guest measured in the same samples, as a fraction of that.
    /// Absent where one of the two cannot be told from zero.
    pub difference: Option<f64>,
    /// By how much the notification alone can move it, as a fraction: Idle's spread from outside
    /// over what one of this row's batches cost. Absent without Idle, and on Idle itself.
    pub noise: Option<f64>,
    /// How many samples were timed, and how many could not be.
    pub samples: usize,
    /// See `samples`.
    pub missing: usize,
}

/// Idle's spread on one platform, from inside and from outside, in ticks of one batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IdleSpread {
    pub inside: f64,
    pub outside: f64,
}

impl IdleSpread {
    /// Of a result whose Idle was timed from outside.
    pub(crate) fn of(result: &ResultFile) -> Option<Self> {
        let idle = result.row(IDLE)?;
        Some(IdleSpread {
            inside: batch_span(idle.metric(COST)?)?,
            outside: batch_span(idle.metric(COST_EXTERNAL)?)?,
        })
    }
}

impl Outside {
    /// Of a row that the host timed, or should have.
    pub(crate) fn of(row: &Row, idle: Option<IdleSpread>) -> Option<Self> {
        let metric = row.metric(COST_EXTERNAL);
        let untold = row.outcomes.iter().any(|o| o.external.is_some());
        if row.status == Status::Failed || (metric.is_none() && !untold) {
            return None;
        }
        let boots = metric.iter().flat_map(|metric| &metric.boots);
        let summary = metric.and_then(summarize);
        let batch = metric.and_then(batch_cost).filter(|ticks| *ticks > 0.0);
        let noise = |idle: IdleSpread| Some(idle.outside / batch?);
        let inside = row.metric(COST).zip(metric);
        let inside = inside.and_then(|(inside, outside)| summarize(&same_samples(inside, outside)));
        let differ = |outside: &Summary| difference(inside.as_ref()?, outside);
        Some(Outside {
            value: summary.as_ref().map(|summary| summary.value),
            near_zero: summary.as_ref().is_some_and(Summary::is_near_zero),
            difference: summary.as_ref().and_then(differ),
            noise: idle.filter(|_| row.benchmark != IDLE).and_then(noise),
            samples: boots.clone().map(|samples| samples.run.len()).sum(),
            missing: boots.map(|samples| samples.missing.len()).sum(),
        })
    }

    /// What is to be known of a row: of Idle its spread, of others why the host timed none.
    pub(crate) fn note(&self, row: &Row, idle: Option<IdleSpread>) -> Option<String> {
        if let Some(idle) = idle.filter(|_| row.benchmark == IDLE) {
            return Some(format!(
                "eight tenths of Idle's batches lie within {} ticks of each other from inside, {} from outside",
                crate::number::value(idle.inside, "count"),
                crate::number::value(idle.outside, "count"),
            ));
        }
        let why = row.outcomes.iter().find_map(|o| o.external.as_deref())?;
        self.value
            .is_none()
            .then(|| format!("no time from outside: {why}"))
    }
}
