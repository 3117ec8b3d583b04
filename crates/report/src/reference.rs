//! The numbers that the five papers published, as data: the files of `reference/`, read.
//!
//! They are compiled in, so that an installed command has them. `docs/reference.md` says what the
//! columns mean. A published number is of its own hardware and unit: cycles of another decade's
//! machine stand beside ours, never in one ratio or on one axis with them.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A paper.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Paper {
    /// What the other files call it, as `hyperbench-2019`.
    pub paper: String,
    /// Who wrote it.
    pub authors: String,
    /// What it is called.
    pub title: String,
    /// Where and when it appeared.
    pub venue: String,
}

/// A machine that a paper measured on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Hardware {
    /// The paper.
    pub paper: String,
    /// What the paper's values call it, as `ivy-bridge`.
    pub hardware: String,
    /// The machine and its software, in words.
    pub description: String,
}

/// What a table of a paper holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Measurements.
    Measured,
    /// How a measurement is made: iterations, requests at a time.
    Parameters,
    /// Registers and their classes.
    Registers,
    /// No number.
    Words,
}

/// A table of a paper, a figure that is one, or a section whose text has numbers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Table {
    /// The paper.
    pub paper: String,
    /// `3`, `figure 4`, `text 6.2`.
    pub table: String,
    /// The paper's caption; empty for a section.
    pub caption: String,
    /// What it holds.
    pub kind: Kind,
}

/// One published number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Value {
    /// The paper.
    #[serde(skip)]
    pub paper: String,
    /// Its table.
    pub table: String,
    /// The row's name, as printed.
    pub row: String,
    /// The column's name, as printed; of two heads above each other both.
    pub column: String,
    /// The cell, as printed.
    pub printed: String,
    /// The number, or the lower end of a range; absent where the cell has none.
    pub value: Option<f64>,
    /// The upper end, where the cell is a range.
    pub to: Option<f64>,
    /// `cycles`, `ratio`, `percent`, `count`, `traps`, `probability`, `s`, `ms`, `us`, `kilobytes`,
    /// `per_s`, `per_min`, `megabits_per_s`, `gigabits_per_s`, `megabytes_per_s`.
    pub unit: String,
    /// The machine, a key of [`Hardware`]; empty where the number is of none.
    pub hardware: String,
    /// What ran there, in our words: `native`, `tcg`, `kvm`, `kvm-shadow`, `xen`, `nested-nv` ...
    pub setup: String,
    /// Our benchmark that corresponds; empty where none does.
    pub benchmark: String,
    /// What a reader must know.
    pub note: String,
    /// What the paper misprints or contradicts here.
    pub errata: String,
}

/// A register that the NEVE paper classifies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Register {
    /// The paper's table.
    pub table: String,
    /// Its class there.
    pub group: String,
    /// Its name, as printed.
    pub register: String,
    /// What it is, as printed.
    pub description: String,
    /// How many registers the row stands for.
    pub count: u32,
    /// What the paper misprints.
    pub errata: String,
}

/// A line of a table that a suite of ours lays out as a paper does.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SuiteRow {
    /// What a user calls the suite, as `dall2015`.
    pub suite: String,
    /// The paper.
    pub paper: String,
    /// Its tables, the first of which has the layout; the others add columns. Between blanks.
    pub tables: String,
    /// The row there.
    pub row: String,
    /// Our benchmark. A guest image need not have it.
    pub benchmark: String,
    /// Whether the paper's numbers stand beside it: of several of ours for one row, they do
    /// beside the one that is nearest to the paper's.
    pub published: bool,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The papers.
    pub papers: Vec<Paper>,
    /// Their machines.
    pub hardware: Vec<Hardware>,
    /// Their tables.
    pub tables: Vec<Table>,
    /// Their numbers, each paper's in the order of its file.
    pub values: Vec<Value>,
    /// The registers of NEVE's Tables 3 to 5.
    pub registers: Vec<Register>,
    /// The suites, each in the order of its table.
    pub suites: Vec<SuiteRow>,
}

/// A file of `reference/` is damaged.
#[derive(Debug, thiserror::Error)]
#[error("reference/{file}: {cause}")]
pub struct Error {
    /// Which file.
    pub file: &'static str,
    /// Where and how.
    pub cause: csv::Error,
}

macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../reference/", $name)))
    };
}

/// The papers whose values are in a file of their own.
const VALUES: [(&str, (&str, &str)); 5] = [
    ("hyperbench-2019", file!("hyperbench-2019.csv")),
    ("dall-2015", file!("dall-2015.csv")),
    ("neve-2017", file!("neve-2017.csv")),
    ("elvis-2013", file!("elvis-2013.csv")),
    ("rasmusson-2013", file!("rasmusson-2013.csv")),
];

/// Reads what was compiled in.
///
/// # Errors
/// A file is damaged; the tests of this crate read all of them.
pub fn load() -> Result<Reference, Error> {
    let mut values = Vec::new();
    for (paper, file) in VALUES {
        let of_paper: Vec<Value> = read(file)?;
        values.extend(of_paper.into_iter().map(|value| Value {
            paper: paper.into(),
            ..value
        }));
    }
    Ok(Reference {
        papers: read(file!("papers.csv"))?,
        hardware: read(file!("hardware.csv"))?,
        tables: read(file!("tables.csv"))?,
        values,
        registers: read(file!("neve-2017-registers.csv"))?,
        suites: read(file!("suites.csv"))?,
    })
}

fn read<T: DeserializeOwned>((file, text): (&'static str, &str)) -> Result<Vec<T>, Error> {
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .map_err(|cause| Error { file, cause })
}

impl Reference {
    /// The paper of that name.
    pub fn paper(&self, paper: &str) -> Option<&Paper> {
        self.papers.iter().find(|p| p.paper == paper)
    }

    /// What machine a value is of, in words.
    pub fn hardware_of(&self, value: &Value) -> Option<&str> {
        self.hardware
            .iter()
            .find(|h| h.paper == value.paper && h.hardware == value.hardware)
            .map(|h| h.description.as_str())
    }

    /// The values of a paper's table, in order.
    pub fn of_table<'a>(
        &'a self,
        paper: &'a str,
        table: &'a str,
    ) -> impl Iterator<Item = &'a Value> {
        self.values
            .iter()
            .filter(move |v| v.paper == paper && v.table == table)
    }

    /// The lines of a suite, in order; none where there is no such suite.
    pub fn suite(&self, name: &str) -> Vec<&SuiteRow> {
        let of = |row: &&SuiteRow| row.suite == name;
        self.suites.iter().filter(of).collect()
    }

    /// One number, by row, column and unit.
    pub fn value(&self, at: [&str; 5]) -> Option<f64> {
        let [paper, table, row, column, unit] = at;
        self.of_table(paper, table)
            .find(|v| v.row == row && v.column == column && v.unit == unit)
            .and_then(|v| v.value)
    }
}
