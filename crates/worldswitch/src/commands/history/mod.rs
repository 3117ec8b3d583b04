//! `worldswitch history`: results over time, in an SQLite file or on a PostgreSQL server.

use crate::cli::{By, GrantedRight, HistoryArgs, HistoryWhat, JudgeArgs, PlotArgs};
use crate::commands::{Done, Usage, benchmarks, compare, write as write_file};
use crate::terminal::columns::{columns, json};
use crate::terminal::{Colours, output};
use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use ws_analysis::Outcome;
use ws_history::{Address, Filter, Place, Point, Right, Run, Store, by_version};
use ws_report::text::{pad_left, pad_right, terminal, width};

/// Length of the longest bar of a plot in the terminal, in columns.
const BAR: f64 = 40.0;

/// Runs a subcommand.
///
/// # Errors
/// There is no history, or no such run, or it can't be read or written.
pub fn history(args: &HistoryArgs, colours: Colours) -> anyhow::Result<Done> {
    let place = &place(args)?;
    let open = || Store::open(place);
    match &args.what {
        HistoryWhat::Add { runs, pin_first } => add(place, runs, *pin_first, colours)?,
        HistoryWhat::List {
            platform,
            host,
            json,
        } => list(&mut open()?, filter(platform, host), *json)?,
        HistoryWhat::Show { run, json: as_json } => {
            let result = open()?.result(*run)?;
            output::data(&match as_json {
                true => json(&result)?,
                false => ws_report::show(&result, colours.stdout),
            })?;
        }
        HistoryWhat::Plot(plot) => draw(&mut open()?, plot, colours)?,
        HistoryWhat::Pin { run } => output::remark(&pinned(&open()?.pin(*run)?), colours),
        HistoryWhat::Check {
            platform,
            host,
            how,
        } => {
            let judged = check(&mut open()?, filter(platform, host), how, colours)?;
            return Ok(Done::Judged(judged));
        }
        HistoryWhat::Remove { run } => {
            let run = open()?.remove(*run)?;
            output::remark(
                &format!("run {} of {} is removed", run.id, run.platform),
                colours,
            );
        }
        HistoryWhat::Copy { to } => copy(place, to, colours)?,
        HistoryWhat::Migrate => {
            let (before, now) = Store::migrate(place)?;
            let what = match before == now {
                true => format!("{place} is of version {now} already"),
                false => format!("{place} was of version {before} and is of version {now} now"),
            };
            output::remark(&what, colours);
        }
        HistoryWhat::Grant { right, roles } => grant(&mut open()?, *right, roles, colours)?,
    }
    Ok(Done::Whole)
}

/// Where the history is: as the command line says, else the environment, else the user's own.
fn place(args: &HistoryArgs) -> anyhow::Result<Place> {
    if let Some(url) = &args.db {
        return Ok(Place::Server(Box::new(Address::parse(url)?)));
    }
    if let Some(path) = &args.store {
        return Ok(Place::File(path.clone()));
    }
    match std::env::var("WORLDSWITCH_HISTORY") {
        Ok(text) if !text.is_empty() => Ok(Place::parse(&text)?),
        _ => Ok(Place::File(default_store()?)),
    }
}

fn filter<'a>(platform: &'a Option<String>, host: &'a Option<String>) -> Filter<'a> {
    Filter {
        platform: platform.as_deref(),
        host: host.as_deref(),
    }
}

/// ` of "lab:kvm" on "node1"`, as far as something was asked for.
fn asked(filter: Filter<'_>) -> String {
    let part = |word: &str, name: Option<&str>| {
        name.map_or(String::new(), |name| {
            format!(" {word} {:?}", terminal(name))
        })
    };
    part("of", filter.platform) + &part("on", filter.host)
}

/// A platform, with its host if it says one.
fn named(run: &Run) -> String {
    match run.host.as_str() {
        "" => terminal(&run.platform).into_owned(),
        host => format!("{} on {}", terminal(&run.platform), terminal(host)),
    }
}

