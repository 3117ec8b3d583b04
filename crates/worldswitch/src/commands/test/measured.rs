//! Measures the sides of a test that are no results yet.

use super::sides::{Made, Sides};
use crate::cli::TestArgs;
use crate::shared::Done;
use crate::shared::suite::Layout;
use crate::shared::told::told;
use std::rc::Rc;
use ws_machines::name::PlatformName;
use ws_report::MAIN;
use ws_results::ResultFile;
use ws_runner::{Benchmarks, Folder, Output, RunSpec, Session, benchmarks, measure};

/// Boots of each side beside perturbed ones. The second one proves that counts are exact.
const BOOTS: u32 = 2;

/// Returns the results of each side.
///
/// # Errors
/// Nothing could be measured.
pub fn measured(
    args: &TestArgs,
    sides: &Sides,
    made: [&Made; 2],
    folder: &Rc<Folder>,
    session: &Session,
) -> anyhow::Result<([Vec<ResultFile>; 2], Done)> {
    let mut run = Run {
        args,
        folder,
        session,
        done: Done::Whole,
    };
    let [base, head] = made;
    let names = made.map(|one| one.names(&sides.machines));
    let results = match (&base.results, &head.results) {
        (Some(base), Some(head)) => [base.clone(), head.clone()],
        (Some(known), None) => [known.clone(), run.side(head, names[1].clone(), None)?],
        (None, Some(known)) => [run.side(base, names[0].clone(), None)?, known.clone()],
        // A run has one monitor.
        (None, None) if base.monitor.is_some() => [
            run.side(base, names[0].clone(), Some("base"))?,
            run.side(head, names[1].clone(), Some("head"))?,
        ],
        // Kernels are platforms of one run, in which they take turns.
        (None, None) => {
            let turns = names[0].iter().zip(&names[1]);
            let turns = turns.flat_map(|(base, head)| [base.clone(), head.clone()]);
            let results = run.side(base, turns.collect(), None)?;
            [results.clone(), results]
        }
    };
    Ok((results, run.done))
}

/// A run of one side, or of two kernels.
struct Run<'a> {
    args: &'a TestArgs,
    folder: &'a Rc<Folder>,
    session: &'a Session,
    done: Done,
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
            benchmarks: chosen(self.args)?,
            boots: Some(BOOTS),
            perturb: Some(self.args.perturb),
            parts: made.parts(self.args),
            output: Output {
                folder: below,
                force: true,
            },
            ..RunSpec::default()
        };
        let measured = measure(&spec, folder, self.session)?;
        let (results, done) = told(measured, self.session.colours);
        if done != Done::Whole {
            self.done = done;
        }
        Ok(results)
    }
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
