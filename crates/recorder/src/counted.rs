//! Records one row of a whole Linux machine in the lab: launches it once more and counts its instructions.

use crate::operation::symbols;
use anyhow::{Context, bail};
use std::fs;
use std::ops::RangeInclusive;
use ws_explain::counts::Counts;
use ws_explain::spread::{Run, Software, Spread};
use ws_explain::steps::Point;
use ws_explain::symbols::Symbols;
use ws_machines::name::PlatformName;
use ws_machines::recording::What;
use ws_results::{ResultFile, Samples};
use ws_runner::parts::{self, Parts};
use ws_runner::rows::RowsOf;
use ws_runner::{Benchmarks, Output, RunSpec, Session, benchmarks, measure};

/// A row to record, and the window of its instructions.
pub struct Recorded<'a> {
    pub platform: &'a PlatformName,
    pub row: &'a str,
    pub rows: RowsOf,
    /// Addresses of the program whose clock reads begin and end the window. None: the agent's marks begin and end it.
    pub marks: Option<RangeInclusive<u64>>,
    /// Whether the machine's own software is a VM of Xen, dom0, on ARM.
    pub has_dom0: bool,
    /// Places in the code between which the clock is read.
    pub points: Vec<Point>,
    /// Whether the row also has a shorter run.
    pub has_shorter: bool,
    /// Whether idle time may be in the counts.
    pub has_idle: bool,
}

/// VMID of dom0, the first domain that Xen makes.
const DOM0_VMID: u16 = 1;

/// Returns the functions of the platform's Linux, and of its Xen; none if the user stopped the program.
pub fn functions(
    platform: &PlatformName,
    parts: &Parts,
    session: &Session,
) -> anyhow::Result<Option<Software>> {
    let resources = parts::resources(parts);
    let Some(texts) = symbols(platform, &resources, session)? else {
        return Ok(None);
    };
    let linux = texts
        .linux
        .with_context(|| format!("{platform} has no Linux with symbols"))?;
    let xen = texts.xen.as_deref().map(Symbols::of_kernel).transpose()?;
    Ok(Some(Software {
        linux: Symbols::of_kernel(&linux)?,
        xen,
    }))
}

impl Recorded<'_> {
    /// Counts the functions that the row executes; returns also its number of operations. None if the user stopped the
    /// run.
    pub fn spread(
        &self,
        software: &Software,
        parts: &Parts,
        session: &Session,
    ) -> anyhow::Result<Option<(Spread, u64)>> {
        let Some((counts, samples)) = self.counts(parts, session)? else {
            return Ok(None);
        };
        let run = Run {
            row: self.row,
            ticks: ticks(&samples),
            has_shorter: self.has_shorter,
            has_idle: self.has_idle,
        };
        let spread = Spread::of(&counts, software, &run);
        let spread = spread.with_context(|| format!("{} on {}", self.row, self.platform))?;
        Ok(Some((spread, samples.iterations)))
    }

    /// Returns the row's instruction counts and its samples; none if the user stopped the run. Each row has a launch of
    /// its own, because a launch writes its counts anew.
    fn counts(
        &self,
        parts: &Parts,
        session: &Session,
    ) -> anyhow::Result<Option<(Counts, Samples)>> {
        let name = self.platform;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("counts");
        let what = What::Counts {
            marks: self.marks.clone(),
            own_vmid: self.has_dom0.then_some(DOM0_VMID),
            points: self
                .points
                .iter()
                .map(|point| (point.level, point.address))
                .collect(),
        };
        let spec = RunSpec {
            benchmarks: Benchmarks::Matching(benchmarks::only(&[self.row])?),
            rows: Some(self.rows.clone()),
            recording: Some((file.clone(), what)),
            platforms: vec![name.clone()],
            boots: Some(1),
            perturb: Some(0),
            parts: parts.clone(),
            output: Output {
                folder: Some(folder.path().join("results")),
                force: false,
            },
            ..RunSpec::default()
        };
        let measured = measure(&spec, None, session)?;
        measured.tell_problems();
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

/// Returns the samples of the row's instructions.
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

/// Ticks of the measured run, without idle time.
fn ticks(samples: &Samples) -> u64 {
    let first = |of: &[u64]| of.first().copied().unwrap_or_default();
    first(&samples.run).saturating_sub(first(&samples.control))
}
