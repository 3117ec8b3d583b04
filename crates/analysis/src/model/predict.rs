//! Predicts the cost of a workload's events from the model.

use super::fit::{Model, interval};
use super::operator::OperatorKind;
use super::terms::{Component, Term};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Reasons why nothing can be predicted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PredictError {
    /// Events that no benchmark of the model measures.
    #[error("the model of {platform} has no cost of {}; it has {}", events.join(", "), known.join(", "))]
    Unknown {
        /// The platform.
        platform: String,
        /// The unknown events.
        events: Vec<String>,
        /// The known events.
        known: Vec<String>,
    },
    /// A count that is negative or not a number.
    #[error("{0} occurs {1} times: give a count of 0 or more")]
    NoCount(String, f64),
}

/// T_virt of a workload by equation 3 without eta, and T_guest by equation 2.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Prediction {
    /// The sum of all components, in the model's unit.
    pub total: f64,
    /// The lower end of the interval of `total`.
    pub low: f64,
    /// The upper end of that interval.
    pub high: f64,
    /// T_cpu, T_memory and T_io.
    pub components: Vec<ComponentTotal>,
    /// Costs of the workload's events, by kind.
    pub events: Vec<EventTotal>,
    /// The workload's whole time, if its native time is known.
    pub whole: Option<Whole>,
    /// Costs that the prediction leaves out, as text.
    pub left_out: Vec<String>,
}

/// A workload's time in the guest, equation 2, and its GNR, equation 1. Event costs are additions to the native time,
/// so T_direct is the workload's whole native time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Whole {
    /// T_direct.
    pub direct: f64,
    /// T_guest as predicted: T_direct + T_virt, without eta.
    pub guest: f64,
    /// The lower end of the interval of `guest`, from that of T_virt: T_direct is taken as exact.
    pub guest_low: f64,
    /// The upper end of that interval.
    pub guest_high: f64,
    /// T_guest / T_direct; null if T_direct is zero. On counts it is a ratio of path lengths.
    pub gnr: Option<f64>,
    /// T_guest as measured, if the workload was measured in the guest.
    pub measured: Option<f64>,
    /// An estimate of eta in equation 3: measured - predicted. The estimate includes the model's own error.
    pub eta: Option<f64>,
}

impl Prediction {
    /// Adds the workload's native time and, if known, its measured time in the guest, in the model's unit.
    pub fn with_times(mut self, direct: f64, measured: Option<f64>) -> Self {
        let guest = direct + self.total;
        self.whole = Some(Whole {
            direct,
            guest,
            guest_low: direct + self.low,
            guest_high: direct + self.high,
            gnr: (direct > 0.0).then(|| guest / direct),
            measured,
            eta: measured.map(|measured| measured - guest),
        });
        self
    }
}

/// A component of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComponentTotal {
    /// The component.
    pub component: Component,
    /// Cost of the component.
    pub total: f64,
    /// The lower end of the interval of `total`.
    pub low: f64,
    /// The upper end of that interval.
    pub high: f64,
}

/// Cost of one kind of event.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EventTotal {
    /// The benchmark that measures the event.
    pub benchmark: String,
    /// The term that the event belongs to.
    pub term: Term,
    /// Number of events in the workload.
    pub count: f64,
    /// The cost of one event at this count.
    pub each: f64,
    /// The cost of all events.
    pub total: f64,
    /// The lower end of the interval of `total`.
    pub low: f64,
    /// The upper end of that interval.
    pub high: f64,
    /// The operator between count and cost. One that is not determined is taken for linear.
    pub operator: OperatorKind,
}

/// Predicts from event counts by benchmark. `left_out` becomes part of the prediction's list.
pub fn predict(
    model: &Model,
    counts: &BTreeMap<String, f64>,
    mut left_out: Vec<String>,
) -> Result<Prediction, PredictError> {
    let workload = Workload::of(model, counts, &mut left_out)?;
    let events: Vec<EventTotal> = workload
        .events
        .iter()
        .map(|event| workload.total(event))
        .collect();
    let components = [Component::Cpu, Component::Memory, Component::Io].map(|component| {
        let of_it = events
            .iter()
            .filter(|event| event.term.component() == component);
        let total = of_it.map(|event| event.total).sum();
        // A component has a range of its own: on time, ends of intervals do not add up.
        let (low, high) = workload.range(&|event| event.term.component() == component, total);
        ComponentTotal {
            component,
            total,
            low,
            high,
        }
    });
    let total = events.iter().map(|event| event.total).sum();
    let (low, high) = workload.range(&|_| true, total);
    Ok(Prediction {
        total,
        low,
        high,
        components: components.to_vec(),
        events,
        whole: None,
        left_out,
    })
}

