//! The views after HyperBench's Figures 5 and 6: the same benchmarks on one platform under several
//! settings, relative to the first.
//!
//! Figure 5 varies the iterations: the model's operator depends on whether cost is linear in count.
//! Figure 6 varies where the vCPUs run: by pinning, or by variants of a lab machine.

use super::boots::HUES;
use super::plot::{Lane, Plot};
use super::series::Series;
use super::words::{plain, value_text};
use crate::number;
use crate::reference::Reference;
use crate::unit_of_work::base;
use maud::{Markup, html};
use std::collections::BTreeMap;
use ws_analysis::statistics::median;
use ws_analysis::{Summary, unlike};
use ws_results::ResultFile;
use ws_results::platforms;

/// The number of iteration counts in Figure 5; two points are always on a line.
const COUNTS: usize = 3;

/// Benchmarks of a platform, each under several settings.
struct Panel<'a> {
    platform: &'a str,
    unit: String,
    rows: Vec<Row<'a>>,
}

/// A benchmark: the name and the cost at each setting, relative to the first.
struct Row<'a> {
    benchmark: &'a str,
    settings: Vec<(String, f64)>,
}

/// The view after Figure 5.
pub(crate) fn iterations(results: &[ResultFile], series: &[Series]) -> Markup {
    let panels = panels(results, series, |platform, unit, benchmark| {
        let mut by_count: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for cost in chosen(series, platform, unit, benchmark) {
            for boot in &cost.boots {
                by_count
                    .entry(boot.iterations)
                    .or_default()
                    .push(boot.value);
            }
        }
        let enough = by_count.len() >= COUNTS;
        let settings = by_count.into_iter().filter_map(|(count, values)| {
            Some((
                format!("{} iterations", number::value(count as f64, "count")),
                median(&values)?,
            ))
        });
        enough.then(|| settings.collect())
    });
    section(
        (
            "iterations",
            "iterations",
            "Cost by iterations (HyperBench, Figure 5)",
        ),
        "The cost of one operation in batches of different length, relative to the shortest. If cost is linear in \
         count, all marks of a row are at 1.",
        &panels,
    )
}

/// The view after Figure 6.
pub(crate) fn placement(results: &[ResultFile], series: &[Series]) -> Markup {
    let panels = panels(results, series, |platform, unit, benchmark| {
        let cost = |run: &Series| {
            let summary = run.cost(benchmark)?;
            Some((pinned(run), summary.value)).filter(|_| summary.unit == unit)
        };
        let runs = by_pinning(series, platform);
        let settings: Vec<(String, f64)> = runs.iter().filter_map(|run| cost(run)).collect();
        (settings.len() > 1).then_some(settings)
    });
    section(
        (
            "placement",
            "pinnings",
            "Cost by where the vCPUs run (HyperBench, Figure 6)",
        ),
        "The cost of one operation with the vCPUs pinned in different ways, relative to the first: the newest run of \
         each, if all other conditions agree.",
        &panels,
    )
}

/// The hypervisor whose machines' variants are drawn: where Xen's dom0 runs, as in the paper.
const VARIED: &str = "xen";

