//! The view in the layout of HyperBench's Table 3: benchmarks by platforms, each value with its
//! slowdown (time) or added instructions (`insns`).

use super::series::{Series, units};
use super::words::{Caveat, breakable, folded, plain, plural};
use crate::grid::{NEAR_ZERO, NOISY};
use crate::number;
use crate::table::{Cell, Table, verdict_word};
use maud::{Markup, html};
use ws_results::{ResultFile, Status, Verdict};

/// The view.
pub(crate) fn overview(
    results: &[ResultFile],
    series: &[Series],
    table: &Table,
    caveat: &Caveat,
) -> Markup {
    // A column that is compared with another has a second half.
    let compared = |column: usize| is_compared(table, column);
    let notes = Notes::of(table, caveat);
    let body = html! {
            @if let Some(against) = against(table) { p { (against) } }
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
                                    (breakable(&series.result.platform))
                                    @if !series.when.is_empty() { br; small { (plain(&series.when)) } }
                                    @for &note in &column.notes { (notes.reference(note)) }
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
                                    (value(cell.as_ref(), &notes))
                                    @if compared(index) { (comparison(cell.as_ref(), &notes)) }
                                }
                            }
                        }
                    }
                }
            }
            (legend(table, series))
            (notes.markup(results))
    };
    let size = format!(
        "{} on {}",
        plural(table.rows.len(), "benchmark"),
        plural(table.columns.len(), "result")
    );
    match table.rows.is_empty() {
        true => html! {},
        false => folded("overview", "All benchmarks", &size, &body),
    }
}

/// Whether a column is compared with another.
fn is_compared(table: &Table, column: usize) -> bool {
    let baseline = table.columns[column].baseline;
    baseline.is_some_and(|baseline| baseline != column)
}

/// Names the baselines, and counts the results without one, as text; `None` without a baseline.
fn against(table: &Table) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for baseline in table.columns.iter().filter_map(|column| column.baseline) {
        let name = table.columns[baseline].platform.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names: Vec<_> = names.into_iter().map(plain).collect();
    if names.is_empty() {
        return None;
    }
    let with = format!(
        "Compared with {}, of the same run if there is one. ",
        ws_text::and(&names)
    );
    let columns = table.columns.iter();
    Some(
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
        },
    )
}

/// The numbered notes: reasons of skipped rows, and other remarks. Texts of the page's caveat are left out.
struct Notes<'a> {
    table: &'a Table,
    /// The indices of the notes that are shown, in their order.
    shown: Vec<usize>,
}

impl<'a> Notes<'a> {
    fn of(table: &'a Table, caveat: &Caveat) -> Self {
        let all = table.notes.iter().enumerate();
        let shown = all.filter(|(_, text)| !caveat.says(text));
        Self {
            table,
            shown: shown.map(|(index, _)| index).collect(),
        }
    }

    fn reference(&self, note: usize) -> Markup {
        let place = self.shown.iter().position(|shown| *shown == note);
        html! {
            @if let Some(number) = place.map(|place| place + 1) {
                " " a.note href={ "#note-" (number) } { "[" (number) "]" }
            }
        }
    }

    fn markup(&self, results: &[ResultFile]) -> Markup {
        let rows = results.iter().flat_map(|r| &r.rows);
        let skipped = rows.filter(|row| row.status == Status::Skip).count();
        html! {
            @if !self.shown.is_empty() {
                h3 { "Notes" }
                @if skipped > 0 {
                    p { (plural(skipped, "row")) " could not run; the reasons are among these notes." }
                }
                ol.notes {
                    @for (place, note) in self.shown.iter().enumerate() {
                        li id={ "note-" (place + 1) } { (plain(&self.table.notes[*note])) }
                    }
                }
            }
        }
    }
}

fn value(cell: Option<&Cell>, notes: &Notes) -> Markup {
    let Some(cell) = cell else {
        return html! { td {} };
    };
    let bad = !matches!(cell.status, Status::Ok | Status::Skip);
    let shown = match (cell.value, &cell.unit) {
        (Some(_), Some(_)) if cell.near_zero => "~0".to_owned(),
        (Some(value), Some(unit)) => number::value(value, unit),
        _ => cell.status.word().to_owned(),
    };
    html! {
        td class=[bad.then_some("bad")] data-v=[in_full(cell.value, &shown)] data-q=[behind(cell)] {
            (shown)
            @if cell.noisy { " !" }
            @if cell.value.is_some() && cell.check == Some(Verdict::Unproven) { " ?" }
            @for &note in &cell.notes { (notes.reference(note)) }
        }
    }
}

fn comparison(cell: Option<&Cell>, notes: &Notes) -> Markup {
    let shown = match cell.map(|cell| (cell.added, cell.slowdown)) {
        Some((Some(added), _)) => number::added(added),
        Some((_, Some(slowdown))) => number::slowdown(slowdown),
        _ => String::new(),
    };
    let exact = cell.and_then(|cell| cell.added.or(cell.slowdown));
    let note = cell
        .filter(|_| exact.is_none())
        .and_then(|cell| cell.not_compared);
    html! {
        td.compared data-v=[in_full(exact, &shown)] {
            (shown)
            @if let Some(note) = note { (notes.reference(note)) }
        }
    }
}

/// The exact number, if the shown one is rounded.
fn in_full(value: Option<f64>, shown: &str) -> Option<f64> {
    let read = shown.replace(',', "").parse::<f64>().ok();
    value.filter(|_| read != value)
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
    let cells = || table.rows.iter().flat_map(|row| row.cells.iter().flatten());
    html! {
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
