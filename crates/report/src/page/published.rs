//! The view of published numbers beside ours. Each column names its unit and its machine. Nothing is drawn, related or
//! coloured across columns: published cycles of another machine are neither our ticks nor our instructions. Only
//! slowdowns, which have no unit, can be compared.

use super::series::{Series, newest};
use super::words::{breakable, plain};
use crate::number;
use crate::reference::{Reference, Value};
use crate::table::{Cell, Table};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// The papers' tables with rows that we measure.
const TABLES: [(&str, &str); 5] = [
    ("hyperbench-2019", "3"),
    ("hyperbench-2019", "4"),
    ("dall-2015", "2"),
    ("neve-2017", "1"),
    ("neve-2017", "6"),
];

/// The view.
pub(crate) fn published(reference: &Reference, series: &[Series], table: &Table) -> Markup {
    let newest = newest(series, table);
    let share = |(paper, number): &(&str, &str)| measured(reference, paper, number, table);
    let shares: Vec<f64> = TABLES.iter().map(share).collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    let shown = TABLES
        .iter()
        .zip(&shares)
        .filter(|(_, share)| **share > 0.0);
    // The table of which most was measured is open.
    let tables: Vec<Markup> = shown
        .map(|(paper, share)| one(reference, *paper, *share == most, series, table, &newest))
        .collect();
    html! {
        @if !tables.is_empty() {
            section #published {
                h2 { "Beside the papers' figures" }
                p {
                    "The papers' figures are from their machines, in their unit. Only slowdowns can be compared "
                    "with ours, and only if the baselines are alike."
                }
                @for table in &tables { (table) }
            }
        }
    }
}

/// The share of a table's rows for which there is a figure of ours.
fn measured(reference: &Reference, paper: &str, number: &str, table: &Table) -> f64 {
    let values: Vec<&Value> = reference.of_table(paper, number).collect();
    let (_, rows) = columns_and_rows(&values);
    let is_ours = |value: &&&Value| {
        let mut ours = table.rows.iter().filter(|row| row.is_measured());
        ours.any(|row| row.benchmark == value.benchmark)
    };
    rows.iter().filter(is_ours).count() as f64 / rows.len().max(1) as f64
}

fn one(
    reference: &Reference,
    (paper, number): (&str, &str),
    open: bool,
    series: &[Series],
    table: &Table,
    newest: &[usize],
) -> Markup {
    let values: Vec<&Value> = reference
        .of_table(paper, number)
        .filter(|v| v.unit == "cycles")
        .collect();
    let (columns, rows) = columns_and_rows(&values);
    let name = reference.paper(paper).map_or_else(
        || paper.to_owned(),
        |paper| format!("{}. {}", paper.authors, paper.title),
    );
    html! {
            details open[open] {
                summary { (name) ", Table " (number) }
                div.scroll tabindex="0" role="region" aria-label={ (name) ", Table " (number) } {
                    table {
                        caption { "Published cycles, then ours with their unit." }
                        (heads(&columns, series, table, newest))
                        tbody {
                            @for row in &rows {
                                tr data-b=(row.benchmark) {
                                    (head(row, &values))
                                    @for column in &columns {
                                        (theirs(reference, row, &column.column))
                                    }
                                    @for &index in newest { (ours(table, &row.benchmark, index, &series[index])) }
                                }
                            }
                        }
                    }
                }
                ul.legend {
                    @for hardware in machines(reference, &columns) { li { (hardware) } }
                    @for text in errata(&values) { li { (text) } }
                }
            }
    }
}

/// The first value of each column, and of each row.
fn columns_and_rows<'a>(values: &[&'a Value]) -> (Vec<&'a Value>, Vec<&'a Value>) {
    let mut columns: Vec<&Value> = Vec::new();
    let mut rows: Vec<&Value> = Vec::new();
    for value in values {
        if !columns.iter().any(|column| column.column == value.column) {
            columns.push(value);
        }
        if !rows.iter().any(|row| row.row == value.row) {
            rows.push(value);
        }
    }
    (columns, rows)
}

