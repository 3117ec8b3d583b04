//! The records as types. `docs/records.md` explains each field; ticks are in the unit of the
//! launch's `hello`.

use crate::exits::Exits;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A record's content by its `kind`. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A launch begins.
    Hello(Hello),
    /// A benchmark starts.
    Begin(Begin),
    /// A part of a benchmark's samples.
    Result(ResultPart),
    /// A benchmark cannot run here.
    Skip(Skip),
    /// An unexpected exception.
    Fault(Fault),
    /// A benchmark ends.
    End(End),
    /// The launch ends.
    Bye(Bye),
    /// Counts of a monitor while a benchmark ran. Boxed because it is far larger than the others.
    Exits(Box<Exits>),
    /// A kind unknown to this version; the object is in [`crate::Record::object`].
    Unknown(String),
}

impl Kind {
    /// Reads `object` as `kind`. The error names the wrong field.
    pub(crate) fn read(kind: &str, object: &Map<String, Value>) -> Result<Kind, serde_json::Error> {
        let value = Value::Object(object.clone());
        Ok(match kind {
            "hello" => Kind::Hello(Hello {
                received: object.clone(),
                ..serde_json::from_value(value)?
            }),
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

/// The first record of a launch: the sender, its machine and the unit. Fields that the runner does
/// not use are in `received` only.
///
/// Only the fields without which no result can be understood are required: a source other than the guest may know less
/// about its machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol's version, 1.
    pub protocol: u32,
    /// Architecture, such as `x86_64`.
    pub arch: String,
    /// The unit of all ticks in this launch: `insns`, `tsc_ticks`, `cntvct_ticks`, `time_ticks`.
    pub unit: String,
    /// Running virtual CPUs.
    pub cpus: u32,
    /// The guest's version.
    pub guest: Option<String>,
    /// The compiler that built the guest.
    pub compiler: Option<String>,
    /// The boot protocol: `pvh`, `multiboot`, `multiboot2`, `arm64-image`, `riscv-image`.
    pub boot: Option<String>,
    /// The interrupt controller: `xapic`, `x2apic`, `gicv2`, `gicv3`, `gicv3-its`, `plic`, `aia`, `none`.
    pub apic: Option<String>,
    /// Exception level on aarch64: `el1`, `el2`, `el2-vhe`.
    pub exception_level: Option<String>,
    /// Memory available to the guest.
    pub memory_bytes: Option<u64>,
    /// The processor's name, as it reports it.
    pub cpu: Option<String>,
    /// The hypervisor's CPUID signature; empty if CPUID reports none.
    pub hypervisor: Option<String>,
    /// The clock: `tsc`, `cntvct`, `time`.
    pub clock: Option<String>,
    /// Frequency of the clock, if the guest could determine it.
    pub clock_hz: Option<u64>,
    /// The source of the frequency: `cpuid`, `pit`, `cntfrq`, `device-tree`.
    pub clock_hz_from: Option<String>,
    /// Passes of an empty loop before each timed batch.
    pub pad: Option<u64>,
    /// The seed of the boot's row order; absent if rows run in the image's order.
    pub seed: Option<u64>,
    /// Whether the guest sends marks around its batches.
    #[serde(default)]
    pub external: bool,
    /// The number of benchmarks that follow.
    pub selected: Option<u32>,
    /// Command-line words that the guest does not know.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// All fields as they arrived, for results. Not part of what is sent.
    #[serde(skip)]
    pub received: Map<String, Value>,
}

/// A benchmark starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    pub bench: String,
    /// Position among the selected benchmarks, from 0.
    pub index: u32,
}

/// A part of a benchmark's samples. Optional fields are in part 1 only; [`crate::ResultAssembler`] joins the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultPart {
    /// The benchmark.
    pub bench: String,
    /// Number of the part, from 1.
    pub part: u32,
    /// The number of parts.
    pub parts: u32,
    /// Operations in a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Virtual CPUs that took part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Page size, in rows with this parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// Working set, in rows with this parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ws_bytes: Option<u64>,
    /// I/O port, in rows that use one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u64>,
    /// The check's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckVerdict>,
    /// Observation of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Ticks between a batch's first mark and the batch, if marks were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<u64>,
    /// Why no marks were sent although requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmarked: Option<String>,
    /// Ticks of each batch.
    pub run: Vec<u64>,
    /// Ticks of each control batch.
    pub control: Vec<u64>,
}

/// The verdict of a benchmark's own check in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// The guest saw that the operation took place.
    Proved,
    /// Only the host could see whether the operation took place.
    Unproven,
    /// The guest saw that it did not take place; the figures mean nothing.
    Failed,
}

/// A benchmark that cannot run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    pub bench: String,
    /// Reason why the benchmark cannot run.
    pub reason: String,
}

/// An unexpected exception.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The benchmark that was interrupted. Null outside any benchmark; the guest then stops.
    pub bench: Option<String>,
    /// Phase of the benchmark: `needs`, `init`, `run`, `check` or `cleanup`.
    #[serde(default)]
    pub phase: Option<String>,
    /// The exception's number.
    pub vector: u32,
    /// Name of the exception, such as `#UD`.
    pub name: String,
    /// The error code; 0 if there is none.
    pub error: u64,
    /// CR2.
    pub address: u64,
    /// The instruction pointer.
    pub ip: u64,
}

/// A benchmark ends, after its result, skip or fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub bench: String,
}

/// The last record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bye {
    /// `ok` or `fault`.
    pub status: String,
}
