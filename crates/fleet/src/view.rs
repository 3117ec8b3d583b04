//! All that is known of a campaign: measured cells, queued tasks, and nodes to trust.

use crate::budget::{self, Estimates};
use crate::campaign::{self, Campaign};
use crate::cell::Key;
use crate::digits::Digits;
use crate::expand::{CellOf, Expanded, Known};
use crate::folder::{Folder, FolderError, Stored};
use crate::slurm::{At, Queued};
use crate::submission::{Submission, Work};
use crate::verdict::{self, Doubt, Standing};
use crate::{kept, queue};
use anyhow::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use ws_runner::parts::{self, Parts};
use ws_terminal::Stop;

/// Context of an error of the history.
const HISTORY: &str = "can't read known results from the campaign's history. To go on without them, remove history from the campaign's file";

/// A campaign, its cells and nodes.
pub struct View {
    pub campaign: Campaign,
    pub folder: Folder,
    pub expanded: Expanded,
    /// State of each task, in the order of the tasks.
    pub states: Vec<State>,
    pub runs: Vec<Stored>,
    /// The nodes that are not trusted.
    pub doubts: BTreeMap<String, Doubt>,
    /// Numbers of the history's runs that answer a cell, by cell.
    pub kept: BTreeMap<Key, i64>,
    pub estimates: Estimates,
    /// Hours of one processor that this campaign has used.
    pub spent_hours: f64,
}

/// Progress of a task's cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Measured: a result of this node counts.
    Done(String),
    /// The history has the cell, under this number.
    Kept(i64),
    /// Another task measures the same cell.
    Twin,
    Running(String),
    /// The task waits in Slurm's queue, for Slurm's reason.
    Waiting(String),
    /// Only nodes of which one is wrong have measured the cell.
    Disputed,
    /// The only host that may measure the task is not trusted, as this text says.
    Untrusted(String),
    /// The last attempt failed, for this reason.
    Failed(String),
    ToDo,
    /// The machine can't be made, for this reason.
    Impossible(String),
}

impl State {
    /// Returns the state in a word, for people and programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Kept(_) => "known",
            Self::Twin => "same",
            Self::Running(_) => "running",
            Self::Waiting(_) => "waiting",
            Self::Disputed => "disputed",
            Self::Untrusted(_) => "untrusted",
            Self::Failed(_) => "failed",
            Self::ToDo => "to do",
            Self::Impossible(_) => "impossible",
        }
    }

    /// Whether there is a result that counts.
    pub fn is_measured(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Kept(_))
    }

    /// Whether a submission would measure the cell.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::ToDo | Self::Failed(_))
    }

    /// Whether Slurm has the task.
    pub fn is_queued(&self) -> bool {
        matches!(self, Self::Running(_) | Self::Waiting(_))
    }

    /// Node that measures or measured the cell.
    pub fn node(&self) -> Option<&str> {
        match self {
            Self::Done(node) | Self::Running(node) => Some(node),
            _ => None,
        }
    }

    /// Reason of the state, where there is one.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Waiting(why)
            | Self::Failed(why)
            | Self::Impossible(why)
            | Self::Untrusted(why) => Some(why),
            _ => None,
        }
    }
}

impl View {
    /// Reads the state of a file's campaign. `parts`: files that machines are made from.
    pub fn read(file: &Path, parts: &Parts, stop: &Stop) -> anyhow::Result<Self> {
        let (campaign, folder) = campaign::open(file)?;
        let resources = parts::resources(parts);
        let expanded = Expanded::of(&campaign, &folder, &resources, &parts.lab, stop)?;
        Self::of(campaign, folder, expanded, queue::known)
    }

    /// Looks at the folder, and asks Slurm with `queue`.
    pub fn of(
        campaign: Campaign,
        folder: Folder,
        expanded: Expanded,
        queue: impl Fn(&[Submission]) -> anyhow::Result<Vec<Queued>>,
    ) -> anyhow::Result<Self> {
        let submissions = folder.submissions()?;
        let live = live(&submissions, &queue(&submissions)?);
        // The runs are read after the queue: a task that ends in between is then seen as measured.
        let runs = folder.runs()?;
        let votes: Vec<_> = runs.iter().filter_map(Stored::vote).collect();
        let doubts = verdict::judge(&votes);
        let history = kept::open(&campaign).context(HISTORY)?;
        let kept = match history {
            Some(mut store) => {
                let doubted = doubted(&runs, &doubts);
                kept::known(&mut store, &expanded.tasks, &doubted).context(HISTORY)?
            }
            None => BTreeMap::new(),
        };
        let tasks = expanded.tasks.iter();
        let platforms = tasks.filter_map(|known| Some((known.key()?, &*known.task.platform)));
        let platforms: BTreeMap<&Key, &str> = platforms.collect();
        let measured = runs
            .iter()
            .filter_map(|stored| Some((*platforms.get(&stored.cell)?, &stored.run)));
        let estimates = Estimates::of(&campaign.budget, measured);
        let own = runs
            .iter()
            .filter(|stored| stored.run.campaign == campaign.name);
        let spent_hours = own.map(|stored| stored.run.seconds / 3600.0).sum();
        let mut view = Self {
            campaign,
            folder,
            expanded,
            states: Vec::new(),
            runs,
            doubts,
            kept,
            estimates,
            spent_hours,
        };
        let mut seen = BTreeSet::new();
        let states = view.expanded.tasks.iter();
        view.states = states
            .map(|known| view.state(known, &live, &mut seen))
            .collect();
        Ok(view)
    }

