//! Rows that measure a host and its VM on chosen CPUs, and their names: `place-net-host-guest-both-0-1x0`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Prefix of all names.
pub(crate) const PREFIX: &str = "place-";

/// Kind of work that is timed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceKind {
    /// Data of a side to itself.
    NetSelf,
    /// Data to the host: the host's own, and the VM's.
    NetHost,
    /// Data to a second VM.
    NetGuest,
    /// Reads of a disk of which nothing is in memory.
    DiskBuffered,
    /// Repeated reads of two MiB of a disk from memory.
    DiskCached,
    /// A search for prime numbers.
    Cpu,
    /// Writes of memory in blocks.
    Memory,
    /// A byte to the host and a byte back.
    TripHost,
    /// A byte to a second VM and a byte back.
    TripGuest,
}

impl PlaceKind {
    /// All kinds of work, the paper's first.
    pub const ALL: [Self; 9] = [
        Self::NetSelf,
        Self::NetHost,
        Self::NetGuest,
        Self::DiskBuffered,
        Self::DiskCached,
        Self::Cpu,
        Self::Memory,
        Self::TripHost,
        Self::TripGuest,
    ];

    /// Returns the kind's name, as in options and rows. No name begins with another name and a `-`, so a row's name has
    /// one kind.
    pub fn word(self) -> &'static str {
        match self {
            Self::NetSelf => "net-self",
            Self::NetHost => "net-host",
            Self::NetGuest => "net-guest",
            Self::DiskBuffered => "disk-buffered",
            Self::DiskCached => "disk-cached",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::TripHost => "trip-host",
            Self::TripGuest => "trip-guest",
        }
    }

    /// The kind of this name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether both sides send to a second VM.
    pub fn has_second_vm(self) -> bool {
        matches!(self, Self::NetGuest | Self::TripGuest)
    }

    /// Whether both sides read disks.
    pub fn has_disk(self) -> bool {
        matches!(self, Self::DiskBuffered | Self::DiskCached)
    }

    /// Whether the parts that a placement puts apart take part in this work. They are a receiver outside of the VM, and
    /// threads of the VM's program other than its CPU's.
    pub fn suits(self, places: &Places) -> bool {
        let has_io = self.has_disk() || self.sends_out();
        (self.sends() || places.host.serve.is_none()) && (has_io || places.vm.serve.is_none())
    }

    /// Whether a side sends.
    pub fn sends(self) -> bool {
        self == Self::NetSelf || self.sends_out()
    }

    /// Whether a side sends to another one.
    fn sends_out(self) -> bool {
        matches!(self, Self::NetHost | Self::TripHost) || self.has_second_vm()
    }

    /// Returns the CPUs of the receiver; `host` has the host's. `None` is a second VM that is not put apart, and may
    /// run on any CPU.
    pub fn receiver(self, host: &Spot) -> Option<&str> {
        match self.has_second_vm() {
            true => host.serve.as_deref(),
            false => Some(host.server()),
        }
    }
}

/// Side whose work is timed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The host.
    Host,
    /// The VM.
    Guest,
}

impl Side {
    /// Word of the side in names.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Guest => "guest",
        }
    }
}

/// The CPUs of a side; each is a list as the kernel writes it: `0`, `0-1`, `0,2-3`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Spot {
    /// CPUs of the working part: the host's senders, the VM's CPU.
    pub work: String,
    /// CPUs of the part that serves it, if that is put apart. On the host it is the receiver or the second VM; of the
    /// VM it is all other threads of its program, and vhost's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serve: Option<String>,
}

impl Spot {
    /// Puts both parts of a side on the same CPUs.
    pub fn of(cpus: &str) -> Self {
        Self {
            work: cpus.to_owned(),
            serve: None,
        }
    }

    /// Puts the serving part on CPUs of its own.
    pub fn apart(work: &str, serve: &str) -> Self {
        Self {
            work: work.to_owned(),
            serve: Some(serve.to_owned()),
        }
    }

    /// Returns the CPUs of the serving part.
    pub fn server(&self) -> &str {
        self.serve.as_ref().unwrap_or(&self.work)
    }

    fn written(&self) -> String {
        let serve = self.serve.iter().map(|cpus| format!("x{}", written(cpus)));
        written(&self.work) + &serve.collect::<String>()
    }
}

/// Writes `0`, or `0>1` if the serving part is on CPUs of its own.
impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.serve {
            None => f.write_str(&self.work),
            Some(serve) => write!(f, "{}>{serve}", self.work),
        }
    }
}

