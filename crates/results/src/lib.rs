//! The result file: what one run measured on one platform, with all that the numbers depend on.
//!
//! One file a platform, versioned JSON. It holds raw samples and no statistics: whoever reads it
//! can compute anew. `docs/results.md` describes it in words and `docs/result-schema.json` for
//! machines (made from these types, and a test keeps the two the same).

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod find;
mod json;
mod name;
mod perturbed;
mod read;
#[cfg(test)]
mod sample;
mod schema;
pub mod schema_check;
mod write;

pub use find::{FindError, find, load, load_all};
pub use name::file_name;
pub use perturbed::Perturbed;
pub use read::{MAX_FILE_BYTES, ReadError, read_file};
pub use schema::schema;
pub use write::{WriteError, write_bytes, write_file, write_into};

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
    /// All that the numbers depend on.
    pub identity: Identity,
    /// What on the host was not as a measurement of time wants it, as `worldswitch doctor` saw it
    /// when the run began. Absent where nobody looked: on instruction counts, and where somebody
    /// else booted the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbances: Option<Vec<Disturbance>>,
    /// True when the run was stopped before all its boots were done.
    pub interrupted: bool,
    /// Every launch of the machine, in order.
    pub boots: Vec<Boot>,
    /// One row for each benchmark that was asked for, in the guest's order.
    pub rows: Vec<Row>,
}

impl ResultFile {
    /// Its boots that stand in no figure.
    pub fn perturbed(&self) -> Perturbed {
        Perturbed::of(&self.boots)
    }

    /// The row of a benchmark.
    pub fn row(&self, benchmark: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.benchmark == benchmark)
    }

    /// What the recipe of a lab machine says of its figures.
    pub fn caveat(&self) -> Option<&str> {
        self.identity.subject.get("caveat")?.as_str()
    }

    /// Whether a KVM without hardware below it ran the guest.
    pub fn is_software_kvm(&self) -> bool {
        let kvm = self.identity.subject.get("kvm");
        kvm.and_then(|kvm| kvm.as_str()) == Some("software")
    }
}

/// The platforms of these results, each once, in the order in which they come.
pub fn platforms(results: &[ResultFile]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let platforms = results.iter().map(|result| result.platform.as_str());
    platforms
        .filter(|platform| seen.insert(*platform))
        .collect()
}

impl Row {
    /// A benchmark that nothing has reached yet.
    pub fn new(benchmark: &str, category: &str) -> Self {
        Self {
            benchmark: benchmark.to_owned(),
            category: category.to_owned(),
            status: Status::Unreached,
            reason: None,
            outcomes: Vec::new(),
            conditions: BTreeMap::new(),
            exact: None,
            metrics: Vec::new(),
            host: Vec::new(),
        }
    }

    /// Adds a boot's samples to a metric, which is made where it is not there yet.
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

    /// What was measured under this name.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

/// The metric that the guest measures of every benchmark.
pub const COST: &str = "cost";
/// The same batches as the host timed them.
pub const COST_EXTERNAL: &str = "cost_external";

/// All that a number depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// What may differ between results that are compared, and is always shown.
    pub subject: BTreeMap<String, serde_json::Value>,
    /// What must agree between results that are compared.
    pub conditions: BTreeMap<String, serde_json::Value>,
}

/// One finding of the doctor that is not `ok`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// The finding's name, as `processor.governor`.
    pub id: String,
    /// How bad it is: `note`, `warning` or `problem`.
    pub severity: String,
    /// What was looked at, for people.
    pub title: String,
    /// What was found, for people.
    pub found: String,
    /// Why it matters to a measurement: one sentence.
    pub why: String,
}

/// One boot: a set of launches that between them ran every row once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Boot {
    /// From 1.
    pub boot: u32,
    /// In order.
    pub launches: Vec<Launch>,
    /// What was changed on purpose, in a boot that must not stand for the platform's figures: it
    /// shows only how far they move with what should not matter. Absent in all other boots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbed: Option<Perturbation>,
}

/// What differs in a perturbed boot from the conditions of its file. Something does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Perturbation {
    /// Passes of an empty loop before each timed batch (the guest's `pad=`), instead of those that
    /// the conditions name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad: Option<u64>,
    /// The machine's memory, instead of what the conditions name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
}

