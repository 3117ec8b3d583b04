//! The result file: what one run measured on one platform, with everything the numbers depend on.
//!
//! One file per platform, versioned JSON. It contains raw samples and no statistics, which readers
//! compute. `docs/results.md` describes it; `docs/result-schema.json` is generated from these types,
//! and a test checks that it is up to date.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod facts;
mod find;
mod json;
mod name;
mod perturbed;
pub mod place;
mod read;
mod rows;
#[cfg(test)]
mod sample;
mod schema;
pub mod schema_check;
mod write;

pub use facts::{Facts, Paging, Published, Role, System};
pub use find::{FindError, explanation_name, find, find_explanations, load, load_all};
pub use name::{file_name, nth_file_name};
pub use perturbed::Perturbed;
pub use read::{MAX_FILE_BYTES, ReadError, read_file};
pub use rows::{APPLICATION, Application, IO, Interrupted, Interrupts, IoRow, RowFacts};
pub use schema::schema;
pub use write::{WriteError, write_bytes, write_file, write_into, write_nth_into};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The version that this crate writes, and the only one that it reads.
pub const SCHEMA: &str = "worldswitch-result/1";

/// A whole result file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultFile {
    /// Always `worldswitch-result/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// When the run began, RFC 3339, UTC, to the second.
    pub created: String,
    /// The program that wrote the file, and its version.
    pub tool: String,
    /// The command line as typed.
    pub command: Vec<String>,
    /// The platform's canonical name, as `--on` takes it.
    pub platform: String,
    /// The platform's place in the order in which its run shows them, from 1. Absent in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// Everything the numbers depend on.
    pub identity: Identity,
    /// Disturbances of a measurement of time on the host, as found by `worldswitch doctor` at the start of the run.
    /// Absent if they were not checked: for instruction counts, and if worldswitch did not boot the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbances: Option<Vec<Disturbance>>,
    /// True when the run was stopped before all its boots were done.
    pub interrupted: bool,
    /// Every launch of the machine, in order.
    pub boots: Vec<Boot>,
    /// Rows, one for each requested benchmark, in the guest's order.
    pub rows: Vec<Row>,
}

impl ResultFile {
    /// The perturbed boots, which count in no figure but the invariance band.
    pub fn perturbed(&self) -> Perturbed {
        Perturbed::of(&self.boots)
    }

    /// Returns the key by which results are sorted: the start of the run, the run's own order, the platform. RFC 3339
    /// in UTC sorts as text.
    pub fn place(&self) -> (&str, Option<u32>, &str) {
        (&self.created, self.position, &self.platform)
    }

    /// The row of a benchmark.
    pub fn row(&self, benchmark: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.benchmark == benchmark)
    }

    /// The machine that measured.
    pub fn host(&self) -> Option<&str> {
        let host = self.identity.subject.get("host")?.as_str()?;
        (!host.is_empty()).then_some(host)
    }

    /// The unit of its figures: a condition.
    pub fn unit(&self) -> Option<&str> {
        self.identity.conditions.get("unit")?.as_str()
    }

    /// The caveat that a lab machine's recipe attaches to its figures.
    pub fn caveat(&self) -> Option<&str> {
        self.identity.subject.get("caveat")?.as_str()
    }

    /// Whether the guest ran on a KVM without hardware virtualization.
    pub fn is_software_kvm(&self) -> bool {
        let kvm = self.identity.subject.get("kvm");
        kvm.and_then(|kvm| kvm.as_str()) == Some("software")
    }
}

/// The platforms of these results, each once, in order of first appearance.
pub fn platforms(results: &[ResultFile]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let platforms = results.iter().map(|result| result.platform.as_str());
    platforms
        .filter(|platform| seen.insert(*platform))
        .collect()
}

impl Row {
    /// A benchmark that has not been reached yet.
    pub fn new(benchmark: &str, category: &str) -> Self {
        Self {
            benchmark: benchmark.to_owned(),
            category: category.to_owned(),
            work: None,
            facts: RowFacts::default(),
            status: Status::Unreached,
            reason: None,
            outcomes: Vec::new(),
            conditions: BTreeMap::new(),
            exact: None,
            metrics: Vec::new(),
            host: Vec::new(),
        }
    }

