//! The opening of a report of benchmarks: the main ones, ranked by the cost that virtualization adds, with a bar for
//! each platform and the base's beside it.

use super::chart::{Bar, Chart, Fill, Lane};
use super::lead::{Lead, View};
use super::series::{self, Series, newest};
use super::words::plural;
use crate::finding::finding;
use crate::main_rows::{MAIN, NOTHING};
use crate::number;
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use ws_analysis::{RowComparison, SuiteComparison, Verdict};
use ws_results::CLOCK_UNITS;

/// Most platforms, lanes and bars that fit on the first screen.
const PLATFORMS: usize = 6;
const LANES: usize = 13;
const BARS: usize = 40;

/// The rows to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// [`MAIN`], the costliest of all, and those whose verdict is better or worse; none without any of [`MAIN`].
    Main,
    All,
}

/// The sentence and the chart, unless no such row has a cost.
pub(crate) fn lead(
    table: &Table,
    series: &[Series],
    platforms: &[&str],
    comparisons: &[SuiteComparison],
    rows: Rows,
) -> Option<Lead> {
    let ranked = Ranked {
        table,
        series,
        platforms,
        comparisons,
    };
    let columns = ranked.columns();
    let (mut charts, mut left_out): (Vec<Markup>, usize) = (Vec::new(), 0);
    for unit in ranked.units(&columns) {
        let measured = ranked.measured(&unit, &columns);
        let drawn = &measured[..measured.len().min(PLATFORMS)];
        left_out += measured.len() - drawn.len();
        charts.extend(
            ranked
                .drawn(&unit, drawn, rows)
                .map(|drawn| drawn.chart().markup()),
        );
    }
    if charts.is_empty() {
        return None;
    }
    let sentence = match comparisons.is_empty() {
        true => finding(table),
        false => Some(against_base(comparisons)),
    };
    Some(Lead {
        sentence: sentence.unwrap_or_else(|| "What one operation costs.".into()),
        figure: html! {
            div.charts { @for chart in &charts { (chart) } }
            @if left_out > 0 {
                p.legend { (plural(left_out, "more platform")) " in the table of all benchmarks below." }
            }
        },
        of: View::Benchmarks,
    })
}

/// The chart of the first unit as a standalone SVG.
pub(crate) fn picture(table: &Table, series: &[Series], platforms: &[&str]) -> Option<String> {
    let ranked = Ranked {
        table,
        series,
        platforms,
        comparisons: &[],
    };
    let columns = ranked.columns();
    let units = ranked.units(&columns);
    let drawn = units.iter().find_map(|unit| {
        let measured = ranked.measured(unit, &columns);
        let measured = &measured[..measured.len().min(PLATFORMS)];
        let main = ranked.drawn(unit, measured, Rows::Main);
        main.or_else(|| ranked.drawn(unit, measured, Rows::All))
    });
    Some(drawn?.chart().svg())
}

/// A chart's parts.
struct Drawn {
    name: String,
    lanes: Vec<Lane>,
    keys: Vec<(Fill, String)>,
}

impl Drawn {
    fn chart(&self) -> Chart<'_> {
        Chart {
            name: &self.name,
            log: true,
            lanes: &self.lanes,
            mark: None,
            keys: self.keys.clone(),
        }
    }
}

/// Input of the chart.
struct Ranked<'a> {
    table: &'a Table,
    series: &'a [Series<'a>],
    platforms: &'a [&'a str],
    comparisons: &'a [SuiteComparison],
}

