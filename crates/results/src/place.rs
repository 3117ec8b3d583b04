//! The names of rows that measure a host and its VM on chosen CPUs: `place-net-host-guest-both-0-1x0`.

use std::fmt;

/// Prefix of all names.
const PREFIX: &str = "place-";

/// Kind of work that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    Cpu,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Host,
    Guest,
}

impl Side {
    fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Guest => "guest",
        }
    }
}

/// The CPUs of a side; each is a list as the kernel writes it: `0`, `0-1`, `0,2-3`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// CPUs of the working part: the host's senders, the VM's CPU.
    pub work: String,
    /// CPUs of the part that serves it, if that is put apart. On the host it is the receiver or the second VM; of the
    /// VM it is all other threads of its program, and vhost's.
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

    fn read(word: &str) -> Option<Self> {
        let (work, serve) = match word.split_once('x') {
            None => (word, None),
            Some((work, serve)) => (work, Some(read(serve)?)),
        };
        let work = read(work)?;
        Some(Self { work, serve })
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Places {
    pub host: Spot,
    pub vm: Spot,
}

/// A row of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceRow {
    pub kind: PlaceKind,
    /// The side that is timed.
    pub side: Side,
    pub where_: Where,
}

/// Sides that work, and their CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// Only the side that is timed. A VM may send to a receiver outside, on these CPUs.
    Alone {
        spot: Spot,
        receiver: Option<String>,
    },
    /// Both sides.
    Both(Places),
}

/// Writes a list of CPUs for a row's name, which has no `,` and separates its words by `-`.
fn written(cpus: &str) -> String {
    cpus.replace(',', "and").replace('-', "to")
}

fn read(word: &str) -> Option<String> {
    let text = word.replace("and", ",").replace("to", "-");
    let good = |c: char| c.is_ascii_digit() || c == ',' || c == '-';
    (!text.is_empty() && text.chars().all(good)).then_some(text)
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

    /// The row of this name.
    pub fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix(PREFIX)?;
        let of_kind = |kind: PlaceKind| {
            let rest = rest.strip_prefix(kind.word())?.strip_prefix('-')?;
            Some((kind, rest))
        };
        let (kind, rest) = PlaceKind::ALL.into_iter().find_map(of_kind)?;
        let words: Vec<&str> = rest.split('-').collect();
        let (side, words) = words.split_first()?;
        let where_ = match words {
            ["alone", spot] => Where::Alone {
                spot: Spot::read(spot)?,
                receiver: None,
            },
            ["alone", spot, receiver] => Where::Alone {
                spot: Spot::read(spot)?,
                receiver: Some(read(receiver)?),
            },
            ["both", host, vm] => Where::Both(Places {
                host: Spot::read(host)?,
                vm: Spot::read(vm)?,
            }),
            _ => return None,
        };
        let sides = [Side::Host, Side::Guest];
        Some(Self {
            kind,
            side: sides.into_iter().find(|known| known.word() == *side)?,
            where_,
        })
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
    fn names_are_read_as_they_were_written() {
        let same = Places {
            host: Spot::of("0"),
            vm: Spot::of("1"),
        };
        for kind in PlaceKind::ALL {
            for side in [Side::Host, Side::Guest] {
                for places in [&same, &apart()] {
                    for row in [PlaceRow::alone, PlaceRow::both] {
                        let row = row(kind, side, places);
                        assert_eq!(PlaceRow::parse(&row.name()), Some(row));
                    }
                }
            }
        }
        let name = |kind, side, places| PlaceRow::both(kind, side, places).name();
        assert_eq!(
            name(PlaceKind::TripGuest, Side::Guest, &apart()),
            "place-trip-guest-guest-both-0to1x1-0and2to3x0"
        );
        for name in [
            "tcp-rr",
            "place-tape-host-alone-0",
            "place-cpu-host-alone-",
            "place-cpu-host-alone-0x",
            "place-cpu-host-both-0",
            "place-cpu-both-both-0-1",
            "place-cpu-host-alone-x",
        ] {
            assert_eq!(PlaceRow::parse(name), None, "{name}");
        }
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
