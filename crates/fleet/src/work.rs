//! The work of a campaign on a node: a task, after the node has proved itself, and the builds of kernels.

use crate::campaign::Campaign;
use crate::cell::Key;
use crate::folder::{Built, Folder};
use crate::measure::{Cell, Worker};
use crate::submission::{Build, Planned, Submission, Work};
use crate::task::Task;
use crate::verdict::Standing;
use crate::{carry, kept as history, queue, say};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::{env, fs};
use ws_kernels::build::Builder;
use ws_kernels::tree::{Commit, Tree};
use ws_lab::kernel::{Kernel, is_of_modules};
use ws_runner::Session;
use ws_runner::parts::{self, Parts};
use ws_terminal::{Progress, Stop, Stopped};

/// Returns this node's name in Slurm; outside of Slurm, this host's.
pub fn node() -> String {
    let slurm = env::var("SLURMD_NODENAME").ok();
    let name = slurm.or_else(ws_machines::host::name);
    name.unwrap_or_else(|| "unknown".to_owned())
}

/// Runs a job of Slurm: one task of an array, or a build. Slurm may kill the job at any time and start it again.
/// `parts`: the submitter's own files.
pub fn job(
    folder: &Path,
    submission: u32,
    job: &str,
    mut parts: Parts,
    session: &Session,
) -> anyhow::Result<()> {
    let folder = Folder::at(folder);
    let submission = folder.submission(submission)?;
    let part = submission.parts.iter().find(|part| part.job == job);
    let part =
        part.with_context(|| format!("submission {} has no job {job}", submission.number))?;
    let node = node();
    parts.lab.cache = Some(carry::cache(&submission.campaign.slurm, &node)?);
    let index = env::var("SLURM_ARRAY_TASK_ID").ok();
    let index: usize = index.map_or(Ok(0), |text| text.parse())?;
    if let Work::Build(index) = part.work {
        let build = submission.builds.get(index);
        let build = build.context("there is no such build")?;
        return builds(&folder, build, job, &parts, &session.stop);
    }
    let planned = submission.tasks_of(job).get(index);
    let planned = planned.with_context(|| format!("{job} has no task {index}"))?;
    let worker = Worker {
        folder: &folder,
        campaign: &submission.campaign.name,
        node: &node,
        job: &job_of(index),
        parts: &parts,
        session,
    };
    // The folder keeps the reason of a failed import, as it does for a failed measurement.
    if let Some(carried) = &submission.carried {
        let imported = carry::import(carried, &parts.lab);
        kept(&worker, planned, imported)?;
    }
    task(&worker, &submission, planned)?;
    Ok(())
}

/// Slurm's name of this task's job.
fn job_of(index: usize) -> String {
    match env::var("SLURM_ARRAY_JOB_ID").or_else(|_| env::var("SLURM_JOB_ID")) {
        Ok(job) => format!("{job}_{index}"),
        Err(_) => "none".to_owned(),
    }
}

/// Measures a task's cell, after the node has proved itself.
///
/// # Errors
/// The task failed, and the folder keeps the reason; or it was stopped, and is still to do.
pub fn task(
    worker: &Worker<'_>,
    submission: &Submission,
    planned: &Planned,
) -> anyhow::Result<Cell> {
    let done = proved(worker, submission)
        .and_then(|standing| Ok((standing, worker.measure(planned, false)?)));
    let what = format!("{} {}", planned.task.platform, planned.task.what());
    if let Ok((standing, (cell, key))) = &done {
        match cell {
            Cell::Measured => say(&format!("{what}: measured")),
            Cell::KnownFrom(node) => say(&format!("{what}: known, from {node}")),
        }
        if submission.campaign.post && *standing != Some(Standing::Odd) {
            post(worker, &submission.campaign, &planned.task, key);
        }
    }
    kept(worker, planned, done.map(|(_, (cell, _))| cell))
}

/// Adds a task's result to the campaign's history. If that fails, the result is in the folder, and `collect` adds it.
fn post(worker: &Worker<'_>, campaign: &Campaign, task: &Task, cell: &Key) {
    let added = worker.counted(task, cell).and_then(|result| {
        let result: Vec<_> = result.into_iter().collect();
        Ok(history::add(campaign, &result)?)
    });
    match added {
        Ok(told) => told.iter().for_each(|told| say(told)),
        Err(error) => say(&format!(
            "not in the history yet, collect adds it: {error:#}"
        )),
    }
}

