//! A trial: two sides on each machine.

use crate::budget::{HeadFigure, OverBudget, figures};
use crate::flame::Call;
use crate::guilty::Guilty;
use crate::row::TrialRow;
use schemars::JsonSchema;
use serde::Serialize;
use ws_analysis::{CompareOptions, Outcome, Refused, SuiteComparison, Verdict, compare_results};
use ws_results::ResultFile;

/// Name and version of the schema of [`Trial`] as JSON.
pub const TRIAL_SCHEMA: &str = "worldswitch-test/1";

/// A side of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// The side as the user named it.
    pub name: String,
    /// Subject of the commit, or another description.
    pub about: Option<String>,
}

impl Side {
    /// The side as a sentence names it.
    pub(crate) fn text(&self) -> String {
        match &self.about {
            None => self.name.clone(),
            Some(about) => format!("{} ({about})", self.name),
        }
    }
}

/// The outcome of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trial {
    /// Always `worldswitch-test/1`.
    #[schemars(extend("const" = TRIAL_SCHEMA))]
    pub schema: String,
    /// Outcome over all machines.
    pub outcome: Outcome,
    /// The finding, one sentence.
    pub sentence: String,
    /// The side without the change.
    pub base: Side,
    /// The side with the change.
    pub head: Side,
    /// The machines, in the order of the user.
    pub machines: Vec<Machine>,
    /// Figures with the change that are over a budget of the user.
    pub over_budget: Vec<OverBudget>,
}

/// The functions of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Functions whose own instructions changed, the most first.
    pub functions: Vec<Guilty>,
    /// Number of functions that changed beside those.
    pub more_functions: usize,
    /// Calls of both sides.
    pub calls: Vec<Call>,
    /// Machine that was recorded in place of the row's, if the row's can't be.
    pub recorded_on: Option<String>,
}

/// The results of a machine, without and with the change.
pub type Pair<'a> = (String, [Option<&'a ResultFile>; 2]);

/// A machine with both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Machine {
    /// Name of the machine, without a side.
    pub machine: String,
    /// Architecture of the machine: `x86_64`, `aarch64`, `riscv64`; null if nothing was compared.
    pub architecture: Option<String>,
    /// Platform of the side without the change, as its result has it; empty if nothing was compared.
    pub base: String,
    /// Platform of the side with the change, in the same way.
    pub head: String,
    /// Rows that changed or may have changed, the worst first.
    pub rows: Vec<TrialRow>,
    /// Names of the rows that did not change.
    pub unchanged: Vec<String>,
    /// Exact figures with the change, of all benchmarks.
    pub figures: Vec<HeadFigure>,
    /// Rows that were not compared, with the reason.
    pub not_compared: Vec<String>,
    /// Caveats for a reader of the figures.
    pub caveats: Vec<String>,
}

