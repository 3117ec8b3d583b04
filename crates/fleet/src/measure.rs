//! Measures one cell on this node, once.

use crate::cell::Key;
use crate::folder::{Built, Folder, Stored};
use crate::run::Run;
use crate::submission::Planned;
use crate::task::Task;
use crate::verdict::{self, Doubt};
use crate::{expand, kept, locked};
use anyhow::bail;
use std::path::Path;
use std::time::SystemTime;
use ws_results::ResultFile;
use ws_runner::parts::{self, Parts};
use ws_runner::plan::Parameters;
use ws_runner::rows::RowsOf;
use ws_runner::{Benchmarks, Output, RunSpec, Session, benchmarks, measure};
use ws_terminal::{Stopped, time};

/// A node at work for a campaign.
pub struct Worker<'a> {
    pub folder: &'a Folder,
    pub campaign: &'a str,
    /// The node's name.
    pub node: &'a str,
    /// Slurm's job.
    pub job: &'a str,
    pub parts: &'a Parts,
    pub session: &'a Session,
}

/// Outcome of a cell.
#[derive(Debug, PartialEq, Eq)]
pub enum Cell {
    Measured,
    /// The cell was measured before, on this node.
    KnownFrom(String),
}

impl Worker<'_> {
    /// Measures a cell, unless a trusted node has; as a `witness`, unless this node has. Returns the cell's key too.
    ///
    /// # Errors
    /// [`Stopped`], if the program was stopped; otherwise the reason why the cell can't be measured.
    pub fn measure(&self, planned: &Planned, witness: bool) -> anyhow::Result<(Cell, Key)> {
        let task = &planned.task;
        match task.kernel.as_ref().map(|name| self.folder.built(name)) {
            Some(Built::Failed(why)) => bail!("its kernel can't be built: {why}"),
            Some(Built::No) => bail!("its kernel is not built: the job that builds it has failed"),
            Some(Built::Yes) | None => {}
        }
        let resources = parts::resources(self.parts);
        let (key, exact) = expand::cell_here(task, &resources)?;
        if let Some(expected) = planned.cell.as_ref().filter(|expected| **expected != key) {
            bail!(
                "this node makes another machine than the submitting host (cell {key}, not {expected}): its worldswitch, guest image, monitor, recipe or kernel differs"
            );
        }
        // Each witness has a lock of its own: witnesses measure side by side.
        let who = witness.then_some(self.node);
        let waiting = format!("another task measures {key}: waiting for it");
        let _lock = locked(&self.session.stop, &waiting, || {
            self.folder.lock_cell(&key, who)
        })?;
        // The runs are read under the lock: another task may just have measured the cell.
        let runs = self.folder.runs_of(&key)?;
        if let Some(known) = self.known(&runs, witness) {
            return Ok((Cell::KnownFrom(known.run.node.clone()), key));
        }
        self.boot(task, &key, exact, witness)?;
        Ok((Cell::Measured, key))
    }

    /// Reads the result of a task's cell that counts, as [`measure`](Self::measure) left it. None if only nodes that
    /// are not trusted have measured the cell.
    pub fn counted(&self, task: &Task, cell: &Key) -> anyhow::Result<Option<ResultFile>> {
        let runs = self.folder.runs_of(cell)?;
        let known = self.known(&runs, false);
        Ok(known
            .map(|stored| kept::of_task(task, stored))
            .transpose()?)
    }

    /// Finds the run that makes another one needless.
    fn known<'a>(&self, runs: &'a [Stored], witness: bool) -> Option<&'a Stored> {
        let votes: Vec<_> = runs.iter().filter_map(Stored::vote).collect();
        let doubts = verdict::judge(&votes);
        runs.iter().find(|stored| match witness {
            true => stored.run.node == self.node,
            false => !stored.apart && !doubts.contains_key(&stored.run.node),
        })
    }

    /// Boots the machine, and publishes the result.
    fn boot(&self, task: &Task, key: &Key, exact: bool, witness: bool) -> anyhow::Result<()> {
        let made = self.folder.workshop(key, witness.then_some(self.node))?;
        let result = self.result(task, made.path())?;
        let at = time::rfc3339(SystemTime::now());
        let run = Run::of(&result, exact, self.campaign, self.node, self.job, &at);
        self.folder.publish(key, &made, &run)?;
        Ok(())
    }

    /// Measures a task. Its result is in `folder` too.
    fn result(&self, task: &Task, folder: &Path) -> anyhow::Result<ResultFile> {
        let spec = RunSpec {
            platforms: vec![task.platform.parse()?],
            benchmarks: Benchmarks::Matching(benchmarks::only(&task.rows)?),
            rows: task.apps.then_some(RowsOf::Applications),
            boots: Some(task.boots),
            perturb: Some(task.perturb),
            parameters: Parameters {
                samples: task.samples,
                ..Parameters::default()
            },
            seed: 1,
            output: Output {
                folder: Some(folder.to_owned()),
                force: false,
            },
            parts: self.parts.clone(),
            ..RunSpec::default()
        };
        let measured = measure(&spec, None, self.session)?;
        if measured.interrupted || self.session.stop.requested() {
            return Err(Stopped.into());
        }
        if let Some(problem) = measured.problems.first() {
            bail!("{}", problem.text);
        }
        match measured.results.into_iter().next() {
            Some(result) => Ok(result),
            None => bail!("nothing was measured"),
        }
    }

    /// Judges this node by all runs of a cell; None if it is trusted.
    pub fn doubt(&self, cell: &Key) -> anyhow::Result<Option<Doubt>> {
        let runs = self.folder.runs_of(cell)?;
        let votes: Vec<_> = runs.iter().filter_map(Stored::vote).collect();
        Ok(verdict::judge(&votes).remove(self.node))
    }
}
