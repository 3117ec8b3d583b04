//! `worldswitch history`: results over time, in an SQLite file or on a PostgreSQL server.

use crate::cli::{HistoryArgs, HistoryWhat, JudgeArgs, PlotArgs};
use crate::shared::judged::judge;
use crate::shared::{Done, write as write_file};
use anyhow::{anyhow, bail};
use ws_analysis::Outcome;
use ws_history::{Filter, History, Line, Place, Right, Series, Store, judged, lines, list, newest};
use ws_report::Hosts;
use ws_runner::benchmarks;
use ws_terminal::columns::json;
use ws_terminal::{Usage, output};
use ws_text::terminal;

/// Runs a subcommand.
pub fn history(args: &HistoryArgs) -> anyhow::Result<Done> {
    let place = &args.store.place()?;
    let open = || Store::open(place);
    match &args.what {
        HistoryWhat::Add { runs, pin_first } => add(place, runs, *pin_first)?,
        HistoryWhat::List { of, json: as_json } => {
            let runs = open()?.runs(of.to_filter())?;
            output::data(&match as_json {
                true => json(&History::of(&runs))?,
                false => list(&runs),
            })?;
        }
        HistoryWhat::Show { run, json: as_json } => {
            let result = open()?.result(*run)?;
            output::data(&match as_json {
                true => json(&result)?,
                false => ws_report::show(&result, output::is_coloured()),
            })?;
        }
        HistoryWhat::Plot(plot) => draw(&mut open()?, plot)?,
        HistoryWhat::Pin { run } => output::remark(&open()?.pin(*run)?.pinned_text()),
        HistoryWhat::Check {
            of,
            allow_first,
            how,
        } => {
            let judged = check(&mut open()?, of.to_filter(), *allow_first, how)?;
            return Ok(Done::Judged(judged));
        }
        HistoryWhat::Remove { run } => {
            let run = open()?.remove(*run)?;
            let text = format!("run {} of {} is removed", run.id, run.platform);
            output::remark(&text);
        }
        HistoryWhat::Hosts {
            platform,
            all,
            json,
        } => {
            let hosts = hosts(&mut open()?, platform.as_deref())?;
            output::data(&match json {
                true => hosts.to_json()?,
                false => hosts.to_terminal(output::is_coloured(), *all),
            })?;
        }
        HistoryWhat::Copy { to } => copy(place, to)?,
        HistoryWhat::Migrate => migrate(place)?,
        HistoryWhat::Grant { right, roles } => grant(&mut open()?, *right, roles)?,
    }
    Ok(Done::Whole)
}

fn add(place: &Place, specs: &[String], pin_first: bool) -> anyhow::Result<()> {
    let results = ws_results::load_all(specs)?;
    let mut store = Store::create(place)?;
    for (result, added) in results.iter().zip(store.add_all(&results)?) {
        let what = if added.new {
            "is"
        } else {
            "was already there as"
        };
        let (platform, id) = (terminal(&result.platform), added.id);
        let text = format!("{platform} of {} {what} run {id}", result.created);
        output::remark(&text);
        if pin_first {
            if let Some(run) = store.pin_first(id)? {
                output::remark(&run.pinned_text());
            }
        }
    }
    Ok(())
}

fn copy(from: &Place, to: &str) -> anyhow::Result<()> {
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
    output::remark(&text);
    Ok(())
}

fn migrate(place: &Place) -> anyhow::Result<()> {
    let (before, now) = Store::migrate(place)?;
    let what = match before == now {
        true => format!("{place} already has version {now}"),
        false => format!("{place} was upgraded from version {before} to version {now}"),
    };
    output::remark(&what);
    Ok(())
}

fn grant(store: &mut Store, right: Right, roles: &[String]) -> anyhow::Result<()> {
    store.grant(right, roles)?;
    let may = match right {
        Right::Read => "may read",
        Right::Add => "may read and add",
        Right::Nothing => "may do nothing",
    };
    for role in roles {
        output::remark(&format!("{} {may}", terminal(role)));
    }
    Ok(())
}

/// Judges the hosts of the newest runs.
fn hosts(store: &mut Store, platform: Option<&str>) -> anyhow::Result<Hosts> {
    let filter = Filter {
        platform,
        ..Filter::default()
    };
    let (_, kinds) = newest(store, filter)?;
    if kinds.is_empty() {
        bail!("no run{filter} names the host that measured");
    }
    Ok(Hosts::of(kinds))
}

/// Judges the newest run of each pinned platform against the pinned run.
fn check(
    store: &mut Store,
    filter: Filter<'_>,
    allow_first: bool,
    how: &JudgeArgs,
) -> anyhow::Result<Outcome> {
    let pairs = store.pairs(filter)?;
    if pairs.is_empty() {
        bail!(
            "no run{filter} is pinned, so check has no base: pin a run from history list with history pin RUN"
        );
    }
    let (judged, mut alone) = judged(&pairs);
    if allow_first {
        for gap in alone.drain(..) {
            let text = format!("not judged, accepted by --allow-first: {}", gap.why);
            output::remark(&text);
        }
    }
    judge(&judged, alone, how, None)
}

/// Draws a benchmark over time or over kernels.
fn draw(store: &mut Store, args: &PlotArgs) -> anyhow::Result<()> {
    let filter = args.of.to_filter();
    let points = store.points(&args.bench, filter)?;
    if points.is_empty() {
        return Err(no_figure(store, &args.bench, filter)?);
    }
    let lines = lines(&points, args.by);
    if args.json {
        return output::data(&json(&Series::of(&args.bench, &lines))?);
    }
    let Some(path) = &args.svg else {
        let text = lines.iter().map(|line| line.to_text(&args.bench));
        return output::data(&text.collect::<String>());
    };
    let [line] = lines.as_slice() else {
        let name = |line: &Line| format!("{} in {}", line.name(), line.unit);
        let names: Vec<String> = lines.iter().map(name).collect();
        bail!(Usage(format!(
            "an SVG plot shows one platform in one unit, and the history has {}: choose one with --platform, and in time also --host",
            names.join(", ")
        )));
    };
    let name = format!(
        "{} on {}, {} for one operation",
        args.bench,
        line.name(),
        line.unit
    );
    let values = line.values.iter().map(|one| (one.at.clone(), one.value));
    let svg = ws_report::page::line(&name, &line.unit, &values.collect::<Vec<_>>());
    if write_file(path, svg.as_bytes())? {
        output::remark(&format!("the plot is {}", path.display()));
    }
    Ok(())
}

/// Makes the error of a benchmark without figures.
fn no_figure(store: &mut Store, bench: &str, filter: Filter<'_>) -> anyhow::Result<anyhow::Error> {
    let known = store.benchmarks()?;
    let instead = match (known.is_empty(), known.iter().any(|name| name == bench)) {
        (true, _) => "the history has no figures".to_owned(),
        (false, true) => "history list shows its platforms".to_owned(),
        (false, false) => benchmarks::instead(bench, &known),
    };
    Ok(anyhow!(Usage(format!(
        "the history has no figure of {bench:?}{filter}; {instead}"
    ))))
}
