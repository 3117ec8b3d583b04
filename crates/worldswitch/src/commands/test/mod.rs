//! `worldswitch test`: what a change costs, and the functions that are the cause; or whether a budget holds.

mod check;

use crate::cli::{STDOUT, TestArgs, session};
use crate::shared::suite::Layout;
use crate::shared::{Done, export, on_stdout, write};
use anyhow::{Context, bail};
use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;
use ws_budget::{Budget, KeptUp, fresh};
use ws_report::MAIN;
use ws_runner::{Benchmarks, Session, benchmarks, parts};
use ws_terminal::{Usage, output};
use ws_trial::{Asked, Sides, Trial, Tried};

/// Perturbed boots of each side by default.
const PERTURBED: u32 = 2;
/// Name of the page in the results' folder.
const PAGE: &str = "test.html";
/// Name of the picture beside it, if something changed.
const PICTURE: &str = "test.svg";

/// Tests a change, or without one checks or writes a budget.
pub fn test(args: &TestArgs) -> anyhow::Result<Done> {
    on_stdout(files(args))?;
    let session = session()?;
    match (&args.base, &args.head, &args.budget) {
        (Some(base), Some(head), _) => change(args, [base.clone(), head.clone()], &session),
        (_, _, Some(path)) if args.write => check::write(args, path, &session),
        (_, _, Some(path)) => check::check(args, path, &session),
        _ => bail!(Usage("name BASE and HEAD, or --budget".to_owned())),
    }
}

/// Makes both sides, measures and compares them, and explains what changed.
///
/// # Errors
/// A side is nothing that can be measured, it can't be built, nothing was measured, or something can't be written.
fn change(args: &TestArgs, sides: [String; 2], session: &Session) -> anyhow::Result<Done> {
    let perturb = args.perturb.unwrap_or(PERTURBED);
    if perturb == 0 {
        bail!(Usage(
            "--perturb 0 is only for a budget alone: a change needs perturbed boots, as code layout alone may be its cause"
                .to_owned()
        ));
    }
    let asked = Asked {
        sides,
        on: args.on.concat(),
        benchmarks: chosen(args)?,
        perturb,
        allow: args.allow.clone(),
        monitor: args.monitor,
        kernel_tree: args.kernel_tree.clone(),
        build: args.build.clone(),
        parts: args.parts.to_parts(),
    };
    let sides = Sides::of(&asked)?;
    let (limits, kept_up) = match &args.budget {
        None => (None, None),
        Some(path) if args.write => (None, Some((path, KeptUp::read(path)?))),
        Some(path) => (Some(budget(args, path)?.limits()), None),
    };
    let folder = Rc::new(args.output.to_output().make(SystemTime::now())?);
    folder.must_be_empty()?;
    let mut tried = Tried::of(&asked, &sides, &folder, session)?;
    if let Some(limits) = &limits {
        tried.trial.check_budget(limits);
    }
    if !args.no_explain {
        tried.explain(session)?;
    }
    let trial = &tried.trial;
    show(args, trial)?;
    let page = folder.path().join(PAGE);
    write(&page, trial.to_html().as_bytes())?;
    let path = folder.path().join(PICTURE);
    match trial.to_svg() {
        Some(picture) => drop(write(&path, picture.as_bytes())?),
        None => forget(&path)?,
    }
    let page = page.display();
    output::remark(&format!("the page is {page}"));
    if let Some((path, kept_up)) = kept_up {
        written(path, &kept_up.with(&trial.budget())?)?;
    }
    Ok(match tried.is_whole {
        true => Done::Judged(trial.outcome),
        false => Done::InPart,
    })
}

/// Reads the budget to check.
fn budget(args: &TestArgs, path: &Path) -> anyhow::Result<Budget> {
    if !path.exists() {
        let path = path.display();
        bail!(Usage(format!(
            "there is no budget {path}: --write makes it"
        )));
    }
    Budget::read(path, &parts::resources(&args.parts.to_parts()))
}

/// Writes the budget's file.
fn written(path: &Path, text: &str) -> anyhow::Result<()> {
    if write(path, text.as_bytes())? {
        output::remark(&format!("the budget is in {}", path.display()));
    }
    Ok(())
}

/// The benchmarks to measure.
fn chosen(args: &TestArgs) -> anyhow::Result<Benchmarks> {
    Ok(match (&args.bench, args.suite) {
        (Some(bench), _) => Benchmarks::Matching(bench.clone()),
        (None, Some(suite)) => Benchmarks::Matching(Layout::of(suite)?.benchmarks()?),
        (None, None) if args.all => Benchmarks::All,
        (None, None) => {
            let names: Vec<&str> = MAIN.iter().map(|row| row.benchmark).collect();
            Benchmarks::Matching(benchmarks::only(&names)?)
        }
    })
}

/// Files of the trial's forms.
fn files(args: &TestArgs) -> [Option<&Path>; 3] {
    let [json, markdown] = args.exports.files();
    [json, markdown, args.comment.as_deref()]
}

fn show(args: &TestArgs, trial: &Trial) -> anyhow::Result<()> {
    if !on_stdout(files(args))? {
        output::data(&trial.to_text())?;
        if let Some(suite) = args.suite {
            output::data(&trial.cover_letter(&Layout::of(suite)?.names()))?;
        }
    }
    export(args.exports.json_to(), || Ok(trial.to_json()?))?;
    export(args.exports.markdown_to(), || {
        Ok(trial.to_markdown(&fresh(&trial.budget())))
    })?;
    match &args.comment {
        Some(path) if trial.has_findings() => {
            export(
                Some(path),
                || Ok(trial.to_markdown(&fresh(&trial.budget()))),
            )
        }
        Some(path) if path != Path::new(STDOUT) => forget(path),
        _ => Ok(()),
    }
}

/// Removes a file of an earlier test, which would be taken for this one's.
fn forget(path: &Path) -> anyhow::Result<()> {
    match path.exists() {
        true => {
            std::fs::remove_file(path).with_context(|| format!("can't remove {}", path.display()))
        }
        false => Ok(()),
    }
}
