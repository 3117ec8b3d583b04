//! Work of a Slurm job: one task of an array, or a build. Slurm may kill the job at any time and start it again.

use crate::cli::fleet::WorkArgs;
use crate::cli::session;
use crate::shared::Done;
use anyhow::Context;
use std::env;
use ws_fleet::carry;
use ws_fleet::folder::Folder;
use ws_fleet::measure::Worker;
use ws_fleet::submission::Work;
use ws_fleet::work::{builds, kept, node, task};
use ws_runner::parts::{Parts, Places};
use ws_terminal::Colours;

/// Runs this job.
pub fn work(args: &WorkArgs, colours: Colours) -> anyhow::Result<Done> {
    let session = session(colours)?;
    let folder = Folder::at(&args.folder);
    let submission = folder.submission(args.submission)?;
    let part = submission.parts.iter().find(|part| part.job == args.job);
    let part =
        part.with_context(|| format!("submission {} has no job {}", args.submission, args.job))?;
    let node = node();
    let parts = Parts {
        guest: args.guest.clone(),
        qemu: args.qemu.clone(),
        vmm: args.vmm.clone(),
        no_resume: false,
        lab: Places {
            lab_dir: args.lab_dir.clone(),
            cache: Some(carry::cache(&submission.campaign.slurm, &node)?),
            ..Places::default()
        },
    };
    let index = env::var("SLURM_ARRAY_TASK_ID").ok();
    let index: usize = index.map_or(Ok(0), |text| text.parse())?;
    match part.work {
        Work::Build(index) => {
            let build = submission
                .builds
                .get(index)
                .context("there is no such build")?;
            builds(&folder, build, &args.job, &parts, &session.stop)?;
        }
        Work::Tasks { .. } => {
            let planned = submission.tasks_of(&args.job).get(index);
            let planned = planned.with_context(|| format!("{} has no task {index}", args.job))?;
            let job = job_of(index);
            let worker = Worker {
                folder: &folder,
                campaign: &submission.campaign.name,
                node: &node,
                job: &job,
                parts: &parts,
                session: &session,
            };
            // The folder keeps the reason of a failed import, as it does for a failed measurement.
            if let Some(carried) = &submission.carried {
                let imported = carry::import(carried, &parts.lab);
                kept(&worker, planned, imported)?;
            }
            task(&worker, &submission, planned)?;
        }
    }
    Ok(Done::Whole)
}

/// Slurm's name of this task's job.
fn job_of(index: usize) -> String {
    match env::var("SLURM_ARRAY_JOB_ID").or_else(|_| env::var("SLURM_JOB_ID")) {
        Ok(job) => format!("{job}_{index}"),
        Err(_) => "none".to_owned(),
    }
}
