//! The parts of a transaction in real time, as in Table 6 of Dall et al. (2015): the time between a packet and its
//! reply, on this host and in its VMs.

use super::parts;
use super::timed::by_platform;
use crate::reference::Reference;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_analysis::Summary;
use ws_results::{HostView, ResultFile};

/// The step beside a VM's parts that bounds their error.
const CLOCK_BOUND: &str = "clock-bound";

/// A transaction of a workload on a platform, in the boot in which it took the median time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimedTransaction {
    pub workload: String,
    /// Name of the unit of work: `transaction`.
    pub unit: Option<String>,
    pub platform: String,
    /// Time from a request to the next one, with packets captured.
    pub ns: f64,
    /// Time of the captured run for one unit, the run's start and end included.
    pub captured_ns: Option<f64>,
    /// Time of one unit without capture: the median over boots.
    pub uncaptured_ns: Option<f64>,
    /// Bound on the error of each part within a VM, from the comparison of the clocks of host and VM.
    pub clock_bound_ns: Option<f64>,
    /// Boots in which the transaction was taken apart.
    pub boots: usize,
    /// Parts, in the paper's order.
    pub parts: Vec<TimedPart>,
}

/// A part of a transaction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimedPart {
    /// The paper's name, such as `recv to VM recv`.
    pub part: String,
    /// Whether the part is within `recv to send`, and so not counted a second time.
    pub within: bool,
    /// Time of the part.
    pub ns: f64,
    /// The part's share of the transaction, as a fraction.
    pub share: f64,
    /// Time of the part on ARM, from Table 6 of Dall et al.
    pub published_us: Option<f64>,
}

/// Collects all transactions of the results, by workload, the host first.
pub(super) fn transactions(
    results: &[&ResultFile],
    workloads: &[&str],
    reference: &Reference,
) -> Vec<TimedTransaction> {
    let results = by_platform(results);
    let all = workloads.iter().flat_map(|workload| {
        let of = |result: &&ResultFile| transaction(workload, result, reference);
        results.iter().filter_map(of).collect::<Vec<_>>()
    });
    all.collect()
}

/// A unit's steps in a boot.
fn steps(view: &HostView) -> Option<BTreeMap<String, f64>> {
    let units = view.operations.filter(|units| *units > 0)? as f64;
    let steps = view.steps.iter();
    Some(
        steps
            .map(|(name, ns)| (name.clone(), *ns as f64 / units))
            .collect(),
    )
}

fn transaction(
    workload: &str,
    result: &ResultFile,
    reference: &Reference,
) -> Option<TimedTransaction> {
    let row = result.row(workload)?;
    let mut boots: Vec<_> = (row.host.iter())
        .filter_map(|view| {
            let steps = steps(view)?;
            let (whole, parts) = parts::whole_and_parts(&steps)?;
            Some((whole, parts, steps.get(CLOCK_BOUND).copied(), view))
        })
        .collect();
    // All parts are of the boot with the median whole, so that they sum to it: medians of parts would not.
    boots.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (whole, parts, clock_bound_ns, view) = boots.get(boots.len().saturating_sub(1) / 2)?;
    let parts = parts.iter().map(|(part, within, ns)| TimedPart {
        part: (*part).to_owned(),
        within: *within,
        ns: *ns,
        share: ns / whole,
        published_us: parts::published_us(workload, &result.facts(), part, reference),
    });
    let units = view.operations.map(|units| units as f64);
    Some(TimedTransaction {
        workload: workload.to_owned(),
        unit: row.work.clone(),
        platform: result.platform.clone(),
        ns: *whole,
        captured_ns: view.traced.zip(units).map(|(ns, units)| ns as f64 / units),
        uncaptured_ns: Summary::cost(row, &result.perturbed()).map(|summary| summary.value),
        clock_bound_ns: *clock_bound_ns,
        boots: boots.len(),
        parts: parts.collect(),
    })
}
