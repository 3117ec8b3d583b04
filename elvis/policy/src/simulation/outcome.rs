//! The results of a simulation.

use crate::simulation::scenario::{Group, Mode, Scenario};
use hdrhistogram::Histogram;
use serde::Serialize;

/// Greatest recorded latency, in ns: longer ones are recorded as this.
const LONGEST_NS: u64 = 60_000_000_000;

/// The results of one client.
pub struct Tally {
    latencies: Option<Histogram<u64>>,
    replies: u64,
    total_ns: u128,
    pub lost: u64,
}

impl Default for Tally {
    /// A client without replies.
    fn default() -> Self {
        // Two digits: 1 % of a latency. The bounds are valid, so this is never None.
        let latencies = Histogram::new_with_bounds(1, LONGEST_NS, 2).ok();
        Self {
            latencies,
            replies: 0,
            total_ns: 0,
            lost: 0,
        }
    }
}

impl Tally {
    /// Returns the results in the empty place of a client that moved away.
    pub fn none() -> Self {
        Self {
            latencies: None,
            replies: 0,
            total_ns: 0,
            lost: 0,
        }
    }

    pub fn reply(&mut self, latency_ns: u64) {
        self.replies += 1;
        self.total_ns += u128::from(latency_ns);
        if let Some(latencies) = &mut self.latencies {
            latencies.saturating_record(latency_ns.max(1));
        }
    }
}

/// Use of the counted time by the I/O cores; all cores together, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CoreTime {
    /// Serving requests and calling drivers.
    pub serving_ns: u64,
    /// Polling in vain.
    pub polling_ns: u64,
    /// Switches, wake-ups, checks for events.
    pub overhead_ns: u64,
    /// Asleep.
    pub asleep_ns: u64,
}

/// The results of one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupOutcome {
    /// Name of the group.
    pub name: String,
    /// Number of the group's devices.
    pub devices: u32,
    /// Replies per second, all devices of the group together.
    pub per_s: f64,
    /// Mean latency, in ns.
    pub mean_ns: f64,
    /// Median latency, in ns.
    pub p50_ns: u64,
    /// 99th percentile of latency, in ns.
    pub p99_ns: u64,
    /// 99.9th percentile of latency, in ns.
    pub p999_ns: u64,
    /// Greatest latency, in ns.
    pub max_ns: u64,
    /// Jain's index of the devices' rates: 1 if all are equal, 1/n if one device has all.
    pub jain: f64,
    /// Requests lost because their ring was full.
    pub lost: u64,
}

/// The results of a simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Mode by which devices were served.
    pub mode: Mode,
    /// Replies per second, all devices together.
    pub per_s: f64,
    /// Jain's index of all devices' rates, each divided by its weight.
    pub jain: f64,
    /// The groups, in the scenario's order.
    pub groups: Vec<GroupOutcome>,
    /// Use of the cores' time.
    pub cores: CoreTime,
    /// Notifications from drivers.
    pub kicks: u64,
    /// Notifications to drivers.
    pub calls: u64,
    /// Looks at queues that could not be served.
    pub empty_polls: u64,
    /// Visits that ended early because another queue was stuck.
    pub stuck_exits: u64,
    /// The placement's results, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementOutcome>,
}

/// Results of a placement, counted from the start of the warm-up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PlacementOutcome {
    /// Devices moved.
    pub moves: u64,
    /// Cores opened.
    pub opened: u64,
    /// Cores released.
    pub released: u64,
    /// Cores in use in each window.
    pub open_cores: Vec<usize>,
}

/// Counters during the simulation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub cores: CoreTime,
    pub kicks: u64,
    pub calls: u64,
    pub empty_polls: u64,
    pub stuck_exits: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        self.cores.serving_ns += other.cores.serving_ns;
        self.cores.polling_ns += other.cores.polling_ns;
        self.cores.overhead_ns += other.cores.overhead_ns;
        self.cores.asleep_ns += other.cores.asleep_ns;
        self.kicks += other.kicks;
        self.calls += other.calls;
        self.empty_polls += other.empty_polls;
        self.stuck_exits += other.stuck_exits;
    }
}

/// Jain's fairness index: (sum x)^2 / (n * sum x^2). 1 if all rates are 0.
#[must_use]
pub fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    if squares == 0.0 {
        1.0
    } else {
        sum * sum / (rates.len() as f64 * squares)
    }
}

impl Outcome {
    /// Combines the results of all clients, each with the number of its group.
    pub fn gather(scenario: &Scenario, tallies: &[(usize, Tally)], counts: &Counts) -> Self {
        let seconds = scenario.duration_ns as f64 / 1e9;
        let rate = |tally: &Tally| tally.replies as f64 / seconds;
        let group = |(index, group): (usize, &Group)| {
            let mine: Vec<&Tally> = tallies
                .iter()
                .filter(|(of, _)| *of == index)
                .map(|(_, tally)| tally)
                .collect();
            let replies: u64 = mine.iter().map(|tally| tally.replies).sum();
            let total_ns: u128 = mine.iter().map(|tally| tally.total_ns).sum();
            let mut all = Tally::default().latencies;
            for tally in &mine {
                if let (Some(all), Some(its)) = (&mut all, &tally.latencies) {
                    // Can't fail: both have the same bounds.
                    let _ = all.add(its);
                }
            }
            let quantile = |q: f64| all.as_ref().map_or(0, |all| all.value_at_quantile(q));
            let rates: Vec<f64> = mine.iter().map(|tally| rate(tally)).collect();
            GroupOutcome {
                name: group.name.clone(),
                devices: group.devices,
                per_s: replies as f64 / seconds,
                mean_ns: if replies == 0 {
                    0.0
                } else {
                    total_ns as f64 / replies as f64
                },
                p50_ns: quantile(0.5),
                p99_ns: quantile(0.99),
                p999_ns: quantile(0.999),
                max_ns: all.as_ref().map_or(0, Histogram::max),
                jain: jain(&rates),
                lost: mine.iter().map(|tally| tally.lost).sum(),
            }
        };
        let groups: Vec<GroupOutcome> = scenario.groups.iter().enumerate().map(group).collect();
        let weighted = |(index, tally): &(usize, Tally)| {
            let weight = scenario.groups.get(*index).map_or(1, |group| group.weight);
            rate(tally) / f64::from(weight)
        };
        let rates: Vec<f64> = tallies.iter().map(weighted).collect();
        Self {
            mode: scenario.mode,
            per_s: groups.iter().map(|group| group.per_s).sum(),
            jain: jain(&rates),
            groups,
            cores: counts.cores,
            kicks: counts.kicks,
            calls: counts.calls,
            empty_polls: counts.empty_polls,
            stuck_exits: counts.stuck_exits,
            placement: None,
        }
    }
}
