//! The table for other programs: CSV in long form, and JSON. Numbers are in full precision.

use crate::table::{Cell, Table, TableRow, status_word, verdict_word};
use ws_text::spreadsheet;

/// The columns of the CSV.
const HEAD: [&str; 18] = [
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
    "baseline",
    "added",
    "slowdown",
    "notes",
];

impl Table {
    /// One line for each benchmark and platform that has it, with a head (RFC 4180, but `\n`).
    /// Cells that a spreadsheet would take for formulas get a leading apostrophe.
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
        // Every cell was text, so the whole is.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn csv_line(&self, row: &TableRow, index: usize, cell: &Cell) -> [String; 18] {
        let number = |number: Option<f64>| number.map_or(String::new(), |n| n.to_string());
        let column = &self.columns[index];
        let baseline = self.baseline.filter(|&baseline| baseline != index);
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
            status_word(cell.status).into(),
            spreadsheet(cell.unit.as_deref().unwrap_or("")),
            number(cell.value),
            number(cell.min),
            number(cell.max),
            cell.boots.to_string(),
            cell.samples.to_string(),
            number(cell.spread),
            cell.exact.map_or(String::new(), |exact| exact.to_string()),
            cell.check.map_or("", verdict_word).into(),
            spreadsheet(baseline.map_or("", |baseline| &self.columns[baseline].platform)),
            number(cell.added),
            number(cell.slowdown),
            spreadsheet(&notes.join("; ")),
        ]
    }

    /// The table's data, pretty-printed. Strings are as they came; JSON escapes what it must.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