impl Ranked<'_> {
    /// Chooses a result for each platform. If some platforms have a comparison, only these are chosen. Baselines
    /// without guests are chosen only if there is nothing else.
    fn columns(&self) -> Vec<usize> {
        let newest = newest(self.series, self.table);
        let is_guest = |column: &usize| {
            self.table.has_peer(*column) || self.table.columns[*column].baseline != Some(*column)
        };
        let guests: Vec<usize> = newest.iter().copied().filter(is_guest).collect();
        let compared = |column: &usize| self.comparison(*column).is_some();
        let pairs: Vec<usize> = guests.iter().copied().filter(compared).collect();
        let of_any = [pairs, guests, newest];
        let found = of_any.into_iter().find(|columns| !columns.is_empty());
        let mut found = found.unwrap_or_default();
        found.sort_by_key(|column| self.series[*column].platform);
        found
    }

    /// The units of the columns' figures: one chart each.
    fn units(&self, columns: &[usize]) -> Vec<String> {
        let mut units: Vec<String> = Vec::new();
        for row in &self.table.rows {
            for unit in series::units(self.series, &row.benchmark) {
                let here = |column: &usize| {
                    let cell = row.cells[*column].as_ref();
                    cell.is_some_and(|cell| cell.unit.as_deref() == Some(&*unit))
                };
                if columns.iter().any(here) && !units.contains(&unit) {
                    units.push(unit);
                }
            }
        }
        units
    }

    /// The comparison of a column's platform with a base.
    fn comparison(&self, column: usize) -> Option<&SuiteComparison> {
        let result = self.series[column].result;
        let head = |one: &&SuiteComparison| {
            one.other.platform == result.platform && one.other.created == result.created
        };
        self.comparisons.iter().find(head)
    }

    fn compared(&self, column: usize, benchmark: &str) -> Option<&RowComparison> {
        let rows = self.comparison(column)?.rows.iter();
        rows.into_iter().find(|row| row.benchmark == benchmark)
    }

    /// Returns the columns with figures in a unit.
    fn measured(&self, unit: &str, columns: &[usize]) -> Vec<usize> {
        let rows = &self.table.rows;
        let any = |column: &usize| rows.iter().any(|row| cell(row, *column, unit).is_some());
        columns.iter().copied().filter(any).collect()
    }

    /// Returns the rows of a chart, the costliest first. If there are too many, the rows that changed most are kept,
    /// then those of the sentence, then the costliest.
    fn rows(&self, unit: &str, columns: &[usize], rows: Rows) -> Vec<&TableRow> {
        let cost = |row: &TableRow, columns: &[usize]| {
            let costs = columns.iter().filter_map(|&column| {
                cell(row, column, unit)?;
                self.table.cost_in(row, column)
            });
            costs.fold(0.0, f64::max)
        };
        let change = |row: &TableRow| {
            let compared = columns.iter();
            let compared = compared.filter_map(|column| self.compared(*column, &row.benchmark));
            let changed = compared.filter(|row| has_changed(row));
            changed.map(relative_change).fold(0.0, f64::max)
        };
        let is_main = |row: &TableRow| MAIN.iter().any(|main| main.benchmark == row.benchmark);
        let costly = || {
            self.table
                .rows
                .iter()
                .filter(|row| cost(row, columns) > NOTHING)
        };
        if rows == Rows::Main && !costly().any(is_main) {
            return Vec::new();
        }
        // The sentence names a main row and the costliest one of the first platform.
        let first = &columns[..columns.len().min(1)];
        let longest = costly().map(|row| cost(row, first)).fold(0.0, f64::max);
        let main = MAIN.iter().map(|main| main.benchmark);
        let main = main.into_iter().find(|name| {
            let mut rows = self.table.rows.iter();
            rows.any(|row| row.benchmark == *name && cost(row, first) > 0.0)
        });
        let named =
            |row: &TableRow| cost(row, first) >= longest || main == Some(row.benchmark.as_str());
        let chosen =
            |row: &&TableRow| rows == Rows::All || is_main(row) || change(row) > 0.0 || named(row);
        let mut ranked: Vec<&TableRow> = costly().filter(chosen).collect();
        let by_cost = |a: &&TableRow, b: &&TableRow| cost(b, columns).total_cmp(&cost(a, columns));
        ranked.sort_by(|a, b| {
            let by_change = change(b).total_cmp(&change(a));
            by_change.then(named(b).cmp(&named(a))).then(by_cost(a, b))
        });
        ranked.truncate(LANES.min(BARS / columns.len().max(1)));
        ranked.sort_by(by_cost);
        ranked
    }

    fn drawn(&self, unit: &str, columns: &[usize], rows: Rows) -> Option<Drawn> {
        let ranked = self.rows(unit, columns, rows);
        let lanes: Vec<Lane> = ranked
            .iter()
            .map(|row| self.lane(row, columns, unit))
            .collect();
        (!lanes.is_empty()).then(|| Drawn {
            name: format!("One operation in {}, the costliest first", words(unit)),
            keys: self.keys(columns),
            lanes,
        })
    }

    fn keys(&self, columns: &[usize]) -> Vec<(Fill, String)> {
        let name = |column: &usize| {
            let platform = self.series[*column].platform;
            (
                Fill::Platform(platform),
                self.platforms[platform].to_owned(),
            )
        };
        let mut keys: Vec<(Fill, String)> = columns.iter().map(name).collect();
        if !self.comparisons.is_empty() {
            keys.push((Fill::Before, "thin: the base".into()));
        }
        keys
    }

    fn lane(&self, row: &TableRow, columns: &[usize], unit: &str) -> Lane {
        let bars = columns.iter().filter_map(|&column| {
            let cell = cell(row, column, unit)?;
            let value = cell.value?;
            let compared = self.compared(column, &row.benchmark);
            let compared = compared.filter(|row| row.unit.as_deref() == Some(unit));
            Some(Bar {
                fill: Fill::Platform(self.series[column].platform),
                value,
                before: compared.and_then(|row| row.base),
                band: None,
                text: shown(cell, value, unit),
                remark: compared.filter(|row| has_changed(row)).and_then(remark),
                detail: self.detail(row, column, cell, compared),
            })
        });
        Lane {
            name: row.benchmark.clone(),
            bars: bars.collect(),
        }
    }

    /// Returns the text of a bar's tooltip.
    fn detail(
        &self,
        row: &TableRow,
        column: usize,
        cell: &Cell,
        compared: Option<&RowComparison>,
    ) -> String {
        let unit = cell.unit.as_deref().unwrap_or_default();
        let value = |value: Option<f64>| number::value(value.unwrap_or_default(), unit);
        let series = &self.series[column];
        let mut parts = vec![format!(
            "{}, {}: {} {unit}, of {}",
            row.benchmark,
            series.label,
            value(cell.value),
            plural(cell.boots, "boot")
        )];
        let baseline = self.table.columns[column].baseline;
        let baseline = baseline.map_or("", |column| &self.table.columns[column].platform);
        parts.extend(
            cell.added
                .map(|n| format!("{} over {baseline}", number::added(n))),
        );
        parts.extend(
            cell.slowdown
                .map(|n| format!("{} of {baseline}", number::slowdown(n))),
        );
        parts.extend(match cell.exact {
            Some(true) => Some("exact".to_owned()),
            _ => cell
                .spread
                .map(|n| format!("spread {}", number::percent(n))),
        });
        parts.extend(
            cell.noisy
                .then(|| "noise, an order of magnitude at best".to_owned()),
        );
        if let Some(compared) = compared {
            let verdict = compared.verdict.map_or("not compared", Verdict::word);
            parts.push(format!("base {}: {verdict}", value(compared.base)));
        }
        parts.join("; ")
    }
}