/// The view after Figure 6, of a lab machine's variants, with the ratios of the paper's text.
pub(crate) fn variants(reference: &Reference, results: &[ResultFile], series: &[Series]) -> Markup {
    let mut machines: Vec<&str> = Vec::new();
    for result in results.iter().filter(|result| result.facts().is_on(VARIED)) {
        let machine = base(&result.platform);
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    let panels: Vec<Panel> = machines
        .into_iter()
        .flat_map(|machine| of_variants(machine, series))
        .collect();
    let stated = reference.of_table("hyperbench-2019", "text 6.3");
    let stated = stated.filter(|value| value.unit == "ratio");
    let stated: Vec<String> = stated
        .map(|value| format!("{} on {}: {}", value.row, value.column, value.printed))
        .collect();
    let words = format!(
        "The cost of one operation, or of one unit of an application's work, on a machine in several variants, relative \
         to the first. HyperBench's figure has no numbers; its text says: {}.",
        stated.join("; ")
    );
    section(
        (
            "variants",
            "variants",
            "Cost by variant of a machine (HyperBench, Figure 6)",
        ),
        &words,
        &panels,
    )
}

/// A panel for each unit in which several variants of a machine were measured.
fn of_variants<'a>(machine: &'a str, series: &[Series<'a>]) -> Vec<Panel<'a>> {
    let mut runs: Vec<&Series> = Vec::new();
    for run in series
        .iter()
        .filter(|s| base(&s.result.platform) == machine)
    {
        // The newest run of each.
        match runs
            .iter_mut()
            .find(|other| other.result.platform == run.result.platform)
        {
            Some(other) => *other = run,
            None => runs.push(run),
        }
    }
    let mut panels: Vec<Panel> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for row in runs.iter().flat_map(|run| &run.result.rows) {
        if !names.contains(&&*row.benchmark) {
            names.push(&row.benchmark);
        }
    }
    for benchmark in names {
        let costs = runs.iter().filter_map(|run| {
            let summary = run.cost(benchmark)?;
            Some((run.result.platform.clone(), summary))
        });
        let costs: Vec<(String, &Summary)> = costs.collect();
        let Some(unit) = costs.first().map(|(_, summary)| summary.unit.clone()) else {
            continue;
        };
        let settings = costs
            .into_iter()
            .filter(|(_, summary)| summary.unit == unit);
        let settings: Vec<(String, f64)> = settings
            .map(|(platform, summary)| (platform, summary.value))
            .collect();
        if settings.len() < 2 {
            continue;
        }
        let row = Row {
            benchmark,
            settings,
        };
        match panels.iter_mut().find(|panel| panel.unit == unit) {
            Some(panel) => panel.rows.push(row),
            None => panels.push(Panel {
                platform: machine,
                unit,
                rows: vec![row],
            }),
        }
    }
    panels
}

/// The view; nothing if no panel has a row.
fn section((id, what, head): (&str, &str, &str), words: &str, panels: &[Panel]) -> Markup {
    html! {
        @if panels.iter().any(|panel| !panel.rows.is_empty()) {
            section id=(id) {
                h2 { (head) }
                p { (words) }
                (draw(panels, what))
            }
        }
    }
}

/// A panel for each platform and unit, with the benchmarks for which `settings` (of platform, unit and
/// benchmark) returns any.
fn panels<'a>(
    results: &'a [ResultFile],
    series: &[Series<'a>],
    mut settings: impl FnMut(&str, &str, &str) -> Option<Vec<(String, f64)>>,
) -> Vec<Panel<'a>> {
    let mut panels = Vec::new();
    for (platform, unit) in subjects(results, series) {
        let mut rows = Vec::new();
        for benchmark in benchmarks(series, platform) {
            rows.extend(settings(platform, &unit, benchmark).map(|settings| Row {
                benchmark,
                settings,
            }));
        }
        panels.push(Panel {
            platform,
            unit,
            rows,
        });
    }
    panels
}

/// The condition that may differ in this view.
const PINNING: &str = "pinning";

/// The newest run with each pinning, in order; only runs that agree with the first one in all other
/// conditions.
fn by_pinning<'a>(series: &'a [Series<'a>], platform: &str) -> Vec<&'a Series<'a>> {
    let mut runs: Vec<&Series> = Vec::new();
    for run in series.iter().filter(|s| s.result.platform == platform) {
        let conditions = |run: &Series<'a>| &run.result.identity.conditions;
        let alike = |first: &&&Series<'a>| {
            unlike(conditions(run), conditions(first), &[PINNING.to_owned()]).is_empty()
        };
        if runs.first().is_some_and(|first| !alike(&first)) {
            continue;
        }
        match runs.iter_mut().find(|other| pinned(other) == pinned(run)) {
            Some(other) => *other = run,
            None => runs.push(run),
        }
    }
    runs
}

fn pinned(series: &Series) -> String {
    match series
        .result
        .identity
        .conditions
        .get(PINNING)
        .map(value_text)
        .as_deref()
    {
        None => "pinning unknown".into(),
        Some("none") => "not pinned".into(),
        Some(cpus) => format!("pinned to {cpus}"),
    }
}

/// Each platform with each unit of its figures.
fn subjects<'a>(results: &'a [ResultFile], series: &[Series]) -> Vec<(&'a str, String)> {
    let mut subjects: Vec<(&str, String)> = Vec::new();
    for platform in platforms(results) {
        for benchmark in benchmarks(series, platform) {
            for series in series.iter().filter(|s| s.result.platform == platform) {
                let unit = series.cost(benchmark).map(|cost| cost.unit.clone());
                if let Some(unit) =
                    unit.filter(|unit| !subjects.contains(&(platform, unit.clone())))
                {
                    subjects.push((platform, unit));
                }
            }
        }
    }
    subjects
}

fn benchmarks<'a>(series: &[Series<'a>], platform: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for series in series.iter().filter(|s| s.result.platform == platform) {
        for row in &series.result.rows {
            if !names.contains(&row.benchmark.as_str()) {
                names.push(&row.benchmark);
            }
        }
    }
    names
}

/// A benchmark's figures in the runs whose user chose the iterations. If the guest chooses them, boots
/// differ by chance, and the plot would show noise.
fn chosen<'a>(
    series: &'a [Series<'a>],
    platform: &'a str,
    unit: &'a str,
    benchmark: &'a str,
) -> impl Iterator<Item = &'a Summary> {
    series
        .iter()
        .filter(move |s| s.result.platform == platform)
        .filter(|s| {
            s.result
                .command
                .iter()
                .any(|word| word.split('=').next() == Some("--iters"))
        })
        .filter_map(move |s| s.cost(benchmark))
        .filter(move |cost| cost.unit == unit)
}

