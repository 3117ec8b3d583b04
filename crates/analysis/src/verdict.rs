//! What a comparison may say, and what it takes.

use schemars::JsonSchema;
use serde::Serialize;

/// What became of one benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It costs less, by the minimum effect or more, and not by chance.
    Better,
    /// It costs more.
    Worse,
    /// Whatever the difference is, it is smaller than the minimum effect.
    NoChange,
    /// The data allow none of these.
    Inconclusive,
}

impl Verdict {
    /// For readers.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoChange => "no change",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// What it takes to call a difference one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Thresholds {
    /// On time: the chance of one false "better" or "worse" or more among all benchmarks of a suite
    /// in which nothing changed.
    pub significance: f64,
    /// On time: the least change that counts, as a fraction. 0.05 is from 1/1.05 to 1.05 times.
    pub min_effect: f64,
    /// On counts: the least change that counts, in instructions for one operation.
    pub min_effect_insns: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            significance: 0.01,
            min_effect: 0.05,
            min_effect_insns: 1.0,
        }
    }
}

/// More boots than this a side are never asked for.
pub const MAX_BOOTS: usize = 1000;

/// So many boots a side find a change of 10 % in any row of a suite whose boots scatter by less than
/// [`crate::NOISY`], 95 times in 100 or more: docs/method.md measures it. What `run` makes where time
/// is measured, and what it advises.
pub const SUITE_BOOTS: u32 = 16;