/// The cell of a result, if it has a figure in this unit.
fn cell<'a>(row: &'a TableRow, column: usize, unit: &str) -> Option<&'a Cell> {
    let cell = row.cells[column].as_ref()?;
    let drawn = cell.value.is_some() && cell.unit.as_deref() == Some(unit) && !cell.near_zero;
    drawn.then_some(cell)
}

fn shown(cell: &Cell, value: f64, unit: &str) -> String {
    let about = if cell.noisy { "~" } else { "" };
    format!("{about}{}", number::value(value, unit))
}

fn has_changed(row: &RowComparison) -> bool {
    matches!(row.verdict, Some(Verdict::Better | Verdict::Worse))
}

/// How far a row is from its base, in either direction.
fn relative_change(row: &RowComparison) -> f64 {
    match (row.base, row.other) {
        (Some(base), Some(other)) if base > 0.0 && other > 0.0 => (other / base).ln().abs(),
        _ => 0.0,
    }
}

/// Returns the change of a row, with the class of its verdict.
fn remark(row: &RowComparison) -> Option<(&'static str, String)> {
    let text = match (&row.counts, &row.time) {
        (Some(counts), _) => number::added(counts.added),
        (_, Some(time)) => number::difference(time.ratio? - 1.0),
        _ => return None,
    };
    let class = match row.verdict {
        Some(Verdict::Better) => "better",
        _ => "worse",
    };
    Some((class, text))
}

