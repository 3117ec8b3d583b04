//! `worldswitch history`: results over time, in an SQLite file or on a PostgreSQL server.

mod machines;
pub mod plot;

use crate::cli::{HistoryArgs, HistoryWhat, JudgeArgs};
use crate::shared::Done;
use crate::shared::judged::judge;
use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use ws_analysis::{Gap, GapKind, Outcome};
use ws_history::{Address, Filter, Pair, Place, Right, Run, Store};
use ws_terminal::columns::{columns, json};
use ws_terminal::{Colours, output};
use ws_text::terminal;

/// Runs a subcommand.
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
        HistoryWhat::Plot(plot) => plot::draw(&mut open()?, plot, colours)?,
        HistoryWhat::Pin { run } => output::remark(&pinned(&open()?.pin(*run)?), colours),
        HistoryWhat::Check {
            platform,
            host,
            allow_first,
            how,
        } => {
            let pairs = open()?.pairs(filter(platform, host))?;
            let asked = asked(filter(platform, host));
            let judged = check(&pairs, &asked, *allow_first, how, colours)?;
            return Ok(Done::Judged(judged));
        }
        HistoryWhat::Remove { run } => {
            let run = open()?.remove(*run)?;
            output::remark(
                &format!("run {} of {} is removed", run.id, run.platform),
                colours,
            );
        }
        HistoryWhat::Hosts {
            platform,
            all,
            json,
        } => machines::hosts(&mut open()?, filter(platform, &None), *all, *json, colours)?,
        HistoryWhat::Report {
            platform,
            host,
            output,
        } => machines::report(&mut open()?, filter(platform, host), output, colours)?,
        HistoryWhat::Copy { to } => copy(place, to, colours)?,
        HistoryWhat::Migrate => {
            let (before, now) = Store::migrate(place)?;
            let what = match before == now {
                true => format!("{place} already has version {now}"),
                false => format!("{place} was upgraded from version {before} to version {now}"),
            };
            output::remark(&what, colours);
        }
        HistoryWhat::Grant { right, roles } => grant(&mut open()?, *right, roles, colours)?,
    }
    Ok(Done::Whole)
}

/// Returns the history's address: from the command line, else from the environment, else the user's own file.
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

/// Formats the requested platform and host: ` of "lab:kvm" on "node1"`.
fn asked(filter: Filter<'_>) -> String {
    let part = |word: &str, name: Option<&str>| {
        name.map_or(String::new(), |name| {
            format!(" {word} {:?}", terminal(name))
        })
    };
    part("of", filter.platform) + &part("on", filter.host)
}

/// Formats a platform, with its host if the result names one.
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
    right: Right,
    roles: &[String],
    colours: Colours,
) -> anyhow::Result<()> {
    let may = match right {
        Right::Read => "may read",
        Right::Add => "may read and add",
        Right::Nothing => "may do nothing",
    };
    store.grant(right, roles)?;
    for role in roles {
        output::remark(&format!("{} {may}", terminal(role)), colours);
    }
    Ok(())
}

/// Judges the newest run of each pinned platform against the pinned run. `asked`: the requested runs, in words.
fn check(
    pairs: &[Pair],
    asked: &str,
    allow_first: bool,
    how: &JudgeArgs,
    colours: Colours,
) -> anyhow::Result<Outcome> {
    if pairs.is_empty() {
        bail!(
            "no run{asked} is pinned, so check has no base: pin a run from history list with history pin RUN"
        );
    }
    let (mut judged, mut alone) = (Vec::new(), Vec::new());
    for pair in pairs {
        let (run, base) = &pair.pinned;
        match &pair.newest {
            Some((_, newest)) => judged.push((base, newest)),
            None => alone.push(Gap {
                kind: GapKind::NoCounterpart,
                platform: run.platform.clone(),
                benchmarks: Vec::new(),
                why: format!(
                    "{}: no run is newer than the pinned run {}",
                    named(run),
                    run.id
                ),
            }),
        }
    }
    if allow_first {
        for gap in alone.drain(..) {
            output::remark(
                &format!("not judged, accepted by --allow-first: {}", gap.why),
                colours,
            );
        }
    }
    judge(&judged, alone, how, None, colours)
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
    for (result, added) in results.iter().zip(store.add_all(&results)?) {
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
    /// Runs, the oldest first.
    runs: Vec<ListedRun<'a>>,
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedRun<'a> {
    /// Number of the run.
    run: i64,
    /// Time at which the run began, in UTC.
    created: &'a str,
    platform: &'a str,
    /// Host that measured; null if the result does not name one.
    host: Option<&'a str>,
    kernel: Option<&'a str>,
    /// Program that measured.
    tool: &'a str,
    /// Command line of the program.
    command: &'a str,
    /// Whether `history check` compares newer runs with this run.
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
