//! `worldswitch run fleet submit`.

use super::{campaign, show};
use crate::cli::fleet::SubmitArgs;
use crate::cli::session;
use crate::shared::Done;
use anyhow::bail;
use ws_fleet::expand::Expanded;
use ws_fleet::measure::{Cell, Worker};
use ws_fleet::submission::{Submission, Work};
use ws_fleet::view::View;
use ws_fleet::{carry, locked, queue, submit, work};
use ws_runner::{Session, parts};
use ws_terminal::{Colours, Stopped, output};

/// Queues the open cells on Slurm, or measures them on this host.
pub fn submit(args: &SubmitArgs, colours: Colours) -> anyhow::Result<Done> {
    let session = session(colours)?;
    let (campaign, folder) = campaign(&args.campaign)?;
    let resources = parts::resources(&args.campaign.parts.to_parts());
    let places = &args.campaign.parts.lab.to_places();
    let expanded = Expanded::of(&campaign, &folder, &resources, places, &session.stop)?;
    if !args.local {
        queue::is_there()?;
    }
    folder.make()?;
    let others = "another worldswitch submits to this folder: waiting for it";
    // The lock comes before the view: two submissions that read the same state would queue the same cells.
    let lock = locked(&session.stop, others, || folder.lock())?;
    submit::forget(&folder, &args.repaired)?;
    let view = View::of(
        campaign,
        folder,
        expanded,
        match args.local {
            true => queue::known,
            false => queue::queued,
        },
    )?;
    view.settle()?;
    show::doubts(&view, colours);
    let (open, left) = view.open();
    let open = match args.local {
        true => submit::mine(&view, open),
        false => open,
    };
    if !left.is_empty() {
        output::remark(
            &format!(
                "{} cells are left out: earlier cells use up the budget",
                left.len()
            ),
            colours,
        );
    }
    if open.is_empty() {
        return nothing(args, &view);
    }
    let carried = match (args.local, view.campaign.slurm.carry, &*view.expanded.sets) {
        (true, ..) | (_, false, _) | (.., []) => None,
        (false, true, sets) => Some(carry::export(&view.folder, resources.store()?, sets)?),
    };
    submit::room(&view, &open)?;
    let submission = submit::keep(&view, &open, carried)?;
    match args.local {
        true => {
            // Measuring takes hours, and others may submit meanwhile: the submission is already in the folder.
            drop(lock);
            local(args, &view, &submission, &session)
        }
        false => jobs(args, &view, &submission),
    }
}

fn nothing(args: &SubmitArgs, view: &View) -> anyhow::Result<Done> {
    output::data(&match args.campaign.json {
        true => show::json(view, &[])?,
        false => format!("nothing to submit: {}\n", show::totals(view)),
    })?;
    Ok(Done::Whole)
}

/// Queues the submission on Slurm, and shows its jobs.
fn jobs(args: &SubmitArgs, view: &View, submission: &Submission) -> anyhow::Result<Done> {
    let jobs = submit::jobs(view, submission, &args.campaign.parts.to_parts())?;
    let jobs = jobs.into_iter();
    let told: Vec<_> = jobs
        .map(|(part, number)| show::Submitted::of(part, number))
        .collect();
    output::data(&match args.campaign.json {
        true => show::json(view, &told)?,
        false => show::submitted(view, submission, &told),
    })?;
    Ok(Done::Whole)
}

/// Measures the submission on this host, one task after another.
fn local(
    args: &SubmitArgs,
    view: &View,
    submission: &Submission,
    session: &Session,
) -> anyhow::Result<Done> {
    let node = work::node();
    let own = &args.campaign.parts.to_parts();
    for (part, build) in submission.parts.iter().zip(&submission.builds) {
        if matches!(part.work, Work::Build(_)) {
            work::builds(&view.folder, build, &part.job, own, &session.stop)?;
        }
    }
    let mut failed = 0;
    for (index, planned) in submission.tasks.iter().enumerate() {
        let job = format!("local{}_{index}", submission.number);
        let worker = Worker {
            folder: &view.folder,
            campaign: &view.campaign.name,
            node: &node,
            job: &job,
            parts: own,
            session,
        };
        match work::task(&worker, submission, planned) {
            Ok(Cell::Measured | Cell::KnownFrom(_)) => {}
            Err(error) if error.is::<Stopped>() => bail!("stopped: submit again to continue"),
            Err(error) => {
                let what = format!("{} {}", planned.task.platform, planned.task.what());
                output::error(&error.context(what), session.colours);
                failed += 1;
            }
        }
    }
    // The state after these measurements.
    let after = super::view(&args.campaign)?;
    after.settle()?;
    show::doubts(&after, session.colours);
    output::data(&match args.campaign.json {
        true => show::json(&after, &[])?,
        false => format!("{}\n", show::totals(&after)),
    })?;
    Ok(if failed == 0 {
        Done::Whole
    } else {
        Done::InPart
    })
}
