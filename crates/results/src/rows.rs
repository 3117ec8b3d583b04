//! Categories of rows, and facts of a row. The code that makes a row writes them, so that readers take no name apart.

mod named;

use crate::Row;
use crate::place::PlaceRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The category of workloads.
pub const APPLICATION: &str = "application";

/// The category of a VM's devices. Other rows have it too: ports of a guest, loads of servers on this host.
pub const IO: &str = "io";

/// Facts of a row, by which views find and relate rows. A row has one kind of them, or none: a benchmark of a guest
/// image has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowFacts {
    /// The device and its load, where requests to a VM's device are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<IoRow>,
    /// The work and its CPUs, where a host and its VM are measured on chosen CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlaceRow>,
    /// The kind of any other workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
}

impl RowFacts {
    /// Parses the name of a row, for results of versions that wrote no facts. Only [`Row::facts`] calls it.
    pub fn named(row: &Row) -> Self {
        named::facts(row)
    }

    /// Whether the row has no facts.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Row {
    /// Returns the facts of the row. A row of an older version has none in its file, and gets those of its name. What was
    /// read stays as it is: a history knows a result by its bytes.
    pub fn facts(&self) -> Cow<'_, RowFacts> {
        match self.facts.is_empty() {
            false => Cow::Borrowed(&self.facts),
            true => Cow::Owned(RowFacts::named(self)),
        }
    }
}

impl From<IoRow> for RowFacts {
    fn from(io: IoRow) -> Self {
        Self {
            io: Some(io),
            ..Self::default()
        }
    }
}

impl From<PlaceRow> for RowFacts {
    fn from(placement: PlaceRow) -> Self {
        Self {
            placement: Some(placement),
            ..Self::default()
        }
    }
}

impl From<Application> for RowFacts {
    fn from(application: Application) -> Self {
        Self {
            application: Some(application),
            ..Self::default()
        }
    }
}

/// A workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Application {
    /// Whether the workload is an operation of a kernel that lmbench measures, and no application.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub primitive: bool,
    /// Interrupted vCPUs, if another workload does the same work with other interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<Interrupts>,
}

/// A workload that is measured twice: with all interrupts on one vCPU, and with interrupts on all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interrupts {
    /// Name of the work that both do: `apache`.
    pub of: String,
    /// The vCPUs that are interrupted.
    pub on: Interrupted,
}

impl Interrupts {
    /// Returns the name that the tree's workload of this work has, as in `reference/*.csv`.
    pub fn name(&self) -> String {
        format!("{}{}", self.of, self.on.end())
    }
}

/// The vCPUs that a network card interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Interrupted {
    /// A single vCPU.
    One,
    /// Each vCPU.
    Spread,
}

impl Interrupted {
    pub(crate) const ALL: [Self; 2] = [Self::One, Self::Spread];

    /// End of the names of workloads.
    pub(crate) fn end(self) -> &'static str {
        match self {
            Self::One => "-interrupts-one",
            Self::Spread => "-interrupts-spread",
        }
    }
}

/// A row of a VM's device. Its name is `io-DEVICE-dDEPTH`, with `-busy` at the end if the vCPU never halts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoRow {
    /// The device's name in the recipe: `storage-daemon`.
    pub device: String,
    /// Requests outstanding at a time.
    pub depth: u32,
    /// Whether another process keeps the vCPU from halting while it waits.
    pub busy: bool,
}

/// Kinds of the lab's devices with their servers, by name. A device of the user's own recipe is not here.
const SERVED: [(&str, &str); 8] = [
    ("qemu", "virtio-blk, QEMU's main loop"),
    ("iothread", "virtio-blk, QEMU's iothread"),
    ("storage-daemon", "virtio-blk, qemu-storage-daemon"),
    ("elvis", "virtio-blk, elvis"),
    ("qemu-net", "virtio-net, QEMU's main loop"),
    ("vhost", "virtio-net, vhost-net"),
    ("elvis-net", "virtio-net, elvis"),
    ("assigned", "a card of its own, by VFIO"),
];

impl IoRow {
    /// Returns the row's name.
    pub fn name(&self) -> String {
        let busy = if self.busy { "-busy" } else { "" };
        format!("io-{}-d{}{busy}", self.device, self.depth)
    }

    /// Returns the device's kind and its server; empty if only its recipe knows.
    pub fn served(&self) -> &'static str {
        let of = SERVED.iter().find(|(device, _)| *device == self.device);
        of.map_or("", |(_, served)| served)
    }

    /// Returns the vCPU's state while it waits: `busy` or `sleeps`.
    pub fn vcpu(&self) -> &'static str {
        if self.busy { "busy" } else { "sleeps" }
    }
}
