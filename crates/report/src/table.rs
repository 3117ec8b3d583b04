//! The table as data.

use ws_results::ResultFile;

/// What the caller may choose.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The platform that others are compared with.
    pub baseline: Option<String>,
    /// Conditions that may differ between compared results (`--allow FIELD`).
    pub allow: Vec<String>,
}

/// Why no table can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("no result of the baseline {baseline:?}; there are {}", there.join(", "))]
    NoBaseline { baseline: String, there: Vec<String> },
}

/// Benchmarks by platforms.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Table {}

/// Makes the table; the columns stand in the order of `results`.
pub fn table(_results: &[ResultFile], _options: &Options) -> Result<Table, TableError> {
    todo!()
}

impl Table {
    /// Aligned text for a terminal.
    pub fn to_terminal(&self, _colour: bool) -> String {
        todo!()
    }
    /// A Markdown table with its notes.
    pub fn to_markdown(&self) -> String {
        todo!()
    }
    /// Long form: one line for each benchmark and platform.
    pub fn to_csv(&self) -> String {
        todo!()
    }
    /// The table's data, pretty-printed.
    pub fn to_json(&self) -> String {
        todo!()
    }
}
