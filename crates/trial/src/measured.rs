//! Measures the sides of a test that are no results yet.

use crate::sides::{Made, Sides, without_variant};
use crate::{Asked, Pair};
use anyhow::bail;
use std::rc::Rc;
use ws_machines::name::PlatformName;
use ws_results::ResultFile;
use ws_runner::{Folder, Output, RunSpec, Session, measure};

/// Boots of each side beside perturbed ones. The second one proves that counts are exact.
const BOOTS: u32 = 2;

/// Returns the results of each side, and whether all was measured.
///
/// # Errors
/// Nothing could be measured.
pub fn measured(
    asked: &Asked,
    sides: &Sides,
    made: &[Made; 2],
    folder: &Rc<Folder>,
    session: &Session,
) -> anyhow::Result<([Vec<ResultFile>; 2], bool)> {
    let mut run = Run {
        asked,
        folder,
        session,
        is_whole: true,
    };
    let [base, head] = made;
    let names = |one: &Made| sides.machines.iter().map(|name| one.name(name)).collect();
    let results = match (&base.results, &head.results) {
        (Some(base), Some(head)) => [base.clone(), head.clone()],
        (Some(known), None) => [known.clone(), run.side(head, names(head), None)?],
        (None, Some(known)) => [run.side(base, names(base), None)?, known.clone()],
        // A run has one monitor.
        (None, None) if base.monitor.is_some() => [
            run.side(base, names(base), Some("base"))?,
            run.side(head, names(head), Some("head"))?,
        ],
        // Kernels are platforms of one run, in which they take turns.
        (None, None) => {
            let turns = sides.machines.iter();
            let turns = turns.flat_map(|machine| [base.name(machine), head.name(machine)]);
            let results = run.side(base, turns.collect(), None)?;
            [results.clone(), results]
        }
    };
    Ok((results, run.is_whole))
}

/// A run of one side, or of two kernels.
struct Run<'a> {
    asked: &'a Asked,
    folder: &'a Rc<Folder>,
    session: &'a Session,
    is_whole: bool,
}

impl Run<'_> {
    /// Measures a side in the test's folder, or in the folder of this name below.
    fn side(
        &mut self,
        made: &Made,
        platforms: Vec<PlatformName>,
        below: Option<&str>,
    ) -> anyhow::Result<Vec<ResultFile>> {
        let below = below.map(|name| self.folder.path().join(name));
        let folder = below.is_none().then(|| Rc::clone(self.folder));
        let spec = RunSpec {
            platforms,
            benchmarks: self.asked.benchmarks.clone(),
            boots: Some(BOOTS),
            perturb: Some(self.asked.perturb),
            parts: made.parts(self.asked),
            output: Output {
                folder: below,
                force: true,
            },
            ..RunSpec::default()
        };
        let (results, is_whole) = measure(&spec, folder, self.session)?.finish();
        self.is_whole &= is_whole;
        Ok(results)
    }
}

/// The results of both sides by machine.
pub fn pairs<'a>(
    machines: &[PlatformName],
    made: &[Made; 2],
    results: &'a [Vec<ResultFile>; 2],
) -> anyhow::Result<Vec<Pair<'a>>> {
    let pairs = machines.iter().map(|machine| {
        let sides = [0, 1].map(|side| of_machine(machine, &made[side], &results[side]));
        (machine.to_string(), sides)
    });
    let pairs: Vec<Pair> = pairs.collect();
    if !pairs
        .iter()
        .any(|(_, sides)| sides.iter().all(Option::is_some))
    {
        let names: Vec<&str> = pairs.iter().map(|(name, _)| &**name).collect();
        bail!("no machine has results of both sides: {}", names.join(", "));
    }
    Ok(pairs)
}

/// The side's result of a machine. An earlier result of any kernel is a side of its machine.
fn of_machine<'a>(
    machine: &PlatformName,
    made: &Made,
    results: &'a [ResultFile],
) -> Option<&'a ResultFile> {
    let wanted = made.name(machine).to_string();
    let named = results.iter().find(|result| result.platform == wanted);
    if named.is_some() || made.results.is_none() {
        return named;
    }
    let is_its = |result: &&ResultFile| {
        let name = result.platform.parse::<PlatformName>();
        name.is_ok_and(|name| without_variant(&name) == *machine)
    };
    let mut all = results.iter().filter(is_its);
    all.next().filter(|_| all.next().is_none())
}
