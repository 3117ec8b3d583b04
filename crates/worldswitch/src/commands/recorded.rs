//! One row of a whole Linux machine in the lab, launched once more and recorded as counts of its instructions.

use crate::cli::{Output, Parts, RunArgs};
use crate::commands::run::measure;
use crate::commands::{benchmarks, explain, parts, whole};
use crate::rounds::rows::RowsOf;
use anyhow::{Context, bail};
use std::fs;
use std::ops::RangeInclusive;
use ws_explain::counts::Counts;
use ws_explain::symbols::Symbols;
use ws_machines::name::PlatformName;
use ws_machines::recording::What;
use ws_results::{ResultFile, Samples};
use ws_terminal::{Colours, Stop, output};
use ws_text::aligned;

/// What to record.
pub struct Recorded<'a> {
    pub platform: &'a PlatformName,
    pub row: &'a str,
    pub rows: RowsOf,
    /// The addresses of a program whose reads of the clock begin and end the window. None: the agent's marks do.
    pub marks: Option<RangeInclusive<u64>>,
}

/// The functions of the platform's Linux. Nothing if the user stopped it.
///
/// # Errors
/// It prints no symbols.
pub fn symbols(
    platform: &PlatformName,
    parts: &Parts,
    stop: &Stop,
    colours: Colours,
) -> anyhow::Result<Option<Symbols>> {
    let resources = parts::resources(parts, Vec::new());
    let Some(symbols) = explain::symbols(platform, &resources, stop, colours)? else {
        return Ok(None);
    };
    let symbols = symbols
        .linux
        .with_context(|| format!("{platform} has no Linux with symbols"))?;
    Ok(Some(Symbols::of_kernel(&symbols)?))
}

impl Recorded<'_> {
    /// Its counts, and what it measured. Each row has a launch of its own, as each launch writes its counts anew. Nothing
    /// if the user stopped it.
    ///
    /// # Errors
    /// It was not measured or not recorded.
    pub fn counts(
        &self,
        parts: &Parts,
        stop: &Stop,
        colours: Colours,
    ) -> anyhow::Result<Option<(Counts, Samples)>> {
        let name = self.platform;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("counts");
        let marks = self.marks.clone();
        let run = RunArgs {
            bench: Some(benchmarks::only(&[self.row])?),
            rows: Some(self.rows.clone()),
            recording: Some((file.clone(), What::Counts { marks })),
            ..whole::run(
                &[vec![name.clone()]],
                (1, 0),
                parts,
                &Output {
                    output: Some(folder.path().join("results")),
                    force: false,
                },
            )
        };
        let measured = measure(&run, None, stop, colours)?;
        measured.tell_problems(colours);
        if measured.interrupted {
            return Ok(None);
        }
        if measured.problems.iter().any(|problem| problem.broken) {
            bail!(
                "{name}: the recorded run's counts differ from those measured before: measure again with --no-resume"
            );
        }
        let samples = samples(&measured.results, self.row);
        let samples = samples.with_context(|| format!("{} on {name}", self.row))?;
        let bytes = fs::read(&file)
            .with_context(|| format!("{name}: its emulator ended without writing counts"))?;
        let counts = Counts::read(&bytes).with_context(|| name.to_string())?;
        Ok(Some((counts, samples)))
    }
}

/// The samples of the row's instructions.
fn samples(results: &[ResultFile], name: &str) -> anyhow::Result<Samples> {
    let row = results.iter().find_map(|result| result.row(name));
    let row = row.context("it was not measured")?;
    let metric = row.metrics.iter().find(|metric| metric.unit == "insns");
    let samples = metric.and_then(|metric| metric.boots.first());
    match (samples, &row.reason) {
        (Some(samples), _) if !samples.run.is_empty() => Ok(samples.clone()),
        (_, Some(why)) => bail!("it was not measured: {why}"),
        (_, None) => bail!(
            "it was not measured, and the result does not say why: see the machine's console with worldswitch run -v"
        ),
    }
}

/// Prints a title and a table; the first columns, so many, are words.
///
/// # Errors
/// Standard output can't be written.
pub fn print<L: AsRef<[String]>>(title: &str, table: &[L], words: usize) -> anyhow::Result<()> {
    let table = aligned(table, |column| column < words).join("\n");
    output::data(&format!("\n{title}\n{table}\n"))
}

/// Ticks of the measured run, without idle time.
pub fn ticks(samples: &Samples) -> u64 {
    let first = |of: &[u64]| of.first().copied().unwrap_or_default();
    first(&samples.run).saturating_sub(first(&samples.control))
}
