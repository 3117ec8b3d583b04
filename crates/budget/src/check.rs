//! A check: measures the benchmarks of a budget, and judges each figure.

use crate::Limits;
use crate::budget::{Budget, PlatformBudget};
use anyhow::bail;
use schemars::JsonSchema;
use serde::Serialize;
use std::rc::Rc;
use ws_analysis::{Figure, Outcome};
use ws_machines::image::GuestImage;
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_machines::resources::Resources;
use ws_results::ResultFile;
use ws_runner::{Benchmarks, Folder, RunSpec, Session, benchmarks, measure};

/// The format version of `--json`.
const SCHEMA: &str = "worldswitch-check/1";

/// The overall outcome of the lines. No line is no pass.
pub fn outcome(lines: &[Line<'_>]) -> Outcome {
    let outcomes = lines.iter().map(Line::outcome);
    outcomes.max().unwrap_or(Outcome::Inconclusive)
}

/// Checks that all platforms and benchmarks of a budget exist; an error names the line.
pub fn sound(budget: &Budget, resources: &Resources) -> Result<(), String> {
    for one in &budget.platforms {
        let at = |why: String| format!("line {}: {why}", one.line);
        let name = &one.platform;
        if name.family.as_deref() != Some("lab") {
            return Err(at(format!(
                "{name} does not count instructions: name a lab machine, such as lab:kvm"
            )));
        }
        let platform = platforms::check(name, resources).map_err(|e| at(e.to_string()))?;
        let image = resources.guest_for(platform.architecture());
        let image = GuestImage::read(&image.map_err(|e| e.to_string())?);
        let image = image.map_err(|e| e.to_string())?;
        let known: Vec<&str> = image.rows.iter().map(|row| row.name.as_str()).collect();
        for row in &one.rows {
            benchmarks::check(&row.benchmark, &known)
                .map_err(|why| format!("line {}: {why}", row.line))?;
        }
    }
    Ok(())
}

/// Names of a platform's benchmarks, sorted.
fn names_of(one: &PlatformBudget) -> Vec<&str> {
    let mut names: Vec<&str> = one.rows.iter().map(|row| row.benchmark.as_str()).collect();
    names.sort_unstable();
    names
}

/// Groups platforms with the same benchmarks: each group is measured in one run. A platform runs only
/// the benchmarks in its budget, so that the budget of one platform can't change figures of another.
fn groups(budget: &Budget) -> Vec<Vec<&PlatformBudget>> {
    let mut groups: Vec<Vec<&PlatformBudget>> = Vec::new();
    for one in &budget.platforms {
        let like = |group: &&mut Vec<&PlatformBudget>| {
            group.iter().all(|other| names_of(other) == names_of(one))
        };
        match groups.iter_mut().find(like) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// The results of all runs of one check.
#[derive(Default)]
pub struct Measured {
    pub results: Vec<ResultFile>,
    pub folder: Option<Rc<Folder>>,
    pub remarks: Vec<String>,
    /// Whether some platform did not measure everything.
    pub lacking: bool,
    /// Whether some platform has no figure that can be trusted.
    pub broken: bool,
}

impl Measured {
    /// Measures the platforms and benchmarks of a budget; everything else is as in `spec`.
    pub fn of(budget: &Budget, spec: &RunSpec, session: &Session) -> anyhow::Result<Self> {
        let mut measured = Self::default();
        for group in groups(budget) {
            let platforms = group.iter().map(|one| one.platform.clone()).collect();
            let names = group.first().map_or(Vec::new(), |one| names_of(one));
            let names = names.into_iter().map(str::to_owned).collect();
            measured.run(spec, platforms, Benchmarks::Named(names), session)?;
        }
        Ok(measured)
    }

    /// Measures these benchmarks on these platforms, in the folder of the runs before; everything else is as in `spec`.
    ///
    /// # Errors
    /// Nothing could be measured, or the user stopped the run.
    pub fn run(
        &mut self,
        spec: &RunSpec,
        platforms: Vec<PlatformName>,
        benchmarks: Benchmarks,
        session: &Session,
    ) -> anyhow::Result<()> {
        let spec = RunSpec {
            platforms,
            benchmarks,
            ..spec.clone()
        };
        let measured = measure(&spec, self.folder.clone(), session)?;
        measured.tell_problems();
        if measured.interrupted {
            bail!("stopped");
        }
        self.lacking |= !measured.problems.is_empty();
        self.broken |= measured.problems.iter().any(|problem| problem.broken);
        self.results.extend(measured.results);
        self.remarks.extend(measured.remarks);
        self.folder.get_or_insert(measured.folder);
        Ok(())
    }

    /// Exact figures by platform and benchmark, the upper end of each band; and the reason for each benchmark without
    /// one.
    pub fn figures(&self) -> (Limits, Vec<String>) {
        let (mut figures, mut without) = (Vec::new(), Vec::new());
        for result in &self.results {
            let mut rows = Vec::new();
            for row in &result.rows {
                match Figure::of(result, &row.benchmark) {
                    Ok(figure) => rows.push((row.benchmark.clone(), figure.band.1)),
                    Err(why) => {
                        without.push(format!("{} on {}: {why}", row.benchmark, result.platform));
                    }
                }
            }
            figures.push((result.platform.clone(), rows));
        }
        (figures, without)
    }

    /// Folder of the results.
    pub fn folder(&self) -> Option<String> {
        let folder = self.folder.as_ref()?;
        Some(folder.path().display().to_string())
    }
}

/// Budget and figure of one benchmark on one platform.
pub struct Line<'a> {
    pub platform: String,
    pub benchmark: &'a str,
    pub budget: f64,
    pub figure: Result<Figure, String>,
}

/// The lines of a budget, in its order.
pub fn lines<'a>(budget: &'a Budget, results: &[ResultFile]) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for one in &budget.platforms {
        let platform = one.platform.to_string();
        let result = results.iter().find(|result| result.platform == platform);
        for row in &one.rows {
            lines.push(Line {
                platform: platform.clone(),
                benchmark: &row.benchmark,
                budget: row.insns,
                figure: result
                    .ok_or_else(|| "nothing was measured".to_owned())
                    .and_then(|result| Figure::of(result, &row.benchmark)),
            });
        }
    }
    lines
}

