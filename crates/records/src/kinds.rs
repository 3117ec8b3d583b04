//! What records say, as types. `docs/records.md` explains each field; units are those of the
//! `hello` that opened the launch.

use crate::exits::Exits;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A record's content by its `kind`. Fields that nobody knows are ignored.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A launch begins.
    Hello(Hello),
    /// A benchmark starts.
    Begin(Begin),
    /// A part of a benchmark's samples.
    Result(ResultPart),
    /// A benchmark cannot be run here.
    Skip(Skip),
    /// An exception came.
    Fault(Fault),
    /// A benchmark is over.
    End(End),
    /// The launch is over.
    Bye(Bye),
    /// What a monitor counted while a benchmark ran. Boxed: it is far larger than the others.
    Exits(Box<Exits>),
    /// A kind that this version does not know; the object is in [`crate::Record::object`].
    Unknown(String),
}

impl Kind {
    /// Reads `object` as `kind`. The error says which field is wrong.
    pub(crate) fn read(kind: &str, object: &Map<String, Value>) -> Result<Kind, serde_json::Error> {
        let value = Value::Object(object.clone());
        Ok(match kind {
            "hello" => Kind::Hello(serde_json::from_value(value)?),
            "begin" => Kind::Begin(serde_json::from_value(value)?),
            "result" => Kind::Result(serde_json::from_value(value)?),
            "skip" => Kind::Skip(serde_json::from_value(value)?),
            "fault" => Kind::Fault(serde_json::from_value(value)?),
            "end" => Kind::End(serde_json::from_value(value)?),
            "bye" => Kind::Bye(serde_json::from_value(value)?),
            "exits" => Kind::Exits(serde_json::from_value(value)?),
            other => Kind::Unknown(other.to_owned()),
        })
    }
}

/// The first record of a launch: who speaks and in which unit. What the runner has no use for stays in
/// [`crate::Record::object`].
///
/// Only what no result can be understood without is required; a source other than the guest may
/// know less of its machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol's version, 1.
    pub protocol: u32,
    /// As in `x86_64`.
    pub arch: String,
    /// Of every tick in this launch's results: `insns`, `tsc_ticks`, `cntvct_ticks`.
    pub unit: String,
    /// Virtual CPUs that run.
    pub cpus: u32,
    /// The guest's own version.
    pub guest: Option<String>,
    /// What built it.
    pub compiler: Option<String>,
    /// The boot protocol: `pvh`, `multiboot`, `arm64-image`.
    pub boot: Option<String>,
    /// The interrupt controller: `xapic`, `x2apic`, `gicv2`, `gicv3`, `gicv3-its`, `none`.
    pub apic: Option<String>,
    /// On aarch64: `el1`, `el2`, `el2-vhe`.
    pub exception_level: Option<String>,
    /// Memory that the guest may use.
    pub memory_bytes: Option<u64>,
    /// The processor's name for itself.
    pub cpu: Option<String>,
    /// The CPUID signature, or empty where CPUID shows none.
    pub hypervisor: Option<String>,
    /// What ticks: `tsc`, `cntvct`.
    pub clock: Option<String>,
    /// Its frequency, where the guest could find it out.
    pub clock_hz: Option<u64>,
    /// Where the frequency is from: `cpuid`, `pit`, `cntfrq`, `device-tree`.
    pub clock_hz_from: Option<String>,
    /// Passes of an empty loop before each timed batch.
    pub pad: Option<u64>,
    /// The boot's seed; absent where rows run in the image's order.
    pub seed: Option<u64>,
    /// Whether the guest sends marks around its batches.
    #[serde(default)]
    pub external: bool,
    /// How many benchmarks will follow.
    pub selected: Option<u32>,
    /// Words of the command line that the guest cannot use.
    #[serde(default)]
    pub unknown: Vec<String>,
}

/// A benchmark starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Its name.
    pub bench: String,
    /// Among the selected benchmarks, from 0.
    pub index: u32,
}

/// One part of a benchmark's samples. All that is optional stands in part 1 only;
/// [`crate::ResultAssembler`] joins the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultPart {
    /// The benchmark.
    pub bench: String,
    /// From 1.
    pub part: u32,
    /// How many parts there are.
    pub parts: u32,
    /// Operations in a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Virtual CPUs that took part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// In rows that have it as a parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// In rows that have it as a parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ws_bytes: Option<u64>,
    /// In rows that use one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u64>,
    /// What the check said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckVerdict>,
    /// What the check saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Ticks between a batch's first mark and the batch; where marks were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<u64>,
    /// Why none were sent, where the guest was asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmarked: Option<String>,
    /// Ticks of each batch.
    pub run: Vec<u64>,
    /// Ticks of each control batch.
    pub control: Vec<u64>,
}

/// What the guest's own check said of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// The operation was seen to take place.
    Proved,
    /// Only the host could see it.
    Unproven,
    /// It was seen not to take place; the figures mean nothing.
    Failed,
}

/// A benchmark that cannot be run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// Its name.
    pub bench: String,
    /// Why.
    pub reason: String,
}

/// An exception that nobody expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Null outside any benchmark; the guest then ends.
    pub bench: Option<String>,
    /// `needs`, `init`, `run`, `check` or `cleanup`.
    #[serde(default)]
    pub phase: Option<String>,
    /// The exception's number.
    pub vector: u32,
    /// As in `#UD`.
    pub name: String,
    /// The error code, 0 where there is none.
    pub error: u64,
    /// CR2.
    pub address: u64,
    /// Where it happened.
    pub ip: u64,
}

/// A benchmark is over, after its result, skip or fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Its name.
    pub bench: String,
}

/// The last record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bye {
    /// `ok` or `fault`.
    pub status: String,
}