/// Stores the reason why a task failed, unless it was stopped: then it is still to do.
fn kept<T>(worker: &Worker<'_>, planned: &Planned, done: anyhow::Result<T>) -> anyhow::Result<T> {
    let error = match &done {
        Err(error) if !error.is::<Stopped>() && !worker.session.stop.requested() => {
            format!("{error:#}")
        }
        _ => return done,
    };
    let folder = worker.folder;
    if let Err(error) = folder.fail(&planned.task.id(), worker.node, worker.job, &error) {
        say(&format!("can't keep the reason of the failure: {error}"));
    }
    done
}

/// Measures the cell that all nodes measure, and compares. Returns the degree of doubt in this node; None if it is
/// trusted, or there is no such cell. Fails if this node is odd and Slurm keeps the waiting tasks away from it.
fn proved(worker: &Worker<'_>, submission: &Submission) -> anyhow::Result<Option<Standing>> {
    let Some(proof) = &submission.proof else {
        return Ok(None);
    };
    let unbuilt = |name: &String| worker.folder.built(name) != Built::Yes;
    if proof.kernel.as_ref().is_some_and(unbuilt) {
        return Ok(None);
    }
    let planned = Planned {
        task: proof.clone(),
        cell: None,
    };
    let proof_of = || format!("the proof, {} {}", proof.platform, proof.what());
    let (_, key) = worker.measure(&planned, true).with_context(proof_of)?;
    let doubt = match worker.doubt(&key)? {
        Some(doubt) if doubt.standing == Standing::Odd => doubt,
        other => return Ok(other.map(|doubt| doubt.standing)),
    };
    let odd = format!(
        "{} gives other counts than {}: {} of {}",
        worker.node,
        doubt.against.join(", "),
        doubt.rows.join(", "),
        proof.platform
    );
    let job = env::var("SLURM_ARRAY_JOB_ID");
    if job.is_ok_and(|job| queue::avoid(&job, worker.node)) {
        bail!("{odd}; waiting tasks will not run on this node");
    }
    // A failure would free this node at once for the next waiting task, until none is left.
    say(&format!("{odd}; its results will be set apart"));
    Ok(Some(Standing::Odd))
}

/// Builds the kernels that are not built. The folder keeps the reason why one can't be built.
pub fn builds(
    folder: &Folder,
    build: &Build,
    job: &str,
    parts: &Parts,
    stop: &Stop,
) -> anyhow::Result<()> {
    let missing = build
        .kernels
        .iter()
        .filter(|kernel| folder.built(&kernel.name) != Built::Yes);
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return Ok(());
    }
    let cache = parts::store(&parts.lab)?;
    // Each job has a cache of its own: another job of this node may build the same repository.
    let cache = cache.root().join("builds").join(job);
    let tree = Tree::make(&build.tree, &cache, stop)?;
    let builder = Builder {
        command: build.command.clone(),
        config: parts::kernel_config(&parts.lab)?,
        debug: None,
    };
    for kernel in missing {
        let commit = Commit {
            id: kernel.commit.clone(),
            subject: kernel.subject.clone(),
        };
        say(&format!("{}: building: {}", commit.short(), commit.subject));
        tree.check_out(&commit)?;
        let log = folder.logs().join(format!("{}.build.log", kernel.name));
        let progress = Progress::new(false);
        match builder.build(&tree, &commit, &log, stop, &progress)? {
            Err(why) => folder.kernel_failed(&kernel.name, &why)?,
            Ok(_) => folder.keep_kernel(&kernel.name, &parts_of_kernel(&tree.out())?)?,
        }
    }
    // The worktree goes first: the repository has a record of it.
    drop(tree);
    let _ = fs::remove_dir_all(&cache);
    Ok(())
}

/// Lists the files of a kernel that a machine needs: the image, and the modules.
fn parts_of_kernel(out: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let image = Kernel::at(out)?.0.image;
    let mut files = vec![image.clone()];
    let mut folders = vec![out.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind.is_dir() {
                folders.push(path);
            } else if path != image && kind.is_file() && (folder == out || is_of_modules(&name)) {
                files.push(path);
            }
        }
    }
    Ok(files)
}