impl Line<'_> {
    /// Judges the figure: it is over the budget only if its whole band is.
    pub fn outcome(&self) -> Outcome {
        let figure = self.figure.as_ref();
        figure.map_or(Outcome::Inconclusive, |figure| figure.against(self.budget))
    }

    /// Returns the outcome in a word.
    pub fn verdict(&self) -> &'static str {
        match self.outcome() {
            _ if self.figure.is_err() => "no value",
            Outcome::NoRegression => "within",
            Outcome::Regression => "over",
            Outcome::Inconclusive | Outcome::Refused => "in doubt",
        }
    }
}

/// The outcome as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checked<'a> {
    /// Always `worldswitch-check/1`.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The overall outcome: `regression` if something is over, else `inconclusive` if something
    /// is in doubt or has no value.
    outcome: Outcome,
    /// Whether every platform gave all that was asked.
    whole: bool,
    /// The folder of the results.
    results: Option<String>,
    /// Rows in the budget's order.
    rows: Vec<CheckedRow<'a>>,
}

/// A benchmark on a platform.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckedRow<'a> {
    platform: &'a str,
    benchmark: &'a str,
    /// Always `insns`.
    unit: &'static str,
    /// The most instructions that one operation may cost.
    budget: f64,
    /// The mode; null if there is no exact figure, with the reason in `why`.
    measured: Option<f64>,
    /// The least and the greatest over all boots.
    band: Option<[f64; 2]>,
    /// Instructions that the budget has left; negative if the figure is over it.
    left: Option<f64>,
    /// `within`, `over`, `in doubt` or `no value`.
    verdict: &'static str,
    why: Option<&'a str>,
}

impl<'a> Checked<'a> {
    /// Makes the JSON of these lines.
    pub fn of(lines: &'a [Line<'a>], measured: &Measured) -> Self {
        let rows = lines.iter().map(|line| {
            let figure = line.figure.as_ref().ok();
            CheckedRow {
                platform: &line.platform,
                benchmark: line.benchmark,
                unit: "insns",
                budget: line.budget,
                measured: figure.map(|figure| figure.insns),
                band: figure.map(|figure| [figure.band.0, figure.band.1]),
                left: figure.map(|figure| line.budget - figure.insns),
                verdict: line.verdict(),
                why: line.figure.as_ref().err().map(String::as_str),
            }
        });
        Self {
            schema: SCHEMA,
            outcome: outcome(lines),
            whole: !measured.lacking,
            results: measured.folder(),
            rows: rows.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn platforms_with_the_same_benchmarks_run_together() {
        let text = "[budget.\"lab:a\"]\nin = 1\nout = 1\n[budget.\"lab:b\"]\nin = 1\n[budget.\"lab:c\"]\nout = 2\nin = 2\n";
        let budget = parse(text).unwrap();
        let names = |group: &Vec<&PlatformBudget>| -> Vec<String> {
            group.iter().map(|one| one.platform.to_string()).collect()
        };
        let groups: Vec<_> = groups(&budget).iter().map(names).collect();
        assert_eq!(groups, [vec!["lab:a", "lab:c"], vec!["lab:b"]]);
    }
}