/// A unit in words.
fn words(unit: &str) -> &str {
    match unit {
        "insns" => "instructions",
        unit if CLOCK_UNITS.contains(&unit) => "ticks of the guest's clock",
        unit => unit,
    }
}

/// Counts the rows that changed against the base, and names the one that changed most.
fn against_base(comparisons: &[SuiteComparison]) -> String {
    let base = base(comparisons);
    let rows: Vec<(&str, &RowComparison)> = comparisons
        .iter()
        .flat_map(|one| one.rows.iter().map(|row| (&*one.other.platform, row)))
        .collect();
    let count = |verdict| {
        let of = rows.iter();
        of.filter(|(_, row)| row.verdict == Some(verdict)).count()
    };
    let (worse, better) = (count(Verdict::Worse), count(Verdict::Better));
    let (same, open) = (count(Verdict::NoChange), count(Verdict::Inconclusive));
    if worse + better == 0 {
        return match (open, same) {
            (0, 0) => none_compared(&rows, &base),
            (0, 1) => format!("Nothing changed against {base}: the one row is the same."),
            (0, _) => format!("Nothing changed against {base}: all {same} rows are the same."),
            _ => format!("No verdict against {base}: {open} inconclusive, {same} the same."),
        };
    }
    let counted = |count, word: &str| (count > 0).then(|| format!("; {count} {word}"));
    let mut sentence = match (worse, better) {
        (0, _) => {
            let most = most(&rows, Verdict::Better);
            format!(
                "{} less than in {base}{most}; none costs more",
                costs(better)
            )
        }
        (_, 0) => {
            let most = most(&rows, Verdict::Worse);
            format!(
                "{} more than in {base}{most}; none costs less",
                costs(worse)
            )
        }
        _ => {
            let most = most(&rows, Verdict::Worse);
            format!("{} more than in {base}{most}; {better} less", costs(worse))
        }
    };
    sentence.extend(counted(same, "the same"));
    sentence.extend(counted(open, "inconclusive"));
    sentence + "."
}

/// Returns the name of the base's platform if all comparisons have this base and another platform, else `the base`.
fn base(comparisons: &[SuiteComparison]) -> String {
    let name = comparisons.first().map_or("", |one| &*one.base.platform);
    let is_other = |one: &SuiteComparison| one.base.platform == name && one.other.platform != name;
    match comparisons.iter().all(is_other) {
        true => name.to_owned(),
        false => "the base".to_owned(),
    }
}

/// The row that changed most in this direction.
fn most(rows: &[(&str, &RowComparison)], direction: Verdict) -> String {
    let changed = rows
        .iter()
        .filter(|(_, row)| row.verdict == Some(direction));
    let most = changed.max_by(|(_, a), (_, b)| relative_change(a).total_cmp(&relative_change(b)));
    let text = most.and_then(|(platform, row)| {
        let unit = row.unit.as_deref()?;
        let [base, other] = [row.base?, row.other?].map(|value| number::value(value, unit));
        Some(format!(
            ", most of all {} in {platform}, {base} to {other} {} ({})",
            row.benchmark,
            words(unit),
            remark(row)?.1
        ))
    });
    text.unwrap_or_default()
}

/// Returns the sentence if no row has a verdict, with the first reason.
fn none_compared(rows: &[(&str, &RowComparison)], base: &str) -> String {
    let why = rows.iter().find_map(|(_, row)| row.why.as_deref());
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    format!("No row could be compared with {base}{why}.")
}

/// `1 row costs`, `3 rows cost`.
fn costs(rows: usize) -> String {
    format!(
        "{} cost{}",
        plural(rows, "row"),
        if rows == 1 { "s" } else { "" }
    )
}
