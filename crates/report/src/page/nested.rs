//! The view of nested virtualization beside the paper's tables: see [`crate::Nested`]. Traps are drawn,
//! with a separate scale for each microbenchmark; instructions and the paper's cycles are numbers only.

use super::chart::{Bar, Chart, Fill, Lane};
use super::lead::{Lead, View};
use super::words::{breakable, plain};
use crate::nested::{HEADS, LEGEND, Nested, NestedBenchmark, NestedLine, PUBLISHED};
use crate::number;
use crate::reference::Reference;
use maud::{Markup, html};
use ws_results::ResultFile;

/// The size of the longest bar, in pixels.
const WIDTH: f64 = 100.0;
const HEIGHT: u32 = 10;

/// The opening: the first microbenchmark that was measured in a nested VM, by platform.
pub(crate) fn lead(reference: &Reference, results: &[ResultFile]) -> Option<Lead> {
    if !Nested::concerns(results) {
        return None;
    }
    let nested = Nested::of(results, reference);
    let (benchmark, sentence) =
        (nested.benchmarks.iter()).find_map(|benchmark| Some((benchmark, benchmark.finding()?)))?;
    let measured = benchmark
        .lines
        .iter()
        .filter_map(|line| Some((line.value?, line)));
    let mut measured: Vec<(f64, &NestedLine)> = measured.collect();
    measured.sort_by(|a, b| b.0.total_cmp(&a.0));
    let lanes: Vec<Lane> = measured
        .iter()
        .map(|(value, line)| Lane {
            name: line.platform.clone(),
            bars: vec![platform_bar(line, *value)],
        })
        .collect();
    let chart = Chart {
        name: &format!(
            "Instructions of one {}, and traps to the host hypervisor",
            benchmark.row_in_a_sentence()
        ),
        log: true,
        lanes: &lanes,
        mark: None,
        keys: Vec::new(),
    };
    Some(Lead {
        sentence,
        figure: chart.markup(),
        of: View::Nested,
    })
}

fn platform_bar(line: &NestedLine, value: f64) -> Bar {
    let value_text = number::value(value, "insns");
    let over = line.over_l0.as_ref();
    let over = over.and_then(|over| {
        Some(format!(
            "; {} of {}",
            number::slowdown(over.ratio?),
            over.vm
        ))
    });
    Bar {
        fill: Fill::Plain,
        value,
        before: None,
        band: None,
        remark: line.trap_count().map(|traps| ("dim", traps)),
        detail: format!(
            "{}: {value_text} instructions{}",
            line.platform,
            over.unwrap_or_default()
        ),
        text: value_text,
    }
}

/// The view; empty if no result is from a nested VM.
pub(crate) fn nested(reference: &Reference, results: &[ResultFile]) -> Markup {
    if !Nested::concerns(results) {
        return html! {};
    }
    let nested = Nested::of(results, reference);
    html! {
        section #nested {
            h2 { "Nested virtualization" }
            @for benchmark in &nested.benchmarks { (one(benchmark)) }
            ul.legend { @for text in LEGEND { li { (text) } } }
        }
    }
}

fn one(benchmark: &NestedBenchmark) -> Markup {
    let of_ours = benchmark.lines.iter().map(|line| line.traps);
    let of_theirs = benchmark.others.iter().map(|_| None);
    let traps: Vec<Option<f64>> = of_ours.chain(of_theirs).collect();
    let most = traps.iter().flatten().copied().fold(0.0, f64::max);
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Nested virtualization, " (plain(&benchmark.row)) } {
            table {
                caption { (plain(&benchmark.head())) }
                thead { tr { @for (column, head) in HEADS.iter().enumerate() {
                    @if column == PUBLISHED { th scope="col" {} }
                    th scope="col" { (head) }
                } } }
                tbody { @for (cells, traps) in benchmark.cells().iter().zip(&traps) {
                    tr {
                        th scope="row" { (breakable(&cells[0])) }
                        @for cell in &cells[1..PUBLISHED] { td.value { (plain(cell)) } }
                        td { (bar(*traps, most)) }
                        td { (plain(&cells[PUBLISHED])) }
                        @for cell in &cells[PUBLISHED + 1..] { td.value { (plain(cell)) } }
                    }
                } }
            }
        }
        ul.legend { @for reason in benchmark.reasons() { li { (plain(&reason)) } } }
    }
}

fn bar(traps: Option<f64>, most: f64) -> Markup {
    let width = traps
        .filter(|_| most > 0.0)
        .map_or(0.0, |traps| WIDTH * traps / most);
    html! {
        svg width=(WIDTH) height=(HEIGHT) aria-hidden="true" {
            rect width=(format!("{width:.1}")) height=(HEIGHT) class="plain" {}
        }
    }
}
