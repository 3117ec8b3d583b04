//! The names of rows that measure a host and its VM on chosen CPUs: `place-net-self-host-both-0-1`.

/// What all names begin with.
const PREFIX: &str = "place-";

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceKind {
    /// Data of a side to itself.
    NetSelf,
    /// Data to the host: the host's own, and the VM's.
    NetHost,
    /// A byte to the host and a byte back.
    RoundTrip,
    Cpu,
    Memory,
}

impl PlaceKind {
    /// All of them, the paper's first.
    pub const ALL: [Self; 5] = [
        Self::NetSelf,
        Self::NetHost,
        Self::Cpu,
        Self::Memory,
        Self::RoundTrip,
    ];

    /// Its name, as in options and rows.
    pub fn word(self) -> &'static str {
        match self {
            Self::NetSelf => "net-self",
            Self::NetHost => "net-host",
            Self::RoundTrip => "round-trip",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }

    /// The kind of this name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Whose work is timed.
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

/// The CPUs of both sides; each is a list as the kernel writes it: `0`, `0-1`, `0,2-3`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Places {
    /// Of the host's processes.
    pub host: String,
    /// Of all threads of the VM's program.
    pub vm: String,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceRow {
    pub kind: PlaceKind,
    /// The side that is timed.
    pub side: Side,
    pub where_: Where,
}

/// Which sides work, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// Only the side that is timed, on these CPUs.
    Alone(String),
    /// Both.
    Both(Places),
}

/// A list of CPUs in a name, which has no `,`, and whose words `-` separates.
fn written(cpus: &str) -> String {
    cpus.replace(',', "and").replace('-', "to")
}

fn read(word: &str) -> Option<String> {
    let text = word.replace("and", ",").replace("to", "-");
    let good = |c: char| c.is_ascii_digit() || c == ',' || c == '-';
    (!text.is_empty() && text.chars().all(good)).then_some(text)
}

impl PlaceRow {
    /// The row's name.
    pub fn name(&self) -> String {
        let (kind, side) = (self.kind.word(), self.side.word());
        match &self.where_ {
            Where::Alone(cpus) => format!("{PREFIX}{kind}-{side}-alone-{}", written(cpus)),
            Where::Both(Places { host, vm }) => {
                let (host, vm) = (written(host), written(vm));
                format!("{PREFIX}{kind}-{side}-both-{host}-{vm}")
            }
        }
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
            ["alone", cpus] => Where::Alone(read(cpus)?),
            ["both", host, vm] => Where::Both(Places {
                host: read(host)?,
                vm: read(vm)?,
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

    #[test]
    fn names_are_read_as_they_were_written() {
        for kind in PlaceKind::ALL {
            for side in [Side::Host, Side::Guest] {
                let places = Places {
                    host: "0-1".into(),
                    vm: "0,2-3".into(),
                };
                for where_ in [Where::Alone("7".into()), Where::Both(places)] {
                    let row = PlaceRow { kind, side, where_ };
                    assert_eq!(PlaceRow::parse(&row.name()), Some(row));
                }
            }
        }
        for name in [
            "tcp-rr",
            "place-disk-host-alone-0",
            "place-cpu-host-alone-",
            "place-cpu-host-both-0",
            "place-cpu-both-both-0-1",
            "place-cpu-host-alone-x",
        ] {
            assert_eq!(PlaceRow::parse(name), None, "{name}");
        }
    }
}
