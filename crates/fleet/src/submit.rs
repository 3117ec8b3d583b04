//! Submissions: open tasks are written down, and then given to Slurm.

use crate::campaign::{self, Campaign};
use crate::expand::{CellOf, Expanded, Known, words_of};
use crate::folder::{Built, Folder};
use crate::measure::{Cell, Worker};
use crate::show::{self, Submitted};
use crate::submission::{self, Build, Planned, Submission, Work};
use crate::task::Task;
use crate::view::View;
use crate::work::{self, node};
use crate::{carry, locked, queue, slurm};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;
use ws_kernels::short_hash;
use ws_runner::parts::{self, Parts};
use ws_runner::{Session, bytes_at_most, must_have_room};
use ws_terminal::{Stopped, Usage, output, time};

/// Outcome of a submission.
pub struct Done {
    /// State of the campaign: before jobs are queued, or after the tasks were measured here.
    pub view: View,
    /// Jobs that were queued on Slurm.
    pub jobs: Vec<Submitted>,
    /// Outcome in words.
    pub text: String,
    /// Whether each task that was measured here has a result.
    pub is_whole: bool,
}

/// A campaign's submission, as the user asks for it.
pub struct Asked<'a> {
    /// The campaign's file.
    pub file: &'a Path,
    /// Files that machines are made from.
    pub parts: &'a Parts,
    /// Whether the cells are measured on this host, without Slurm.
    pub local: bool,
    /// Nodes that were wrong and are repaired.
    pub repaired: &'a [String],
}

/// Queues the open cells on Slurm, or measures them on this host.
pub fn submit(asked: &Asked<'_>, session: &Session) -> anyhow::Result<Done> {
    let (campaign, folder) = campaign::open(asked.file)?;
    let resources = parts::resources(asked.parts);
    let places = &asked.parts.lab;
    let expanded = Expanded::of(&campaign, &folder, &resources, places, &session.stop)?;
    if !asked.local {
        queue::is_there()?;
    }
    folder.make()?;
    let others = "another worldswitch submits to this folder: waiting for it";
    // The lock comes before the view: two submissions that read the same state would queue the same cells.
    let lock = locked(&session.stop, others, || folder.lock())?;
    forget(&folder, asked.repaired)?;
    let queue = match asked.local {
        true => queue::known,
        false => queue::queued,
    };
    let view = View::of(campaign, folder, expanded, queue)?;
    view.settle()?;
    show::doubts(&view);
    let (open, left) = view.open();
    let open = match asked.local {
        true => mine(&view, open),
        false => open,
    };
    if !left.is_empty() {
        output::remark(&format!(
            "{} cells are left out: earlier cells use up the budget",
            left.len()
        ));
    }
    if open.is_empty() {
        return Ok(Done {
            jobs: Vec::new(),
            text: format!("nothing to submit: {}\n", show::totals(&view)),
            is_whole: true,
            view,
        });
    }
    let carried = match (asked.local, view.campaign.slurm.carry, &*view.expanded.sets) {
        (true, ..) | (_, false, _) | (.., []) => None,
        (false, true, sets) => Some(carry::export(&view.folder, resources.store()?, sets)?),
    };
    room(&view, &open)?;
    let submission = keep(&view, &open, carried)?;
    if asked.local {
        // Measuring takes hours, and others may submit meanwhile: the submission is already in the folder.
        drop(lock);
        return measured_here(asked, &view, &submission, session);
    }
    let jobs = jobs(&view, &submission, asked.parts)?;
    Ok(Done {
        text: show::submitted(&view, &submission, &jobs),
        jobs,
        is_whole: true,
        view,
    })
}

/// Measures the submission on this host, one task after another.
fn measured_here(
    asked: &Asked<'_>,
    view: &View,
    submission: &Submission,
    session: &Session,
) -> anyhow::Result<Done> {
    let node = node();
    for (part, build) in submission.parts.iter().zip(&submission.builds) {
        if matches!(part.work, Work::Build(_)) {
            work::builds(&view.folder, build, &part.job, asked.parts, &session.stop)?;
        }
    }
    let mut is_whole = true;
    for (index, planned) in submission.tasks.iter().enumerate() {
        let job = format!("local{}_{index}", submission.number);
        let worker = Worker {
            folder: &view.folder,
            campaign: &view.campaign.name,
            node: &node,
            job: &job,
            parts: asked.parts,
            session,
        };
        match work::task(&worker, submission, planned) {
            Ok(Cell::Measured | Cell::KnownFrom(_)) => {}
            Err(error) if error.is::<Stopped>() => bail!("stopped: submit again to continue"),
            Err(error) => {
                let what = format!("{} {}", planned.task.platform, planned.task.what());
                output::error(&error.context(what));
                is_whole = false;
            }
        }
    }
    let view = View::read(asked.file, asked.parts, &session.stop)?;
    view.settle()?;
    show::doubts(&view);
    Ok(Done {
        jobs: Vec::new(),
        text: format!("{}\n", show::totals(&view)),
        is_whole,
        view,
    })
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

/// Removes the runs of repaired nodes.
///
/// # Errors
/// [`Usage`], if a node has measured nothing.
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
            bail!(Usage(format!(
                "--repaired {node}: that node has measured nothing here"
            )));
        }
        for stored in own {
            folder.forget(stored)?;
        }
    }
    Ok(())
}

/// Keeps the tasks that this host may measure.
fn mine(view: &View, open: Vec<usize>) -> Vec<usize> {
    let node = node();
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

/// Writes the submission down, before any job is submitted.
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
            cell: known.key().cloned(),
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

/// Prefix of all job names for this folder.
fn prefix(view: &View) -> String {
    let path = view.folder.path();
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let hash = short_hash([path.as_os_str().as_encoded_bytes()], 8);
    format!("ws-{}-{hash}", view.campaign.name)
}

/// Kernels that these tasks need and that are not built. A kernel whose build failed is tried again.
fn builds(view: &View, tasks: &[Planned]) -> Vec<Build> {
    let is_needed = |name: &str| {
        tasks
            .iter()
            .any(|one| one.task.kernel.as_deref() == Some(name))
    };
    let unbuilt = |name: &str| view.folder.built(name) != Built::Yes;
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

/// Chooses the cell that every node measures: the campaign's first exact one, so that it is the same in each
/// submission. Before any kernel is built, it is the first that waits for a kernel.
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

/// Gives the submission to Slurm; returns its jobs. `parts`: the submitter's own files.
///
/// # Errors
/// Slurm refuses a job; submitting again goes on from there.
fn jobs(view: &View, submission: &Submission, parts: &Parts) -> anyhow::Result<Vec<Submitted>> {
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
    let mut submitted = Vec::new();
    for part in &submission.parts {
        let mut command = vec![
            program.clone(),
            "run".into(),
            "fleet".into(),
            "work".into(),
            "--folder".into(),
            folder.clone(),
            "--submission".into(),
            submission.number.to_string(),
            "--job".into(),
            part.job.clone(),
        ];
        command.extend(words_of(parts)?);
        // Parts with builds come first, so the number of the job to wait for is known.
        let after = part
            .after
            .as_deref()
            .and_then(|job| numbers.get(job).copied());
        let words = slurm::batch_words(job, part, after, &command);
        let number = queue::batch(&words).with_context(|| {
            let so_far = numbers.len();
            format!(
                "{so_far} of {} jobs are submitted: run submit again for the others",
                submission.parts.len()
            )
        })?;
        numbers.insert(&part.job, number);
        submitted.push(Submitted::of(part, number));
    }
    Ok(submitted)
}
