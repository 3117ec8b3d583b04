//! Runs Slurm's commands.

use crate::slurm::{self, Queued};
use crate::submission::Submission;
use anyhow::{Context, bail};
use std::io;
use std::process::{Command, Output};

/// Runs a command of Slurm to its end; None if there is no such command.
fn run(program: &str, words: &[String]) -> anyhow::Result<Option<Output>> {
    match Command::new(program)
        .args(words)
        .env("LC_ALL", "C")
        .output()
    {
        Ok(output) => Ok(Some(output)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).with_context(|| format!("can't run {program}")),
    }
}

/// Runs a command of Slurm that must succeed, and returns its output.
fn ask(program: &str, words: &[String]) -> anyhow::Result<String> {
    let Some(output) = run(program, words)? else {
        bail!(
            "there is no {program} here: submit on a host of the cluster, or measure on this one with --local"
        );
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} failed: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks that there is a Slurm to submit to.
pub fn is_there() -> anyhow::Result<()> {
    ask("sbatch", &["--version".to_owned()]).map(drop)
}

/// Lists the tasks of these submissions that Slurm has.
pub fn queued(submissions: &[Submission]) -> anyhow::Result<Vec<Queued>> {
    // More names would make a command line too long.
    const AT_ONCE: usize = 500;
    let parts = submissions.iter().flat_map(|submission| &submission.parts);
    let jobs: Vec<&str> = parts.map(|part| &*part.job).collect();
    let mut all = Vec::new();
    for jobs in jobs.chunks(AT_ONCE) {
        let text = ask("squeue", &slurm::queue_words(jobs.iter().copied()))?;
        let queue = slurm::queue(&text);
        all.extend(
            queue.map_err(|line| anyhow::anyhow!("squeue printed \"{}\"", line.escape_debug()))?,
        );
    }
    Ok(all)
}

/// Lists tasks as [`queued`] does; without Slurm, nothing is queued.
pub fn known(submissions: &[Submission]) -> anyhow::Result<Vec<Queued>> {
    match run("squeue", &["--version".to_owned()])? {
        None => Ok(Vec::new()),
        Some(_) => queued(submissions),
    }
}

/// Submits a job; returns its number.
pub fn batch(words: &[String]) -> anyhow::Result<u64> {
    let text = ask("sbatch", words)?;
    slurm::job_number(&text)
        .with_context(|| format!("sbatch printed \"{}\"", text.trim().escape_debug()))
}

/// Ends all jobs with these names.
pub fn cancel(jobs: &[&str]) -> anyhow::Result<()> {
    for job in jobs {
        ask("scancel", &[format!("--name={job}")])?;
    }
    Ok(())
}

/// Keeps the waiting tasks of this job away from a node. False if Slurm did not do so.
pub fn avoid(job: &str, node: &str) -> bool {
    let words = [
        "update".to_owned(),
        format!("JobId={job}"),
        format!("ExcNodeList={node}"),
    ];
    matches!(run("scontrol", &words), Ok(Some(output)) if output.status.success())
}
