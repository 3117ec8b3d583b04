//! `worldswitch history`: results over time, in an SQLite file.

mod store;

use crate::cli::{By, HistoryArgs, HistoryWhat, JudgeArgs, PlotArgs};
use crate::commands::{Done, Usage, benchmarks, compare, write as write_file};
use crate::terminal::columns::{columns, json};
use crate::terminal::{Colours, output};
use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use store::{Point, Run, Store, by_version};
use ws_analysis::Outcome;
use ws_report::text::{pad_left, pad_right, terminal, width};

/// Length of the longest bar of a plot in the terminal, in columns.
const BAR: f64 = 40.0;

/// Runs a subcommand.
///
/// # Errors
/// There is no history, or no such run, or it can't be read or written.
pub fn history(args: &HistoryArgs, colours: Colours) -> anyhow::Result<Done> {
    let path = match &args.store {
        Some(path) => path.clone(),
        None => default_store()?,
    };
    let path = path.as_path();
    match &args.what {
        HistoryWhat::Add { runs, pin_first } => add(path, runs, *pin_first, colours)?,
        HistoryWhat::List { platform, json } => {
            list(&Store::open(path)?, platform.as_deref(), *json)?
        }
        HistoryWhat::Show { run, json: as_json } => {
            let result = Store::open(path)?.result(*run)?;
            output::data(&match as_json {
                true => json(&result)?,
                false => ws_report::show(&result, colours.stdout),
            })?;
        }
        HistoryWhat::Plot(plot) => draw(&Store::open(path)?, plot, colours)?,
        HistoryWhat::Pin { run } => {
            let run = Store::open(path)?.pin(*run)?;
            output::remark(&pinned(&run), colours);
        }
        HistoryWhat::Check { platform, how } => {
            let store = Store::open(path)?;
            return Ok(Done::Judged(check(
                &store,
                platform.as_deref(),
                how,
                colours,
            )?));
        }
        HistoryWhat::Remove { run } => {
            let run = Store::open(path)?.remove(*run)?;
            output::remark(
                &format!("run {} of {} is removed", run.id, run.platform),
                colours,
            );
        }
    }
    Ok(Done::Whole)
}

fn pinned(run: &Run) -> String {
    let platform = terminal(&run.platform);
    format!("newer runs of {platform} are judged against run {}", run.id)
}

/// Judges the newest run of each pinned platform against the pinned one.
fn check(
    store: &Store,
    platform: Option<&str>,
    how: &JudgeArgs,
    colours: Colours,
) -> anyhow::Result<Outcome> {
    let pairs = store.pairs(platform)?;
    if pairs.is_empty() {
        bail!(
            "no run{} is pinned, so there is nothing to judge against: history list shows the runs, history pin RUN pins one",
            platform.map_or(String::new(), |name| format!(" of {:?}", terminal(name)))
        );
    }
    let mut judged = Vec::new();
    for pair in &pairs {
        let (run, base) = &pair.pinned;
        match &pair.newest {
            Some((_, newest)) => judged.push((base, newest)),
            None => {
                let name = terminal(&run.platform);
                let text = format!(
                    "{name} was not judged: no run is newer than the pinned {}",
                    run.id
                );
                output::remark(&text, colours);
            }
        }
    }
    compare::judge(&judged, how, None, colours)
}

/// `$XDG_DATA_HOME/worldswitch/history.sqlite`, by default in `~/.local/share` (XDG Base Directory
/// Specification 0.8).
fn default_store() -> anyhow::Result<PathBuf> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let data = absolute("XDG_DATA_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/share")))
        .context("neither XDG_DATA_HOME nor HOME is set: name the history file with --store")?;
    Ok(data.join("worldswitch/history.sqlite"))
}

fn add(path: &Path, specs: &[String], pin_first: bool, colours: Colours) -> anyhow::Result<()> {
    let results = ws_results::load_all(specs)?;
    let mut store = Store::create(path)?;
    for result in &results {
        let added = store.add(result)?;
        let what = if added.new {
            "is"
        } else {
            "was already there as"
        };
        let (platform, id) = (terminal(&result.platform), added.id);
        output::remark(
            &format!("{platform} of {} {what} run {id}", result.created),
            colours,
        );
        if pin_first && !store.has_pin(&result.platform)? {
            output::remark(&pinned(&store.pin(id)?), colours);
        }
    }
    Ok(())
}

/// The format version of `list --json`.
const HISTORY: &str = "worldswitch-history/1";

