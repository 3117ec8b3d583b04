//! The dozen benchmarks that people ask for first, and the table of them alone.

use crate::number::is_count;
use crate::table::{Table, TableRow};

/// A benchmark that people ask for first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MainRow {
    pub benchmark: &'static str,
    /// The measured operation, as a sentence names it: "a hypercall".
    pub noun: &'static str,
}

const fn row(benchmark: &'static str, noun: &'static str) -> MainRow {
    MainRow { benchmark, noun }
}

/// The benchmarks that people ask for first, in the order in which a sentence prefers them.
pub const MAIN: [MainRow; 12] = [
    row("hypercall", "a hypercall"),
    row("cpuid", "a CPUID"),
    row("in", "a read of a port"),
    row("out", "a write to a port"),
    row("mmio-write", "a write to a device's memory"),
    row(
        "interrupt-controller-trap",
        "an access to the interrupt controller",
    ),
    row("irq-completion", "an end of interrupt"),
    row("ipi-running", "an IPI to a running CPU and its answer"),
    row("vm-switch", "a VM switch"),
    row("cold-memory-access", "a first touch of a page"),
    row("remap-page", "a page-table edit"),
    row("set-cr3", "a CR3 write"),
];

/// Limit of an added cost up to which a hypervisor has no part in an operation.
pub(crate) const NOTHING: f64 = 1.0;

/// Least number of main rows in the table of a whole suite. A table with fewer is the user's own choice, and is shown
/// whole.
const ENOUGH: usize = 8;

impl Table {
    /// Returns the table of the main rows that some platform measured, the costliest first; `None` if this is not the
    /// table of a whole suite.
    pub fn main_rows(&self) -> Option<Table> {
        let is_main = |row: &&TableRow| MAIN.iter().any(|main| main.benchmark == row.benchmark);
        let mut rows: Vec<TableRow> = self
            .rows
            .iter()
            .filter(is_main)
            .filter(|row| row.is_measured())
            .cloned()
            .collect();
        if rows.len() < ENOUGH || rows.len() == self.rows.len() {
            return None;
        }
        rows.sort_by(|a, b| self.cost(b).total_cmp(&self.cost(a)));
        for row in &mut rows {
            // The rows are not in the guest's order, by which categories are grouped.
            row.category.clear();
        }
        Some(self.with_rows(rows))
    }

    /// Returns the cost of a row, by which rows are sorted: the most that it adds anywhere to a baseline, or its cost
    /// without a baseline. It is in instructions if any platform counts them, else in time.
    pub fn cost(&self, row: &TableRow) -> f64 {
        let counted = self.counts().next().is_some();
        let cells = row.cells.iter().enumerate();
        cells
            .filter(|(index, _)| !counted || self.counts().any(|column| column == *index))
            .filter_map(|(index, _)| self.cost_in(row, index))
            .fold(0.0, f64::max)
    }

    /// Returns the cost of a row in a column, in its unit: the cost added to a machine without a hypervisor, else the
    /// value.
    pub(crate) fn cost_in(&self, row: &TableRow, column: usize) -> Option<f64> {
        let cell = row.cells.get(column)?.as_ref()?;
        let added = cell.added.filter(|_| !self.has_peer(column));
        added.or(cell.value)
    }

    /// The columns of hypervisors whose instructions were counted: not those that others are compared with.
    pub(crate) fn counts(&self) -> impl Iterator<Item = usize> + '_ {
        let columns = self.columns.iter().enumerate();
        columns
            .filter(|(index, column)| {
                let unit = column.unit.as_deref();
                column.baseline != Some(*index) && unit.is_some_and(is_count)
            })
            .map(|(index, _)| index)
    }

    /// Returns a table of the same platforms with only `rows`, and the notes that they need.
    pub(crate) fn with_rows(&self, rows: Vec<TableRow>) -> Table {
        let mut table = Table {
            rows,
            ..self.clone()
        };
        table.drop_unused_notes();
        table
    }
}

impl TableRow {
    /// Whether some platform has a value.
    pub(crate) fn is_measured(&self) -> bool {
        self.cells.iter().flatten().any(|cell| cell.value.is_some())
    }
}
