//! `worldswitch lab check`: checks benchmarks' instruction counts on lab machines against a budget.

use super::budget::{self, Budget, PlatformBudget};
use crate::cli::lab::CheckArgs;
use crate::cli::session;
use crate::shared::figure::{self, Figure, number};
use crate::shared::{Done, export, input, on_stdout, write as write_file};
use anyhow::bail;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::rc::Rc;
use ws_analysis::Outcome;
use ws_machines::image::GuestImage;
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_machines::resources::Resources;
use ws_results::ResultFile;
use ws_runner::{Benchmarks, Folder, RunSpec, Session, benchmarks, measure, parts};
use ws_terminal::columns::{self, columns};
use ws_terminal::{Colours, Stop, Usage, output};

/// The format version of `--json`.
const SCHEMA: &str = "worldswitch-check/1";

/// Checks the budget, or writes one.
///
/// # Errors
/// The budget is wrong, nothing could be measured, or something can't be written.
pub fn check(args: &CheckArgs, colours: Colours) -> anyhow::Result<Done> {
    let markdown_to = args.export_markdown.as_deref();
    let json_to = args.json.then_some(Path::new("-"));
    let piped = on_stdout([markdown_to, json_to])?;
    let session = session(Stop::listen()?, colours);
    let resources = parts::resources(&args.parts.to_parts(), Vec::new());
    if args.write {
        return write(args, &resources, &session);
    }
    let budget = read(&args.budget)?;
    sound(&budget, &resources).map_err(|why| Usage(format!("{}: {why}", args.budget.display())))?;
    let mut measured = Measured::default();
    for group in groups(&budget) {
        let names = group.iter().map(|one| one.platform.clone()).collect();
        let rows: Vec<&str> = group.first().map_or(Vec::new(), |one| names_of(one));
        let rows = rows.into_iter().map(str::to_owned).collect();
        measured.run(args, names, Benchmarks::Named(rows), &session)?;
    }
    let lines = lines(&budget, &measured.results);
    let legend = figure::legend(measured.results.iter());
    if !piped {
        output::data(&(table(&lines) + &legend))?;
    }
    export(json_to, || {
        Ok(columns::json(&Checked::of(&lines, &measured))?)
    })?;
    export(markdown_to, || Ok(markdown(&lines, &legend)))?;
    measured.tell(colours);
    for line in &lines {
        if let Err(why) = &line.figure {
            let why = format!("not judged: {} on {}: {why}", line.benchmark, line.platform);
            output::remark(&why, colours);
        }
    }
    Ok(measured.done(outcome(&lines)))
}

/// The overall outcome of the lines. No line is no pass.
fn outcome(lines: &[Line<'_>]) -> Outcome {
    let outcomes = lines.iter().map(Line::outcome);
    outcomes.max().unwrap_or(Outcome::Inconclusive)
}

/// Reads a budget file.
fn read(path: &Path) -> anyhow::Result<Budget> {
    budget::parse(&input::read(path)?)
        .map_err(|why| Usage(format!("{} is not a budget: {why}", path.display())).into())
}

/// Checks that all platforms and benchmarks of a budget exist.
fn sound(budget: &Budget, resources: &Resources) -> Result<(), String> {
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
        for row in &one.rows {
            let known: Vec<&str> = image.rows.iter().map(|row| row.name.as_str()).collect();
            benchmarks::check(&row.benchmark, &known)
                .map_err(|why| format!("line {}: {why}", row.line))?;
        }
    }
    Ok(())
}

/// The names of its benchmarks, sorted.
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
struct Measured {
    results: Vec<ResultFile>,
    folder: Option<Rc<Folder>>,
    remarks: Vec<String>,
    /// Some platform did not measure everything.
    lacking: bool,
    /// Of some platform no figure can be trusted.
    broken: bool,
}

impl Measured {
    fn run(
        &mut self,
        args: &CheckArgs,
        platforms: Vec<PlatformName>,
        benchmarks: Benchmarks,
        session: &Session,
    ) -> anyhow::Result<()> {
        let spec = RunSpec {
            platforms,
            benchmarks,
            perturb: Some(args.perturb),
            parts: args.parts.to_parts(),
            output: args.output.to_output(),
            ..RunSpec::default()
        };
        let measured = measure(&spec, self.folder.clone(), session)?;
        measured.tell_problems(session.colours);
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

    /// How the command ends: what is over counts although something else could not be measured.
    fn done(&self, outcome: Outcome) -> Done {
        match outcome {
            _ if self.broken => Done::InPart,
            Outcome::Regression => Done::Judged(outcome),
            _ if self.lacking => Done::InPart,
            _ => Done::Judged(outcome),
        }
    }

    fn folder(&self) -> Option<String> {
        let folder = self.folder.as_ref()?;
        Some(folder.path().display().to_string())
    }

    fn tell(&self, colours: Colours) {
        for remark in &self.remarks {
            output::remark(remark, colours);
        }
        if let (Some(folder), false) = (self.folder(), self.results.is_empty()) {
            output::remark(&format!("results are in {folder}"), colours);
        }
    }
}

/// One benchmark on one platform.
struct Line<'a> {
    platform: String,
    benchmark: &'a str,
    budget: f64,
    figure: Result<Figure, String>,
}

