//! A benchmark of a trial.

use crate::flame::Call;
use crate::guilty::Guilty;
use schemars::JsonSchema;
use serde::Serialize;
use ws_analysis::{RowComparison, Verdict};
use ws_text::number::{grouped, signed};

/// A benchmark that changed, or about which there is no verdict.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrialRow {
    /// Name of the benchmark.
    pub benchmark: String,
    /// The measured operation, in words; null if the benchmark is not known here.
    pub measures: Option<String>,
    /// Unit of the figures.
    pub unit: String,
    /// Cost without the change.
    pub base: f64,
    /// Cost with the change.
    pub head: f64,
    /// `head - base`.
    pub added: f64,
    /// `added` in percent of `base`; null if `base` is 0.
    pub percent: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The finding, or the reason of no verdict.
    pub why: Option<String>,
    /// Functions whose own instructions changed, the most first. Empty if they were not looked for.
    pub functions: Vec<Guilty>,
    /// Number of functions that changed beside those.
    pub more_functions: usize,
    /// Calls of both sides, for the flame graph.
    #[serde(skip)]
    pub calls: Vec<Call>,
    /// Machine on which the functions were recorded, if it is not the row's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_on: Option<String>,
    /// Reason why the functions are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unexplained: Option<String>,
}

impl TrialRow {
    /// Returns a row that changed or may have changed; `None` if it did not change or was not compared.
    pub(crate) fn of(row: &RowComparison) -> Option<Self> {
        let (base, head, verdict) = (row.base?, row.other?, row.verdict?);
        let added = row
            .counts
            .as_ref()
            .map_or(head - base, |counts| counts.added);
        let is_shown = match verdict {
            Verdict::Better | Verdict::Worse => true,
            Verdict::Inconclusive => added != 0.0,
            Verdict::NoChange => false,
        };
        is_shown.then(|| Self {
            benchmark: row.benchmark.clone(),
            measures: None,
            unit: row.unit.clone().unwrap_or_default(),
            base,
            head,
            added,
            percent: (base != 0.0).then(|| 100.0 * added / base),
            verdict,
            why: row.why.clone(),
            functions: Vec::new(),
            more_functions: 0,
            calls: Vec::new(),
            recorded_on: None,
            unexplained: None,
        })
    }

    /// The worst first: what costs more before what costs less, each by its size.
    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        let size = |row: &Self| row.percent.unwrap_or(f64::INFINITY * row.added.signum());
        size(other)
            .total_cmp(&size(self))
            .then_with(|| self.benchmark.cmp(&other.benchmark))
    }
}

/// Numbers without a fraction as counts have them, others with two digits.
pub(crate) fn figure(value: f64) -> String {
    match value.fract() == 0.0 {
        true => grouped(value as i64),
        false => format!("{value:.2}"),
    }
}

impl TrialRow {
    /// The cells of a table: benchmark, cost without and with the change, the difference, also in percent, the verdict.
    pub(crate) fn cells(&self) -> [String; 6] {
        [
            self.benchmark.clone(),
            self.before(),
            self.after(),
            self.difference(),
            self.percentage(),
            self.word().to_owned(),
        ]
    }

    /// Cost without the change.
    pub(crate) fn before(&self) -> String {
        figure(self.base)
    }

    /// Cost with the change.
    pub(crate) fn after(&self) -> String {
        figure(self.head)
    }

    /// Difference: `+12 insns`, with a sign.
    pub(crate) fn difference(&self) -> String {
        match self.added.fract() == 0.0 {
            true => signed(self.added as i64),
            false => format!("{:+.2}", self.added),
        }
    }

    /// Difference in percent: `+0.9 %`; `-` if the base is 0.
    pub(crate) fn percentage(&self) -> String {
        match self.percent {
            None => "-".to_owned(),
            Some(percent) if percent.abs() < 0.1 => format!("{percent:+.2} %"),
            Some(percent) => format!("{percent:+.1} %"),
        }
    }

    /// Both, for a sentence: `+12 instructions (+0.9 %)`.
    pub(crate) fn change(&self) -> String {
        let unit = match &*self.unit {
            "insns" => "instructions",
            unit => unit,
        };
        format!("{} {unit} ({})", self.difference(), self.percentage())
    }

    /// Verdict as a word.
    pub(crate) fn word(&self) -> &'static str {
        match self.verdict {
            Verdict::Worse => "WORSE",
            Verdict::Better => "better",
            Verdict::Inconclusive => "in doubt",
            Verdict::NoChange => "no change",
        }
    }

    /// Note below the functions: how many more there are and where they were recorded, or why none are known.
    pub(crate) fn rest(&self) -> Option<String> {
        let more = match (&self.unexplained, self.more_functions) {
            (Some(why), _) => return Some(format!("functions not known: {why}")),
            (None, 0) => None,
            (None, 1) => Some("1 more function changed".to_owned()),
            (None, more) => Some(format!("{more} more functions changed")),
        };
        let place = self.recorded_on.as_ref();
        let place = place.map(|machine| {
            format!("functions of {machine}, because this machine can't record them")
        });
        let parts: Vec<String> = more.into_iter().chain(place).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
