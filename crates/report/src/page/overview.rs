//! The view in the layout of HyperBench's Table 3: benchmarks by platforms, each value with its
//! slowdown (time) or added instructions (`insns`), which also set the cell's colour.

use super::series::{Series, units};
use super::words::{Caveat, plain, plural};
use crate::grid::{NEAR_ZERO, NOISY};
use crate::number;
use crate::table::{Cell, Table, status_word, verdict_word};
use maud::{Markup, html};
use ws_results::{ResultFile, Status, Verdict};

/// Classes of slowdown and of added instructions: the lower bound and the name of each.
const SLOWDOWN: [(f64, &str); 7] = [
    (f64::NEG_INFINITY, "less than 0.95x"),
    (0.95, "0.95x to 1.05x"),
    (1.05, "1.05x to 1.5x"),
    (1.5, "1.5x to 3x"),
    (3.0, "3x to 10x"),
    (10.0, "10x to 30x"),
    (30.0, "30x and more"),
];
const ADDED: [(f64, &str); 7] = [
    (f64::NEG_INFINITY, "fewer"),
    (0.0, "none"),
    (1.0, "1 to 99"),
    (100.0, "100 to 999"),
    (1000.0, "1,000 to 4,999"),
    (5000.0, "5,000 to 49,999"),
    (50_000.0, "50,000 and more"),
];

/// The view.
pub(crate) fn overview(
    results: &[ResultFile],
    series: &[Series],
    table: &Table,
    caveat: &Caveat,
) -> Markup {
    // A column that is compared with another has a second half.
    let compared = |column: usize| is_compared(table, column);
    html! {
        section #overview {
            h2 { "Benchmarks by platforms" }
            (caveat.markup())
            p { (against(table)) }
            div.scroll tabindex="0" role="region" aria-label="Benchmarks by platforms" {
                table.grid #table {
                    caption {
                        "The cost of one operation. This is the layout of HyperBench's Table 3. "
                        "Arrow keys move from cell to cell and show the details of a figure."
                    }
                    thead {
                        tr {
                            th.category scope="col" rowspan="2" { "category" }
                            th scope="col" rowspan="2" { "benchmark" }
                            @for (index, (column, series)) in table.columns.iter().zip(series).enumerate() {
                                th scope="colgroup" colspan=(1 + usize::from(compared(index))) data-p=(series.platform) {
                                    (plain(&series.result.platform))
                                    @if !series.when.is_empty() { br; small { (plain(&series.when)) } }
                                    @for &note in &column.notes { " " (reference(note)) }
                                }
                            }
                        }
                        tr {
                            @for (index, (column, series)) in table.columns.iter().zip(series).enumerate() {
                                th scope="col" data-p=(series.platform) { (plain(column.unit.as_deref().unwrap_or("value"))) }
                                @if compared(index) {
                                    th scope="col" data-p=(series.platform) {
                                        @if column.unit.as_deref() == Some("insns") { "added" } @else { "slowdown" }
                                    }
                                }
                            }
                        }
                    }
                    tbody {
                        @for row in &table.rows {
                            tr data-b=(plain(&row.benchmark)) data-c=(plain(&row.category)) {
                                td.category { (plain(&row.category)) }
                                th scope="row" { (plain(&row.benchmark)) }
                                @for (index, cell) in row.cells.iter().enumerate() {
                                    (value(cell.as_ref()))
                                    @if compared(index) { (comparison(cell.as_ref())) }
                                }
                            }
                        }
                    }
                }
            }
            (legend(table, series))
            (notes(results, table))
        }
    }
}

/// Whether a column is compared with another.
fn is_compared(table: &Table, column: usize) -> bool {
    let baseline = table.columns[column].baseline;
    baseline.is_some_and(|baseline| baseline != column)
}

