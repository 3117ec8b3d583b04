//! The view of HyperBench's cost model (equations 2 to 6): the cost of one event of each term on a
//! platform, and the cost of a workload's events as stacked bars.

use super::boots::HUES;
use super::plot::{Lane, Plot};
use super::words::plain;
use crate::model::{Modelled, cost, range, term_text, whole_text};
use maud::{Markup, html};
use ws_analysis::model::{Component, Prediction, TERMS, Term};

/// The view. `workload`: the workload of the predictions; `refused`: platforms without a model, with
/// reasons.
pub(crate) fn model(models: &[Modelled], workload: &str, refused: &[String]) -> Markup {
    let mut units: Vec<&str> = models.iter().map(|m| m.model.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    let mut cards = Vec::new();
    for unit in units {
        let here: Vec<&Modelled> = models.iter().filter(|m| m.model.unit == unit).collect();
        cards.push(card(unit, &here, workload));
    }
    let mut notes: Vec<&str> = Vec::new();
    for note in models.iter().flat_map(|m| &m.model.notes) {
        if !notes.contains(&note.as_str()) {
            notes.push(note);
        }
    }
    html! {
        section #model {
            h2 { "The cost model" }
            @if models.is_empty() && refused.is_empty() {
                p.absent { "No model: it needs a guest's result and the native one in the same unit." }
            }
            @for why in refused { p.absent { "No model: " (plain(why)) } }
            @if !models.is_empty() {
                p {
                    "T_guest = T_direct + T_virt, T_virt = T_cpu + T_memory + T_io + eta: what virtualization adds "
                    "to the machine's own time. eta, everything outside the terms, is not predicted."
                }
                ul { @for note in notes { li { (plain(note)) } } }
            }
            @for card in &cards { (card) }
        }
    }
}

fn card(unit: &str, models: &[&Modelled], workload: &str) -> Markup {
    let name = format!("{workload}: what virtualization adds, by term, {unit}");
    html! {
        div.card.wide {
            h3 { (plain(&name)) }
            @if models.iter().any(|m| m.prediction.is_some()) { (stacks(&name, unit, models)) }
            (values(&name, unit, models))
        }
    }
}

/// A bar for each platform, stacked by terms.
fn stacks(name: &str, unit: &str, models: &[&Modelled]) -> Markup {
    const LANE: u32 = 30;
    let bars: Vec<(&str, Vec<f64>)> = models
        .iter()
        .filter_map(|modelled| {
            let prediction = modelled.prediction.as_ref()?;
            let parts = TERMS.iter().map(|term| total(prediction, *term).max(0.0));
            Some((modelled.model.platform.as_str(), parts.collect()))
        })
        .collect();
    let plot = Plot {
        name: &format!("{name}; the table below has the values"),
        axis: unit,
        lanes: bars
            .iter()
            .map(|(platform, _)| Lane {
                name: platform,
                platform: None,
                height: LANE,
            })
            .collect(),
        values: bars.iter().map(|(_, parts)| parts.iter().sum()).collect(),
        from_zero: true,
        mark: None,
    };
    let drawn = plot.draw(|place, tops| {
        html! {
            @for ((_, parts), top) in bars.iter().zip(tops) {
                @for (hue, part) in parts.iter().enumerate() {
                    @let from: f64 = parts[..hue].iter().sum();
                    @let (left, right) = (place(from), place(from + part));
                    @if right > left {
                        rect class={ "h" (hue % HUES) } x=(left) width=(right - left) y=(top + 6) height=(LANE - 12) {}
                    }
                }
            }
        }
    });
    let used = |hue: usize| bars.iter().any(|(_, parts)| parts[hue] > 0.0);
    html! {
        (drawn)
        p.keys {
            @for (hue, term) in TERMS.iter().enumerate().filter(|(hue, _)| used(*hue)) {
                span class={ "h" (hue % HUES) } {
                    svg.key viewBox="-6 -6 12 12" aria-hidden="true" { rect x="-5" y="-5" width="10" height="10" {} }
                    " " (term.symbol())
                }
            }
        }
    }
}

/// The terms of each platform with the cost of one event, or why it is zero, and the workload's sums.
fn values(name: &str, unit: &str, models: &[&Modelled]) -> Markup {
    let value = |v: f64| cost(v, unit);
    let heads = ["platform", "part", "one event", "in all", "interval"];
    html! {
        div.scroll tabindex="0" role="region" aria-label=(plain(name)) {
            table.grid {
                caption { (plain(name)) }
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody { @for modelled in models {
                    @let (model, prediction) = (&modelled.model, modelled.prediction.as_ref());
                    @for component in [Component::Cpu, Component::Memory, Component::Io] {
                        @for term in model.terms.iter().filter(|term| term.component == component) {
                            tr {
                                th scope="row" { (plain(&model.platform)) }
                                td { (term.term.symbol()) }
                                td { (plain(&term_text(term, unit))) }
                                td.value { @if let Some(prediction) = prediction { (value(total(prediction, term.term))) } }
                                td {}
                            }
                        }
                        @if let Some(sum) = prediction.and_then(|p| p.components.iter().find(|c| c.component == component)) {
                            tr {
                                th scope="row" { (plain(&model.platform)) }
                                td { b { (component.symbol()) } }
                                td {}
                                td.value { b { (value(sum.total)) } }
                                td { (range(sum.low, sum.high, &value)) }
                            }
                        }
                    }
                    @if let Some(prediction) = prediction {
                        tr {
                            th scope="row" { (plain(&model.platform)) }
                            td { b { "T_virt" } }
                            td { @for what in &prediction.left_out { "not included: " (plain(what)) br; } }
                            td.value { b { (value(prediction.total)) } }
                            td { (range(prediction.low, prediction.high, &value)) }
                        }
                        @if let Some(whole) = &prediction.whole {
                            tr {
                                th scope="row" { (plain(&model.platform)) }
                                td { b { "T_guest" } }
                                td { (whole_text(whole)) }
                                td.value { b { (value(whole.guest)) } }
                                td { (range(whole.guest_low, whole.guest_high, &value)) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

fn total(prediction: &Prediction, term: Term) -> f64 {
    let events = prediction.events.iter();
    events.filter(|e| e.term == term).map(|e| e.total).sum()
}
