//! A campaign as text and as JSON.

use crate::folder::Built;
use crate::submission::{Part, Submission, Work};
use crate::verdict::{Doubt, Standing};
use crate::view::{State, View};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_terminal::columns::{self, columns};
use ws_terminal::output;

/// The format version of `--json`.
const SCHEMA: &str = "worldswitch-fleet/1";

/// The most cells that a text lists one by one.
const LISTED: usize = 20;

/// A campaign.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Fleet<'a> {
    /// Always `worldswitch-fleet/1`.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Name of the campaign.
    campaign: &'a str,
    /// The folder that all nodes share.
    folder: String,
    /// Cells, in the order of submission.
    cells: Vec<Listed<'a>>,
    /// The kernels that the campaign builds.
    kernels: Vec<BuiltKernel<'a>>,
    /// The nodes that have measured, by name.
    nodes: Vec<Node<'a>>,
    hours: Hours,
    /// Jobs that this command queued on Slurm.
    submitted: &'a [Submitted],
}

/// A cell.
#[derive(Debug, Serialize, JsonSchema)]
struct Listed<'a> {
    platform: &'a str,
    /// Host that must measure the cell; null if any host may.
    host: Option<&'a str>,
    /// Whether the cell's rows are workloads of a whole Linux.
    apps: bool,
    benchmarks: &'a [String],
    boots: u32,
    perturb: u32,
    /// Name of the cell; null while its kernel is not built.
    cell: Option<String>,
    /// State: `done`, `known` (the history has the result), `running`, `waiting`, `to do`, `failed` (submit tries
    /// again), `same` (another cell of the campaign is identical), `disputed` (nodes disagree, and it is unknown which
    /// is wrong), `untrusted` (only an untrusted host may measure the cell), `impossible` (the machine can't be made
    /// here).
    state: &'static str,
    /// Node that measures or measured the cell.
    node: Option<&'a str>,
    /// Run of the history that has the result.
    run: Option<i64>,
    /// Reason of the state.
    why: Option<&'a str>,
    /// Benchmarks without a figure that were not skipped.
    without_figure: &'a [String],
    /// Hours of one processor that the cell took, or is expected to take.
    hours: f64,
    /// Source of `hours`: `measured`, `like` (cells of the same machine), `guess`.
    hours_from: &'static str,
}

/// A kernel that the campaign builds.
#[derive(Debug, Serialize, JsonSchema)]
struct BuiltKernel<'a> {
    /// Name of the kernel's folder in `kernels`.
    name: &'a str,
    commit: &'a str,
    subject: &'a str,
    /// `built`, `to do` or `failed`.
    state: &'static str,
    /// Reason why the kernel can't be built.
    why: Option<String>,
}

/// A node that has measured.
#[derive(Debug, Serialize, JsonSchema)]
struct Node<'a> {
    name: &'a str,
    /// Number of cells that the node ran.
    runs: usize,
    /// Standing: `trusted`, `odd` (wrong) or `disputed` (this node or another one is wrong).
    standing: &'static str,
    why: Option<String>,
}

/// Hours of one processor.
#[derive(Debug, Serialize, JsonSchema)]
struct Hours {
    /// Hours that this campaign has used.
    spent: f64,
    /// Hours of the cells that a submission would queue on Slurm.
    open: f64,
    /// Hours of the cells that the budget leaves out.
    left_out: f64,
    /// Budget, in hours; null without a budget.
    limit: Option<f64>,
}

/// A job that was queued on Slurm.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Submitted {
    /// Name of the job.
    job: String,
    /// Slurm's number of the job.
    number: u64,
    /// Work of the job: `cells` or `build`.
    work: &'static str,
    /// Number of tasks.
    tasks: usize,
}

impl Submitted {
    /// Describes a part that is job `number`.
    pub fn of(part: &Part, number: u64) -> Self {
        let (work, tasks) = match part.work {
            Work::Tasks { count, .. } => ("cells", count),
            Work::Build(_) => ("build", 1),
        };
        Self {
            job: part.job.clone(),
            number,
            work,
            tasks,
        }
    }
}

