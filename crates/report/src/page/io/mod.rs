//! The view of `worldswitch run io`, after section 4 of the ELVIS paper: for each measured quantity a curve
//! for each server over the number of devices.

mod lead;

pub(crate) use lead::lead;

use super::boots::HUES;
use super::curves::Curves;
use super::series::Series;
use super::words::plain;
use crate::number;
use maud::{Markup, html};
use std::collections::BTreeMap;
use ws_analysis::statistics::median;
use ws_results::{ResultFile, Row, Samples};

/// The mode of elvis that is the paper's Baseline.
const BASELINE: &str = "elvis@per-device";

/// The name of loads that belong to no experiment.
const ALIKE: &str = "devices";

/// An experiment: its title and the quantity of its steps.
struct Experiment {
    name: &'static str,
    title: &'static str,
    steps: &'static str,
    /// Whether throughput is also shown relative to the Baseline's, as in the paper.
    normalized: bool,
}

const EXPERIMENTS: [Experiment; 10] = [
    Experiment {
        name: "scaling",
        title: "Throughput and latency by devices (ELVIS, Figure 6)",
        steps: "devices",
        normalized: false,
    },
    Experiment {
        name: "mixed",
        title: "Devices for throughput beside devices for latency (ELVIS, Figure 7)",
        steps: "devices for throughput, of 7",
        normalized: false,
    },
    Experiment {
        name: "ablation",
        title: "The gain from scheduling and from polling (ELVIS, Figure 8)",
        steps: "devices",
        normalized: true,
    },
    Experiment {
        name: "stuck",
        title: "The rule about stuck queues",
        steps: "devices for throughput",
        normalized: false,
    },
    Experiment {
        name: "shares",
        title: "Shares of one I/O core",
        steps: "devices",
        normalized: false,
    },
    Experiment {
        name: "integrity",
        title: "Devices with verified contents",
        steps: "devices",
        normalized: false,
    },
    Experiment {
        name: "rr",
        title: "Echo between network devices",
        steps: "pairs of devices",
        normalized: false,
    },
    Experiment {
        name: "stream",
        title: "Stream between network devices",
        steps: "bytes of a frame",
        normalized: false,
    },
    Experiment {
        name: "mixed-net",
        title: "Echo between network devices beside a busy disk",
        steps: "disks",
        normalized: false,
    },
    Experiment {
        name: ALIKE,
        title: "Identical devices",
        steps: "devices",
        normalized: false,
    },
];

/// A quantity that is drawn for each load: its name with the unit, and how to compute a round's value.
struct Quantity {
    name: &'static str,
    metric: &'static str,
    of: fn(&Samples) -> f64,
}

const THROUGHPUT: Quantity = Quantity {
    name: "requests/s, all devices together",
    metric: "cost",
    // The time per request is a ratio of sums; throughput is its inverse.
    of: |samples| 1e9 / ratio(samples),
};

const QUANTITIES: [Quantity; 6] = [
    THROUGHPUT,
    Quantity {
        name: "median latency, us, mean of the devices",
        metric: "latency_p50",
        of: |samples| mean(samples) / 1e3,
    },
    Quantity {
        name: "99th percentile of latency, us, mean of the devices",
        metric: "latency_p99",
        of: |samples| mean(samples) / 1e3,
    },
    Quantity {
        name: "kicks for one request",
        metric: "kicks",
        of: ratio,
    },
    Quantity {
        name: "calls for one request",
        metric: "calls",
        of: ratio,
    },
    Quantity {
        name: "CPU time of the server for one request, us",
        metric: "server_cpu",
        of: |samples| mean(samples) / 1e3,
    },
];

fn sum(samples: &Samples) -> f64 {
    samples.run.iter().map(|&value| value as f64).sum()
}

fn mean(samples: &Samples) -> f64 {
    sum(samples) / samples.run.len() as f64
}

fn ratio(samples: &Samples) -> f64 {
    sum(samples) / samples.iterations as f64
}

