//! Gaps of a comparison: figures of the base that get no verdict. A gate must not pass over them in silence.

use crate::suite::{RowComparison, SuiteComparison};
use schemars::JsonSchema;
use serde::Serialize;

/// Why something in the base has no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GapKind {
    /// The other run does not have the benchmark.
    Missing,
    /// The other run has the benchmark, without figures: skipped, failed, died, or not reached.
    NotMeasured,
    /// The other run measured the benchmark in another unit, or in one that this program does not know.
    Unit,
    /// Conditions differ that must agree.
    Conditions,
    /// No benchmark of the two results could be compared.
    NothingCompared,
    /// There is no other result to compare with this one of the base.
    NoCounterpart,
}

/// Something in the base without a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Gap {
    /// The reason.
    pub kind: GapKind,
    /// The platform of the compared result; if there is none, that of the base.
    pub platform: String,
    /// The benchmarks; empty if the gap is of all of them.
    pub benchmarks: Vec<String>,
    /// The reason and the cure, as text.
    pub why: String,
}

impl SuiteComparison {
    /// Lists all figures of the base that have no verdict.
    pub fn gaps(&self) -> Vec<Gap> {
        let kinds = [
            GapKind::Missing,
            GapKind::NotMeasured,
            GapKind::Unit,
            GapKind::Conditions,
        ];
        let mut gaps: Vec<Gap> = kinds
            .into_iter()
            .filter_map(|kind| self.gap(kind))
            .collect();
        if !self.rows.iter().any(RowComparison::is_judged) {
            gaps.push(Gap {
                kind: GapKind::NothingCompared,
                platform: self.other.platform.clone(),
                benchmarks: Vec::new(),
                why: format!(
                    "{} against {}: nothing was compared: no benchmark has comparable figures on both sides",
                    self.other.platform, self.base.platform
                ),
            });
        }
        gaps
    }

    fn gap(&self, kind: GapKind) -> Option<Gap> {
        let rows = self.rows.iter().filter(|row| row.gap == Some(kind));
        let benchmarks: Vec<String> = rows.map(|row| row.benchmark.clone()).collect();
        let names = named(&benchmarks)?;
        let platform = &self.other.platform;
        let why = match kind {
            GapKind::Missing => format!(
                "{platform}: the base has {names}, which this run lacks: measure the same benchmarks, or choose common ones with --bench"
            ),
            GapKind::NotMeasured => {
                format!("{platform}: the base has figures of {names}, but this run has none")
            }
            GapKind::Unit => format!(
                "{platform}: the units of {names} differ from the base's or are unknown, and units are never converted"
            ),
            _ => format!(
                "{platform}: the conditions of {names} differ: --allow FIELD compares them, --bench leaves them out"
            ),
        };
        Some(Gap {
            kind,
            platform: platform.clone(),
            benchmarks,
            why,
        })
    }
}

impl RowComparison {
    /// Whether the two sides' figures were compared, with whatever verdict.
    pub fn is_judged(&self) -> bool {
        self.verdict.is_some() && self.gap.is_none()
    }
}

/// The most names that are listed; the rest are counted.
const MOST_NAMES: usize = 3;

/// Lists names: `in, out, print and 4 more`; none without names.
pub(crate) fn named<S: AsRef<str>>(names: &[S]) -> Option<String> {
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).map(AsRef::as_ref).collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| shown.join(", ") + &more)
}