fn pinned(run: &Run) -> String {
    let on = match run.judged_on.as_str() {
        "" => String::new(),
        host => format!(" on {}", terminal(host)),
    };
    let platform = terminal(&run.platform);
    format!(
        "newer runs of {platform}{on} are judged against run {}",
        run.id
    )
}

fn copy(from: &Place, to: &str, colours: Colours) -> anyhow::Result<()> {
    let to = &Place::parse(to)?;
    let copied = Store::open(from)?.copy_to(&mut Store::create(to)?)?;
    let numbers = match (copied.new, copied.same_numbers) {
        (0, _) => "",
        (_, true) => ", under the same numbers",
        (_, false) => ", under new numbers",
    };
    let known = match copied.known {
        0 => String::new(),
        known => format!("; {known} were there already"),
    };
    let text = format!(
        "{} runs and {} pins were copied to {to}{numbers}{known}",
        copied.new, copied.pins
    );
    output::remark(&text, colours);
    Ok(())
}

fn grant(
    store: &mut Store,
    right: GrantedRight,
    roles: &[String],
    colours: Colours,
) -> anyhow::Result<()> {
    let (right, may) = match right {
        GrantedRight::Read => (Right::Read, "may read"),
        GrantedRight::Add => (Right::Add, "may read and add"),
        GrantedRight::Nothing => (Right::Nothing, "may do nothing"),
    };
    store.grant(right, roles)?;
    for role in roles {
        output::remark(&format!("{} {may}", terminal(role)), colours);
    }
    Ok(())
}

/// Judges the newest run of each pinned platform against the pinned one.
fn check(
    store: &mut Store,
    filter: Filter<'_>,
    how: &JudgeArgs,
    colours: Colours,
) -> anyhow::Result<Outcome> {
    let pairs = store.pairs(filter)?;
    if pairs.is_empty() {
        bail!(
            "no run{} is pinned, so there is nothing to judge against: history list shows the runs, history pin RUN pins one",
            asked(filter)
        );
    }
    let mut judged = Vec::new();
    for pair in &pairs {
        let (run, base) = &pair.pinned;
        match &pair.newest {
            Some((_, newest)) => judged.push((base, newest)),
            None => {
                let name = named(run);
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

fn add(place: &Place, specs: &[String], pin_first: bool, colours: Colours) -> anyhow::Result<()> {
    let results = ws_results::load_all(specs)?;
    let mut store = Store::create(place)?;
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
        if pin_first {
            if let Some(run) = store.pin_first(id)? {
                output::remark(&pinned(&run), colours);
            }
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
    /// The machine that measured; null if the result does not say.
    host: Option<&'a str>,
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
            host: Some(run.host.as_str()).filter(|host| !host.is_empty()),
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

fn list(store: &mut Store, filter: Filter<'_>, as_json: bool) -> anyhow::Result<()> {
    let runs = store.runs(filter)?;
    if as_json {
        return output::data(&json(&History::of(&runs))?);
    }
    let lines = runs.iter().map(|run| {
        let pinned = if run.pinned { "pinned" } else { "" };
        let kernel = run.kernel.as_deref().unwrap_or("-");
        let host = if run.host.is_empty() { "-" } else { &run.host };
        [
            &run.id.to_string(),
            &run.created,
            &run.platform,
            host,
            kernel,
            pinned,
        ]
        .map(str::to_owned)
    });
    output::data(&columns(
        ["run", "began", "platform", "host", "kernel", ""],
        lines,
    ))
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

fn draw(store: &mut Store, args: &PlotArgs, colours: Colours) -> anyhow::Result<()> {
    let points = store.points(&args.bench, filter(&args.platform, &args.host))?;
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
            asked(filter(&args.platform, &args.host))
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
                host: String::new(),
                judged_on: String::new(),
                cell: None,
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