    /// Adds a boot's samples to a metric, which is created if it is new.
    pub fn add(&mut self, metric: &str, unit: &str, samples: Samples) {
        match self.metrics.iter_mut().find(|known| known.name == metric) {
            Some(known) => known.boots.push(samples),
            None => self.metrics.push(Metric {
                name: metric.to_owned(),
                unit: unit.to_owned(),
                boots: vec![samples],
            }),
        }
    }

    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

/// The metric that every benchmark has: the cost of an operation. The guest measures it. On a machine whose clock
/// counts nothing of the guest's, it is the monitor's count of exits.
pub const COST: &str = "cost";
/// The unit of that metric where it is a number of exits.
pub const EXITS_UNIT: &str = "count";
/// The units of guests' clocks, one an architecture.
pub const CLOCK_UNITS: [&str; 3] = ["tsc_ticks", "cntvct_ticks", "time_ticks"];
/// The metric of the batches of [`COST`], timed by the host.
pub const COST_EXTERNAL: &str = "cost_external";

/// Everything a number depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Subject: properties that may differ between compared results, and are always shown.
    pub subject: BTreeMap<String, serde_json::Value>,
    /// Conditions: properties that must agree between compared results.
    pub conditions: BTreeMap<String, serde_json::Value>,
    /// Facts of the machine, by which views choose and relate results. Absent in files of older versions, and of
    /// platforms that do not know them.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
}

/// A finding of the doctor that is not `ok`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// The finding's name, such as `processor.governor`.
    pub id: String,
    /// Severity of the finding: `note`, `warning` or `problem`.
    pub severity: String,
    /// Name of the check, as text.
    pub title: String,
    /// State that the check found, as text.
    pub found: String,
    /// Why the state matters to a measurement, in one sentence.
    pub why: String,
}

/// A boot: a set of launches that together ran every row once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Boot {
    /// Number of the boot, from 1.
    pub boot: u32,
    /// Launches of the boot, in order.
    pub launches: Vec<Launch>,
    /// Changes that were made on purpose. A perturbed boot is not in the platform's figures: it shows only how far they
    /// move with changes that should not matter. Absent in all other boots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbed: Option<Perturbation>,
}

/// Differences of a perturbed boot from the conditions of its file; never empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Perturbation {
    /// Passes of an empty loop before each timed batch (the guest's `pad=`), instead of the number in
    /// the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad: Option<u64>,
    /// The machine's memory, instead of the size in the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
}

/// A launch of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Launch {
    /// The nonce in the launch's records, 1 to 16 lowercase hex digits.
    pub nonce: String,
    /// Virtual CPUs of the machine.
    pub vcpus: u32,
    /// The requested benchmarks.
    pub asked: Vec<String>,
    /// The guest's `hello`, as received; absent if none was.
    pub hello: Option<serde_json::Value>,
    /// Time from the start of the machine's process to its first record.
    pub first_record_ms: Option<u64>,
    /// Time from the start of the machine's process to its end.
    pub wall_ms: u64,
    /// How the launch ended.
    pub end: LaunchEnd,
    /// Explanation of the end, as text.
    pub end_detail: String,
    /// Lines that looked like records but were not valid.
    pub bad_lines: u64,
    /// Records of another launch.
    pub stale_records: u64,
    /// Records that are missing, by the gaps in the sequence numbers.
    pub lost_records: u64,
    /// The last lines of console text (at most 4 KiB), control characters escaped.
    pub console_tail: String,
}

impl Launch {
    /// A launch on one vCPU that ended well, of which nothing else is known.
    pub fn ended(nonce: impl Into<String>, asked: Vec<String>) -> Self {
        Self {
            nonce: nonce.into(),
            vcpus: 1,
            asked,
            hello: None,
            first_record_ms: None,
            wall_ms: 0,
            end: LaunchEnd::Bye,
            end_detail: String::new(),
            bad_lines: 0,
            stale_records: 0,
            lost_records: 0,
            console_tail: String::new(),
        }
    }
}

/// How a launch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LaunchEnd {
    /// The guest sent `bye`.
    Bye,
    /// The machine exited without a `bye`.
    Died,
    /// A benchmark, or the boot, took longer than its limit; the machine was killed.
    Timeout,
    /// The console wrote more than its limit; the machine was killed.
    Flood,
    /// The user stopped the run, or its time was used up.
    Interrupted,
    /// A log or serial line ended without a `bye`.
    Eof,
}

/// A benchmark on this platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Category of the benchmark: `idle`, `unprivileged`, `privileged`, `exception`, `memory`, `io`, `application`.
    pub category: String,
    /// Name of an operation that is a unit of an application's work: `transaction`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    /// Facts of the row, by which views find and relate rows. Absent in files of older versions, and of benchmarks of a
    /// guest image. [`Row::facts`] has them for both.
    #[serde(default, skip_serializing_if = "RowFacts::is_empty")]
    pub facts: RowFacts,
    /// The first outcome that is not `ok`, or `ok`.
    pub status: Status,
    /// Why the status is not `ok`.
    pub reason: Option<String>,
    /// Outcomes, one for each boot that reached this row.
    pub outcomes: Vec<Outcome>,
    /// Properties that must agree between compared rows: `vcpus`, `digest` of the timed machine code, and where the row
    /// has them `page_bytes`, `ws_bytes`, `port`.
    pub conditions: BTreeMap<String, serde_json::Value>,
    /// Whether every boot gave the same samples, perturbed ones aside. Null with fewer than two boots, and on units
    /// other than `insns`.
    pub exact: Option<bool>,
    /// Measured quantities; empty if there are none.
    pub metrics: Vec<Metric>,
    /// Counts of the host, one entry for each boot in which it counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<HostView>,
}

