//! The verdicts of a comparison, and its thresholds.

use schemars::JsonSchema;
use serde::Serialize;

/// The verdict on one benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The benchmark costs less, by the minimum effect or more, and not by chance.
    Better,
    /// The benchmark costs more, by the minimum effect or more, and not by chance.
    Worse,
    /// Any difference is smaller than the minimum effect.
    NoChange,
    /// The data support no other verdict.
    Inconclusive,
}

impl Verdict {
    /// The word shown to users.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoChange => "no change",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// Thresholds above which a difference counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Thresholds {
    /// Probability, on time, of at least one false "better" or "worse" among all benchmarks of a suite in which nothing
    /// changed.
    pub significance: f64,
    /// Least change on time that counts, as a fraction. With 0.05, ratios from 1/1.05 to 1.05 do not count.
    pub min_effect: f64,
    /// Least change on instructions that counts, in instructions per operation.
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

/// The most boots per side that are ever recommended.
pub const MAX_BOOTS: usize = 1000;

/// Default of `run` for units of time, and the number that it recommends. It finds a change of 10 % at least 95 times
/// in 100, in a row whose boots scatter by less than [`crate::NOISY`] (docs/notebook/method-errors.md has the
/// measurement).
pub const SUITE_BOOTS: u32 = 16;
