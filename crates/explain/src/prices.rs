//! Prices: the cycles that one access to a register of a class took on some machine.
//!
//! A file has one price a line (docs/reference.md). A price is a fraction, the cycles of all accesses to a class over
//! their number, so that nothing is rounded before counts are multiplied. Prices come from users, so reading them is
//! total.

use crate::registers::Class;
use crate::trace::Architecture;
use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Item that has a price.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(untagged)]
pub enum Item {
    /// A class of registers.
    Class(Class),
    /// An item that is no class of registers.
    Other(Other),
}

/// The items that are no classes of registers.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Other {
    /// GICv2's registers of the virtual CPU interface, which are in memory. Traces have no data addresses, so the
    /// number of accesses is not known; machines with GICv3 have none.
    Gich,
    /// A trap to EL2, and the return from it.
    Trap,
}

impl Item {
    fn named(name: &str) -> Option<Self> {
        let text: StrDeserializer<ValueError> = name.into_deserializer();
        Self::deserialize(text).ok()
    }

    /// Returns the architectures that have the item.
    pub fn architectures(self) -> &'static [Architecture] {
        use Architecture::{Aarch64, Riscv64, X86_64};
        match self {
            Self::Class(Class::FloatingPoint | Class::Debug | Class::Pmu | Class::Other) => {
                &[X86_64, Aarch64, Riscv64]
            }
            Self::Class(Class::General | Class::Timer) => &[Aarch64, Riscv64],
            Self::Class(class) if class >= Class::Supervisor => &[Riscv64],
            Self::Class(class) if class >= Class::Virtualization => &[X86_64],
            _ => &[Aarch64],
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class(class) => class.fmt(f),
            Self::Other(Other::Gich) => f.pad("GICv2 in memory"),
            Self::Other(Other::Trap) => f.pad("trap"),
        }
    }
}

/// Access that has a price.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// A register is read, to save it.
    Read,
    /// A register is written, to restore it.
    Write,
    /// A trap is taken to EL2.
    Enter,
    /// A trap returns.
    Return,
}

impl Access {
    fn named(name: &str) -> Option<Self> {
        let text: StrDeserializer<ValueError> = name.into_deserializer();
        Self::deserialize(text).ok()
    }
}

/// A range of cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cycles {
    /// The least number.
    pub from: u64,
    /// The greatest number; the same if the price is no range.
    pub to: u64,
}

impl std::ops::AddAssign for Cycles {
    fn add_assign(&mut self, other: Self) {
        self.from = self.from.saturating_add(other.from);
        self.to = self.to.saturating_add(other.to);
    }
}

/// Cycles of a number of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// Cycles of all these accesses.
    pub cycles: Cycles,
    /// Number of accesses; not 0.
    pub accesses: u64,
}

impl Price {
    /// Estimates the cycles of `count` accesses, rounded to the nearest cycle.
    pub fn of(self, count: u64) -> Cycles {
        let accesses = u128::from(self.accesses.max(1));
        let of = |cycles: u64| {
            let all = u128::from(cycles) * u128::from(count) + accesses / 2;
            u64::try_from(all / accesses).unwrap_or(u64::MAX)
        };
        Cycles {
            from: of(self.cycles.from),
            to: of(self.cycles.to),
        }
    }
}

/// Reason why a file of prices can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: line {line}{}: {why}", self.place())]
pub struct PriceError {
    /// Name of the file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column's name; none if the line as a whole is wrong.
    pub column: Option<String>,
    /// The fault, in words.
    pub why: String,
}

impl PriceError {
    fn place(&self) -> String {
        let column = self.column.as_ref();
        column.map_or_else(String::new, |column| format!(", column {column}"))
    }
}

/// Columns that are read; the first three are needed.
const READ: [&str; 5] = ["class", "access", "cycles", "to", "accesses"];
/// Columns with the source of a price, which are not read.
const SOURCE: [&str; 8] = [
    "registers",
    "paper",
    "table",
    "row",
    "column",
    "file",
    "function",
    "note",
];

/// Built-in prices, by the names that select them.
const BUILT_IN: [(&str, &str); 1] = [(
    "dall-2015",
    include_str!("../../../reference/dall-2015-prices.csv"),
)];

/// Prices of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// Names of the files, in the order in which they were given.
    pub names: Vec<String>,
    /// Prices by item and access.
    pub of: BTreeMap<(Item, Access), Price>,
}

