//! The cost model's predictions of applications as text.

use super::predicted::median_error;
use super::text::REASONS;
use super::{Apps, Predicted, named};
use crate::page::words::plural;
use crate::sheet::{Set, Sheet};
use crate::unit_of_work::{dash, insns, two};

use Set::{Number, Text};

pub(super) const TITLE: &str = "the cost model held against what was measured";

const COLUMNS: [(&str, Set); 9] = [
    ("workload", Text),
    ("platform", Text),
    ("natively", Number),
    ("T_virt", Number),
    ("by exits", Number),
    ("error", Number),
    ("with kicks", Number),
    ("error with kicks", Number),
    ("most of the exits", Text),
];

const LEGEND: [&str; 5] = [
    "T_virt: the VM's instructions of a unit less the native ones.",
    "by exits: T_virt as predicted from exits (HyperBench, equations 3 to 6). Each exit has its cost in a microbenchmark of the same hypervisor. A kick, the guest's write that notifies a device, also has the cost of waking its thread. An exit without a benchmark is priced as a hypercall, the cheapest exit.",
    "with kicks: by exits plus a price for each kick, as its packets pass vhost, a bridge and a second network stack. The price is the median of the unexplained instructions per kick in the other half of the workloads (every second one).",
    "error: predicted less measured, relative to T_virt. It is missing if T_virt is below 2 % of the native instructions, if the band of the ratio has 1 in it, or if natively it was not measured.",
    "most of the exits: exits of a unit by reason x instructions of one in the benchmark.",
];

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
            dash(self.with_kicks.map(insns)),
            dash(self.with_kicks_error.map(percent)),
            match &self.why {
                Some(why) => why.clone(),
                None => exits.join(", "),
            },
        ]
    }
}

impl Apps {
    /// One line for each prediction.
    pub(super) fn predictions(&self) -> Sheet {
        let mut sheet = Sheet::new(COLUMNS);
        sheet.extend(self.predicted.iter().map(Predicted::line));
        sheet
    }

    /// What stands below the predictions: how good they are, then the legend.
    pub(super) fn predictions_below(&self) -> Vec<String> {
        let median = |of: fn(&Predicted) -> Option<f64>| median_error(&self.predicted, of);
        let percent = |error: f64| format!("{:.0} %", error * 100.0);
        let mut below = Vec::new();
        if let Some((error, count)) = median(|one| one.virt_error) {
            let mut text = format!(
                "The median error of T_virt over {} is {} by exits",
                plural(count, "row"),
                percent(error)
            );
            if let Some((error, _)) = median(|one| one.with_kicks_error) {
                text += &format!(" and {} with kicks", percent(error));
            }
            below.push(format!("{text}."));
        }
        below.extend(LEGEND.map(str::to_owned));
        below
    }
}
