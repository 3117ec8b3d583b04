//! The table for other programs: CSV in long form, and JSON, with numbers in full precision.

use crate::table::{Cell, Table, TableRow, verdict_word};
use crate::text::spreadsheet;

/// The number of columns in the CSV.
const COLUMNS: usize = 23;

/// The columns of the CSV.
const HEAD: [&str; COLUMNS] = [
    "benchmark",
    "category",
    "platform",
    "created",
    "status",
    "unit",
    "value",
    "min",
    "max",
    "boots",
    "samples",
    "spread",
    "exact",
    "check",
    "external",
    "difference",
    "noise",
    "external_samples",
    "external_missing",
    "baseline",
    "added",
    "slowdown",
    "notes",
];

impl Table {
    /// Renders a header and a line for each benchmark and each platform that has it (RFC 4180, but with `\n`). Cells
    /// that a spreadsheet would take for formulas get a leading apostrophe.
    pub fn to_csv(&self) -> Result<String, csv::Error> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(HEAD)?;
        for row in &self.rows {
            for (index, cell) in row.cells.iter().enumerate() {
                if let Some(cell) = cell {
                    csv.write_record(self.csv_line(row, index, cell))?;
                }
            }
        }
        let bytes = csv.into_inner().map_err(|error| error.into_error())?;
        // All cells are valid UTF-8, so nothing is lost.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn csv_line(&self, row: &TableRow, index: usize, cell: &Cell) -> [String; COLUMNS] {
        let number = |number: Option<f64>| number.map_or(String::new(), |n| n.to_string());
        let column = &self.columns[index];
        let outside = cell.external.as_ref();
        let baseline = column.baseline.filter(|&baseline| baseline != index);
        let notes = column
            .notes
            .iter()
            .chain(&cell.notes)
            .chain(&cell.not_compared);
        let notes: Vec<&str> = notes.map(|&note| self.notes[note].as_str()).collect();
        [
            spreadsheet(&row.benchmark),
            spreadsheet(&row.category),
            spreadsheet(&column.platform),
            spreadsheet(&column.created),
            cell.status.word().into(),
            spreadsheet(cell.unit.as_deref().unwrap_or("")),
            number(cell.value),
            number(cell.min),
            number(cell.max),
            cell.boots.to_string(),
            cell.samples.to_string(),
            number(cell.spread),
            cell.exact.map_or(String::new(), |exact| exact.to_string()),
            cell.check.map_or("", verdict_word).into(),
            number(outside.and_then(|outside| outside.value)),
            number(outside.and_then(|outside| outside.difference)),
            number(outside.and_then(|outside| outside.noise)),
            outside.map_or(String::new(), |outside| outside.samples.to_string()),
            outside.map_or(String::new(), |outside| outside.missing.to_string()),
            spreadsheet(baseline.map_or("", |baseline| &self.columns[baseline].platform)),
            number(cell.added),
            number(cell.slowdown),
            spreadsheet(&notes.join("; ")),
        ]
    }

    /// The table's data, pretty-printed. Strings are only escaped as JSON requires.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
