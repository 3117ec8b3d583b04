//! The view of the hosts' noise, as far as result files show it.

use super::series::Series;
use super::words::{folded, plain, plural, value_text};
use crate::number;
use maud::{Markup, html};
use ws_analysis::UnitKind;
use ws_results::Disturbance;

const HEADS: [&str; 6] = [
    "result",
    "Idle, min to max",
    "widest spread between boots",
    "pinning",
    "host is a virtual machine",
    "host's kernel",
];

/// The view: results on units of time, and failed launches of all results.
pub(crate) fn noise(series: &[Series]) -> Markup {
    let timed: Vec<&Series> = series
        .iter()
        .filter(|series| widest(series).is_some())
        .collect();
    let troubles = troubles(series);
    if timed.is_empty() && troubles.is_empty() {
        return html! {};
    }
    let body = html! {
        @if !timed.is_empty() {
            div.scroll tabindex="0" role="region" aria-label="Noise by result" {
                table {
                    caption { "Results on units of time" }
                    thead { tr {
                        @for head in HEADS { th scope="col" { (head) } }
                    } }
                    tbody {
                        @for series in &timed { (row(series)) }
                    }
                }
            }
        }
        (findings(&timed))
        (list(&troubles))
    };
    let remark = match troubles.len() {
        0 => String::new(),
        count => plural(count, "remark"),
    };
    folded("noise", "Noise of the host", &remark, &body)
}

/// The benchmark measured in time whose boots differ most, and its spread.
fn widest<'a>(series: &Series<'a>) -> Option<(&'a str, f64)> {
    let spreads = series.result.rows.iter().filter_map(|row| {
        let summary = series.cost(&row.benchmark)?;
        let time = UnitKind::of(&summary.unit) == UnitKind::Time;
        let spread = summary
            .spread
            .filter(|_| !summary.is_near_zero())
            .unwrap_or(0.0);
        time.then_some((row.benchmark.as_str(), spread))
    });
    spreads.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn row(series: &Series) -> Markup {
    let identity = &series.result.identity;
    let said = |key: &str| {
        let value = identity
            .subject
            .get(key)
            .or_else(|| identity.conditions.get(key));
        value.map_or_else(|| "unknown".into(), value_text)
    };
    let idle = series.cost("idle").map(|cost| {
        let unit = &cost.unit;
        let least = cost
            .boots
            .iter()
            .map(|boot| boot.min)
            .fold(f64::INFINITY, f64::min);
        let greatest = cost
            .boots
            .iter()
            .map(|boot| boot.max)
            .fold(f64::NEG_INFINITY, f64::max);
        format!(
            "{} to {} {unit}",
            number::value(least, unit),
            number::value(greatest, unit)
        )
    });
    html! {
        tr data-p=(series.platform) {
            th scope="row" { (plain(&series.label)) }
            td { (plain(&idle.unwrap_or_else(|| "not measured".into()))) }
            td {
                @match widest(series) {
                    Some((_, 0.0)) | None => "none",
                    Some((benchmark, spread)) => { (number::percent(spread)) ", " (plain(benchmark)) },
                }
            }
            td { (said("pinning")) }
            td { (said("host_virtualized")) @if series.result.is_software_kvm() { ", and a software KVM" } }
            td { (said("host_kernel")) }
        }
    }
}

/// Renders the findings of `worldswitch doctor` at the start of each run.
fn findings(timed: &[&Series]) -> Markup {
    let looked = |series: &&&Series| series.result.disturbances.is_some();
    let unknown: Vec<&str> = timed
        .iter()
        .filter(|s| !looked(s))
        .map(|s| s.label.as_str())
        .collect();
    let found: Vec<(&Series, &Disturbance)> = timed
        .iter()
        .flat_map(|series| {
            let all = series.result.disturbances.iter().flatten();
            all.map(move |disturbance| (*series, disturbance))
        })
        .collect();
    html! {
        @if !found.is_empty() {
            div.scroll tabindex="0" role="region" aria-label="What the doctor found" {
                table.prose {
                    caption { "What " code { "worldswitch doctor" } " found when the runs began" }
                    thead { tr {
                        th scope="col" { "result" }
                        th scope="col" { "what" }
                        th scope="col" { "severity" }
                        th scope="col" { "found" }
                        th scope="col" { "why it matters" }
                    } }
                    tbody {
                        @for (series, disturbance) in &found {
                            tr data-p=(series.platform) {
                                th scope="row" { (plain(&series.label)) }
                                td { (plain(&disturbance.title)) }
                                td { (plain(&disturbance.severity)) }
                                td { (plain(&disturbance.found)) }
                                td { (plain(&disturbance.why)) }
                            }
                        }
                    }
                }
            }
        } @else if !timed.is_empty() && unknown.is_empty() {
            p { "The doctor found nothing on these hosts that would disturb a measurement of time." }
        }
        @if !unknown.is_empty() {
            p.absent {
                "The host was not checked before measuring " (plain(&unknown.join(", "))) ": run "
                code { "worldswitch doctor" } " there to see what disturbs."
            }
        }
    }
}

/// Pinnings that did not hold, launches that failed, and damaged lines.
fn troubles(series: &[Series]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for series in series {
        let mut say = |text: String| lines.push(format!("{}: {text}", series.label));
        for view in series.result.rows.iter().flat_map(|row| &row.host) {
            for how in &view.strayed {
                say(format!("pinning did not hold in boot {}: {how}", view.boot));
            }
        }
        for boot in &series.result.boots {
            for launch in &boot.launches {
                if launch.end != ws_results::LaunchEnd::Bye {
                    say(format!("boot {}: {}", boot.boot, launch.end_detail));
                }
                let damaged = launch.bad_lines + launch.lost_records;
                if damaged > 0 {
                    say(format!(
                        "boot {}: {damaged} damaged or lost records",
                        boot.boot
                    ));
                }
            }
        }
    }
    lines.dedup();
    lines
}

fn list(lines: &[String]) -> Markup {
    const MOST: usize = 100;
    html! {
        @if !lines.is_empty() {
            ul.troubles {
                @for line in lines.iter().take(MOST) { li { (plain(line)) } }
                @if lines.len() > MOST { li { "and " (lines.len() - MOST) " more" } }
            }
        }
    }
}
