//! What a monitor counted between the first sample of a benchmark and the last: the record `exits`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a monitor says of a benchmark that its guest has just measured. All counts are of all
/// vCPUs together, what the two looks themselves cost is subtracted, and counts of 0 may be left
/// out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exits {
    /// The benchmark.
    pub bench: String,
    /// Operations between the two looks: iterations times samples.
    pub operations: u64,
    /// The host's time between them.
    #[serde(default)]
    pub host_ns: u64,
    /// Returns from the guest to the monitor, by reason (`io`, `mmio`, ...).
    #[serde(default)]
    pub returns: BTreeMap<String, u64>,
    /// KVM's own counters by the kernel's names for them (`exits`, `io_exits`, `hypercalls`, ...);
    /// null where the kernel offers none.
    #[serde(default)]
    pub kvm: Option<BTreeMap<String, u64>>,
    /// Page faults of the monitor's process.
    #[serde(default)]
    pub page_faults: Option<u64>,
    /// The host's pages that the guest's memory had before.
    #[serde(default)]
    pub pages_before: Option<u64>,
    /// And after.
    #[serde(default)]
    pub pages_after: Option<u64>,
    /// On which host CPU each vCPU's thread was seen last; -1 where it never ran.
    #[serde(default)]
    pub host_cpus: Vec<i64>,
    /// How often a vCPU's thread was seen on another host CPU than before.
    #[serde(default)]
    pub moves: u64,
}
