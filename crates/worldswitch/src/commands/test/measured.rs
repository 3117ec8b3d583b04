//! Measures the sides of a test that are no results yet.

use super::sides::{Made, Sides};
use crate::cli::TestArgs;
use crate::shared::Done;
use crate::shared::suite::Layout;
use crate::shared::told::told;
use ws_machines::name::PlatformName;
use ws_report::MAIN;
use ws_results::ResultFile;
use ws_runner::{Benchmarks, Output, RunSpec, Session, benchmarks, measure};

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
    folder: &Output,
    session: &Session,
) -> anyhow::Result<([Vec<ResultFile>; 2], Done)> {
    let mut run = Run {
        args,
        session,
        done: Done::Whole,
    };
    let [base, head] = made;
    let names = made.map(|one| one.names(&sides.machines));
    let results = match (&base.results, &head.results) {
        (Some(base), Some(head)) => [base.clone(), head.clone()],
        (Some(known), None) => [known.clone(), run.side(head, names[1].clone(), folder)?],
        (None, Some(known)) => [run.side(base, names[0].clone(), folder)?, known.clone()],
        // A run has one monitor.
        (None, None) if base.monitor.is_some() => [
            run.side(base, names[0].clone(), &below(folder, "base"))?,
            run.side(head, names[1].clone(), &below(folder, "head"))?,
        ],
        // Kernels are platforms of one run, in which they take turns.
        (None, None) => {
            let turns = names[0].iter().zip(&names[1]);
            let turns = turns.flat_map(|(base, head)| [base.clone(), head.clone()]);
            let results = run.side(base, turns.collect(), folder)?;
            names.map(|names| {
                let is_its = |result: &&ResultFile| {
                    let mut names = names.iter();
                    names.any(|name| name.to_string() == result.platform)
                };
                results.iter().filter(is_its).cloned().collect()
            })
        }
    };
    Ok((results, run.done))
}

fn below(folder: &Output, name: &str) -> Output {
    Output {
        folder: folder.folder.as_ref().map(|folder| folder.join(name)),
        force: true,
    }
}

/// A run of one side, or of two kernels.
struct Run<'a> {
    args: &'a TestArgs,
    session: &'a Session,
    done: Done,
}

impl Run<'_> {
    fn side(
        &mut self,
        made: &Made,
        platforms: Vec<PlatformName>,
        output: &Output,
    ) -> anyhow::Result<Vec<ResultFile>> {
        let mut parts = self.args.parts.to_parts();
        if let Some(monitor) = &made.monitor {
            parts.vmm = Some(monitor.clone());
        }
        let spec = RunSpec {
            platforms,
            benchmarks: chosen(self.args)?,
            boots: Some(BOOTS),
            perturb: Some(self.args.perturb),
            parts,
            output: output.clone(),
            ..RunSpec::default()
        };
        let measured = measure(&spec, None, self.session)?;
        let (results, done) = told(measured, self.session.colours);
        if done != Done::Whole {
            self.done = done;
        }
        Ok(results)
    }
}

/// The benchmarks to measure.
fn chosen(args: &TestArgs) -> anyhow::Result<Benchmarks> {
    Ok(match &args.bench {
        Some(bench) => Benchmarks::Matching(bench.clone()),
        None if args.all => Benchmarks::All,
        None if args.suite.is_some() => {
            let layout = args.suite.map(Layout::of).transpose()?;
            let benchmarks = layout.map(|layout| layout.benchmarks()).transpose()?;
            benchmarks.into()
        }
        None => {
            let names: Vec<&str> = MAIN.iter().map(|row| row.benchmark).collect();
            Benchmarks::Matching(benchmarks::only(&names)?)
        }
    })
}