/// The host's view of a row in one boot: the monitor's counts between the first sample and the last, and the CPUs of
/// its vCPU threads. All counts are totals over all vCPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostView {
    /// The boot's number.
    pub boot: u32,
    /// Index into that boot's launches.
    pub launch: u32,
    /// Operations of the guest in this time; absent if nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// The host's time for all these operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ns: Option<u64>,
    /// Returns from the guest to the monitor, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub returns: BTreeMap<String, u64>,
    /// KVM's own counters that changed, by their kernel names; absent if the kernel has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kvm: Option<BTreeMap<String, u64>>,
    /// Counters of the KVM that runs the guest's hypervisor, in a nested machine. Its `exits` are the traps to the
    /// host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<BTreeMap<String, u64>>,
    /// Traps to the host by cause, in a nested machine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub below_causes: BTreeMap<String, u64>,
    /// Exits by reason, counted in a run of their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, u64>,
    /// Instructions of the measured runs by thread: the VM's threads (`vcpu0`, `vhost`, `qemu`) and the rest (`other`).
    /// Only on a machine with one CPU.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub threads: BTreeMap<String, u64>,
    /// Ticks of all operations by step, of a separate traced run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<String, u64>,
    /// Ticks of the traced run; in the lab less those of a shorter run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<u64>,
    /// Page faults of the monitor's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_faults: Option<u64>,
    /// Host pages that backed the guest's memory before the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_before: Option<u64>,
    /// Host pages that backed the guest's memory after the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_after: Option<u64>,
    /// vCPU threads that were seen on another CPU than they were pinned to, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strayed: Vec<String>,
}

/// The outcome of a row in one boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The boot's number.
    pub boot: u32,
    /// Status of the row in this boot.
    pub status: Status,
    /// Why the status is not `ok`.
    pub reason: Option<String>,
    /// The result of the benchmark's own check; absent if it did not run.
    pub check: Option<Check>,
    /// Why some samples have no external time, if it was requested and some have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
}

/// The state of a row, in one boot or over all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Measured.
    Ok,
    /// Cannot run here.
    Skip,
    /// An exception in the benchmark.
    Fault,
    /// Took longer than its limit.
    Timeout,
    /// The machine exited while it ran.
    Died,
    /// The benchmark's own check found that the event did not take place.
    Failed,
    /// Records of the row were lost or damaged on the line.
    Lost,
    /// Never reached: the run was stopped, or the log ended.
    Unreached,
}

impl Status {
    /// Returns the status's name, as in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skip => "skip",
            Self::Fault => "fault",
            Self::Timeout => "timeout",
            Self::Died => "died",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::Unreached => "unreached",
        }
    }
}

/// The result of a benchmark's check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Verdict of the check.
    pub verdict: Verdict,
    /// Observation of the check; text from the guest.
    pub note: String,
}

/// A check's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The guest saw that the operation took place.
    Proved,
    /// Only the host could see the operation; the note names the unseen part.
    Unproven,
    /// The guest saw that it did not take place; the figures mean nothing.
    Failed,
}

/// A measured quantity, with its samples by boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// Name of the quantity. `cost`: measured by the guest, for each of its benchmarks, and first in the list;
    /// `cost_external`: the same batches, timed by the host; `exits`, with unit `count`: as counted by KVM; `returns`:
    /// as counted by its monitor.
    pub name: String,
    /// Unit of the samples: `insns`, `tsc_ticks`, `cntvct_ticks`, `time_ticks`, `ns`, `count`, `per_s`, `bytes_per_s`.
    pub unit: String,
    /// Raw samples, one entry for each boot that has any.
    pub boots: Vec<Samples>,
}

/// The raw samples of one boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// The boot's number.
    pub boot: u32,
    /// Index into that boot's launches.
    pub launch: u32,
    /// Operations in a batch.
    pub iterations: u64,
    /// Ticks of each batch.
    pub run: Vec<u64>,
    /// Ticks of each control batch.
    pub control: Vec<u64>,
    /// Ticks that the guest waited at the start of each batch, both control and run, so that the host could tell its
    /// two marks apart. Only in `cost_external`; not part of `cost`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lead_ticks: u64,
    /// Samples of `cost`, counted from 0, that have no external time and are left out here. Only in `cost_external`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u32>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
