//! The view of HyperBench's cost model (equations 2 to 6): the cost of one event of each term on a platform, and a
//! workload's costs as bars.

use super::chart::{Bar, Chart, Fill, Lane};
use super::words::plain;
use crate::model::{Modelled, cost, range, term_text, whole_text};
use maud::{Markup, html};
use ws_analysis::model::{Component, Prediction, TERMS, Term};

/// The view. `workload`: the workload of the predictions; `refused`: platforms without a model, with
/// reasons.
pub(crate) fn model(
    models: &[Modelled],
    workload: &str,
    refused: &[String],
    platforms: &[&str],
) -> Markup {
    if models.is_empty() && refused.is_empty() {
        return html! {};
    }
    let mut units: Vec<&str> = models.iter().map(|m| m.model.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    let mut cards = Vec::new();
    for unit in units {
        let here: Vec<&Modelled> = models.iter().filter(|m| m.model.unit == unit).collect();
        cards.push(card(unit, &here, workload, platforms));
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

fn card(unit: &str, models: &[&Modelled], workload: &str, platforms: &[&str]) -> Markup {
    let name = format!("{workload}: what virtualization adds, by term, {unit}");
    html! {
        div.card.wide {
            h3 { (plain(&name)) }
            @if models.iter().any(|m| m.prediction.is_some()) { (bars(&name, unit, models, platforms)) }
            (values(&name, unit, models))
        }
    }
}

/// A lane for each term that the workload has, with a bar for each platform, then their sum.
fn bars(name: &str, unit: &str, models: &[&Modelled], platforms: &[&str]) -> Markup {
    let bar = |platform: &str, what: &str, value: f64| Bar {
        fill: (platforms.iter().position(|name| *name == platform))
            .map_or(Fill::Plain, Fill::Platform),
        value,
        before: None,
        band: None,
        text: cost(value, unit),
        remark: None,
        detail: format!("{platform}: {what} {} {unit}", cost(value, unit)),
    };
    let lane = |what: &str, of: &dyn Fn(&Prediction) -> f64| {
        let of_model = |modelled: &&Modelled| {
            let value = of(modelled.prediction.as_ref()?);
            (value > 0.0).then(|| bar(&modelled.model.platform, what, value))
        };
        Lane {
            name: what.to_owned(),
            bars: models.iter().filter_map(of_model).collect(),
        }
    };
    let mut lanes: Vec<Lane> = TERMS
        .iter()
        .map(|term| lane(term.symbol(), &|prediction| total(prediction, *term)))
        .collect();
    lanes.push(lane("T_virt", &|prediction| prediction.total));
    lanes.retain(|lane| !lane.bars.is_empty());
    let here = platforms.iter().enumerate();
    let here = here.filter(|(_, name)| models.iter().any(|m| m.model.platform == **name));
    let chart = Chart {
        name,
        log: false,
        lanes: &lanes,
        mark: None,
        keys: here
            .map(|(index, name)| (Fill::Platform(index), (*name).to_owned()))
            .collect(),
    };
    chart.markup()
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