/// One launch of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Launch {
    /// What the launch's records carry, 1 to 16 lowercase hex digits.
    pub nonce: String,
    /// Virtual CPUs of the machine.
    pub vcpus: u32,
    /// The benchmarks it was asked for.
    pub asked: Vec<String>,
    /// The guest's `hello`, as it came; absent when none came.
    pub hello: Option<serde_json::Value>,
    /// From the start of the machine's process to its first record.
    pub first_record_ms: Option<u64>,
    /// From the start of the machine's process to its end.
    pub wall_ms: u64,
    /// How it ended.
    pub end: LaunchEnd,
    /// What the end means, in words.
    pub end_detail: String,
    /// Lines that began as records and were none.
    pub bad_lines: u64,
    /// Records of another launch.
    pub stale_records: u64,
    /// Records missing by their sequence numbers.
    pub lost_records: u64,
    /// The last lines of console text (at most 4 KiB), control characters escaped.
    pub console_tail: String,
}

/// How a launch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LaunchEnd {
    /// The guest said `bye`.
    Bye,
    /// The machine ended by itself without a `bye`.
    Died,
    /// A benchmark, or the boot, took longer than its limit; the machine was killed.
    Timeout,
    /// The console wrote more than its limit; the machine was killed.
    Flood,
    /// The user stopped the run.
    Interrupted,
    /// A log or line ended without a `bye`.
    Eof,
}

/// One benchmark on this platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Its name.
    pub benchmark: String,
    /// `idle`, `unprivileged`, `privileged`, `exception`, `memory`, `io`.
    pub category: String,
    /// The first outcome that is not `ok`, or `ok`.
    pub status: Status,
    /// Why the status is not `ok`.
    pub reason: Option<String>,
    /// One for each boot that reached this row.
    pub outcomes: Vec<Outcome>,
    /// What must agree between compared rows: `vcpus`, `digest` of the timed machine code, and
    /// where the row has them `page_bytes`, `ws_bytes`, `port`.
    pub conditions: BTreeMap<String, serde_json::Value>,
    /// On `insns`: did every boot give the same samples, perturbed ones aside? Null with fewer than
    /// two boots, and on units of time.
    pub exact: Option<bool>,
    /// What was measured; empty when nothing was.
    pub metrics: Vec<Metric>,
    /// What the host saw of it, one for each boot in which it looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<HostView>,
}

/// What the host saw of a row in one boot: what its monitor counted between the first sample and
/// the last, and where its vCPU threads ran. All counts are of all vCPUs together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostView {
    /// The boot's number.
    pub boot: u32,
    /// Index into that boot's launches.
    pub launch: u32,
    /// Operations that the guest did meanwhile; absent where nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// The host's time for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ns: Option<u64>,
    /// Returns from the guest to the monitor, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub returns: BTreeMap<String, u64>,
    /// KVM's own counters that moved, by the names that the kernel gives them; absent where the
    /// kernel offers none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kvm: Option<BTreeMap<String, u64>>,
    /// Page faults of the monitor's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_faults: Option<u64>,
    /// The host's pages that the guest's memory had before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_before: Option<u64>,
    /// And after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_after: Option<u64>,
    /// vCPU threads that were seen on another CPU than they were pinned to, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strayed: Vec<String>,
}

/// What became of a row in one boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The boot's number.
    pub boot: u32,
    /// What became of it.
    pub status: Status,
    /// Why the status is not `ok`.
    pub reason: Option<String>,
    /// What the benchmark's own check said; absent when it did not come so far.
    pub check: Option<Check>,
    /// Why samples have no time from outside, where it was to be taken and some have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
}

/// The state of a row, in one boot or over all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Measured.
    Ok,
    /// Cannot be run here.
    Skip,
    /// An exception in the benchmark.
    Fault,
    /// Took longer than its limit.
    Timeout,
    /// The machine ended while it ran.
    Died,
    /// Its own check says that the event did not take place.
    Failed,
    /// Records of it were lost or damaged on the line.
    Lost,
    /// Never reached: the run was stopped, or the log ended.
    Unreached,
}

/// What a benchmark's check said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Its verdict.
    pub verdict: Verdict,
    /// What it saw; text from the guest.
    pub note: String,
}

/// A check's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The guest saw that the operation took place.
    Proved,
    /// Only the host could see it; the note says what.
    Unproven,
    /// The guest saw that it did not take place; the figures mean nothing.
    Failed,
}

/// One measured quantity, its samples by boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// `cost` for every benchmark of the guest, as the guest measured it, and first;
    /// `cost_external` for the same batches, timed by the host; `exits`, with unit `count`, where
    /// KVM counted them, `returns` where its monitor did.
    pub name: String,
    /// `insns`, `tsc_ticks`, `cntvct_ticks`, `ns`, `count`, `per_s`, `bytes_per_s`.
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
    /// Of `cost_external`: ticks that the guest waited at the start of each batch, control and run
    /// alike, so that the host heard its two ends apart. In no batch of `cost`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lead_ticks: u64,
    /// Of `cost_external`: which samples of `cost`, counted from 0, have no time from outside and
    /// are left out here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<u32>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
