//! `worldswitch run fleet`: a campaign over many machines, by Slurm or on this host.

use crate::cli::fleet::{CampaignArgs, CollectArgs, FleetArgs, FleetWhat, SubmitArgs, WorkArgs};
use crate::cli::session;
use crate::shared::Done;
use ws_fleet::cancel::cancel;
use ws_fleet::collect;
use ws_fleet::show::{self, Submitted};
use ws_fleet::submit::{self, Asked};
use ws_fleet::view::View;
use ws_fleet::work;
use ws_terminal::{Stop, columns, output};

/// Runs a subcommand.
pub fn fleet(args: &FleetArgs) -> anyhow::Result<Done> {
    match &args.what {
        FleetWhat::Plan(args) => put(args, &view(args)?, &[], show::plan)?,
        FleetWhat::Status(args) => put(args, &view(args)?, &[], show::status)?,
        FleetWhat::Submit(args) => return submit(args),
        FleetWhat::Collect(args) => return collect(args),
        FleetWhat::Cancel(args) => {
            let cancelled = cancel(&args.campaign)?;
            output::data(&match args.json {
                true => columns::json(&cancelled)?,
                false => cancelled.to_text(),
            })?;
        }
        FleetWhat::Work(args) => work(args)?,
    }
    Ok(Done::Whole)
}

/// Reads the state of a campaign.
fn view(args: &CampaignArgs) -> anyhow::Result<View> {
    View::read(&args.campaign, &args.parts.to_parts(), &Stop::listen()?)
}

/// Prints the state as text or as JSON.
fn put(
    args: &CampaignArgs,
    view: &View,
    jobs: &[Submitted],
    text: impl FnOnce(&View) -> String,
) -> anyhow::Result<()> {
    output::data(&match args.json {
        true => show::json(view, jobs)?,
        false => text(view),
    })
}

/// Queues the open cells on Slurm, or measures them on this host.
fn submit(args: &SubmitArgs) -> anyhow::Result<Done> {
    let asked = Asked {
        file: &args.campaign.campaign,
        parts: &args.campaign.parts.to_parts(),
        local: args.local,
        repaired: &args.repaired,
    };
    let done = submit::submit(&asked, &session()?)?;
    put(&args.campaign, &done.view, &done.jobs, |_| done.text)?;
    Ok(Done::whole_if(done.is_whole))
}

/// Copies all valid results into a folder.
fn collect(args: &CollectArgs) -> anyhow::Result<Done> {
    let view = view(&args.campaign)?;
    view.settle()?;
    show::doubts(&view);
    let done = collect::collect(&view, &args.output, args.force)?;
    if let Some(added) = done.added {
        output::remark(&added);
    }
    let text = |view: &View| {
        let (folder, totals) = (args.output.display(), show::totals(view));
        format!("{} results in {folder}: {totals}\n", done.results)
    };
    put(&args.campaign, &view, &[], text)?;
    Ok(Done::whole_if(done.is_whole))
}

/// Runs a job of Slurm.
fn work(args: &WorkArgs) -> anyhow::Result<()> {
    let parts = args.parts.to_parts();
    let session = session()?;
    work::job(&args.folder, args.submission, &args.job, parts, &session)
}