/// A kind of event of a workload.
struct Event {
    /// Row of the event in the model.
    row: usize,
    term: Term,
    count: f64,
    /// The cost of one event at this count / the model's cost of one event.
    factor: f64,
}

/// The events of a workload that cost something.
struct Workload<'a> {
    model: &'a Model,
    events: Vec<Event>,
}

impl<'a> Workload<'a> {
    /// Prices the events of the model. Events whose term is 0 on this platform go to `left_out`.
    fn of(
        model: &'a Model,
        counts: &BTreeMap<String, f64>,
        left_out: &mut Vec<String>,
    ) -> Result<Self, PredictError> {
        check(model, counts)?;
        let mut events = Vec::new();
        for (name, &count) in counts {
            let found = model.rows.iter().position(|row| row.benchmark == *name);
            let Some((row, term)) = found.and_then(|row| Some((row, model.rows[row].term?))) else {
                continue;
            };
            match term.absent(model.paging) {
                Some(why) => left_out.push(format!("{name}: {} is 0, {why}", term.symbol())),
                None => events.push(Event {
                    row,
                    term,
                    count,
                    factor: amortised(model, row, count),
                }),
            }
        }
        Ok(Self { model, events })
    }

    fn total(&self, event: &Event) -> EventTotal {
        let row = &self.model.rows[event.row];
        let each = row.added * event.factor;
        let total = event.count * each;
        let (low, high) = self.range(&|other| other.row == event.row, total);
        EventTotal {
            benchmark: row.benchmark.clone(),
            term: event.term,
            count: event.count,
            each,
            total,
            low,
            high,
            operator: row.operator.kind,
        }
    }

    /// The range of the cost of the events that `chosen` selects; `total` is their cost.
    fn range(&self, chosen: &dyn Fn(&Event) -> bool, total: f64) -> (f64, f64) {
        let events = || self.events.iter().filter(|event| chosen(event));
        // Boots agree on counts, so resampling shows nothing: the range over all boots is taken.
        if self.model.unit == "insns" {
            return events().fold((0.0, 0.0), |(low, high), event| {
                let row = &self.model.rows[event.row];
                let times = event.count * event.factor;
                (low + times * row.added_low, high + times * row.added_high)
            });
        }
        let cost = |draw: &Vec<f64>| {
            events()
                .map(|event| event.count * event.factor * draw[event.row])
                .sum()
        };
        let costs: Vec<f64> = self.model.replicates.iter().map(cost).collect();
        interval(&costs).unwrap_or((total, total))
    }
}

/// Checks that all counts are valid, and of events that the model has.
fn check(model: &Model, counts: &BTreeMap<String, f64>) -> Result<(), PredictError> {
    if let Some((name, count)) = counts.iter().find(|(_, n)| !(n.is_finite() && **n >= 0.0)) {
        return Err(PredictError::NoCount(name.clone(), *count));
    }
    let with_term = model.rows.iter().filter(|row| row.term.is_some());
    let known: Vec<String> = with_term.map(|row| row.benchmark.clone()).collect();
    let unknown: Vec<String> = counts
        .keys()
        .filter(|name| !known.contains(name))
        .cloned()
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(PredictError::Unknown {
        platform: model.platform.clone(),
        events: unknown,
        known,
    })
}

/// Cost of one event among `count` / the model's cost of one event. The factor is 1 if the operator is linear or not
/// determined.
fn amortised(model: &Model, row: usize, count: f64) -> f64 {
    let row = &model.rows[row];
    if row.operator.kind != OperatorKind::SubLinear || row.added <= 0.0 {
        return 1.0;
    }
    let guest = row.operator.cost_among(count).unwrap_or(row.guest);
    ((guest - row.native) / row.added).max(0.0)
}