    fn state(&self, known: &Known, live: &BTreeMap<String, At>, seen: &mut BTreeSet<Key>) -> State {
        if let CellOf::Impossible(why) = &known.cell {
            return State::Impossible(why.clone());
        }
        let key = known.key();
        if let Some(stored) = key.and_then(|key| self.counted(key)) {
            seen.extend(key.cloned());
            return State::Done(stored.run.node.clone());
        }
        if let Some(run) = key.and_then(|key| self.kept.get(key)) {
            return State::Kept(*run);
        }
        let id = known.task.id();
        let queued = match live.get(&id) {
            Some(At::Running(node)) => Some(State::Running(node.clone())),
            Some(At::Waiting(why)) => Some(State::Waiting(why.clone())),
            Some(At::Stuck(_)) | None => None,
        };
        if let Some(queued) = queued {
            seen.extend(key.cloned());
            return queued;
        }
        // Another run on that host would not count either.
        let host = known.task.host.as_ref();
        if let Some(host) = host.filter(|host| self.doubts.contains_key(*host)) {
            return State::Untrusted(format!("its host {host} is not trusted"));
        }
        if let Some(key) = key {
            if !seen.insert(key.clone()) {
                return State::Twin;
            }
            // The cell in which nodes differ is to do: a third node's run of it decides.
            let decides = self.doubts.values().any(|doubt| doubt.cell == *key);
            let mut runs = self.runs.iter();
            if !decides && runs.any(|run| run.cell == *key && self.is_disputed(run)) {
                return State::Disputed;
            }
        }
        if let CellOf::Failed(why) = &known.cell {
            return State::Failed(format!("its kernel can't be built: {why}"));
        }
        match self.folder.failure(&id) {
            Some((place, why)) => State::Failed(format!("{place}: {why}")),
            None => State::ToDo,
        }
    }

    fn is_disputed(&self, stored: &Stored) -> bool {
        let doubt = self.doubts.get(&stored.run.node);
        doubt.is_some_and(|doubt| doubt.standing == Standing::Disputed)
    }

    /// Finds the run of a cell that counts: the first one of a node that is trusted.
    pub fn counted(&self, cell: &Key) -> Option<&Stored> {
        let mut runs = self.runs.iter();
        runs.find(|stored| stored.cell == *cell && !self.doubts.contains_key(&stored.run.node))
    }

    /// Sets runs of nodes that are not trusted apart, and puts others back.
    pub fn settle(&self) -> Result<(), FolderError> {
        for stored in &self.runs {
            let apart = self.doubts.contains_key(&stored.run.node);
            if apart != stored.apart {
                self.folder.set_apart(stored, apart)?;
            }
        }
        Ok(())
    }

    /// Counts the cells in a state.
    pub fn count(&self, is: impl Fn(&State) -> bool) -> usize {
        self.states.iter().filter(|state| is(state)).count()
    }

    /// Indices of the tasks that a submission would give to Slurm, and of those that the budget leaves out.
    pub fn open(&self) -> (Vec<usize>, Vec<usize>) {
        let open = (0..self.states.len())
            .filter(|index| self.states.get(*index).is_some_and(State::is_open));
        let mut open: Vec<usize> = open.collect();
        let mut built = BTreeSet::new();
        let hours: Vec<f64> = open
            .iter()
            .map(|index| self.hours_with_build(*index, &mut built))
            .collect();
        let queued: Vec<usize> = (0..self.states.len())
            .filter(|index| self.states.get(*index).is_some_and(State::is_queued))
            .collect();
        let given = self.spent_hours + self.hours(&queued);
        let count = budget::fitting(&self.campaign.budget, given, hours.into_iter());
        let left = open.split_off(count);
        (open, left)
    }

    /// Estimates the hours of a task, with its kernel's build if the task is the first that needs the kernel.
    fn hours_with_build<'a>(&'a self, index: usize, built: &mut BTreeSet<&'a str>) -> f64 {
        let Some(known) = self.expanded.tasks.get(index) else {
            return 0.0;
        };
        let kernel = known.task.kernel.as_deref();
        let builds =
            known.cell == CellOf::Unbuilt && kernel.is_some_and(|kernel| built.insert(kernel));
        let build = if builds {
            Estimates::build_hours()
        } else {
            0.0
        };
        self.estimates.hours(&known.task).0 + build
    }

    /// Estimates the hours of these tasks, with the builds of their kernels.
    pub fn hours(&self, tasks: &[usize]) -> f64 {
        let mut built = BTreeSet::new();
        tasks
            .iter()
            .map(|index| self.hours_with_build(*index, &mut built))
            .sum()
    }
}

/// Digits from nodes that are not trusted, by cell.
fn doubted(runs: &[Stored], doubts: &BTreeMap<String, Doubt>) -> BTreeMap<Key, Vec<Digits>> {
    let mut doubted: BTreeMap<Key, Vec<Digits>> = BTreeMap::new();
    let theirs = runs
        .iter()
        .filter(|stored| doubts.contains_key(&stored.run.node));
    for stored in theirs {
        if let Some(digits) = &stored.run.digits {
            doubted
                .entry(stored.cell.clone())
                .or_default()
                .push(digits.clone());
        }
    }
    doubted
}

/// Progress of each task in Slurm's queue, by the task's id: running goes before waiting.
fn live(submissions: &[Submission], queue: &[Queued]) -> BTreeMap<String, At> {
    let mut live = BTreeMap::new();
    for queued in queue {
        let task = submissions.iter().find_map(|submission| {
            let part = submission
                .parts
                .iter()
                .find(|part| part.job == queued.job)?;
            match part.work {
                Work::Tasks { .. } => submission.tasks_of(&queued.job).get(queued.index),
                Work::Build(_) => None,
            }
        });
        let Some(task) = task else { continue };
        let id = task.task.id();
        if !matches!(live.get(&id), Some(At::Running(_))) {
            live.insert(id, queued.at.clone());
        }
    }
    live
}
