//! The cost model's predictions of applications as text.

use super::predicted::median_error;
use super::text::REASONS;
use super::traffic::{TrafficPrices, architectures, error_by_all_others};
use super::{Apps, Predicted, named};
use crate::page::words::plural;
use crate::text::{Set, Sheet};
use crate::unit_of_work::{dash, insns, two};

use Set::{Number, Text};

pub(super) const TITLE: &str = "the cost model compared with the measurement";

const COLUMNS: [(&str, Set); 9] = [
    ("workload", Text),
    ("platform", Text),
    ("natively", Number),
    ("T_virt", Number),
    ("by exits", Number),
    ("error", Number),
    ("with traffic", Number),
    ("error with traffic", Number),
    ("most of the exits", Text),
];

const LEGEND: [&str; 5] = [
    "T_virt: the VM's instructions of a unit minus the native ones.",
    "by exits: T_virt as predicted from exits (HyperBench, equations 3 to 6). An exit costs what its microbenchmark measured on the same hypervisor. A kick is the guest's write that notifies a device. Its cost includes that of waking the device's thread. An exit without a benchmark is priced as a hypercall, the cheapest exit.",
    "with traffic: by exits plus a price for each kick and each KiB of data, because packets pass vhost, a bridge and a second network stack. The prices are fitted to the other half of the workloads (every second one) on the same architecture. The fit minimizes the sum of relative errors, with no price below 0.",
    "error: predicted minus measured, relative to T_virt. The error is missing if T_virt is below 2 % of the native instructions, if the band of the ratio includes 1, or without a native measurement.",
    "most of the exits: exits of a unit by reason x instructions of such an exit in its benchmark.",
];

fn percent(error: f64) -> String {
    format!("{:.0} %", error * 100.0)
}

impl Predicted {
    fn line(&self) -> Vec<String> {
        let percent = |error: f64| format!("{:+.1} %", error * 100.0);
        let exits = self.events.iter().take(REASONS);
        let exits: Vec<String> = exits
            .map(|exit| {
                let (count, each) = (two(exit.count), insns(exit.each));
                format!("{} {count} x {each} ({})", exit.reason, exit.benchmark)
            })
            .collect();
        vec![
            named(&self.workload, self.unit.as_deref()),
            self.platform.clone(),
            dash(self.direct.map(insns)),
            dash(self.virt.map(insns)),
            dash(self.exits_cost.map(insns)),
            dash(self.virt_error.map(percent)),
            dash(self.with_traffic.map(insns)),
            dash(self.with_traffic_error.map(percent)),
            match &self.why {
                Some(why) => why.clone(),
                None => exits.join(", "),
            },
        ]
    }
}

impl Apps {
    /// Makes the table: a line for each prediction.
    pub(super) fn predictions(&self) -> Sheet {
        let mut sheet = Sheet::new(COLUMNS);
        sheet.extend(self.predicted.iter().map(Predicted::line));
        sheet
    }

    /// Returns the notes below the predictions: their errors, the prices of traffic, then the legend.
    pub(super) fn predictions_below(&self) -> Vec<String> {
        let all: Vec<&Predicted> = self.predicted.iter().collect();
        let median = |of: fn(&Predicted) -> Option<f64>| median_error(&all, of);
        let mut below = Vec::new();
        if let Some((error, count)) = median(|one| one.virt_error) {
            let mut text = format!(
                "The median error of T_virt over {} is {} by exits",
                plural(count, "row"),
                percent(error)
            );
            if let Some((error, priced)) = median(|one| one.with_traffic_error) {
                text += &format!(" and {} with traffic", percent(error));
                if priced != count {
                    text += &format!(" (over {})", plural(priced, "row"));
                }
            }
            if let Some(error) = error_by_all_others(&self.predicted) {
                text += &format!(
                    ", {} if prices for each workload come from all others",
                    percent(error)
                );
            }
            below.push(format!("{text}."));
        }
        below.extend(traffic_prices(&self.predicted));
        below.extend(LEGEND.map(str::to_owned));
        below
    }
}

/// A line for each architecture: the median error of its predictions with traffic, and their prices.
fn traffic_prices(predicted: &[Predicted]) -> Vec<String> {
    let of_architecture = |architecture: Option<String>| {
        let of_it: Vec<&Predicted> = predicted
            .iter()
            .filter(|one| one.architecture == architecture)
            .collect();
        let (error, _) = median_error(&of_it, |one| one.with_traffic_error)?;
        let mut halves: Vec<TrafficPrices> = Vec::new();
        for prices in of_it.iter().filter_map(|one| one.prices) {
            if !halves.contains(&prices) {
                halves.push(prices);
            }
        }
        let all = |of: fn(&TrafficPrices) -> Option<f64>| {
            let prices = halves.iter().map(|prices| dash(of(prices).map(insns)));
            prices.collect::<Vec<_>>().join(" or ")
        };
        Some(format!(
            "{}: median error {} with traffic. Prices fitted to either half: a kick {}, a KiB {}.",
            architecture.as_deref().unwrap_or("other machines"),
            percent(error),
            all(|prices| prices.kick),
            all(|prices| prices.kib)
        ))
    };
    architectures(predicted)
        .into_iter()
        .filter_map(of_architecture)
        .collect()
}
