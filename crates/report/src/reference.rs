//! The numbers published in the five papers, as data: reads the files of `reference/`.
//!
//! The files are compiled in, so that an installed command has them. `docs/reference.md` explains the columns. A
//! published number belongs to its own hardware and unit: cycles of an old machine may be shown beside ours, but never
//! in one ratio or on one axis with them. Ratios to native have no unit.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use ws_results::Published;

/// A paper.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Paper {
    /// Key of the paper in the other files, such as `hyperbench-2019`.
    pub paper: String,
    pub authors: String,
    pub title: String,
    /// Conference or journal, and year.
    pub venue: String,
}

/// A machine that a paper measured on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Hardware {
    /// The paper.
    pub paper: String,
    /// Key of the machine in the paper's values, such as `ivy-bridge`.
    pub hardware: String,
    /// The machine and its software, as text.
    pub description: String,
}

/// Contents of a paper's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Measurements.
    Measured,
    /// Parameters of measurements: iterations, concurrent requests.
    Parameters,
    /// Registers and their classes.
    Registers,
    /// No numbers.
    Words,
}

/// A table of a paper, a figure with a table, or a section whose text has numbers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Table {
    /// The paper.
    pub paper: String,
    /// Number of the table, figure or section: `3`, `figure 4`, `text 6.2`.
    pub table: String,
    /// The paper's caption; empty for a section.
    pub caption: String,
    /// Contents of the table.
    pub kind: Kind,
}

/// A published number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Value {
    /// The paper.
    #[serde(skip)]
    pub paper: String,
    /// Table of the number, as in [`Table`].
    pub table: String,
    /// The row's name, as printed.
    pub row: String,
    /// The column's name, as printed; if it has two headers above each other, both.
    pub column: String,
    /// The cell, as printed.
    pub printed: String,
    /// The number, or the lower end of a range; absent if the cell has none.
    pub value: Option<f64>,
    /// The upper end of a range, if the cell is one.
    pub to: Option<f64>,
    /// Unit of the number: `cycles`, `ratio`, `percent`, `count`, `traps`, `probability`, `s`, `ms`, `us`, `kilobytes`,
    /// `per_s`, `per_min`, `megabits_per_s`, `gigabits_per_s`, `megabytes_per_s`.
    pub unit: String,
    /// The machine, a key of [`Hardware`]; empty if the number belongs to none.
    pub hardware: String,
    /// Measured setup, in our terms: `native`, `tcg`, `kvm`, `kvm-shadow`, `xen`, `nested-nv` ...
    pub setup: String,
    /// Corresponding benchmark of ours; empty if there is none.
    pub benchmark: String,
    /// Remark that a reader must know.
    pub note: String,
    /// Misprints and contradictions of the paper in this number.
    pub errata: String,
}

/// A register that the NEVE paper classifies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Register {
    /// The paper's table.
    pub table: String,
    /// Class of the register in that table.
    pub group: String,
    /// Name of the register, as printed.
    pub register: String,
    /// Description of the register, as printed.
    pub description: String,
    /// How many registers the row covers.
    pub count: u32,
    /// Misprints of the paper in this row.
    pub errata: String,
}

/// A line of a suite: a selection of our benchmarks in the layout of a paper's table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SuiteRow {
    /// The suite's name, such as `dall2015`.
    pub suite: String,
    /// The paper.
    pub paper: String,
    /// Tables of the paper, separated by blanks: the first one has the layout; the others add columns.
    pub tables: String,
    /// The row in the paper's table.
    pub row: String,
    /// Our benchmark. A guest image need not contain it.
    pub benchmark: String,
    /// Whether the paper's numbers are shown beside our benchmark. If several benchmarks correspond to one row, they
    /// are shown only beside the closest one.
    pub published: bool,
}

/// A table, figure or section of a paper that worldswitch measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The paper.
    pub paper: String,
    /// Table, figure or section: `table 3`, `figure 4`, `text 6.3`.
    pub figure: String,
    /// Contents of the figure, in words.
    pub shows: String,
    /// The command that measures the figure, for a shell.
    pub command: String,
    /// The page in `docs/`.
    pub page: String,
}

impl Value {
    /// Whether the number was measured in the setup and on the machine that a machine's recipe names.
    pub(crate) fn is_of(&self, of: &Published) -> bool {
        self.setup == of.setup && self.hardware == of.hardware
    }
}

impl Figure {
    /// Returns the key of the figure's published numbers in the other files, if there are any.
    pub fn table(&self) -> &str {
        self.figure.strip_prefix("table ").unwrap_or(&self.figure)
    }
}

/// All published data.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The papers.
    pub papers: Vec<Paper>,
    /// Machines of the papers.
    pub hardware: Vec<Hardware>,
    /// Tables of the papers.
    pub tables: Vec<Table>,
    /// Numbers of the papers, each paper's in the order of its file.
    pub values: Vec<Value>,
    /// The registers of NEVE's Tables 3 to 5.
    pub registers: Vec<Register>,
    /// The suites, each in the order of its table.
    pub suites: Vec<SuiteRow>,
    /// Figures of the papers that worldswitch measures.
    pub figures: Vec<Figure>,
}

/// A file of `reference/` is damaged.
#[derive(Debug, thiserror::Error)]
#[error("reference/{file}: {cause}")]
pub struct Error {
    /// Name of the damaged file.
    pub file: &'static str,
    /// The place and the error.
    pub cause: csv::Error,
}

macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../reference/", $name)))
    };
}

/// The papers and the files of their values.
const VALUES: [(&str, (&str, &str)); 5] = [
    ("hyperbench-2019", file!("hyperbench-2019.csv")),
    ("dall-2015", file!("dall-2015.csv")),
    ("neve-2017", file!("neve-2017.csv")),
    ("elvis-2013", file!("elvis-2013.csv")),
    ("rasmusson-2013", file!("rasmusson-2013.csv")),
];

/// Reads the compiled-in files. The tests of this crate read all of them, so an error is a bug.
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
        figures: read(file!("figures.csv"))?,
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

    /// The description of the machine that a value was measured on.
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

    /// Whether there are numbers as a machine's recipe names them.
    pub fn has(&self, of: &Published) -> bool {
        let is_table = |v: &Value| of.table.as_ref().is_none_or(|table| *table == v.table);
        let mut values = self.values.iter();
        values.any(|v| v.paper == of.paper && v.is_of(of) && is_table(v))
    }

    /// The column of a paper's table with the numbers that a machine's recipe names.
    pub fn column(&self, paper: &str, table: &str, of: &Published) -> Option<&str> {
        let is_it = |v: &&Value| v.paper == paper && v.table == table && v.is_of(of);
        self.values.iter().find(is_it).map(|value| &*value.column)
    }

    /// The lines of a suite, in order; empty if there is no such suite.
    pub fn suite(&self, name: &str) -> Vec<&SuiteRow> {
        let of = |row: &&SuiteRow| row.suite == name;
        self.suites.iter().filter(of).collect()
    }

    /// Returns a number, by paper, table, row, column and unit.
    pub fn value(&self, at: [&str; 5]) -> Option<f64> {
        let [paper, table, row, column, unit] = at;
        self.of_table(paper, table)
            .find(|v| v.row == row && v.column == column && v.unit == unit)
            .and_then(|v| v.value)
    }
}