/// The runs as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub struct History<'a> {
    /// Always `worldswitch-history/1`.
    #[schemars(extend("const" = HISTORY))]
    schema: &'static str,
    /// The oldest first.
    runs: Vec<ListedRun<'a>>,
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedRun<'a> {
    /// Its number.
    run: i64,
    /// When it began, in UTC.
    created: &'a str,
    platform: &'a str,
    kernel: Option<&'a str>,
    /// The program that measured it.
    tool: &'a str,
    /// Its command line.
    command: &'a str,
    /// `history check` compares newer runs with it.
    pinned: bool,
}

impl<'a> History<'a> {
    fn of(runs: &'a [Run]) -> Self {
        let runs = runs.iter().map(|run| ListedRun {
            run: run.id,
            created: &run.created,
            platform: &run.platform,
            kernel: run.kernel.as_deref(),
            tool: &run.tool,
            command: &run.command,
            pinned: run.pinned,
        });
        Self {
            schema: HISTORY,
            runs: runs.collect(),
        }
    }
}

fn list(store: &Store, platform: Option<&str>, as_json: bool) -> anyhow::Result<()> {
    let runs = store.runs(platform)?;
    if as_json {
        return output::data(&json(&History::of(&runs))?);
    }
    let lines = runs.iter().map(|run| {
        let pinned = if run.pinned { "pinned" } else { "" };
        let kernel = run.kernel.as_deref().unwrap_or("-");
        [
            &run.id.to_string(),
            &run.created,
            &run.platform,
            kernel,
            pinned,
        ]
        .map(str::to_owned)
    });
    output::data(&columns(["run", "began", "platform", "kernel", ""], lines))
}

/// The format version of `plot --json`.
const SERIES: &str = "worldswitch-series/1";

/// A benchmark over time or over kernels, as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Series<'a> {
    /// Always `worldswitch-series/1`.
    #[schemars(extend("const" = SERIES))]
    schema: &'static str,
    benchmark: &'a str,
    /// One for each platform and unit.
    lines: Vec<SeriesLine<'a>>,
}

/// One platform's values of the benchmark.
#[derive(Debug, Serialize, JsonSchema)]
struct SeriesLine<'a> {
    platform: &'a str,
    unit: &'a str,
    values: Vec<SeriesValue<'a>>,
}

/// A value.
#[derive(Debug, Serialize, JsonSchema)]
struct SeriesValue<'a> {
    /// The date, or the kernel.
    at: &'a str,
    /// Of one operation.
    value: f64,
}

impl<'a> Series<'a> {
    fn of(benchmark: &'a str, lines: &'a [Line]) -> Self {
        let lines = lines.iter().map(|line| SeriesLine {
            platform: &line.platform,
            unit: &line.unit,
            values: line
                .values
                .iter()
                .map(|(at, value)| SeriesValue { at, value: *value })
                .collect(),
        });
        Self {
            schema: SERIES,
            benchmark,
            lines: lines.collect(),
        }
    }
}

/// One platform's values of the benchmark, each with its label (date or kernel).
struct Line {
    platform: String,
    unit: String,
    values: Vec<(String, f64)>,
}

fn draw(store: &Store, args: &PlotArgs, colours: Colours) -> anyhow::Result<()> {
    let points = store.points(&args.bench, args.platform.as_deref())?;
    if points.is_empty() {
        let known = store.benchmarks()?;
        let instead = match (known.is_empty(), known.contains(&args.bench)) {
            (true, _) => "it has none at all".to_owned(),
            (false, true) => "history list shows its platforms".to_owned(),
            (false, false) => benchmarks::instead(&args.bench, &known),
        };
        bail!(Usage(format!(
            "the history has no figure of {:?}{}; {instead}",
            args.bench,
            args.platform
                .as_ref()
                .map_or(String::new(), |name| format!(" on {name:?}")),
        )));
    }
    let lines = lines(&points, args.by);
    if args.json {
        return output::data(&json(&Series::of(&args.bench, &lines))?);
    }
    if let Some(path) = &args.svg {
        let [line] = lines.as_slice() else {
            let names: Vec<String> = lines
                .iter()
                .map(|line| format!("{} in {}", line.platform, line.unit))
                .collect();
            bail!(Usage(format!(
                "an SVG plot shows one platform in one unit, and the history has {}: choose one with --platform",
                names.join(", ")
            )));
        };
        let name = format!(
            "{} on {}, {} for one operation",
            args.bench, line.platform, line.unit
        );
        let svg = ws_report::page::line(&name, &line.unit, &line.values);
        if write_file(path, svg.as_bytes())? {
            output::remark(&format!("the plot is {}", path.display()), colours);
        }
        return Ok(());
    }
    let mut out = String::new();
    for line in &lines {
        let platform = terminal(&line.platform);
        let _ = writeln!(
            out,
            "{} on {platform}, {} for one operation",
            terminal(&args.bench),
            terminal(&line.unit)
        );
        bars(&mut out, line);
    }
    output::data(&out)
}

