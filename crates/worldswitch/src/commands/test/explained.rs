//! Finds the functions that cause each change: both sides are recorded.

use super::sides::Made;
use crate::cli::TestArgs;
use anyhow::{Context, bail};
use std::path::PathBuf;
use ws_explain::diff::Difference;
use ws_explain::explained::Explained;
use ws_kernels::tree;
use ws_machines::name::PlatformName;
use ws_recorder::Explainer;
use ws_runner::{Session, parts};
use ws_terminal::output;
use ws_trial::{Explanation, Hunks, Trial, calls, guilty};

/// Functions that are named below a row.
const FUNCTIONS: usize = 3;

/// Adds the functions to each row that changed. A row that can't be explained gets the reason.
///
/// # Errors
/// The user stopped it.
pub fn explain(
    trial: &mut Trial,
    args: &TestArgs,
    made: [&Made; 2],
    session: &Session,
) -> anyhow::Result<()> {
    let rows = trial.rows().map(|(machine, row)| {
        (
            machine.machine.clone(),
            [machine.base.clone(), machine.head.clone()],
            row.benchmark.clone(),
        )
    });
    let rows: Vec<(String, [String; 2], String)> = rows.collect();
    let all = rows.len();
    for (at, (machine, platforms, benchmark)) in rows.into_iter().enumerate() {
        let text = format!(
            "recording {benchmark} on {machine} to find the functions that changed ({}/{all})",
            at + 1
        );
        output::progress("test", &text);
        let mut explained = of_row(args, made, &platforms, &benchmark, session);
        let mut names = (machine.clone(), platforms.clone());
        if let (Err(_), Some(like)) = (&explained, like(&machine, &platforms, args)) {
            explained = of_row(args, made, &like.1, &benchmark, session)
                .and_then(|explanation| recorded(explanation, &like.0));
            names = like;
        }
        if session.stop.requested() {
            bail!("stopped before its functions were found");
        }
        let explained =
            explained.map_err(|why| named(&format!("{why:#}"), &names.0, &names.1, made));
        trial.explain(&machine, &benchmark, explained);
    }
    Ok(())
}

/// The machine on which functions of this one are recorded if they can't be here, and its platforms of both sides.
fn like(machine: &str, platforms: &[String; 2], args: &TestArgs) -> Option<(String, [String; 2])> {
    let resources = parts::resources(&args.parts.to_parts());
    let lab = resources.lab().ok()?;
    let of = |name: &str| -> Option<String> {
        let mut name: PlatformName = name.parse().ok()?;
        name.name = lab.recipe(&name.name, None).ok()?.explained_on?;
        Some(name.to_string())
    };
    Some((of(machine)?, [of(&platforms[0])?, of(&platforms[1])?]))
}

/// An explanation from another machine, which must have the change too.
fn recorded(mut explanation: Explanation, machine: &str) -> anyhow::Result<Explanation> {
    if explanation.functions.is_empty() {
        bail!("{machine}, on which they are recorded, does not have this change");
    }
    explanation.recorded_on = Some(machine.to_owned());
    Ok(explanation)
}

/// A reason in which the sides stand in the place of their platforms, which have the paths of kernels.
fn named(why: &str, machine: &str, platforms: &[String; 2], made: [&Made; 2]) -> String {
    let mut why = why.to_owned();
    for (platform, made) in platforms.iter().zip(made) {
        let name = format!("{machine} with {}", made.side.name);
        why = why.replace(&**platform, &name);
    }
    why
}

fn of_row(
    args: &TestArgs,
    made: [&Made; 2],
    platforms: &[String; 2],
    benchmark: &str,
    session: &Session,
) -> anyhow::Result<Explanation> {
    let record = |side: usize| -> anyhow::Result<Explained> {
        let platform = &platforms[side];
        let name: PlatformName = platform.parse().with_context(|| platform.clone())?;
        let debug: Vec<PathBuf> = made[side].debug.iter().cloned().collect();
        let explainer = Explainer {
            benchmark,
            parts: &made[side].parts(args),
            without: &[],
            debug: &debug,
            session,
        };
        let mut explained = explainer.explain(&name)?.context("stopped")?;
        for line in &mut explained.lines {
            line.file = tree::in_source(&line.file).to_owned();
        }
        Ok(explained)
    };
    let (before, after) = (&record(0)?, &record(1)?);
    let difference = Difference::of(before, after)?;
    // A machine that boots another kernel, or a folder, has no patch; lines are then compared without it.
    let commits = [&made[0].commit, &made[1].commit].map(Option::as_ref);
    let hunks = |file: &str| {
        let [Some(base), Some(head)] = commits else {
            return Hunks::default();
        };
        let patch = tree::patch(&args.kernel_tree, [base, head], file, &session.stop);
        Hunks::of(&patch.unwrap_or_default())
    };
    let calls = calls(before, after);
    let (functions, more_functions) = guilty(before, after, &difference, FUNCTIONS, &calls, &hunks);
    Ok(Explanation {
        functions,
        more_functions,
        calls,
        recorded_on: None,
    })
}
