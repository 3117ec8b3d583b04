//! The report: one self-contained HTML file that makes no network requests.
//!
//! The page is complete without its script, which only filters, copies and shows details of figures. maud escapes every
//! string from a result; the page's Content-Security-Policy allows only its own script to run and nothing to be
//! fetched.

mod apps;
mod asked;
mod axis;
mod boots;
mod chart;
mod chart_svg;
mod curves;
mod explained;
mod graph;
mod heat;
mod hosts;
mod identity;
mod io;
mod lead;
mod line;
mod model;
mod nested;
mod noise;
mod normalized;
mod overview;
mod place;
mod plot;
mod published;
mod ranked;
mod requests;
mod series;
mod simulated;
mod text_table;
mod trends;
mod verdicts;
pub(crate) mod words;

pub use asked::{Asked, Bases, Page};
pub use graph::{GRAPH_SCRIPT, GRAPH_STYLE, GraphCall, graph, placed};
pub use io::{Crowd, crowd};
pub use line::line;
pub use simulated::Simulated;

use crate::apps::Traffics;
use crate::model::Modelled;
use crate::table::{Table, table};
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use lead::{Lead, View};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use words::{Caveat, plain};
use ws_analysis::model::PredictError;
use ws_analysis::{HostKind, SuiteComparison, Trends};
use ws_explain::explained::Explained;
use ws_results::{ResultFile, Status};

/// Colours of all pages and pictures, light and dark.
pub const COLOURS: &str = include_str!("colours.css");
/// Style of all pages, before their own.
const BASE: &str = include_str!("base.css");
const STYLE: &str = concat!(include_str!("page.css"), include_str!("graph.css"));
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("graph.js"));

/// Limit of platforms that are named at the top.
const NAMED: usize = 4;

/// Input of a report.
#[derive(Clone, Debug, Default)]
pub struct Report<'a> {
    /// The results, in the order in which they are shown.
    pub results: &'a [ResultFile],
    /// The platform that the others are compared with; for the default see [`crate::baselines`].
    pub baseline: Option<String>,
    /// Conditions that may differ between compared results (`--allow FIELD`).
    pub allow: Vec<String>,
    /// Comparisons with verdicts.
    pub comparisons: Vec<SuiteComparison>,
    /// Requested comparisons that were not possible, with reasons, as text.
    pub not_compared: Vec<String>,
    /// The cost model of each guest's platform, and the cost of a workload there.
    pub models: Vec<Modelled>,
    /// The workload of the models, as text.
    pub workload: String,
    /// Platforms for which no model was possible, with reasons, as text.
    pub not_modelled: Vec<String>,
    /// Operations that were explained.
    pub explained: Vec<Explained>,
    /// Figures of a model.
    pub simulated: Option<Simulated>,
    /// The hosts that measured, and which of them differ from their kind.
    pub hosts: Vec<HostKind>,
    /// Trends of benchmarks over kernels.
    pub trends: Vec<Trends>,
    /// The traffic of workloads, for the cost model's predictions.
    pub traffics: Traffics,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The baseline is not among the results.
    #[error(transparent)]
    NoBaseline(#[from] crate::TableError),
    /// The published numbers cannot be read.
    #[error(transparent)]
    Reference(#[from] crate::reference::Error),
    /// The workload's cost can't be predicted.
    #[error(transparent)]
    Predict(#[from] PredictError),
}

/// Renders the page.
///
/// # Errors
/// The baseline is not among the results; other errors are bugs in this program.
pub fn render(report: &Report) -> Result<String, ReportError> {
    let results = report.results;
    let platforms = &series::platforms(results, report.baseline.as_deref());
    let series = &series::all(results, platforms);
    let options = crate::Options {
        baseline: report.baseline.clone(),
        allow: report.allow.clone(),
    };
    let table = &table(results, &options)?;
    let caveat = &Caveat::of(results);
    let reference = &crate::reference::load()?;
    let lead = lead::lead(report, reference, series, platforms, table);
    let led = |view: View| lead.as_ref().is_some_and(|lead| lead.of == view);
    let sections = [
        verdicts::verdicts(results, &report.comparisons, &report.not_compared, caveat),
        hosts::hosts(&report.hosts),
        trends::trends(&report.trends),
        explained::explained(&report.explained, platforms, led(View::Explained)),
        nested::nested(reference, results),
        requests::requests(reference, results, platforms, led(View::Requests)),
        io::io(series),
        simulated::simulated(report.simulated.as_ref()),
        apps::apps(reference, report, platforms, led(View::Apps)),
        place::place(reference, results, led(View::Place)),
        // The view of nested VMs has its paper's figures itself.
        match led(View::Nested) {
            true => html! {},
            false => published::published(reference, series, table),
        },
        model::model(
            &report.models,
            &report.workload,
            &report.not_modelled,
            platforms,
        ),
        normalized::iterations(results, series),
        normalized::placement(results, series),
        normalized::variants(reference, results, series),
    ];
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("worldswitch: {}", some(platforms)), STYLE, SCRIPT))
            body {
                (shapes())
                (opening(report, lead.as_ref(), platforms, table, caveat))
                main {
                    @for section in &sections { (section) }
                    (filters(platforms, table))
                    (overview::overview(results, series, table, caveat))
                    (boots::boots(series, platforms, table))
                    (noise::noise(series))
                    (identity::identity(results))
                }
                div #tip role="tooltip" hidden {}
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(page.into_string())
}

/// The chart of benchmarks that the page opens with, as a standalone SVG for documents; none if no benchmark has a
/// cost.
///
/// # Errors
/// The baseline is not among the results.
pub fn picture(report: &Report) -> Result<Option<String>, ReportError> {
    let platforms = series::platforms(report.results, report.baseline.as_deref());
    let series = series::all(report.results, &platforms);
    let options = crate::Options {
        baseline: report.baseline.clone(),
        allow: report.allow.clone(),
    };
    let table = table(report.results, &options)?;
    Ok(ranked::picture(&table, &series, &platforms))
}

/// Renders the first screen: dates and platforms, the finding, its figure, and the caveat.
fn opening(
    report: &Report,
    lead: Option<&Lead>,
    platforms: &[&str],
    table: &Table,
    caveat: &Caveat,
) -> Markup {
    let refused = report.comparisons.is_empty() && !report.not_compared.is_empty();
    let days = report.results.iter().map(|result| day(&result.created));
    let (first, last) = (days.clone().min(), days.max());
    html! {
        header #answer {
            p.about {
                "worldswitch"
                @if let (Some(first), Some(last)) = (first, last) {
                    " \u{b7} " (plain(first)) @if last != first { " to " (plain(last)) }
                }
                @if platforms.len() > NAMED { " \u{b7} " (platforms.len()) " platforms" }
                @else if !platforms.is_empty() { " \u{b7} " (plain(&some(platforms))) }
            }
            @if let Some(lead) = lead {
                h1 {
                    @if refused { "Nothing here could be compared with the base. " }
                    (plain(&lead.sentence))
                }
                (lead.figure)
            } @else {
                h1 { (plain(&without_figure(report, table))) }
            }
            (caveat.markup())
        }
    }
}

