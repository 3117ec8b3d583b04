//! Lays out a table like a paper's: the paper's rows in its order, our platforms' columns, then the
//! published columns. Each column has one unit, and nothing is compared across units: published cycles
//! of another machine are neither our ticks nor our instructions.

use crate::notes::Notes;
use crate::reference::{Reference, SuiteRow, Value};
use crate::table::{Cell, Column, Table, TableRow};
use std::collections::BTreeMap;
use ws_results::{Facts, Status};

/// The unit of the published costs.
const CYCLES: &str = "cycles";

/// The paper whose setups the lab also has, on processors of the same vendor. Views of their own show other papers'
/// numbers.
const SAME_SETUPS: &str = "hyperbench-2019";

const NOT_THERE: &str =
    "not measured there: its guest image lacks this benchmark, or the run did not select it";

impl Table {
    /// Returns the table in a suite's layout. A row's category is the paper's row, its benchmark is ours. Each cell of
    /// a platform has a number or a reason.
    pub fn as_suite(self, suite: &[&SuiteRow], reference: &Reference) -> Self {
        let mut notes = Notes::from(self.notes);
        let published = Published::of(suite, reference);
        let mut columns = self.columns;
        let ours = columns.len();
        for column in &mut columns {
            let note = published.like(&column.facts);
            column.notes.extend(note.map(|note| notes.add(note)));
        }
        let mut found: BTreeMap<String, Vec<Option<Cell>>> = self
            .rows
            .into_iter()
            .map(|row| (row.benchmark, row.cells))
            .collect();
        let rows = suite
            .iter()
            .map(|line| {
                let cells = found.remove(&line.benchmark);
                let mut cells = cells.unwrap_or_else(|| vec![None; ours]);
                for cell in &mut cells {
                    cell.get_or_insert_with(|| {
                        Cell::without_value(Status::Skip, vec![notes.add(NOT_THERE.into())])
                    });
                }
                cells.extend(published.cells(line, &mut notes));
                TableRow {
                    benchmark: line.benchmark.clone(),
                    category: line.row.clone(),
                    cells,
                }
            })
            .collect();
        columns.extend(published.columns(&mut notes, reference));
        let mut table = Self {
            columns,
            rows,
            notes: notes.into_texts(),
            ..self
        };
        table.drop_unused_notes();
        table
    }

    /// Drops notes that nothing refers to any more, and renumbers the others.
    pub(crate) fn drop_unused_notes(&mut self) {
        let mut kept = Notes::default();
        let texts = std::mem::take(&mut self.notes);
        let mut anew = |note: &mut usize| *note = kept.add(texts[*note].clone());
        for column in &mut self.columns {
            column.notes.iter_mut().for_each(&mut anew);
        }
        for cell in self
            .rows
            .iter_mut()
            .flat_map(|row| row.cells.iter_mut().flatten())
        {
            cell.notes
                .iter_mut()
                .chain(&mut cell.not_compared)
                .for_each(&mut anew);
        }
        self.notes = kept.into_texts();
    }
}

/// The published values for a suite's rows.
struct Published<'a> {
    values: Vec<&'a Value>,
    /// The first value of each published column.
    columns: Vec<&'a Value>,
}

impl<'a> Published<'a> {
    fn of(suite: &[&SuiteRow], reference: &'a Reference) -> Self {
        let mut values: Vec<&Value> = Vec::new();
        if let Some(line) = suite.first() {
            for table in line.tables.split(' ') {
                let of_table = |value: &&Value| value.paper == line.paper && value.table == table;
                values.extend(reference.values.iter().filter(of_table));
            }
        }
        let mut columns: Vec<&Value> = Vec::new();
        for value in values.iter().filter(|value| value.unit == CYCLES) {
            if !columns.iter().any(|column| column.column == value.column) {
                columns.push(value);
            }
        }
        Self { values, columns }
    }

    fn columns(&self, notes: &mut Notes, reference: &Reference) -> Vec<Column> {
        let column = |first: &&Value| {
            let machine = reference.hardware_of(first).unwrap_or("unknown hardware");
            let note = notes.add(format!("published, Table {}: {machine}", first.table));
            Column {
                platform: first.column.clone(),
                created: String::new(),
                baseline: None,
                unit: Some(CYCLES.into()),
                boots: 0,
                notes: vec![note],
                facts: Facts::default(),
                architecture: None,
            }
        };
        self.columns.iter().map(column).collect()
    }

    /// Names the published column that one of our machines is like: the same hypervisor, and a processor of the same
    /// vendor.
    fn like(&self, facts: &Facts) -> Option<String> {
        let is_like = |column: &&&Value| {
            let mut published = facts.published_in(SAME_SETUPS, &column.table);
            column.paper == SAME_SETUPS && published.any(|of| column.is_of(of))
        };
        let column = self.columns.iter().find(is_like)?;
        Some(format!(
            "like the published column {}: the same setup on a processor of the same vendor",
            column.column
        ))
    }

    /// A line's cells, with the published slowdown and notes.
    fn cells(&self, line: &SuiteRow, notes: &mut Notes) -> Vec<Option<Cell>> {
        let find = |column: &Value, unit: &str| {
            let here =
                |v: &&&Value| v.row == line.row && v.column == column.column && v.unit == unit;
            self.values.iter().find(here)
        };
        let cell = |column: &&Value| {
            let cycles = find(column, CYCLES).filter(|_| line.published)?;
            let note = Some(cycles.note.as_str()).filter(|note| !note.is_empty());
            let note = note.map(|note| notes.add(format!("{}: {note}", line.row)));
            Some(Cell {
                unit: Some(CYCLES.into()),
                value: Some(cycles.value?),
                slowdown: find(column, "ratio").and_then(|ratio| ratio.value),
                ..Cell::without_value(Status::Ok, note.into_iter().collect())
            })
        };
        self.columns.iter().map(cell).collect()
    }
}