/// Returns the cost / the first cost; `None` if the first is zero or less.
fn over(cost: f64, first: f64) -> Option<f64> {
    (first > 0.0)
        .then(|| cost / first)
        .filter(|ratio| ratio.is_finite())
}

fn draw(panels: &[Panel], what: &str) -> Markup {
    let mut cards = Vec::new();
    for panel in panels.iter().filter(|panel| !panel.rows.is_empty()) {
        cards.push(one(panel, what));
    }
    html! { div.cards { @for card in &cards { (card) } } }
}

fn one(panel: &Panel, what: &str) -> Markup {
    let name = format!(
        "{}: cost by {what}, normalized to the first; {}",
        panel.platform, panel.unit
    );
    html! {
        div.card.wide {
            h3 { (plain(panel.platform)) span.unit { (plain(&panel.unit)) } }
            (plot(panel, what, &name))
            p.keys {
                @for (setting, key) in keys(panel).iter().enumerate() {
                    span {
                        svg.key viewBox="-6 -6 12 12" aria-hidden="true" { use href={ "#k" (setting % HUES) } {} }
                        " " (plain(key)) " "
                    }
                }
            }
            details {
                summary { "Table of these values" }
                (values(panel, &name))
            }
        }
    }
}

/// A row's costs, each relative to the first.
fn ratios(row: &Row) -> Vec<Option<f64>> {
    let first = row.settings.first().map_or(0.0, |(_, cost)| *cost);
    let costs = row.settings.iter();
    costs.map(|(_, cost)| over(*cost, first)).collect()
}

fn plot(panel: &Panel, what: &str, name: &str) -> Markup {
    const LANE: u32 = 24;
    let values = panel.rows.iter().flat_map(ratios).flatten();
    let plot = Plot {
        name: &format!("{name}; the table below has the values"),
        axis: &format!("cost relative to the first of the {what}"),
        lanes: panel
            .rows
            .iter()
            .map(|row| Lane {
                name: row.benchmark,
                platform: None,
                height: LANE,
            })
            .collect(),
        values: values.chain([1.0]).collect(),
        from_zero: true,
        mark: Some(1.0),
    };
    // Below each other, so that equal values do not hide each other.
    let height = |top: u32, setting: usize, of: usize| {
        let share = (setting + 1) as f64 / (of + 1) as f64;
        format!("{:.0}", f64::from(top) + f64::from(LANE) * share)
    };
    plot.draw(|place, tops| {
        html! {
            @for (index, (row, top)) in panel.rows.iter().zip(tops).enumerate() {
                g data-r=(index) {
                    @for (setting, ratio) in ratios(row).into_iter().enumerate() {
                        @if let Some(ratio) = ratio {
                            use href={ "#k" (setting % HUES) } x=(place(ratio)) y=(height(*top, setting, row.settings.len())) data-k=(setting) {}
                        }
                    }
                }
            }
        }
    })
}

fn values(panel: &Panel, name: &str) -> Markup {
    let settings = panel.rows.iter().map(|row| row.settings.len());
    let most = settings.max().unwrap_or(0);
    let cost = |cost: f64| number::value(cost, &panel.unit);
    html! {
        div.scroll tabindex="0" role="region" aria-label=(plain(name)) {
            table.grid.values {
                caption { (plain(name)) }
                thead { tr {
                    th scope="col" { "benchmark" }
                    @for setting in 1..=most { th scope="col" { "setting " (setting) } }
                } }
                tbody {
                    @for row in &panel.rows {
                        tr data-b=(plain(row.benchmark)) {
                            th scope="row" { (plain(row.benchmark)) }
                            @for ((setting, value), ratio) in row.settings.iter().zip(ratios(row)) {
                                td data-t={ (plain(setting)) ": " (cost(*value)) " " (plain(&panel.unit)) } {
                                    @match ratio {
                                        Some(ratio) => (number::slowdown(ratio)),
                                        None => "no ratio: the first is zero or less",
                                    }
                                    br;
                                    small { (plain(setting)) ": " (cost(*value)) }
                                }
                            }
                            @for _ in row.settings.len()..most { td {} }
                        }
                    }
                }
            }
        }
    }
}

/// The labels of the settings: their names if all rows have the same, else numbers.
fn keys(panel: &Panel) -> Vec<String> {
    let names =
        |row: &Row| -> Vec<String> { row.settings.iter().map(|(name, _)| name.clone()).collect() };
    let longest = panel
        .rows
        .iter()
        .max_by_key(|row| row.settings.len())
        .map(names);
    let longest = longest.unwrap_or_default();
    if panel
        .rows
        .iter()
        .all(|row| longest.starts_with(&names(row)))
    {
        return longest;
    }
    (1..=longest.len())
        .map(|number| format!("setting {number}"))
        .collect()
}
