//! The external timing (by the host) of a row in the table.

use schemars::JsonSchema;
use serde::Serialize;
use ws_analysis::{Summary, batch_cost, batch_span, difference, same_samples, summarize};
use ws_results::{COST, COST_EXTERNAL, ResultFile, Row, Status};

/// The row that shows the noise of the measurement itself.
const IDLE: &str = "idle";

/// A row's cost as timed by the host.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outside {
    /// The cost of one operation, in the cell's unit; absent if the host timed no sample.
    pub value: Option<f64>,
    /// Whether the cost cannot be told from zero.
    pub near_zero: bool,
    /// (external - guest) / guest, over the same samples. Absent if one of the two cannot be told from
    /// zero.
    pub difference: Option<f64>,
    /// Fraction by which the notification alone can move the cost: Idle's external spread / the cost of one of this
    /// row's batches. Absent without Idle, and for Idle itself.
    pub noise: Option<f64>,
    /// The number of samples that were timed.
    pub samples: usize,
    /// The number of samples that could not be timed.
    pub missing: usize,
}

/// Idle's spread on one platform, as timed by the guest and by the host, in ticks of one batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IdleSpread {
    pub inside: f64,
    pub outside: f64,
}

impl IdleSpread {
    /// The spread of a result whose Idle was timed externally.
    pub(crate) fn of(result: &ResultFile) -> Option<Self> {
        let idle = result.row(IDLE)?;
        Some(IdleSpread {
            inside: batch_span(idle.metric(COST)?)?,
            outside: batch_span(idle.metric(COST_EXTERNAL)?)?,
        })
    }
}

impl Outside {
    /// The external timing of a row; `None` if it was not requested, or if the row's check failed.
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

    /// The note on a row: for Idle its spread, for others why they have no external time.
    pub(crate) fn note(&self, row: &Row, idle: Option<IdleSpread>) -> Option<String> {
        if let Some(idle) = idle.filter(|_| row.benchmark == IDLE) {
            return Some(format!(
                "80 % of Idle's batches are within {} ticks of each other as timed by the guest, {} by the host",
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
