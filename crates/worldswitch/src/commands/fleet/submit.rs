//! `worldswitch fleet submit`.

use super::expand::{CellOf, Expanded, Known, words_of};
use super::measure::{Cell, Worker};
use super::view::View;
use super::{campaign, carry, locked, queue, show, work};
use crate::cli::fleet::SubmitArgs;
use crate::cli::session;
use crate::shared::Done;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::time::SystemTime;
use ws_fleet::campaign::Campaign;
use ws_fleet::folder::Folder;
use ws_fleet::slurm;
use ws_fleet::submission::{self, Build, Planned, Submission, Work};
use ws_fleet::task::Task;
use ws_kernels::child::Stopped;
use ws_kernels::short_hash;
use ws_runner::{Session, bytes_at_most, must_have_room, parts};
use ws_terminal::{Colours, Stop, output, time};

/// Submits what is open, or measures it here.
///
/// # Errors
/// The campaign is wrong, the folder can't be written, or Slurm refuses.
pub fn submit(args: &SubmitArgs, colours: Colours) -> anyhow::Result<Done> {
    let session = session(Stop::listen()?, colours);
    let (campaign, folder) = campaign(&args.campaign)?;
    let resources = parts::resources(&args.campaign.parts.to_parts(), Vec::new());
    let places = &args.campaign.parts.lab.to_places();
    let expanded = Expanded::of(&campaign, &folder, &resources, places, &session.stop)?;
    if !args.local {
        queue::is_there()?;
    }
    folder.make()?;
    let others = "another worldswitch submits to this folder: waiting for it";
    let lock = locked(&session.stop, others, || folder.lock())?;
    forget(&folder, &args.repaired)?;
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
        true => mine(&view, open),
        false => open,
    };
    if !left.is_empty() {
        output::remark(
            &format!(
                "{} cells are left out: the budget is used up by those before them",
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
    room(&view, &open)?;
    let submission = keep(&view, &open, carried)?;
    match args.local {
        true => {
            drop(lock);
            local(args, &view, &submission, &session)
        }
        false => jobs(args, &view, &submission),
    }
}

/// Checks that the results of these tasks fit into the shared folder.
fn room(view: &View, open: &[usize]) -> anyhow::Result<()> {
    let known = open
        .iter()
        .filter_map(|index| view.expanded.tasks.get(*index));
    let bytes = known.map(|Known { task, .. }| {
        bytes_at_most(task.rows.len(), task.boots_of_all_kinds(), task.samples)
    });
    must_have_room(view.folder.path(), bytes.sum(), "and submit again")
}

/// Forgets what repaired nodes measured.
fn forget(folder: &Folder, nodes: &[String]) -> anyhow::Result<()> {
    if nodes.is_empty() {
        return Ok(());
    }
    let runs = folder.runs()?;
    for node in nodes {
        let own: Vec<_> = runs
            .iter()
            .filter(|stored| stored.run.node == *node)
            .collect();
        if own.is_empty() {
            bail!(ws_terminal::Usage(format!(
                "--repaired {node}: that node has measured nothing here"
            )));
        }
        for stored in own {
            folder.forget(stored)?;
        }
    }
    Ok(())
}

/// Of these tasks those that this host may measure.
fn mine(view: &View, open: Vec<usize>) -> Vec<usize> {
    let node = work::node();
    let is_mine = |index: &usize| {
        let known = view.expanded.tasks.get(*index);
        known.is_some_and(|known| match &known.task.host {
            Some(host) => *host == node,
            // A node that is not trusted decides nothing.
            None => !view.doubts.contains_key(&node),
        })
    };
    open.into_iter().filter(is_mine).collect()
}

fn nothing(args: &SubmitArgs, view: &View) -> anyhow::Result<Done> {
    output::data(&match args.campaign.json {
        true => show::json(view, &[])?,
        false => format!("nothing to submit: {}\n", show::totals(view)),
    })?;
    Ok(Done::Whole)
}

/// Writes down what is submitted, before anything is.
fn keep(
    view: &View,
    open: &[usize],
    carried: Option<submission::Carried>,
) -> anyhow::Result<Submission> {
    let known = open
        .iter()
        .filter_map(|index| view.expanded.tasks.get(*index));
    let tasks: Vec<Planned> = known
        .map(|known| Planned {
            task: known.task.clone(),
            cell: match &known.cell {
                CellOf::Cell(key, _) => Some(key.clone()),
                _ => None,
            },
        })
        .collect();
    let builds = builds(view, &tasks);
    let prefix = prefix(view);
    let created = time::rfc3339(SystemTime::now());
    let made = view.folder.submit(|number| {
        let name = |part| format!("{prefix}-{number}-{part}");
        let most = view.campaign.slurm.array;
        let (tasks, parts) = submission::parts(tasks.clone(), &builds, most, name);
        Submission {
            schema: submission::SCHEMA.into(),
            number,
            created: created.clone(),
            // Nodes that do not post need no history, whose address may have a password.
            campaign: Campaign {
                history: view.campaign.history.clone().filter(|_| view.campaign.post),
                ..view.campaign.clone()
            },
            tasks,
            proof: proof(view),
            builds: builds.clone(),
            carried: carried.clone(),
            parts,
        }
    });
    Ok(made?)
}

/// The beginning of all names of jobs for this folder.
fn prefix(view: &View) -> String {
    let path = view.folder.path();
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let hash = short_hash([path.as_os_str().as_encoded_bytes()], 8);
    format!("ws-{}-{hash}", view.campaign.name)
}

/// The kernels that these tasks need and that are not built. One that could not be built is tried again.
fn builds(view: &View, tasks: &[Planned]) -> Vec<Build> {
    let is_needed = |name: &str| {
        tasks
            .iter()
            .any(|one| one.task.kernel.as_deref() == Some(name))
    };
    let unbuilt = |name: &str| view.folder.built(name) != ws_fleet::folder::Built::Yes;
    let builds = view.expanded.builds.iter().map(|build| Build {
        kernels: build
            .kernels
            .iter()
            .filter(|kernel| is_needed(&kernel.name) && unbuilt(&kernel.name))
            .cloned()
            .collect(),
        ..build.clone()
    });
    builds.filter(|build| !build.kernels.is_empty()).collect()
}

/// The cell that every node measures: the campaign's first exact one, so that it is the same in each submission;
/// before any kernel is built, the first.
fn proof(view: &View) -> Option<Task> {
    if !view.campaign.proof {
        return None;
    }
    let tasks = &view.expanded.tasks;
    let exact = tasks
        .iter()
        .find(|known| matches!(known.cell, CellOf::Cell(_, Some(_))));
    let unbuilt = || tasks.iter().find(|known| known.cell == CellOf::Unbuilt);
    exact.or_else(unbuilt).map(|known| known.task.clone())
}

/// Gives the submission to Slurm.
fn jobs(args: &SubmitArgs, view: &View, submission: &Submission) -> anyhow::Result<Done> {
    let program = match &view.campaign.slurm.program {
        Some(program) => program.clone(),
        None => std::env::current_exe().context("this program is not found")?,
    };
    let program = program
        .to_str()
        .context("the path of this program is not UTF-8")?
        .to_owned();
    let folder = view
        .folder
        .path()
        .to_str()
        .context("the folder's path is not UTF-8")?
        .to_owned();
    let logs = view.folder.logs();
    let exclude: Vec<String> = view.doubts.keys().cloned().collect();
    let job = slurm::Job {
        site: &view.campaign.slurm,
        logs: logs.to_str().context("the folder's path is not UTF-8")?,
        exclude: &exclude,
    };
    let mut numbers: BTreeMap<&str, u64> = BTreeMap::new();
    let mut told = Vec::new();
    for part in &submission.parts {
        let mut command = vec![
            program.clone(),
            "fleet".into(),
            "work".into(),
            "--folder".into(),
            folder.clone(),
            "--submission".into(),
            submission.number.to_string(),
            "--job".into(),
            part.job.clone(),
        ];
        command.extend(words_of(&args.campaign.parts.to_parts())?);
        let after = part
            .after
            .as_deref()
            .and_then(|job| numbers.get(job).copied());
        let words = slurm::batch_words(job, part, after, &command);
        let number = queue::batch(&words).with_context(|| {
            let so_far = numbers.len();
            format!(
                "{so_far} of {} jobs are submitted, and submit goes on from there",
                submission.parts.len()
            )
        })?;
        numbers.insert(&part.job, number);
        told.push(show::Submitted::of(part, number));
    }
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
            Err(error) if error.is::<Stopped>() => bail!("stopped: submit again goes on"),
            Err(error) => {
                let what = format!("{} {}", planned.task.platform, planned.task.what());
                output::error(&error.context(what), session.colours);
                failed += 1;
            }
        }
    }
    // What is known now.
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
