//! A trial and a budget: how many instructions each benchmark may cost with the change.

use crate::row::figure;
use crate::trial::{Machine, Trial};
use schemars::JsonSchema;
use serde::Serialize;
use ws_analysis::{Figure, Outcome};
use ws_budget::Limits;
use ws_results::ResultFile;

/// A benchmark's figure with the change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HeadFigure {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Instructions of one operation.
    pub insns: f64,
    /// Least and most over all boots.
    pub band: [f64; 2],
}

impl HeadFigure {
    fn figure(&self) -> Figure {
        Figure {
            insns: self.insns,
            band: (self.band[0], self.band[1]),
        }
    }
}

/// A figure over its budget.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OverBudget {
    /// Name of the machine.
    pub machine: String,
    /// Name of the benchmark.
    pub benchmark: String,
    /// The most instructions that one operation may cost.
    pub budget: f64,
    /// Instructions of one operation with the change.
    pub insns: f64,
    /// Whether a part of the figure's band is within the budget.
    pub in_doubt: bool,
}

impl OverBudget {
    /// `cpuid on lab:kvm: 2,253 instructions, of 2,250 in the budget`.
    pub(crate) fn text(&self) -> String {
        let [insns, budget] = [self.insns, self.budget].map(figure);
        let doubt = if self.in_doubt { " (in doubt)" } else { "" };
        format!(
            "{} on {}: {insns} instructions, of {budget} in the budget{doubt}",
            self.benchmark, self.machine
        )
    }
}

/// Returns the exact figures of a result.
pub(crate) fn figures(result: &ResultFile) -> Vec<HeadFigure> {
    let rows = result.rows.iter();
    let figures = rows.filter_map(|row| {
        let figure = Figure::of(result, &row.benchmark).ok()?;
        Some(HeadFigure {
            benchmark: row.benchmark.clone(),
            insns: figure.insns,
            band: [figure.band.0, figure.band.1],
        })
    });
    figures.collect()
}

impl Trial {
    /// Compares the figures with the change to limits. A figure above its limit is a regression, even if the change did
    /// not add to it. Limits of benchmarks that were not measured are left out.
    pub fn check_budget(&mut self, limits: &Limits) {
        for machine in &self.machines {
            let own = limits.iter().filter(|(name, _)| *name == machine.machine);
            for (benchmark, budget) in own.flat_map(|(_, rows)| rows) {
                let mut figures = machine.figures.iter();
                let Some(one) = figures.find(|one| one.benchmark == *benchmark) else {
                    continue;
                };
                let outcome = one.figure().against(*budget);
                self.outcome = self.outcome.max(outcome);
                if outcome != Outcome::NoRegression {
                    self.over_budget.push(OverBudget {
                        machine: machine.machine.clone(),
                        benchmark: benchmark.clone(),
                        budget: *budget,
                        insns: one.insns,
                        in_doubt: outcome == Outcome::Inconclusive,
                    });
                }
            }
        }
        let count = self.over_budget.iter().filter(|one| !one.in_doubt).count();
        match count {
            0 => {}
            1 => self.sentence += " 1 figure is over its budget.",
            _ => self.sentence += &format!(" {count} figures are over their budget."),
        }
    }

    /// Returns the budget that the figures with the change just meet.
    pub fn budget(&self) -> Limits {
        let machines = self.machines.iter();
        let of = |machine: &Machine| {
            let rows = machine.figures.iter();
            let rows = rows.map(|one| (one.benchmark.clone(), one.band[1]));
            (machine.machine.clone(), rows.collect())
        };
        machines.map(of).collect()
    }
}
