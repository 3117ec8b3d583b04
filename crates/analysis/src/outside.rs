//! Compares a cost timed by the host (external) with the same cost timed by the guest.

use crate::cost::batches;
use crate::statistics::median;
use crate::summary::Summary;
use std::collections::BTreeSet;
use ws_results::{Metric, Samples};

/// Returns (outside - inside) / inside. `None` if either cannot be told from zero, or if the units differ.
pub fn difference(inside: &Summary, outside: &Summary) -> Option<f64> {
    if inside.unit != outside.unit || inside.is_near_zero() || outside.is_near_zero() {
        return None;
    }
    let fraction = (outside.value - inside.value) / inside.value.abs();
    fraction.is_finite().then_some(fraction)
}

/// Returns the samples of `inside` that the host timed too: samples of the same boots that are not missing in
/// `outside`. The host misses samples while it is busy, and these differ from the rest.
pub fn same_samples(inside: &Metric, outside: &Metric) -> Metric {
    let boots = outside.boots.iter().filter_map(|theirs| {
        let ours = inside.boots.iter().find(|ours| ours.boot == theirs.boot)?;
        let missing: BTreeSet<u32> = theirs.missing.iter().copied().collect();
        let heard = |ticks: &[u64]| -> Vec<u64> {
            let all = (0u32..).zip(ticks);
            all.filter(|(index, _)| !missing.contains(index))
                .map(|(_, ticks)| *ticks)
                .collect()
        };
        Some(Samples {
            run: heard(&ours.run),
            control: heard(&ours.control),
            ..ours.clone()
        })
    });
    Metric {
        name: inside.name.clone(),
        unit: inside.unit.clone(),
        boots: boots.collect(),
    }
}

/// The variation of a batch's cost (run - control, in ticks, of all its operations together): the span
/// of the middle 80 % of a boot's samples; of several boots the median span. `None` without samples.
///
/// For Idle, whose batch is empty, the span is the variation of the measurement itself (HyperBench, 5.2). A tenth at
/// each end is left out, so that a single disturbed sample does not determine the span.
pub fn batch_span(metric: &Metric) -> Option<f64> {
    let spans: Vec<f64> = metric
        .boots
        .iter()
        .filter_map(|samples| {
            let mut costs = batches(samples);
            costs.sort_by(f64::total_cmp);
            let cut = costs.len() / 10;
            let greatest = costs.get(costs.len().checked_sub(1 + cut)?)?;
            Some(greatest - costs.get(cut)?)
        })
        .collect();
    median(&spans)
}

/// The cost of a batch, in ticks: the median over boots of each boot's median sample. `None` without
/// samples.
pub fn batch_cost(metric: &Metric) -> Option<f64> {
    let medians = metric.boots.iter();
    let medians: Vec<f64> = medians.filter_map(|s| median(&batches(s))).collect();
    median(&medians)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::summary::summarize;

    fn metric(unit: &str, iterations: u64, boots: &[&[u64]]) -> Metric {
        fixture::metric(unit, iterations, 100, boots)
    }

    #[test]
    fn the_difference_is_a_fraction_of_what_the_guest_measured() {
        let of = |inside: u64, outside: u64| {
            let [inside, outside] = [inside, outside].map(|run| metric("tsc_ticks", 1, &[&[run]]));
            difference(&summarize(&inside)?, &summarize(&outside)?)
        };
        assert_eq!(of(300, 320), Some(0.1));
        assert_eq!(of(300, 280), Some(-0.1));
        assert_eq!(of(300, 300), Some(0.0));
        assert_eq!(of(100, 300), None, "nothing to relate it to");
        assert_eq!(of(300, 90), None, "less than nothing");
    }

    #[test]
    fn unlike_units_do_not_differ_by_a_fraction() {
        let [a, b] = ["tsc_ticks", "ns"].map(|unit| summarize(&metric(unit, 1, &[&[300]])));
        assert_eq!(difference(&a.unwrap(), &b.unwrap()), None);
    }

    #[test]
    fn only_samples_that_both_timed_are_the_same() {
        let inside = metric("tsc_ticks", 2, &[&[201, 202, 203], &[301], &[401, 402]]);
        let mut outside = metric("tsc_ticks", 2, &[&[7, 8], &[9, 9], &[1, 2]]);
        outside.boots[0].missing = vec![1];
        outside.boots.remove(1);
        let same = same_samples(&inside, &outside);
        let runs: Vec<&[u64]> = same.boots.iter().map(|boot| &*boot.run).collect();
        assert_eq!(runs, [&[201, 203][..], &[401, 402]]);
        assert_eq!((same.boots[0].boot, same.boots[1].boot), (1, 3));
        assert_eq!(same.boots[0].control, [100, 100]);
        assert_eq!((same.boots[0].iterations, &*same.name), (2, "cost"));
    }

    #[test]
    fn a_span_leaves_a_tenth_out_at_each_end_and_is_of_whole_batches() {
        let ten: Vec<u64> = [1, 200, 210, 220, 230, 240, 250, 260, 270, 99_999].into();
        assert_eq!(batch_span(&metric("tsc_ticks", 10, &[&ten])), Some(70.0));
        // The median of three boots.
        let three = metric("tsc_ticks", 1, &[&[200, 205], &[200, 900], &[200, 250]]);
        assert_eq!(batch_span(&three), Some(50.0));
        assert_eq!(batch_span(&metric("tsc_ticks", 1, &[&[200]])), Some(0.0));
        assert_eq!(batch_span(&metric("tsc_ticks", 1, &[])), None);
        assert_eq!(batch_span(&metric("tsc_ticks", 1, &[&[]])), None);
    }

    #[test]
    fn a_batch_costs_what_its_operations_cost_together() {
        let boots: [&[u64]; 3] = [&[600, 620, 900], &[90, 80], &[700]];
        assert_eq!(batch_cost(&metric("tsc_ticks", 10, &boots)), Some(520.0));
        assert_eq!(batch_cost(&metric("tsc_ticks", 10, &[])), None);
    }
}