fn lines<'a>(budget: &'a Budget, results: &[ResultFile]) -> Vec<Line<'a>> {
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
    /// A figure is over only if its whole band is.
    fn outcome(&self) -> Outcome {
        match &self.figure {
            Err(_) => Outcome::Inconclusive,
            Ok(figure) if figure.insns <= self.budget => Outcome::NoRegression,
            Ok(figure) if figure.band.0 <= self.budget => Outcome::Inconclusive,
            Ok(_) => Outcome::Regression,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.outcome() {
            _ if self.figure.is_err() => "no value",
            Outcome::NoRegression => "within",
            Outcome::Regression => "over",
            Outcome::Inconclusive | Outcome::Refused => "in doubt",
        }
    }

    /// How much of the budget is left, or by how much the figure is over.
    fn left(&self) -> String {
        let figure = match &self.figure {
            Ok(figure) => figure,
            Err(why) => return format!("no value: {}", why.lines().next().unwrap_or_default()),
        };
        let left = self.budget - figure.insns;
        match self.outcome() {
            Outcome::NoRegression => format!("{} left", number(left)),
            Outcome::Inconclusive => {
                format!("{} over, inside the band: in doubt", number(-left))
            }
            _ => format!("{} OVER", number(-left)),
        }
    }
}

/// The heads of the table, and a line's cells.
const HEADS: [&str; 6] = ["platform", "benchmark", "budget", "measured", "band", ""];

fn cells(line: &Line<'_>) -> [String; 6] {
    let figure = |of: fn(&Figure) -> String| line.figure.as_ref().map_or_else(|_| "-".into(), of);
    [
        line.platform.clone(),
        line.benchmark.to_owned(),
        number(line.budget),
        figure(|figure| number(figure.insns)),
        figure(Figure::band_text),
        line.left(),
    ]
}

fn table(lines: &[Line<'_>]) -> String {
    columns(HEADS, lines.iter().map(cells)) + "\n"
}

/// A job's summary: how many benchmarks have which verdict, and the table.
fn markdown(lines: &[Line<'_>], legend: &str) -> String {
    let counts = ["over", "in doubt", "no value", "within"].into_iter();
    let counts = counts.filter_map(|verdict| {
        let count = lines.iter().filter(|one| one.verdict() == verdict).count();
        (count > 0).then(|| format!("{count} {verdict}"))
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let heads = HEADS.join(" | ");
    let mut out = format!("### Budget: {counts}\n\n| {heads} |\n|---|---|---:|---:|---|---|\n");
    for line in lines {
        let cells = cells(line).map(|cell| ws_text::markdown(&cell));
        out += &format!("| {} |\n", cells.join(" | "));
    }
    out.push('\n');
    for line in legend.lines() {
        out += &format!("- {}\n", ws_text::markdown(line));
    }
    out
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
    /// In the budget's order.
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
    /// Of the budget; negative if it is over.
    left: Option<f64>,
    /// `within`, `over`, `in doubt` or `no value`.
    verdict: &'static str,
    why: Option<&'a str>,
}

impl<'a> Checked<'a> {
    fn of(lines: &'a [Line<'a>], measured: &Measured) -> Self {
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

/// Measures, and writes a budget that the figures just meet.
fn write(args: &CheckArgs, resources: &Resources, session: &Session) -> anyhow::Result<Done> {
    let path = &args.budget;
    if path.exists() {
        bail!(Usage(format!(
            "{} is there already: remove it, or name another file",
            path.display()
        )));
    }
    let names: Vec<_> = args.on.iter().flatten().cloned().collect();
    for name in &names {
        if name.family.as_deref() != Some("lab") {
            bail!(Usage(format!(
                "{name} does not count instructions: name a lab machine, such as lab:kvm"
            )));
        }
        platforms::check(name, resources).map_err(|e| Usage(e.to_string()))?;
    }
    let mut measured = Measured::default();
    measured.run(args, names, args.bench.clone().into(), session)?;
    measured.tell(session.colours);
    if measured.lacking {
        bail!("no budget was written: some platform did not measure everything");
    }
    let mut all = Vec::new();
    let mut any = false;
    for result in &measured.results {
        let rows = result.rows.iter().map(|row| {
            let figure = Figure::of(result, &row.benchmark);
            any |= figure.is_ok();
            (row.benchmark.clone(), figure)
        });
        all.push((result.platform.clone(), rows.collect()));
    }
    if !any {
        bail!("no budget was written: no benchmark has an exact figure");
    }
    if write_file(path, budget::write(&all).as_bytes())? {
        output::remark(
            &format!("the budget is in {}", path.display()),
            session.colours,
        );
    }
    Ok(Done::Whole)
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
