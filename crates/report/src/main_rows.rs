//! The dozen benchmarks that people ask for first, and the table of them alone.

use crate::number::is_count;
use crate::table::{Table, TableRow};

/// A benchmark that people ask for first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MainRow {
    /// Its name.
    pub benchmark: &'static str,
    /// What it measures, in a sentence: "a hypercall".
    pub noun: &'static str,
}

const fn row(benchmark: &'static str, noun: &'static str) -> MainRow {
    MainRow { benchmark, noun }
}

/// They, in the order in which a sentence prefers them.
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

/// A hypervisor that adds no more than this has no part in an operation.
pub(crate) const NOTHING: f64 = 1.0;

/// A table that has fewer of them than this is somebody's own choice, and is shown whole.
const ENOUGH: usize = 8;

impl Table {
    /// The table of the main rows that some platform measured, what costs most first; none if this is not
    /// the table of a whole suite.
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
            // They are not in the guest's order, by which categories are grouped.
            row.category.clear();
        }
        Some(self.with_rows(rows))
    }

    /// What a row costs, to sort rows by: the most that it adds anywhere to a baseline, or its cost where
    /// there is nothing to compare it with. Instructions, if any platform counts them, else time.
    pub fn cost(&self, row: &TableRow) -> f64 {
        let counted = self.counts().next().is_some();
        let cells = row.cells.iter().enumerate();
        cells
            .filter(|(index, _)| !counted || self.counts().any(|column| column == *index))
            .filter_map(|(index, _)| self.cost_in(row, index))
            .fold(0.0, f64::max)
    }

    /// What a row costs in a column: what it adds to a machine without a hypervisor, else its value; in its unit.
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

    /// The same platforms with these of its rows, and the notes that these need.
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