/// A figure: the loads of an experiment that differ only in the number of devices.
struct Figure<'a> {
    experiment: &'a str,
    role: &'a str,
    steps: Vec<u32>,
    /// The servers, each with its row for each step.
    servers: Vec<(&'a Series<'a>, Vec<Option<&'a Row>>)>,
}

/// A row's value: the median, minimum and maximum of its rounds.
#[derive(Clone, Copy)]
struct Value {
    least: f64,
    median: f64,
    greatest: f64,
}

/// The view; empty if no result is of `worldswitch run io`.
pub(crate) fn io(series: &[Series]) -> Markup {
    let figures = figures(series);
    let mut drawn = Vec::new();
    for (number, figure) in figures.iter().enumerate() {
        let first = figures[..number]
            .iter()
            .all(|other| other.experiment != figure.experiment);
        drawn.push((first.then(|| figure.title()), figure.cards()));
    }
    html! {
        @if !drawn.is_empty() {
            section #io {
                h2 { "Block I/O of many devices" }
                p {
                    "A mark is the median of the rounds, the thin bar behind it spans minimum to maximum. "
                    "Servers took turns on the same CPUs."
                }
                @if let Some(crowded) = crowded(series) { p { (plain(&crowded)) } }
                @for (title, cards) in &drawn {
                    @if let Some(title) = title { h3 { (plain(title)) } }
                    div.cards { @for card in cards { (card) } }
                }
            }
        }
    }
}

/// Clients that shared their CPUs.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crowd {
    /// The most clients that ran at once.
    pub clients: u64,
    /// The CPUs they ran on.
    pub cpus: Vec<u64>,
}

/// The most clients that shared CPUs in any of these results of `worldswitch run io`; `None` if each could
/// have its own.
pub fn crowd<'a>(results: impl IntoIterator<Item = &'a ResultFile>) -> Option<Crowd> {
    let of = |result: &ResultFile| {
        let cpus = result.identity.conditions.get("client_cpus")?.as_array()?;
        let mut clients: BTreeMap<(&str, u32, &str), u64> = BTreeMap::new();
        for row in &result.rows {
            let Some((experiment, step, role)) = place(row) else {
                continue;
            };
            let of = |name: &str| row.conditions.get(name);
            if of("one_client").and_then(serde_json::Value::as_bool) == Some(false) {
                let devices = of("devices")
                    .and_then(serde_json::Value::as_u64)
                    .unwrap_or(0);
                // Roles of an experiment run at the same time; identical devices are separate loads.
                let role = if experiment == ALIKE { role } else { "" };
                *clients.entry((experiment, step, role)).or_default() += devices;
            }
        }
        let clients = clients.into_values().max()?;
        (clients > cpus.len() as u64).then(|| Crowd {
            clients,
            cpus: cpus.iter().filter_map(serde_json::Value::as_u64).collect(),
        })
    };
    results.into_iter().filter_map(of).max()
}

/// The caveat on shared client CPUs.
fn crowded(series: &[Series]) -> Option<String> {
    let Crowd { clients, cpus } = crowd(series.iter().map(|series| series.result))?;
    Some(format!(
        "Measured with up to {clients} clients on {} CPU{} beside the server's. If the clients use up their \
         CPUs, that limits all servers: compare the curves with each other, not with those of a machine \
         with {} CPUs such as the paper's.",
        cpus.len(),
        if cpus.len() == 1 { "" } else { "s" },
        clients + 1
    ))
}

/// A row's experiment, step and role.
fn place(row: &Row) -> Option<(&str, u32, &str)> {
    let text = |name: &str| row.conditions.get(name)?.as_str();
    let step = row.conditions.get("step")?.as_u64()?;
    Some((
        text("experiment")?,
        u32::try_from(step).ok()?,
        text("role")?,
    ))
}