/// What is compared with what, and what is not, as text.
fn against(table: &Table) -> String {
    let mut names: Vec<&str> = Vec::new();
    for baseline in table.columns.iter().filter_map(|column| column.baseline) {
        let name = table.columns[baseline].platform.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names: Vec<_> = names.into_iter().map(plain).collect();
    let with = match names.is_empty() {
        true => String::new(),
        false => format!(
            "Compared with {}, of the same run if it has one. ",
            names.join(" and ")
        ),
    };
    let columns = table.columns.iter();
    match columns.filter(|column| column.baseline.is_none()).count() {
        0 => with,
        count => format!(
            "{with}{} not compared: no baseline in {} unit. Units are never mixed.",
            if count == 1 {
                "One result is".to_owned()
            } else {
                format!("{count} results are")
            },
            if count == 1 { "its" } else { "their" },
        ),
    }
}

fn reference(note: usize) -> Markup {
    html! { a.note href={ "#note-" (note + 1) } { "[" (note + 1) "]" } }
}

fn value(cell: Option<&Cell>) -> Markup {
    let Some(cell) = cell else {
        return html! { td {} };
    };
    let bad = !matches!(cell.status, Status::Ok | Status::Skip);
    let shown = match (cell.value, &cell.unit) {
        (Some(_), Some(_)) if cell.near_zero => "~0".to_owned(),
        (Some(value), Some(unit)) => number::value(value, unit),
        _ => status_word(cell.status).to_owned(),
    };
    html! {
        td class=[bad.then_some("bad")] data-v=[in_full(cell.value, &shown)] data-q=[behind(cell)] {
            (shown)
            @if cell.noisy { " !" }
            @if cell.value.is_some() && cell.check == Some(Verdict::Unproven) { " ?" }
            @for &note in &cell.notes { " " (reference(note)) }
        }
    }
}

fn comparison(cell: Option<&Cell>) -> Markup {
    let class = match cell.and_then(|cell| Some((cell.added, cell.added.or(cell.slowdown)?))) {
        Some((Some(_), added)) => format!("compared c{}", class(added, &ADDED)),
        Some((None, slowdown)) => format!("compared c{}", class(slowdown, &SLOWDOWN)),
        None => "compared".into(),
    };
    let (shown, note) = match cell.map(|cell| (cell.added, cell.slowdown, cell.not_compared)) {
        Some((Some(added), _, _)) => (number::added(added), None),
        Some((_, Some(slowdown), _)) => (number::slowdown(slowdown), None),
        Some((_, _, note)) => (String::new(), note),
        None => (String::new(), None),
    };
    let exact = cell.and_then(|cell| cell.added.or(cell.slowdown));
    html! {
        td class=(class) data-v=[in_full(exact, &shown)] {
            (shown)
            @if let Some(note) = note { (reference(note)) }
        }
    }
}

/// The exact number, if the shown one is rounded.
fn in_full(value: Option<f64>, shown: &str) -> Option<f64> {
    let read = shown.replace(',', "").parse::<f64>().ok();
    value.filter(|_| read != value)
}

fn class(value: f64, classes: &[(f64, &str)]) -> usize {
    classes
        .iter()
        .rposition(|(from, _)| value >= *from)
        .unwrap_or(0)
}

/// The data of a figure's tooltip, which the page's script turns into text: boots, samples, minimum,
/// maximum, agreement of the boots, check, external cost.
fn behind(cell: &Cell) -> Option<String> {
    let (_, unit) = (cell.value?, cell.unit.as_deref()?);
    let show =
        |value: Option<f64>| value.map_or_else(String::new, |value| number::value(value, unit));
    let agreement = match (cell.exact, cell.spread) {
        (Some(true), _) => "exact".into(),
        (_, Some(spread)) => number::percent(spread),
        _ => String::new(),
    };
    let check = cell.check.map_or("", verdict_word);
    let outside = show(cell.external.as_ref().and_then(|outside| outside.value));
    Some(format!(
        "{}|{}|{}|{}|{agreement}|{check}|{outside}",
        cell.boots,
        cell.samples,
        show(cell.min),
        show(cell.max),
    ))
}

fn legend(table: &Table, series: &[Series]) -> Markup {
    let used = |unit: fn(&str) -> bool| {
        let mut columns = table.columns.iter().enumerate();
        columns.any(|(index, column)| {
            is_compared(table, index) && column.unit.as_deref().is_some_and(unit)
        })
    };
    let cells = || table.rows.iter().flat_map(|row| row.cells.iter().flatten());
    let scale = |name: &str, classes: &[(f64, &str)]| {
        html! {
            p.scale { (name) ": "
                @for (index, (_, words)) in classes.iter().enumerate() {
                    span class={ "c" (index) } { (words) } " "
                }
            }
        }
    };
    html! {
        @if used(|unit| unit == "insns") { (scale("Added instructions", &ADDED)) }
        @if used(|unit| unit != "insns") { (scale("Slowdown", &SLOWDOWN)) }
        ul.legend {
            @if series.iter().any(|s| s.result.rows.iter().any(|r| units(series, &r.benchmark).iter().any(|u| u.ends_with("_ticks")))) {
                li { "Ticks are of the guest's clock. A tick is not a cycle." }
            }
            @if cells().any(|cell| cell.near_zero) {
                li { (NEAR_ZERO) " It has no slowdown." }
            }
            @if cells().any(|cell| cell.noisy) { li { (NOISY) } }
            @if cells().any(|cell| cell.value.is_some() && cell.check == Some(Verdict::Unproven)) {
                li { "?: unproven, only the host could see that the event took place." }
            }
        }
    }
}

/// The numbered notes: why rows were skipped, and other remarks.
fn notes(results: &[ResultFile], table: &Table) -> Markup {
    let skipped = results
        .iter()
        .flat_map(|r| &r.rows)
        .filter(|row| row.status == Status::Skip)
        .count();
    html! {
        @if !table.notes.is_empty() {
            h3 { "Notes" }
            p { (plural(skipped, "row")) " could not run; the reasons are among these notes." }
            ol.notes {
                @for (index, note) in table.notes.iter().enumerate() {
                    li id={ "note-" (index + 1) } { (plain(note)) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_begin_at_their_bounds() {
        assert_eq!(
            [0.5, 0.95, 1.0, 1.05, 29.9, 30.0].map(|v| class(v, &SLOWDOWN)),
            [0, 1, 1, 2, 5, 6]
        );
        assert_eq!(
            [-1.0, 0.0, 1.0, 3021.0, 5e4].map(|v| class(v, &ADDED)),
            [0, 1, 2, 4, 6]
        );
    }
}