/// The CPUs of both sides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Places {
    /// The host's.
    pub host: Spot,
    /// The VM's.
    pub vm: Spot,
}

/// A row of a placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceRow {
    /// The work.
    pub kind: PlaceKind,
    /// The side that is timed.
    pub side: Side,
    /// Sides that work, with their CPUs.
    #[serde(flatten)]
    pub where_: Where,
}

/// Sides that work, and their CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// Only the side that is timed.
    Alone {
        /// CPUs of that side.
        #[serde(flatten)]
        spot: Spot,
        /// The CPUs of a receiver outside the VM, if the VM sends to one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receiver: Option<String>,
    },
    /// Both sides.
    Both(Places),
}

/// Writes a list of CPUs for a row's name, which has no `,` and separates its words by `-`.
fn written(cpus: &str) -> String {
    cpus.replace(',', "and").replace('-', "to")
}

impl PlaceRow {
    /// Returns the row of a side that works alone, with those CPUs of the placement on which it depends.
    pub fn alone(kind: PlaceKind, side: Side, places: &Places) -> Self {
        let (spot, receiver) = match side {
            Side::Host => (&places.host, None),
            Side::Guest => {
                let receiver = kind.receiver(&places.host);
                (&places.vm, receiver.filter(|_| kind.sends_out()))
            }
        };
        let where_ = Where::Alone {
            spot: spot.clone(),
            receiver: receiver.map(str::to_owned),
        };
        Self { kind, side, where_ }
    }

    /// Returns the row of a side while both sides work.
    pub fn both(kind: PlaceKind, side: Side, places: &Places) -> Self {
        let where_ = Where::Both(places.clone());
        Self { kind, side, where_ }
    }

    /// The row's name.
    pub fn name(&self) -> String {
        let (kind, side) = (self.kind.word(), self.side.word());
        let where_ = match &self.where_ {
            Where::Alone { spot, receiver } => {
                let receiver = receiver.iter().map(|cpus| format!("-{}", written(cpus)));
                format!("alone-{}{}", spot.written(), receiver.collect::<String>())
            }
            Where::Both(Places { host, vm }) => {
                format!("both-{}-{}", host.written(), vm.written())
            }
        };
        format!("{PREFIX}{kind}-{side}-{where_}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart() -> Places {
        Places {
            host: Spot::apart("0-1", "1"),
            vm: Spot::apart("0,2-3", "0"),
        }
    }

    #[test]
    fn a_name_says_kind_side_and_cpus() {
        let row = PlaceRow::both(PlaceKind::TripGuest, Side::Guest, &apart());
        assert_eq!(row.name(), "place-trip-guest-guest-both-0to1x1-0and2to3x0");
    }

    #[test]
    fn alone_depends_only_on_what_takes_part() {
        let alone = |kind, side| PlaceRow::alone(kind, side, &apart()).name();
        let guest = |kind| alone(kind, Side::Guest);
        assert_eq!(guest(PlaceKind::Cpu), "place-cpu-guest-alone-0and2to3x0");
        assert_eq!(
            guest(PlaceKind::NetHost),
            "place-net-host-guest-alone-0and2to3x0-1"
        );
        assert_eq!(
            alone(PlaceKind::NetHost, Side::Host),
            "place-net-host-host-alone-0to1x1"
        );
        // A second VM is everywhere unless it is put apart.
        let same = Places {
            host: Spot::of("0"),
            vm: Spot::of("1"),
        };
        let of = |kind| PlaceRow::alone(kind, Side::Guest, &same).name();
        assert_eq!(of(PlaceKind::NetGuest), "place-net-guest-guest-alone-1");
        assert_eq!(of(PlaceKind::TripHost), "place-trip-host-guest-alone-1-0");
    }

    #[test]
    fn what_is_put_apart_must_take_part() {
        let receiver = Places {
            vm: Spot::of("0"),
            ..apart()
        };
        let io = Places {
            host: Spot::of("0"),
            ..apart()
        };
        let suited = |places: &Places| {
            let all = PlaceKind::ALL.into_iter();
            let words = all.filter(|kind| kind.suits(places)).map(PlaceKind::word);
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            suited(&receiver),
            "net-self net-host net-guest trip-host trip-guest"
        );
        assert_eq!(
            suited(&io),
            "net-host net-guest disk-buffered disk-cached trip-host trip-guest"
        );
        assert_eq!(suited(&apart()), "net-host net-guest trip-host trip-guest");
    }
}