/// Formats the campaign as JSON.
pub fn json(view: &View, submitted: &[Submitted]) -> serde_json::Result<String> {
    let (open, left) = view.open();
    let cells = view.expanded.tasks.iter().zip(&view.states);
    let cells = cells.map(|(known, state)| {
        let task = &known.task;
        let key = known.key();
        let run = key
            .and_then(|key| view.counted(key))
            .map(|stored| &stored.run);
        let (hours, seen) = view.estimates.hours(task);
        let (hours, hours_from) = match (run, seen) {
            (Some(run), _) => (run.seconds / 3600.0, "measured"),
            (None, true) => (hours, "like"),
            (None, false) => (hours, "guess"),
        };
        Listed {
            platform: &task.platform,
            host: task.host.as_deref(),
            apps: task.apps,
            benchmarks: &task.rows,
            boots: task.boots,
            perturb: task.perturb,
            cell: key.map(ToString::to_string),
            state: state.word(),
            node: state.node(),
            run: match state {
                State::Kept(run) => Some(*run),
                _ => None,
            },
            why: state.why(),
            without_figure: run.map_or(&[], |run| &run.without_figure),
            hours,
            hours_from,
        }
    });
    columns::json(&Fleet {
        schema: SCHEMA,
        campaign: &view.campaign.name,
        folder: view.folder.path().display().to_string(),
        cells: cells.collect(),
        kernels: kernels(view),
        nodes: nodes(view),
        hours: Hours {
            spent: view.spent_hours,
            open: view.hours(&open),
            left_out: view.hours(&left),
            limit: view.campaign.budget.core_hours,
        },
        submitted,
    })
}

fn kernels(view: &View) -> Vec<BuiltKernel<'_>> {
    let kernels = view.expanded.builds.iter().flat_map(|build| &build.kernels);
    let kernels = kernels.map(|kernel| {
        let (state, why) = match view.folder.built(&kernel.name) {
            Built::Yes => ("built", None),
            Built::No => ("to do", None),
            Built::Failed(why) => ("failed", Some(why)),
        };
        BuiltKernel {
            name: &kernel.name,
            commit: &kernel.commit,
            subject: &kernel.subject,
            state,
            why,
        }
    });
    kernels.collect()
}

fn nodes(view: &View) -> Vec<Node<'_>> {
    let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
    for stored in &view.runs {
        *runs.entry(&stored.run.node).or_default() += 1;
    }
    let nodes = runs.into_iter().map(|(name, runs)| {
        let doubt = view.doubts.get(name);
        Node {
            name,
            runs,
            standing: match doubt.map(|doubt| doubt.standing) {
                None => "trusted",
                Some(Standing::Odd) => "odd",
                Some(Standing::Disputed) => "disputed",
            },
            why: doubt.map(|doubt| why(view, name, doubt)),
        }
    });
    nodes.collect()
}

/// Says why a node is not trusted.
fn why(view: &View, node: &str, doubt: &Doubt) -> String {
    let mut tasks = view.expanded.tasks.iter();
    let task = tasks.find(|known| known.key() == Some(&doubt.cell));
    let whose = match task {
        Some(known) => known.task.platform.clone(),
        None => format!("cell {}", doubt.cell),
    };
    let what = format!("{} of {whose}", listed(&doubt.rows));
    match (doubt.standing, &*doubt.against) {
        (Standing::Odd, [own]) if own == node => {
            format!("it gave two different counts of {what}")
        }
        (Standing::Odd, others) => format!("it gives other counts than {}: {what}", listed(others)),
        (Standing::Disputed, others) => format!(
            "it and {} differ, and no third node has decided which is wrong: {what}",
            listed(others)
        ),
    }
}

/// Lists the first few names, and counts the others.
fn listed(names: &[String]) -> String {
    const FEW: usize = 4;
    let few: Vec<&str> = names.iter().take(FEW).map(|name| &**name).collect();
    match names.len().saturating_sub(FEW) {
        0 => few.join(", "),
        more => format!("{} and {more} more", few.join(", ")),
    }
}

/// Prints the nodes that are not trusted, and the cure.
pub fn doubts(view: &View) {
    for (node, doubt) in &view.doubts {
        let cure = match doubt.standing {
            Standing::Odd => format!(
                "Its results are set apart, and submit uses other nodes. After the repair: submit --repaired {node}"
            ),
            Standing::Disputed => "The results of both are set apart. A third node decides: submit on another node, or here with --local".to_owned(),
        };
        output::remark(&format!(
            "node {node} is not trusted: {}. {cure}",
            why(view, node, doubt)
        ));
    }
}

/// Counts the cells by state, in one line.
pub fn totals(view: &View) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for state in &view.states {
        match counts.iter_mut().find(|(word, _)| *word == state.word()) {
            Some((_, count)) => *count += 1,
            None => counts.push((state.word(), 1)),
        }
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let cells = match view.states.len() {
        1 => "1 cell".to_owned(),
        count => format!("{count} cells"),
    };
    format!("{cells}: {}", counts.join(", "))
}

