//! The cost model of HyperBench (equations 2 to 6), stacked: what a workload's events cost, by
//! component. The caller fits and predicts; this module draws.

use super::boots::HUES;
use super::plot::{Lane, Plot, PlotError};
use super::words::{Caveat, plain};
use crate::number;
use maud::{Markup, html};

/// One component's share of a prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// `T_sen`, `T_ext`, `T_switch`, `T_sync`, `T_cons`, `T_two`, `T_in`, `T_out`.
    pub name: String,
    /// Its cost, in the prediction's unit; zero where the platform does not have it.
    pub cost: f64,
    /// Between these it lies, where that is known.
    pub interval: Option<(f64, f64)>,
    /// Why it is zero, or what it was fitted from.
    pub why: String,
}

/// What a workload costs on a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The platform, and the workload where there are several.
    pub name: String,
    /// The unit; predictions of one unit share a plot.
    pub unit: String,
    /// In the model's order.
    pub components: Vec<Component>,
    /// What was measured, where it was.
    pub measured: Option<f64>,
}

/// The view.
pub(crate) fn model(predictions: &[Prediction], caveat: Caveat) -> Result<Markup, PlotError> {
    let mut units: Vec<&str> = predictions.iter().map(|p| p.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    let mut cards = Vec::new();
    for unit in units {
        let here: Vec<&Prediction> = predictions.iter().filter(|p| p.unit == unit).collect();
        cards.push(one(unit, &here)?);
    }
    Ok(html! {
        section #model {
            h2 { "The cost model" }
            @if predictions.is_empty() {
                p.absent { "No workload's event counts were given, so nothing is predicted." }
            } @else { (caveat.markup()) }
            @for card in &cards { (card) }
        }
    })
}

fn one(unit: &str, predictions: &[&Prediction]) -> Result<Markup, PlotError> {
    const LANE: u32 = 30;
    let name = format!("Predicted cost by component, {unit}");
    let total = |p: &Prediction| p.components.iter().map(|c| c.cost.max(0.0)).sum::<f64>();
    let mut names: Vec<&str> = Vec::new();
    for component in predictions.iter().flat_map(|p| &p.components) {
        if !names.contains(&component.name.as_str()) {
            names.push(&component.name);
        }
    }
    let hue =
        |component: &Component| names.iter().position(|n| *n == component.name).unwrap_or(0) % HUES;
    let plot = Plot {
        name: &format!("{name}; the table below has the values"),
        axis: unit,
        lanes: predictions
            .iter()
            .map(|p| Lane {
                name: &p.name,
                platform: None,
                height: LANE,
            })
            .collect(),
        values: predictions
            .iter()
            .flat_map(|p| [Some(total(p)), p.measured].into_iter().flatten())
            .collect(),
        from_zero: true,
        mark: None,
    };
    let drawn = plot.draw(|place, tops| {
        html! {
            @for (prediction, top) in predictions.iter().zip(tops) {
                @for (from, component) in stacked(&prediction.components) {
                    @let (left, right) = (place(from), place(from + component.cost.max(0.0)));
                    rect class={ "h" (hue(component)) } x=(left) width=(right - left) y=(top + 6) height=(LANE - 12) {}
                }
                @if let Some(measured) = prediction.measured {
                    path.measured d={ "M" (place(measured)) "," (top + 2) "v" (LANE - 4) } {}
                }
            }
        }
    })?;
    Ok(html! {
        div.card.wide {
            (drawn)
            p.keys {
                @for (index, name) in names.iter().enumerate() {
                    span class={ "h" (index % HUES) } {
                        svg.key viewBox="-6 -6 12 12" aria-hidden="true" { rect x="-5" y="-5" width="10" height="10" {} }
                    }
                    (plain(name)) " "
                }
                "The line across a bar is what was measured."
            }
            div.scroll tabindex="0" role="region" aria-label=(plain(&name)) {
                table.grid {
                    caption { (plain(&name)) }
                    thead { tr { @for head in ["prediction", "component", "cost", "interval", "why"] { th scope="col" { (head) } } } }
                    tbody { @for prediction in predictions {
                        @for component in &prediction.components { tr {
                            th scope="row" { (plain(&prediction.name)) }
                            td { (plain(&component.name)) }
                            td.value { (number::value(component.cost, unit)) }
                            td { @if let Some((from, to)) = component.interval { (number::value(from, unit)) " to " (number::value(to, unit)) } }
                            td { (plain(&component.why)) }
                        } }
                        tr {
                            th scope="row" { (plain(&prediction.name)) }
                            td { "all" }
                            td.value { (number::value(total(prediction), unit)) }
                            td { @if let Some(measured) = prediction.measured { "measured " (number::value(measured, unit)) } }
                            td {}
                        }
                    } }
                }
            }
        }
    })
}

/// Each component with where it begins.
fn stacked(components: &[Component]) -> Vec<(f64, &Component)> {
    let mut from = 0.0;
    components
        .iter()
        .map(|component| {
            let begins = from;
            from += component.cost.max(0.0);
            (begins, component)
        })
        .collect()
}
