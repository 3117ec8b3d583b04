//! The parts of a transaction in real time, as in Table 6 of Dall et al. (2015): where the time between a packet and
//! its reply goes, on this host and in its VMs.

use super::parts;
use super::timed::by_platform;
use crate::reference::Reference;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_analysis::Summary;
use ws_results::{HostView, ResultFile};

/// Beside a VM's parts: by how much they may be off.
const CLOCK_BOUND: &str = "clock-bound";

/// A transaction of a workload on a platform, in the boot in which it took the median time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimedTransaction {
    pub workload: String,
    /// What it is: `transaction`.
    pub unit: Option<String>,
    pub platform: String,
    /// From a request to the next one, captured.
    pub ns: f64,
    /// One unit's part of the captured run, its start and end included.
    pub captured_ns: Option<f64>,
    /// The same without capture: the median over boots.
    pub uncaptured_ns: Option<f64>,
    /// In a VM: no part within it is off by more, as the clocks of host and VM are compared.
    pub clock_bound_ns: Option<f64>,
    /// Boots in which it was taken apart.
    pub boots: usize,
    /// In the paper's order.
    pub parts: Vec<TimedPart>,
}

/// A part of a transaction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimedPart {
    /// The paper's name, such as `recv to VM recv`.
    pub part: String,
    /// Whether it is a part of `recv to send`, and so not counted a second time.
    pub within: bool,
    /// Its time.
    pub ns: f64,
    /// Its share of the transaction.
    pub share: f64,
    /// Dall et al., Table 6, ARM: its time.
    pub published_us: Option<f64>,
}

/// All that the results have, by workload, the host first.
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