/// Formats the plan as text.
pub fn plan(view: &View) -> String {
    let (open, left) = view.open();
    let known = view.count(State::is_measured);
    let mut text = table(view);
    text += &format!(
        "\n{} cells, {known} known. To submit: {}, {} of one processor",
        view.states.len(),
        open.len(),
        hours(view.hours(&open)),
    );
    let guessed = open.iter().filter(|index| {
        let known = view.expanded.tasks.get(**index);
        known.is_some_and(|known| !view.estimates.hours(&known.task).1)
    });
    match guessed.count() {
        0 => text += ", estimated from similar cells.\n",
        count => text += &format!(" ({count} guessed).\n"),
    }
    let unbuilt = kernels(view)
        .into_iter()
        .filter(|kernel| kernel.state != "built")
        .count();
    if unbuilt > 0 {
        text += &format!(
            "{unbuilt} kernels are not built yet. Their digests will show which of their cells are known.\n"
        );
    }
    if let Some(limit) = view.campaign.budget.core_hours {
        text += &format!("Budget: {} h, {} used.\n", limit, hours(view.spent_hours));
    }
    if !left.is_empty() {
        text += &format!(
            "Beyond the budget: {} cells, {}.\n",
            left.len(),
            hours(view.hours(&left))
        );
    }
    text + &details(view)
}

/// Formats the state as text.
pub fn status(view: &View) -> String {
    let mut text = format!("{}\n{}\n", table(view), totals(view));
    text += &format!("Used: {} of one processor.\n", hours(view.spent_hours));
    let nodes = nodes(view);
    if !nodes.is_empty() {
        text.push('\n');
        text += &columns(
            ["node", "runs", "", "why"],
            nodes.into_iter().map(|node| {
                [
                    node.name.to_owned(),
                    node.runs.to_string(),
                    node.standing.to_owned(),
                    node.why.unwrap_or_default(),
                ]
            }),
        );
    }
    text + &details(view)
}

/// Formats a line for each platform.
fn table(view: &View) -> String {
    let mut lines: Vec<(String, [usize; 5], f64)> = Vec::new();
    for (known, state) in view.expanded.tasks.iter().zip(&view.states) {
        let name = match &known.task.host {
            Some(host) => format!("{} on {host}", known.task.platform),
            None => known.task.platform.clone(),
        };
        let column = match state {
            State::Done(_) | State::Kept(_) => 1,
            State::Running(_) => 2,
            State::Waiting(_) => 3,
            _ => 4,
        };
        let open = if state.is_open() {
            view.estimates.hours(&known.task).0
        } else {
            0.0
        };
        let index = lines.iter().position(|(other, ..)| *other == name);
        let index = index.unwrap_or_else(|| {
            lines.push((name, [0; 5], 0.0));
            lines.len() - 1
        });
        let (_, counts, sum) = &mut lines[index];
        counts[0] += 1;
        counts[column] += 1;
        *sum += open;
    }
    columns(
        [
            "platform",
            "cells",
            "done",
            "running",
            "waiting",
            "not yet",
            "hours to do",
        ],
        lines.into_iter().map(|(name, counts, open)| {
            let [cells, done, running, waiting, rest] = counts.map(|count| count.to_string());
            [name, cells, done, running, waiting, rest, hours(open)]
        }),
    )
}

/// Lists cells that failed, are disputed, untrusted or impossible, each with its reason.
fn details(view: &View) -> String {
    let cells = view.expanded.tasks.iter().zip(&view.states);
    let cells = cells.filter(|(_, state)| {
        matches!(
            state,
            State::Failed(_) | State::Impossible(_) | State::Disputed | State::Untrusted(_)
        )
    });
    let lines: Vec<[String; 4]> = cells
        .map(|(known, state)| {
            let why = state
                .why()
                .unwrap_or("nodes differ, and a third node has not decided");
            [
                known.task.platform.clone(),
                known.task.what(),
                state.word().to_owned(),
                why.lines().next().unwrap_or_default().to_owned(),
            ]
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let more = lines.len().saturating_sub(LISTED);
    let shown = lines.into_iter().take(LISTED);
    let mut text = format!("\n{}", columns(["platform", "what", "", "why"], shown));
    if more > 0 {
        text += &format!("... and {more} more: --json has all\n");
    }
    text
}

/// Formats the jobs that were queued on Slurm as text.
pub fn submitted(view: &View, submission: &Submission, told: &[Submitted]) -> String {
    let jobs = told.iter().map(|one| {
        [
            one.job.clone(),
            one.number.to_string(),
            one.work.to_owned(),
            one.tasks.to_string(),
        ]
    });
    format!(
        "{}\nsubmitted {} of {} cells; {} known\n",
        columns(["job", "number", "work", "tasks"], jobs),
        submission.tasks.len(),
        view.states.len(),
        view.count(State::is_measured),
    )
}

/// Formats hours of one processor; minutes if less than an hour.
fn hours(hours: f64) -> String {
    match hours {
        0.0 => "0 h".to_owned(),
        hours if hours < 1.0 => format!("{:.1} min", hours * 60.0),
        hours => format!("{hours:.1} h"),
    }
}
