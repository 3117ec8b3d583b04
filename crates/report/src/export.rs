//! The table for other programs: CSV in long form, and JSON, with numbers in full precision.

use crate::table::{Cell, Table, TableRow, verdict_word};
use crate::text::{Set, Sheet};

use Set::{Number, Text};

/// The columns of the CSV.
const COLUMNS: [(&str, Set); 23] = [
    ("benchmark", Text),
    ("category", Text),
    ("platform", Text),
    ("created", Text),
    ("status", Text),
    ("unit", Text),
    ("value", Number),
    ("min", Number),
    ("max", Number),
    ("boots", Number),
    ("samples", Number),
    ("spread", Number),
    ("exact", Text),
    ("check", Text),
    ("external", Number),
    ("difference", Number),
    ("noise", Number),
    ("external_samples", Number),
    ("external_missing", Number),
    ("baseline", Text),
    ("added", Number),
    ("slowdown", Number),
    ("notes", Text),
];

impl Table {
    /// Renders a header and a line for each benchmark and each platform that has it (RFC 4180, but with `\n`). Cells
    /// that a spreadsheet would take for formulas get a leading apostrophe.
    pub fn to_csv(&self) -> String {
        let mut sheet = Sheet::new(COLUMNS);
        for row in &self.rows {
            let cells = row.cells.iter().enumerate();
            let cells = cells.filter_map(|(index, cell)| Some((index, cell.as_ref()?)));
            sheet.extend(cells.map(|(index, cell)| self.csv_line(row, index, cell)));
        }
        sheet.to_csv()
    }

    fn csv_line(&self, row: &TableRow, index: usize, cell: &Cell) -> [String; COLUMNS.len()] {
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
            row.benchmark.clone(),
            row.category.clone(),
            column.platform.clone(),
            column.created.clone(),
            cell.status.word().into(),
            cell.unit.clone().unwrap_or_default(),
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
            baseline.map_or(String::new(), |baseline| {
                self.columns[baseline].platform.clone()
            }),
            number(cell.added),
            number(cell.slowdown),
            notes.join("; "),
        ]
    }

    /// The table's data, pretty-printed. Strings are only escaped as JSON requires.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