impl Prices {
    /// Returns the names of built-in prices.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns the built-in prices of that name.
    pub fn built_in(name: &str) -> Option<Result<Self, PriceError>> {
        let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Self::read(name, text))
    }

    /// Reads a file of prices.
    pub fn read(name: &str, text: &str) -> Result<Self, PriceError> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let head = reader
            .headers()
            .map_err(|error| malformed(name, text, &error))?;
        let head: Vec<String> = head.iter().map(|column| column.trim().to_owned()).collect();
        check_head(name, &head)?;
        let mut prices = Self {
            names: vec![name.to_owned()],
            of: BTreeMap::new(),
        };
        for record in reader.records() {
            let record = record.map_err(|error| malformed(name, text, &error))?;
            let fields = Fields {
                file: name,
                text,
                position: record.position().cloned(),
                head: &head,
                record: &record,
            };
            let (item, access, price) = fields.price()?;
            if prices.of.insert((item, access), price).is_some() {
                return Err(fields.wrong("access", "this price is already given".to_owned()));
            }
        }
        Ok(prices)
    }

    /// Adds the prices of another file, which replace the same ones here.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.names.extend(other.names);
        self.of.extend(other.of);
        self
    }
}

fn malformed(file: &str, text: &str, error: &csv::Error) -> PriceError {
    PriceError {
        file: file.to_owned(),
        line: line(text, error.position()),
        column: None,
        why: match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => format!("{len} columns, but the first line has {expected_len}"),
            _ => error.to_string(),
        },
    }
}

/// Returns the line of a record. The record's position may be that of empty lines before it.
fn line(text: &str, position: Option<&csv::Position>) -> u64 {
    let byte = position.map_or(0, |position| position.byte() as usize);
    let bytes = text.as_bytes();
    let rest = bytes.get(byte..).unwrap_or_default();
    let is_empty = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
    let start = byte.min(bytes.len()) + rest.iter().take_while(is_empty).count();
    let lines = bytes[..start].iter().filter(|byte| **byte == b'\n');
    1 + lines.count() as u64
}

fn check_head(file: &str, head: &[String]) -> Result<(), PriceError> {
    let wrong = |column: &str, why: &str| {
        Err(PriceError {
            file: file.to_owned(),
            line: 1,
            column: Some(column.to_owned()),
            why: why.to_owned(),
        })
    };
    for (index, column) in head.iter().enumerate() {
        if head[..index].contains(column) {
            return wrong(column, "named twice");
        }
        if !READ.iter().chain(&SOURCE).any(|known| known == column) {
            return wrong(column, &format!("unknown; known are {}", READ.join(", ")));
        }
    }
    for needed in &READ[..3] {
        if !head.iter().any(|column| column == needed) {
            return wrong(needed, "missing");
        }
    }
    Ok(())
}

/// A line of a file.
struct Fields<'a> {
    file: &'a str,
    text: &'a str,
    position: Option<csv::Position>,
    head: &'a [String],
    record: &'a csv::StringRecord,
}

impl Fields<'_> {
    fn wrong(&self, column: &str, why: String) -> PriceError {
        PriceError {
            file: self.file.to_owned(),
            line: line(self.text, self.position.as_ref()),
            column: Some(column.to_owned()),
            why,
        }
    }

    /// Returns the field of a column; empty if there is no such column.
    fn text(&self, column: &str) -> &str {
        let index = self.head.iter().position(|known| known == column);
        let field = index.and_then(|index| self.record.get(index));
        field.unwrap_or_default().trim()
    }

    fn number(&self, column: &str) -> Result<u64, PriceError> {
        let text = self.text(column);
        text.parse().map_err(|_| {
            let why = format!(
                "{text:?} is not a whole number: write 12.5 cycles as 25 cycles of 2 accesses"
            );
            self.wrong(column, why)
        })
    }

    /// Parses a line: class, access and cycles (`to`: a range), for one access or as many as `accesses` says.
    fn price(&self) -> Result<(Item, Access, Price), PriceError> {
        let class = self.text("class");
        let Some(item) = Item::named(class) else {
            let why = format!("{class:?} is neither a class of registers, nor gich, nor trap");
            return Err(self.wrong("class", why));
        };
        let (name, known) = (self.text("access"), known_accesses(item));
        let access = Access::named(name).filter(|access| known.contains(access));
        let Some(access) = access else {
            let known = match item {
                Item::Other(Other::Trap) => "enter or return",
                _ => "read or write",
            };
            return Err(self.wrong("access", format!("{name:?} is not {known}")));
        };
        let from = self.number("cycles")?;
        let to = match self.text("to") {
            "" => from,
            _ => self.number("to")?,
        };
        if to < from {
            return Err(self.wrong("to", format!("{to} is less than {from} cycles")));
        }
        let accesses = match self.text("accesses") {
            "" => 1,
            _ => self.number("accesses")?,
        };
        if accesses == 0 {
            return Err(self.wrong("accesses", "0 accesses have no price".to_owned()));
        }
        let cycles = Cycles { from, to };
        Ok((item, access, Price { cycles, accesses }))
    }
}

/// Returns the accesses that an item can have.
pub fn known_accesses(item: Item) -> [Access; 2] {
    match item {
        Item::Other(Other::Trap) => [Access::Enter, Access::Return],
        _ => [Access::Read, Access::Write],
    }
}

#[cfg(test)]
#[path = "prices_tests.rs"]
mod tests;