/// The finding of a page without a figure to draw.
fn without_figure(report: &Report, table: &Table) -> String {
    if report.results.is_empty() && report.simulated.is_some() {
        return "Nothing here was measured: figures of a model.".to_owned();
    }
    crate::finding(table).unwrap_or_else(|| {
        let rows = report.results.iter().flat_map(|result| &result.rows);
        let statuses: Vec<Status> = rows.map(|row| row.status).collect();
        let mut counted: Vec<String> = Vec::new();
        for status in &statuses {
            let count = statuses.iter().filter(|other| *other == status).count();
            let text = format!("{count} {}", status.word());
            if *status != Status::Ok && !counted.contains(&text) {
                counted.push(text);
            }
        }
        match counted.is_empty() {
            true => "Nothing here was measured.".to_owned(),
            false => format!("No benchmark here was measured: {}.", counted.join(", ")),
        }
    })
}

/// The day of a date with a time.
fn day(created: &str) -> &str {
    created.split('T').next().unwrap_or(created)
}

/// Renders the head of a page that makes no network requests, and runs only this script. The style is added to that of
/// all pages.
pub fn head(title: &str, style: &str, script: &str) -> Markup {
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        BASE64.encode(Sha256::digest(script.as_bytes()))
    );
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (plain(title)) }
            style { (PreEscaped(COLOURS)) (PreEscaped(BASE)) (PreEscaped(style)) }
        }
    }
}

/// Renders the filters of the views below, hidden until the script shows them; none without rows.
fn filters(platforms: &[&str], table: &Table) -> Markup {
    let mut categories: Vec<&str> = Vec::new();
    for row in &table.rows {
        if !categories.contains(&row.category.as_str()) {
            categories.push(&row.category);
        }
    }
    html! {
        @if !table.rows.is_empty() {
        form #filters hidden aria-label="Filters" {
            label { "benchmark " input #by-name type="search" size="14" autocomplete="off"; }
            label { "category "
                select #by-category {
                    option value="" { "all" }
                    @for category in categories { option value=(plain(category)) { (plain(category)) } }
                }
            }
            fieldset {
                legend { "platforms" }
                @for (index, platform) in platforms.iter().enumerate() {
                    label class={ "h" (index % boots::HUES) } {
                        input.by-platform type="checkbox" value=(index) checked;
                        svg.key viewBox="-6 -6 12 12" aria-hidden="true" { use href={ "#k" (index % boots::HUES) } {} }
                        (plain(platform))
                    }
                }
            }
            output #shown role="status" {}
        }
        }
    }
}

/// The shapes of the marks: each platform has a colour and a shape.
fn shapes() -> Markup {
    const SHAPES: [&str; boots::HUES] = [
        "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
        "M-3.5,-3.5h7v7h-7z",
        "M0,-4.5L4.5,3.5H-4.5z",
        "M0,-5L5,0L0,5L-5,0z",
        "M0,4.5L4.5,-3.5H-4.5z",
        "M-1.5,-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    ];
    html! {
        svg.shapes aria-hidden="true" { defs {
            @for (index, shape) in SHAPES.iter().enumerate() { path id={ "k" (index) } d=(shape) {} }
        } }
    }
}

/// The first few platforms, and the number of the others.
fn some(platforms: &[&str]) -> String {
    let first = platforms
        .iter()
        .take(NAMED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match platforms.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