impl Trial {
    /// Judges pairs of results, each without and with the change, by the name of their machine. A machine without one of
    /// them, or whose conditions differ, does not hide the verdicts on others.
    ///
    /// # Errors
    /// The conditions differ on all machines.
    pub fn of(
        base: Side,
        head: Side,
        pairs: &[Pair<'_>],
        allow: &[String],
    ) -> Result<Self, Refused> {
        let options = CompareOptions {
            allow: allow.to_vec(),
            ..CompareOptions::default()
        };
        let (mut machines, mut outcomes, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for (machine, sides) in pairs {
            let (machine, outcome) = match sides {
                [Some(without), Some(with)] => match compare_results(without, with, &options) {
                    Ok(compared) => (Machine::of(machine, with, &compared), outcome(&compared)),
                    Err(why) => {
                        let machine = Machine::not_compared(machine, why.to_string());
                        refused.push(why);
                        (machine, Outcome::Refused)
                    }
                },
                [without, _] => {
                    let lacks = if without.is_none() { &base } else { &head };
                    let why = format!("{} has no result there", lacks.name);
                    (Machine::not_compared(machine, why), Outcome::Inconclusive)
                }
            };
            machines.push(machine);
            outcomes.push(outcome);
        }
        if refused.len() == machines.len() {
            if let Some(why) = refused.pop() {
                return Err(why);
            }
        }
        let mut trial = Self {
            schema: TRIAL_SCHEMA.to_owned(),
            outcome: outcomes.into_iter().max().unwrap_or(Outcome::Inconclusive),
            sentence: String::new(),
            base,
            head,
            machines,
            over_budget: Vec::new(),
        };
        trial.sentence = trial.say();
        Ok(trial)
    }

    /// All rows that changed or may have changed.
    pub fn rows(&self) -> impl Iterator<Item = (&Machine, &TrialRow)> {
        let machines = self.machines.iter();
        machines.flat_map(|machine| machine.rows.iter().map(move |row| (machine, row)))
    }

    /// Adds the functions of a row, or the reason why they are not known.
    pub fn explain(
        &mut self,
        machine: &str,
        benchmark: &str,
        explained: Result<Explanation, String>,
    ) {
        let machines = self.machines.iter_mut();
        let mut rows = machines
            .filter(|one| one.machine == machine)
            .flat_map(|one| &mut one.rows);
        if let Some(row) = rows.find(|row| row.benchmark == benchmark) {
            match explained {
                Ok(explanation) => {
                    row.functions = explanation.functions;
                    row.more_functions = explanation.more_functions;
                    row.calls = explanation.calls;
                    row.recorded_on = explanation.recorded_on;
                }
                Err(why) => row.unexplained = Some(why),
            }
        }
    }

    /// Whether there is anything to say about the change: a figure that changed, is in doubt or over a budget, or that
    /// was not compared.
    pub fn has_findings(&self) -> bool {
        self.outcome != Outcome::NoRegression || self.rows().next().is_some()
    }

    /// Returns the trial as JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    /// Returns the finding in one sentence: how many figures changed, with the worst one.
    fn say(&self) -> String {
        let count = |verdict| {
            let rows = self.rows();
            rows.filter(|(_, row)| row.verdict == verdict).count()
        };
        let (worse, better) = (count(Verdict::Worse), count(Verdict::Better));
        let unclear = count(Verdict::Inconclusive);
        let same: usize = self.machines.iter().map(|one| one.unchanged.len()).sum();
        let all = worse + better + unclear + same;
        if all == 0 {
            return "Nothing was compared.".to_owned();
        }
        let sides = format!("{} against {}", self.head.text(), self.base.text());
        let figures = |count: usize| match count {
            1 => "1 figure".to_owned(),
            count => format!("{count} figures"),
        };
        if worse + better + unclear == 0 {
            return format!("{sides}: 0 of {} changed.", figures(all));
        }
        let mut parts = Vec::new();
        if worse > 0 {
            let worst = self.machines.iter().flat_map(|one| {
                let worst = one.rows.iter().find(|row| row.verdict == Verdict::Worse);
                worst.map(|row| (one, row))
            });
            let worst = worst.min_by(|(_, one), (_, other)| one.order(other));
            let worst = worst.map_or(String::new(), |(machine, row)| {
                format!(
                    ", the worst is {} on {}, {}",
                    row.benchmark,
                    machine.machine,
                    row.change()
                )
            });
            parts.push(format!("{worse} of {} cost more{worst}", figures(all)));
        }
        if better > 0 {
            parts.push(format!("{better} of {} cost less", figures(all)));
        }
        if unclear > 0 {
            parts.push(format!("{unclear} of {} are in doubt", figures(all)));
        }
        format!("{sides}: {}.", parts.join("; "))
    }
}

/// The outcome of a machine. Without any verdict nothing was compared. A row whose usual cost is the same, and of which
/// some operations differ inside the band, is no doubt: layout does that.
fn outcome(compared: &SuiteComparison) -> Outcome {
    if !compared.rows.iter().any(|row| row.verdict.is_some()) {
        return Outcome::Inconclusive;
    }
    let mut rows = compared.rows.iter().filter_map(TrialRow::of);
    let in_doubt = rows.any(|row| row.verdict == Verdict::Inconclusive);
    match compared.outcome() {
        Outcome::Inconclusive if !in_doubt && compared.gaps().is_empty() => Outcome::NoRegression,
        outcome => outcome,
    }
}

impl Machine {
    /// Makes a machine of which nothing was compared.
    fn not_compared(machine: &str, why: String) -> Self {
        Self {
            machine: machine.to_owned(),
            not_compared: vec![why],
            ..Self::default()
        }
    }

    fn of(machine: &str, with: &ResultFile, compared: &SuiteComparison) -> Self {
        let mut rows: Vec<TrialRow> = compared.rows.iter().filter_map(TrialRow::of).collect();
        rows.sort_by(TrialRow::order);
        let is_shown = |name: &str| rows.iter().any(|row| row.benchmark == name);
        let judged = compared.rows.iter().filter(|row| row.verdict.is_some());
        let unchanged = judged
            .map(|row| row.benchmark.clone())
            .filter(|name| !is_shown(name))
            .collect();
        // A row that neither side measured has no reason, and tells nothing.
        let lacking = compared.rows.iter().filter(|row| row.verdict.is_none());
        let not_compared = lacking
            .filter(|row| row.base.is_some() || row.other.is_some())
            .map(|row| {
                let why = row.why.as_deref().unwrap_or("no reason is given");
                format!("{}: {why}", row.benchmark)
            })
            .collect();
        Self {
            machine: machine.to_owned(),
            architecture: ws_report::architecture(with).map(str::to_owned),
            base: compared.base.platform.clone(),
            head: compared.other.platform.clone(),
            rows,
            unchanged,
            figures: figures(with),
            not_compared,
            caveats: compared.caveats.clone(),
        }
    }
}
