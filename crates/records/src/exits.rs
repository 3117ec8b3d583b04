//! The record `exits`: a monitor's counts between a benchmark's first sample and its last.

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
    /// Counters of the KVM that runs the guest's hypervisor, on a nested machine. Their `exits` are the traps to the
    /// host. Not in the record: a second monitor counts them.
    #[serde(skip)]
    pub below: Option<BTreeMap<String, u64>>,
    /// Traps to the host on a nested machine, by cause. Not in the record.
    #[serde(skip)]
    pub below_causes: BTreeMap<String, u64>,
    /// Whether the counted windows begin and end with the VM's marks. The counts of a monitor below include the marks'
    /// cost.
    #[serde(default)]
    pub marked: bool,
    /// Exits by reason, as the kernel's trace counts them. They are of a separate run, because counting them costs
    /// instructions.
    #[serde(default)]
    pub reasons: BTreeMap<String, u64>,
    /// Instructions of the measured runs on a machine with one CPU, by the VM's threads (`vcpu0`, `vhost`, `qemu`) and
    /// the rest (`other`).
    #[serde(default)]
    pub threads: BTreeMap<String, u64>,
    /// Ticks of each step over all operations, from a separate run in which the steps were traced.
    #[serde(default)]
    pub steps: BTreeMap<String, u64>,
    /// Ticks of the traced run.
    #[serde(default)]
    pub traced: Option<u64>,
    /// Page faults of the monitor's process.
    #[serde(default)]
    pub page_faults: Option<u64>,
    /// Pages of the guest's memory in the host's RAM before the benchmark's samples.
    #[serde(default)]
    pub pages_before: Option<u64>,
    /// Pages of the guest's memory in the host's RAM after the benchmark's samples.
    #[serde(default)]
    pub pages_after: Option<u64>,
    /// The host CPU on which each vCPU thread was seen last; -1 if it never ran.
    #[serde(default)]
    pub host_cpus: Vec<i64>,
    /// How often a vCPU thread was seen on another host CPU than before.
    #[serde(default)]
    pub moves: u64,
}
