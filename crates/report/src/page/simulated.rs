//! The view of a model's figures (`elvis simulate --figure N --json`): a curve for each configuration, the paper's own
//! points beside, and the numbers of its text. Every part says that it is simulated.

use super::boots::HUES;
use super::curves::{Curves, Point};
use super::words::plain;
use crate::number;
use maud::{Markup, html};
use serde::Deserialize;

/// Figures of a paper as a model gives them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Simulated {
    /// Must be true.
    pub simulated: bool,
    pub figures: Vec<Figure>,
    pub statements: Vec<Statement>,
}

/// A figure, or a part of one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Figure {
    /// The paper's number.
    pub figure: u32,
    pub title: String,
    /// Quantity of the steps.
    pub steps: String,
    pub unit: String,
    pub curves: Vec<Curve>,
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Curve {
    pub name: String,
    /// Steps with their values.
    pub points: Vec<(u32, f64)>,
    /// The paper's own points.
    pub paper: Vec<(u32, f64)>,
}

/// A number that the paper's text states, beside the model's value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Statement {
    pub figure: u32,
    pub row: String,
    pub column: String,
    /// The number as printed.
    pub paper: String,
    pub unit: String,
    pub simulated: f64,
    pub fitted: bool,
    pub agrees: bool,
}

impl Simulated {
    /// Reads the output of `elvis simulate --figure N --json`. JSON that does not say that it is simulated is refused.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match read.simulated {
            true => Ok(read),
            false => Err("it is not marked as simulated".into()),
        }
    }
}

/// The view; empty without figures.
pub(crate) fn simulated(simulated: Option<&Simulated>) -> Markup {
    let Some(simulated) = simulated else {
        return html! {};
    };
    html! {
        section #simulated {
            h2 { "Figures of ELVIS (2013), simulated" }
            p { "By a model of the paper's machine, not measured. Rings are the paper's own values, where its text has them." }
            div.cards { @for figure in &simulated.figures { (card(figure)) } }
            (statements(&simulated.statements))
        }
    }
}

fn card(figure: &Figure) -> Markup {
    let name = format!(
        "Figure {}, simulated: {}, {}",
        figure.figure, figure.title, figure.unit
    );
    html! {
        div.card {
            h4 { (plain(&name)) }
            (plot(figure, &name))
            p.keys {
                @for (number, curve) in figure.curves.iter().enumerate() {
                    span class={ "h" (number % HUES) } {
                        svg.key viewBox="-6 -6 12 12" aria-hidden="true" { use href={ "#k" (number % HUES) } {} }
                        " " (plain(&curve.name)) " "
                    }
                }
            }
            details {
                summary { "Table of these values" }
                (values(figure, &name))
            }
        }
    }
}

fn plot(figure: &Figure, name: &str) -> Markup {
    let points = figure.curves.iter();
    let points = points.flat_map(|curve| curve.points.iter().chain(&curve.paper));
    let (mut steps, values): (Vec<u32>, Vec<f64>) = points.copied().unzip();
    steps.sort_unstable();
    steps.dedup();
    let curves = Curves {
        name: &format!("{name}; the table below has the values"),
        steps_axis: &figure.steps,
        steps: &steps,
        values: &values,
    };
    curves.draw(|point| {
        html! {
            @for (number, curve) in figure.curves.iter().enumerate() {
                g class={ "h" (number % HUES) } {
                    polyline.curve points=(line(curve, point)) {}
                    @for &(step, value) in &curve.points {
                        @let (x, y) = point(step, value);
                        use href={ "#k" (number % HUES) } x=(x) y=(y) {}
                    }
                    @for &(step, value) in &curve.paper {
                        @let (x, y) = point(step, value);
                        circle.curve cx=(x) cy=(y) r="9" fill="none" {}
                    }
                }
            }
        }
    })
}

fn line(curve: &Curve, point: Point) -> String {
    let places = curve.points.iter().map(|&(step, value)| {
        let (x, y) = point(step, value);
        format!("{x},{y}")
    });
    places.collect::<Vec<String>>().join(" ")
}

fn values(figure: &Figure, name: &str) -> Markup {
    let steps = figure.curves.first().map_or(&[][..], |curve| &curve.points);
    let text = |value: f64| number::value(value, "ratio");
    html! {
        div.scroll tabindex="0" role="region" aria-label=(plain(name)) {
            table.grid.values {
                caption { (plain(name)) }
                thead { tr {
                    th scope="col" { (plain(&figure.steps)) }
                    @for curve in &figure.curves { th scope="col" { (plain(&curve.name)) } }
                } }
                tbody {
                    @for &(step, _) in steps {
                        tr {
                            th scope="row" { (step) }
                            @for curve in &figure.curves {
                                td {
                                    @if let Some((_, value)) = curve.points.iter().find(|it| it.0 == step) { (text(*value)) }
                                    @if let Some((_, value)) = curve.paper.iter().find(|it| it.0 == step) {
                                        br; small { "paper " (text(*value)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn statements(all: &[Statement]) -> Markup {
    let caption = "What the paper's text states, and the model's value";
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table.grid.values {
                caption { (caption) }
                thead { tr {
                    @for head in ["figure", "what", "of", "the paper", "simulated", ""] { th scope="col" { (head) } }
                } }
                tbody {
                    @for it in all {
                        tr {
                            th scope="row" { (it.figure) }
                            td { (plain(&it.row)) }
                            td { (plain(&it.column)) }
                            td { (plain(&it.paper)) }
                            td { (number::value(it.simulated, "ratio")) " (" (plain(&it.unit)) ")" }
                            td { (match (it.fitted, it.agrees) {
                                (true, _) => "fitted",
                                (false, true) => "agrees",
                                (false, false) => "does not agree",
                            }) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"simulated": true, "figures": [{"figure": 6, "title": "A <b>", "steps": "VMs",
        "unit": "us", "simulated": true, "curves": [{"name": "ELVIS", "points": [[1, 2.0], [2, 3.5]],
        "paper": [[2, 9.0]]}]}], "statements": [{"figure": 6, "row": "r", "column": "ELVIS", "paper": "9 us",
        "unit": "us", "simulated": 3.5, "fitted": false, "agrees": false}]}"#;

    #[test]
    fn each_value_and_each_point_of_the_paper_is_drawn() {
        let read = Simulated::from_json(TEXT).unwrap();
        let page = simulated(Some(&read)).into_string();
        assert_eq!(page.matches("<use href=\"#k0\" x=").count(), 2);
        assert_eq!(page.matches("<circle class=\"curve\"").count(), 1);
        for text in [
            "Figure 6, simulated: A &lt;b&gt;",
            "does not agree",
            "paper 9",
            "not measured",
        ] {
            assert!(page.contains(text), "{text}");
        }
        assert!(!page.contains("<b>"));
        assert_eq!(simulated(None).into_string(), "");
    }

    #[test]
    fn what_is_no_simulation_is_refused() {
        for text in ["", "{}", &TEXT.replacen("true", "false", 1)] {
            assert!(Simulated::from_json(text).is_err());
        }
    }
}
