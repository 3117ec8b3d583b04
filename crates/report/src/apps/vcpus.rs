//! Instructions of one unit of work by vCPU, and the bound that the busiest vCPU sets: after the
//! experiment in section 5 of Dall et al. (2015), where all virtual interrupts went to one vCPU or to
//! several.

use super::published;
use crate::reference::Reference;
use crate::unit_of_work::Unit;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_results::{Interrupted, Interrupts, ResultFile};

/// The paper's section, and its column.
const TEXT: &str = "text 5";
const COLUMN: &str = "ARM KVM";

/// Instructions of the busiest vCPU to which the bound relates: those of a second, at one in a nanosecond.
const OF_INSNS: f64 = 1e9;

/// A workload on several vCPUs of a platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    pub workload: String,
    pub unit: Option<String>,
    pub platform: String,
    /// Instructions for one unit, of all threads.
    pub insns: Option<f64>,
    /// Instructions for one unit by thread: `vcpu0`, `vcpu1`, `vhost`, `qemu`, `other`.
    pub threads: BTreeMap<String, f64>,
    /// The vCPU that executes most instructions.
    pub busiest: String,
    /// The most units in 1e9 instructions of that vCPU, if it is the bottleneck.
    pub bound: f64,
    /// The bound relative to that with all interrupts on one vCPU.
    pub gain: Option<f64>,
    /// Dall et al., section 5, KVM on ARM: how much more than natively a unit takes, as a fraction.
    pub published_overhead: Option<f64>,
    /// The paper's time with all interrupts on one vCPU relative to that with them spread.
    pub published_gain: Option<f64>,
    /// Interrupted vCPUs.
    #[serde(skip)]
    interrupts: Option<Interrupts>,
}

impl Spread {
    /// Returns the facts of the same work with all interrupts on one vCPU, if this workload has them on all.
    fn with_one(&self) -> Option<Interrupts> {
        let interrupts = self.interrupts.as_ref();
        let spread = interrupts.filter(|interrupts| interrupts.on == Interrupted::Spread)?;
        Some(Interrupts {
            on: Interrupted::One,
            ..spread.clone()
        })
    }
}

/// Whether a thread is a vCPU.
pub(super) fn is_vcpu(thread: &str) -> bool {
    thread
        .strip_prefix("vcpu")
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Collects the rows with several vCPUs from the results, by workload.
pub(super) fn spreads(
    results: &[&ResultFile],
    workloads: &[&str],
    reference: &Reference,
) -> Vec<Spread> {
    let of = |workload: &&str| -> Vec<Spread> {
        let of_result = |result: &&ResultFile| spread(workload, result, reference);
        results.iter().filter_map(of_result).collect()
    };
    let mut spreads: Vec<Spread> = workloads.iter().flat_map(of).collect();
    for index in 0..spreads.len() {
        let Some(one) = spreads[index].with_one() else {
            continue;
        };
        let bound = spreads.iter().find(|other| {
            other.interrupts.as_ref() == Some(&one) && other.platform == spreads[index].platform
        });
        let bound = bound.map(|other| other.bound);
        let spread = &mut spreads[index];
        spread.gain = bound.map(|bound| spread.bound / bound);
        let times = overhead(&one.name(), reference).zip(spread.published_overhead);
        spread.published_gain = times.map(|(one, spread)| (1.0 + one) / (1.0 + spread));
    }
    spreads
}

fn spread(workload: &str, result: &ResultFile, reference: &Reference) -> Option<Spread> {
    let row = result.row(workload)?;
    let Unit { insns, threads, .. } = Unit::of(Some(row), result);
    let vcpus = || threads.iter().filter(|(name, _)| is_vcpu(name));
    if vcpus().count() < 2 {
        return None;
    }
    let (busiest, most) = vcpus().max_by(|a, b| a.1.total_cmp(b.1))?;
    let (busiest, bound) = (busiest.clone(), OF_INSNS / most);
    bound.is_finite().then(|| Spread {
        workload: workload.to_owned(),
        unit: row.work.clone(),
        platform: result.platform.clone(),
        insns,
        threads,
        busiest,
        bound,
        gain: None,
        published_overhead: overhead(workload, reference),
        published_gain: None,
        interrupts: (row.facts().into_owned().application)
            .and_then(|application| application.interrupts),
    })
}

/// The paper's overhead, as a fraction of the native time.
fn overhead(workload: &str, reference: &Reference) -> Option<f64> {
    let mut stated = reference.of_table(published::PAPER, TEXT);
    let value = stated.find(|value| {
        value.benchmark == workload && value.column == COLUMN && value.unit == "percent"
    });
    Some(value?.value? / 100.0)
}