/// One line per platform and unit. By kernel, the runs of one kernel become their median, and all
/// variants of a platform are one line, because they differ in their kernels.
fn lines(points: &[Point], by: By) -> Vec<Line> {
    let name = |run: &Run| match by {
        By::Date => run.platform.clone(),
        By::Kernel => run
            .platform
            .split(['@', '+'])
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    let keys: BTreeSet<(String, &str)> = points
        .iter()
        .map(|p| (name(&p.run), p.unit.as_str()))
        .collect();
    keys.into_iter()
        .map(|(platform, unit)| {
            let here: Vec<&Point> = points
                .iter()
                .filter(|p| name(&p.run) == platform && p.unit == unit)
                .collect();
            let values = match by {
                By::Date => here
                    .iter()
                    .map(|p| (p.run.created.clone(), p.value))
                    .collect(),
                By::Kernel => by_kernel(&here),
            };
            Line {
                platform,
                unit: unit.to_owned(),
                values,
            }
        })
        .collect()
}

fn by_kernel(points: &[&Point]) -> Vec<(String, f64)> {
    let of = |point: &Point| point.run.kernel.clone().unwrap_or_else(|| "unknown".into());
    let mut kernels: Vec<String> = points.iter().map(|point| of(point)).collect();
    kernels.sort_by(|a, b| by_version(a, b));
    kernels.dedup();
    kernels
        .into_iter()
        .filter_map(|kernel| {
            let values: Vec<f64> = points
                .iter()
                .filter(|p| of(p) == kernel)
                .map(|p| p.value)
                .collect();
            Some((kernel, ws_analysis::statistics::median(&values)?))
        })
        .collect()
}

/// Prints one line per value: its label, the value, and a bar from zero.
fn bars(out: &mut String, line: &Line) {
    let greatest = line
        .values
        .iter()
        .map(|(_, value)| value.abs())
        .fold(0.0, f64::max);
    let texts: Vec<String> = line
        .values
        .iter()
        .map(|(_, v)| ws_report::value(*v, &line.unit))
        .collect();
    let names: Vec<String> = line
        .values
        .iter()
        .map(|(name, _)| terminal(name).into_owned())
        .collect();
    let widest = |texts: &[String]| texts.iter().map(|text| width(text)).max().unwrap_or(0);
    for ((name, text), (_, value)) in names.iter().zip(&texts).zip(&line.values) {
        let share = if greatest > 0.0 {
            value.max(0.0) / greatest
        } else {
            0.0
        };
        let bar = "#".repeat((share * BAR).round() as usize);
        let line = format!(
            "  {}  {}  {bar}",
            pad_right(name, widest(&names)),
            pad_left(text, widest(&texts))
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(kernel: &str, value: f64) -> Point {
        Point {
            run: Run {
                id: 1,
                created: "2026-01-01T00:00:00Z".into(),
                platform: format!("lab:kvm@{kernel}"),
                kernel: Some(kernel.into()),
                tool: String::new(),
                command: String::new(),
                pinned: false,
            },
            unit: "insns".into(),
            value,
            boots: 2,
            exact: Some(true),
        }
    }

    #[test]
    fn kernels_are_in_the_order_of_their_versions_and_variants_are_one_line() {
        let points = [point("6.12", 3.0), point("6.9", 1.0), point("6.12", 5.0)];
        let lines = lines(&points, By::Kernel);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].platform, "lab:kvm");
        assert_eq!(
            lines[0].values,
            [("6.9".to_owned(), 1.0), ("6.12".to_owned(), 4.0)]
        );
    }

    #[test]
    fn a_bar_is_as_long_as_its_value() {
        let mut out = String::new();
        let line = Line {
            platform: "x".into(),
            unit: "insns".into(),
            values: vec![("a".into(), 4.0), ("bb".into(), 2.0), ("c".into(), -1.0)],
        };
        bars(&mut out, &line);
        let bars: Vec<usize> = out.lines().map(|line| line.matches('#').count()).collect();
        assert_eq!(bars, [40, 20, 0]);
    }
}
