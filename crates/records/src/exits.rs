//! The record `exits`: what a monitor counted between a benchmark's first sample and its last.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A monitor's counts for the benchmark that its guest has just measured. They are totals over all
/// vCPUs, without the cost of reading the counters twice; counts of 0 may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exits {
    /// The benchmark.
    pub bench: String,
    /// Operations between the two readings: iterations times samples.
    pub operations: u64,
    /// The host's time between the two readings.
    #[serde(default)]
    pub host_ns: u64,
    /// Returns from the guest to the monitor, by reason (`io`, `mmio`, ...).
    #[serde(default)]
    pub returns: BTreeMap<String, u64>,
    /// KVM's own counters by their kernel names (`exits`, `io_exits`, `hypercalls`, ...); null if the
    /// kernel has none.
    #[serde(default)]
    pub kvm: Option<BTreeMap<String, u64>>,
    /// A nested machine: the counters of the KVM that runs the guest's hypervisor, whose `exits` are the
    /// traps to the host. Not in the record: a second monitor counts them.
    #[serde(skip)]
    pub below: Option<BTreeMap<String, u64>>,
    /// The same by cause. Not in the record.
    #[serde(skip)]
    pub below_causes: BTreeMap<String, u64>,
    /// Whether the windows that were counted begin and end with the VM's marks, of which the counts of a
    /// monitor below include the cost.
    #[serde(default)]
    pub marked: bool,
    /// Exits by reason, where the kernel's trace counted them: in a run of their own, as counting them
    /// costs instructions.
    #[serde(default)]
    pub reasons: BTreeMap<String, u64>,
    /// On a machine with one CPU: where the instructions of the measured runs went, by the VM's threads
    /// (`vcpu0`, `vhost`, `qemu`) and the rest (`other`).
    #[serde(default)]
    pub threads: BTreeMap<String, u64>,
    /// The steps of all operations in ticks, of a run of their own in which they were traced.
    #[serde(default)]
    pub steps: BTreeMap<String, u64>,
    /// Ticks of that run.
    #[serde(default)]
    pub traced: Option<u64>,
    /// Page faults of the monitor's process.
    #[serde(default)]
    pub page_faults: Option<u64>,
    /// Host pages that backed the guest's memory before.
    #[serde(default)]
    pub pages_before: Option<u64>,
    /// The same after.
    #[serde(default)]
    pub pages_after: Option<u64>,
    /// The host CPU on which each vCPU thread was seen last; -1 if it never ran.
    #[serde(default)]
    pub host_cpus: Vec<i64>,
    /// How often a vCPU thread was seen on another host CPU than before.
    #[serde(default)]
    pub moves: u64,
}
