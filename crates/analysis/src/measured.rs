//! What a row of a result says of its benchmark's cost: the one place that knows which of its boots
//! stand for the platform.

use crate::boot::BootEstimate;
use crate::counts::Band;
use crate::summary::{Summary, summarize};
use crate::unit::UnitKind;
use std::collections::BTreeSet;
use ws_results::{Metric, Row, Status};

/// The metric that is meant.
const METRIC: &str = "cost";

/// A row's cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The samples of its boots as they are.
    pub metric: Metric,
    /// What those say together.
    pub summary: Summary,
    /// What each perturbed boot says, which stands in no figure but the band.
    pub perturbed: Vec<BootEstimate>,
}

impl Measured {
    /// `perturbed`: [`ws_results::ResultFile::perturbed`] of the row's file. `None` where no boot as it
    /// is has samples, and where the benchmark's check failed: those figures mean nothing.
    pub fn of(row: &Row, perturbed: &BTreeSet<u32>) -> Option<Self> {
        let all = row.metrics.iter().find(|metric| metric.name == METRIC)?;
        if row.status == Status::Failed {
            return None;
        }
        let metric = all.without(perturbed);
        let kind = UnitKind::of(&all.unit);
        let boots = all.boots.iter();
        let others = boots.filter(|samples| perturbed.contains(&samples.boot));
        Some(Measured {
            summary: summarize(&metric)?,
            metric,
            perturbed: others
                .filter_map(|samples| BootEstimate::of(samples, kind))
                .collect(),
        })
    }

    /// The invariance band: the least and the greatest value of all boots, perturbed ones with them.
    /// `None` without perturbed boots.
    pub fn band(&self) -> Option<Band> {
        let boots = self.summary.boots.iter().chain(&self.perturbed);
        let values = boots.map(|boot| boot.value);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        values.for_each(|value| (low, high) = (low.min(value), high.max(value)));
        (!self.perturbed.is_empty()).then_some(Band { low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn row(boots: &[&[u64]]) -> Row {
        Row {
            benchmark: "in".into(),
            category: "io".into(),
            status: Status::Ok,
            reason: None,
            outcomes: vec![],
            conditions: Default::default(),
            exact: None,
            metrics: vec![fixture::metric("insns", 1, 0, boots)],
            host: vec![],
        }
    }

    #[test]
    fn a_perturbed_boot_stands_in_the_band_and_nowhere_else() {
        let mut row = row(&[&[7], &[7], &[90]]);
        let measured = Measured::of(&row, &BTreeSet::from([3])).unwrap();
        assert_eq!(measured.summary.values(), [7.0, 7.0]);
        assert_eq!(measured.summary.exact, Some(true));
        assert_eq!(measured.metric.boots.len(), 2);
        let band = measured.band().unwrap();
        assert_eq!((band.low, band.high), (7.0, 90.0));
        assert_eq!(Measured::of(&row, &BTreeSet::new()).unwrap().band(), None);
        assert_eq!(Measured::of(&row, &BTreeSet::from([1, 2, 3])), None);
        row.status = Status::Failed;
        assert_eq!(Measured::of(&row, &BTreeSet::new()), None);
    }
}