fn heads(columns: &[&Value], series: &[Series], table: &Table, newest: &[usize]) -> Markup {
    html! {
        thead {
            tr {
                th scope="col" rowspan="2" { "benchmark" }
                th scope="colgroup" colspan=(columns.len()) { "published, cycles" }
                @if !newest.is_empty() { th scope="colgroup" colspan=(newest.len()) { "ours" } }
            }
            tr {
                @for column in columns { th scope="col" { (column.column) } }
                @for &index in newest {
                    th scope="col" data-p=(series[index].platform) {
                        (breakable(&series[index].result.platform)) br;
                        (plain(table.columns[index].unit.as_deref().unwrap_or("")))
                    }
                }
            }
        }
    }
}

/// The paper's name of a row, our benchmark, and notes on comparing the two.
fn head(row: &Value, values: &[&Value]) -> Markup {
    let of_row = values.iter().filter(|value| value.row == row.row);
    let notes: BTreeSet<&str> = of_row.map(|value| value.note.as_str()).collect();
    let notes = notes.into_iter().filter(|note| !note.is_empty());
    html! {
        th scope="row" {
            (row.row) br;
            small { @if row.benchmark.is_empty() { "no benchmark of ours" } @else { (row.benchmark) } }
            @for note in notes { br; small { (note) } }
        }
    }
}

fn theirs(reference: &Reference, row: &Value, column: &str) -> Markup {
    let here = |unit: &str| {
        reference
            .of_table(&row.paper, &row.table)
            .find(|v| v.row == row.row && v.column == column && v.unit == unit)
    };
    html! {
        td.value {
            @if let Some(cycles) = here("cycles") {
                @match cycles.value {
                    Some(value) => (number::value(value, "count")),
                    None => (cycles.printed),
                }
                @if let Some(ratio) = here("ratio").filter(|ratio| ratio.value.is_some()) {
                    " (" (ratio.printed.trim_end_matches('x')) "x)"
                }
            }
        }
    }
}

fn ours(table: &Table, benchmark: &str, index: usize, series: &Series) -> Markup {
    let row = table.rows.iter().find(|row| row.benchmark == benchmark);
    let cell = row.and_then(|row| row.cells.get(index)?.as_ref());
    html! {
        td.value data-p=(series.platform) {
            @if let Some((cell, value)) = cell.and_then(|cell| Some((cell, cell.value?))) {
                @if cell.near_zero { "~0" } @else { (number::value(value, cell.unit.as_deref().unwrap_or(""))) }
                @if cell.noisy { " !" }
                @if let Some(slowdown) = cell.slowdown { " (" (number::slowdown(slowdown)) ")" }
            } @else { small { (absent(cell, benchmark)) } }
        }
    }
}

/// Why there is no value of ours.
fn absent(cell: Option<&Cell>, benchmark: &str) -> &'static str {
    match cell {
        Some(cell) => cell.status.word(),
        None if benchmark.is_empty() => "-",
        None => "not measured",
    }
}

/// The machines of the columns, as text.
fn machines(reference: &Reference, columns: &[&Value]) -> Vec<String> {
    let mut machines: Vec<String> = Vec::new();
    for column in columns {
        let words = reference.hardware_of(column).unwrap_or("unknown");
        let of: Vec<&str> = columns
            .iter()
            .filter(|other| other.hardware == column.hardware)
            .map(|other| other.column.as_str())
            .collect();
        let line = format!("{}: {words}.", of.join(", "));
        if !machines.contains(&line) {
            machines.push(line);
        }
    }
    machines
}

/// The paper's misprints and contradictions in these rows.
fn errata(values: &[&Value]) -> Vec<String> {
    let mut errata: Vec<String> = Vec::new();
    for value in values.iter().filter(|value| !value.errata.is_empty()) {
        let line = format!("{}: {}", value.row, value.errata);
        if !errata.contains(&line) {
            errata.push(line);
        }
    }
    errata
}
