//! Finds the functions that cause each change: both sides are recorded.

use crate::sides::Made;
use crate::{Asked, Explanation, Hunks, Machine, Trial, calls, guilty};
use anyhow::{Context, bail};
use std::path::PathBuf;
use ws_explain::diff::Difference;
use ws_explain::explained::Explained;
use ws_kernels::tree;
use ws_machines::name::PlatformName;
use ws_machines::platforms;
use ws_machines::recording::hides_its_guest;
use ws_machines::resources::Resources;
use ws_recorder::Explainer;
use ws_runner::{Session, parts};
use ws_terminal::output;

/// Functions that are named below a row.
const FUNCTIONS: usize = 3;

/// Adds the functions to each row that changed. A row that can't be explained gets the reason.
///
/// # Errors
/// The user stopped it.
pub fn explain(
    trial: &mut Trial,
    asked: &Asked,
    made: &[Made; 2],
    session: &Session,
) -> anyhow::Result<()> {
    let resources = parts::resources(&asked.parts);
    let mut rows = Vec::new();
    for machine in &trial.machines {
        let place = Place::of(machine, &resources);
        let benchmarks = machine.rows.iter().map(|row| row.benchmark.clone());
        rows.extend(
            benchmarks.map(|benchmark| (machine.machine.clone(), place.clone(), benchmark)),
        );
    }
    let all = rows.len();
    for (at, (machine, place, benchmark)) in rows.into_iter().enumerate() {
        let text = format!(
            "recording {benchmark} on {machine} to find the functions that changed ({}/{all})",
            at + 1
        );
        output::progress("test", &text);
        let explained = of_row(asked, made, &place.platforms, &benchmark, session)
            .and_then(|explanation| place.checked(explanation));
        if session.stop.requested() {
            bail!("stopped before its functions were found");
        }
        let explained = explained.map_err(|why| place.named(&format!("{why:#}"), made));
        trial.explain(&machine, &benchmark, explained);
    }
    Ok(())
}

/// Place where functions of a machine's rows are recorded.
#[derive(Clone)]
struct Place {
    machine: String,
    /// Platforms of both sides on it.
    platforms: [String; 2],
    /// Whether it stands in for a machine that can't be recorded.
    stands_in: bool,
}

impl Place {
    /// The machine itself, or the one that its recipe names if it can't be recorded.
    fn of(machine: &Machine, resources: &Resources) -> Self {
        let itself = Self {
            machine: machine.machine.clone(),
            platforms: [machine.base.clone(), machine.head.clone()],
            stands_in: false,
        };
        itself.other(resources).unwrap_or(itself)
    }

    /// The machine that stands in for this one; none if this one can be recorded, or is not known here.
    fn other(&self, resources: &Resources) -> Option<Self> {
        let platform = platforms::check(&self.machine.parse().ok()?, resources).ok()?;
        let recipe = platform.recipe().filter(|recipe| hides_its_guest(recipe))?;
        let other = recipe.explained_on.as_ref()?;
        let of = |name: &str| -> Option<String> {
            let mut name: PlatformName = name.parse().ok()?;
            name.name.clone_from(other);
            Some(name.to_string())
        };
        Some(Self {
            machine: of(&self.machine)?,
            platforms: [of(&self.platforms[0])?, of(&self.platforms[1])?],
            stands_in: true,
        })
    }

    /// An explanation of this place. A machine that stands in must have the change too.
    fn checked(&self, mut explanation: Explanation) -> anyhow::Result<Explanation> {
        if self.stands_in && explanation.functions.is_empty() {
            bail!(
                "{}, on which they are recorded, does not have this change",
                self.machine
            );
        }
        explanation.recorded_on = self.stands_in.then(|| self.machine.clone());
        Ok(explanation)
    }

    /// A reason in which the sides stand in the place of their platforms, which have the paths of kernels.
    fn named(&self, why: &str, made: &[Made; 2]) -> String {
        let mut why = why.to_owned();
        for (platform, made) in self.platforms.iter().zip(made) {
            let name = format!("{} with {}", self.machine, made.side.name);
            why = why.replace(&**platform, &name);
        }
        why
    }
}

fn of_row(
    asked: &Asked,
    made: &[Made; 2],
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
            parts: &made[side].parts(asked),
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
        let patch = tree::patch(&asked.kernel_tree, [base, head], file, &session.stop);
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