/// All figures, in order of their first rows.
fn figures<'a>(series: &'a [Series<'a>]) -> Vec<Figure<'a>> {
    let mut figures: Vec<Figure> = Vec::new();
    for row in series.iter().flat_map(|series| &series.result.rows) {
        let Some((experiment, step, role)) = place(row) else {
            continue;
        };
        let known = figures
            .iter()
            .position(|figure| figure.experiment == experiment && figure.role == role);
        let at = known.unwrap_or(figures.len());
        if known.is_none() {
            figures.push(Figure {
                experiment,
                role,
                steps: Vec::new(),
                servers: Vec::new(),
            });
        }
        if !figures[at].steps.contains(&step) {
            figures[at].steps.push(step);
        }
    }
    // Servers come after all rows are known: each has an entry for every step of the figure.
    for figure in &mut figures {
        figure.steps.sort_unstable();
        for series in series {
            let row = |&step: &u32| {
                let wanted = Some((figure.experiment, step, figure.role));
                series.result.rows.iter().find(|row| place(row) == wanted)
            };
            let rows: Vec<Option<&Row>> = figure.steps.iter().map(row).collect();
            if rows.iter().any(Option::is_some) {
                figure.servers.push((series, rows));
            }
        }
    }
    figures
}

fn value(row: &Row, quantity: &Quantity) -> Option<Value> {
    let metric = row.metric(quantity.metric)?;
    let rounds: Vec<f64> = metric.boots.iter().map(quantity.of).collect();
    let fold = |with: fn(f64, f64) -> f64| rounds.iter().copied().reduce(with);
    let value = Value {
        least: fold(f64::min)?,
        median: median(&rounds)?,
        greatest: fold(f64::max)?,
    };
    value.median.is_finite().then_some(value)
}

impl Figure<'_> {
    fn known(&self) -> Option<&'static Experiment> {
        EXPERIMENTS
            .iter()
            .find(|known| known.name == self.experiment)
    }

    fn title(&self) -> String {
        let known = self.known().map(|known| known.title);
        known.unwrap_or(self.experiment).to_owned()
    }

    fn cards(&self) -> Vec<Markup> {
        let mut cards = Vec::new();
        for quantity in &QUANTITIES {
            let of = |row: &Option<&Row>| value((*row)?, quantity);
            let values: Vec<Vec<Option<Value>>> = self
                .servers
                .iter()
                .map(|(_, rows)| rows.iter().map(of).collect())
                .collect();
            if values.iter().flatten().any(Option::is_some) {
                cards.push(self.card(quantity.name, &values));
            }
            if quantity.metric == THROUGHPUT.metric && self.known().is_some_and(|e| e.normalized) {
                cards.extend(self.over_baseline(&values));
            }
        }
        cards
    }

    /// Throughput relative to the median of the Baseline's.
    fn over_baseline(&self, values: &[Vec<Option<Value>>]) -> Option<Markup> {
        let is_baseline = |(series, _): &(&Series, _)| series.result.platform == BASELINE;
        let baseline = self.servers.iter().position(is_baseline)?;
        let ratio = |(value, base): (&Option<Value>, &Option<Value>)| {
            let (value, base) = ((*value)?, (*base)?);
            (base.median > 0.0).then(|| Value {
                least: value.least / base.median,
                median: value.median / base.median,
                greatest: value.greatest / base.median,
            })
        };
        let over = |row: &Vec<Option<Value>>| {
            let pairs = row.iter().zip(&values[baseline]);
            pairs.map(ratio).collect()
        };
        let values: Vec<Vec<Option<Value>>> = values.iter().map(over).collect();
        let name = format!("throughput / the median of {BASELINE}, the paper's Baseline");
        Some(self.card(&name, &values))
    }

    fn card(&self, quantity: &str, values: &[Vec<Option<Value>>]) -> Markup {
        let name = match self.role {
            "" => quantity.to_owned(),
            role => format!("{role}: {quantity}"),
        };
        let full = format!("{}: {name}, by server", self.title());
        let steps_axis = self.known().map_or("step", |known| known.steps);
        let plot = match self.steps.len() {
            0 | 1 => None,
            _ => Some(self.plot(&full, steps_axis, values)),
        };
        html! {
            div.card {
                h4 { (plain(&name)) }
                @if let Some(plot) = &plot {
                    (plot)
                    p.keys {
                        @for (series, _) in &self.servers {
                            @let hue = series.platform % HUES;
                            span class={ "h" (hue) } data-p=(series.platform) {
                                svg.key viewBox="-6 -6 12 12" aria-hidden="true" { use href={ "#k" (hue) } {} }
                                " " (plain(&series.label)) " "
                            }
                        }
                    }
                }
                details open[plot.is_none()] {
                    summary { "Table of these values" }
                    (self.values(&full, steps_axis, values))
                }
            }
        }
    }

    fn plot(&self, name: &str, steps_axis: &str, values: &[Vec<Option<Value>>]) -> Markup {
        let all: Vec<f64> = values
            .iter()
            .flatten()
            .flatten()
            .flat_map(|value| [value.least, value.median, value.greatest])
            .collect();
        let curves = Curves {
            name: &format!("{name}; the table below has the values"),
            steps_axis,
            steps: &self.steps,
            values: &all,
        };
        curves.draw(|point| {
            let line = |values: &[Option<Value>]| {
                let points = self.steps.iter().zip(values).filter_map(|(&step, value)| {
                    let (x, y) = point(step, (*value)?.median);
                    Some(format!("{x},{y}"))
                });
                points.collect::<Vec<String>>().join(" ")
            };
            html! {
                @for ((series, _), values) in self.servers.iter().zip(values) {
                    g class={ "h" (series.platform % HUES) } data-p=(series.platform) {
                        polyline.curve points=(line(values)) {}
                        @for (&step, value) in self.steps.iter().zip(values) {
                            @if let Some(value) = value {
                                @let (x, low) = point(step, value.least);
                                path.within d={ "M" (x) "," (low) "V" (point(step, value.greatest).1) } {}
                            }
                        }
                    }
                }
                @for (index, &step) in self.steps.iter().enumerate() {
                    g data-r=(index) {
                        @for (server, ((series, _), values)) in self.servers.iter().zip(values).enumerate() {
                            @if let Some(value) = values[index] {
                                @let hue = series.platform % HUES;
                                @let (x, y) = point(step, value.median);
                                g class={ "h" (hue) } data-p=(series.platform) {
                                    use href={ "#k" (hue) } x=(x) y=(y) data-k=(server) {}
                                }
                            }
                        }
                    }
                }
            }
        })
    }

    fn values(&self, name: &str, steps_axis: &str, values: &[Vec<Option<Value>>]) -> Markup {
        let text = |value: f64| number::value(value, "ns");
        html! {
            div.scroll tabindex="0" role="region" aria-label=(plain(name)) {
                table.grid.values {
                    caption { (plain(name)) }
                    thead { tr {
                        th scope="col" { (steps_axis) }
                        @for (series, _) in &self.servers {
                            th scope="col" data-p=(series.platform) { (plain(&series.label)) }
                        }
                    } }
                    tbody {
                        @for (index, step) in self.steps.iter().enumerate() {
                            tr {
                                th scope="row" { (step) }
                                @for ((series, rows), values) in self.servers.iter().zip(values) {
                                    @match (values[index], rows[index]) {
                                        (Some(value), _) => td data-p=(series.platform) data-t={
                                            (plain(&series.label)) ", " (step) ": " (text(value.median)) "; least "
                                            (text(value.least)) ", greatest " (text(value.greatest))
                                        } {
                                            (text(value.median)) br;
                                            small { (text(value.least)) " to " (text(value.greatest)) }
                                        },
                                        (None, Some(row)) => td.note data-p=(series.platform) {
                                            (plain(row.reason.as_deref().unwrap_or("not measured")))
                                        },
                                        (None, None) => td data-p=(series.platform) {},
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
