//! A run: measures as many placements as the time allows.

use crate::{Asked, Cpus, Matrix, facts, workloads};
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::time::Instant;
use ws_machines::name::PlatformName;
use ws_results::place::PlaceRow;
use ws_results::{ResultFile, Row, Status};
use ws_runner::parts::Parts;
use ws_runner::rows::RowsOf;
use ws_runner::turns::Turns;
use ws_runner::{Measured, Output, RunSpec, Session, whole};
use ws_terminal::{Usage, output};

/// Platforms with a VM on this host, and whether the VM is emulated.
const PLATFORMS: [(&str, bool); 2] = [("qemu-kvm", false), ("qemu-tcg", true)];

/// Returns the platform, and whether its VM is emulated.
fn platform(on: &[PlatformName]) -> anyhow::Result<(&PlatformName, bool)> {
    if let [name] = on {
        let known = PLATFORMS.iter().find(|(known, _)| *known == name.base());
        if let Some((_, is_emulator)) = known {
            return Ok((name, *is_emulator));
        }
    }
    bail!(Usage(
        "placements are measured on one platform with a VM of this host: choose qemu-kvm or qemu-tcg"
            .to_owned()
    ))
}

/// Divisor of the time limit. If the matrix would take more than this part of the limit on a quiet host, the first
/// rows measure how slow this host is.
const CERTAIN: u32 = 4;

/// Measures until all placements are done, or the time is used up. Prints remarks; returns the results, and whether all
/// was measured.
pub fn measure(
    on: &[PlatformName],
    asked: Asked<'_>,
    parts: &Parts,
    mut output: Output,
    mut session: Session,
) -> anyhow::Result<(Vec<ResultFile>, bool)> {
    let begun = Instant::now();
    let (name, is_emulator) = platform(on)?;
    let cpus = Cpus::of_host();
    session.stop = session.stop.until(begun + asked.time);
    let run = |rows: &[PlaceRow], turns: Turns, boots: u32, output: &Output| {
        let mut parts = parts.clone();
        let workloads = workloads(rows, is_emulator, &cpus.all());
        parts.lab.workloads = workloads.context("a workload can't be written")?;
        let spec = RunSpec {
            facts: facts(rows),
            turns,
            platforms: vec![name.clone()],
            boots: Some(boots),
            perturb: Some(0),
            parts,
            output: output.clone(),
            ..RunSpec::default()
        };
        whole::measure(RowsOf::Placements, spec, &session)
    };
    // Estimates assume a quiet host. If they come close to the limit, the first rows measure how slow this host is,
    // and the matrix is chosen again.
    let mut matrix = Matrix::choose(&cpus, asked, 1.0);
    if matrix.takes() * CERTAIN > asked.time {
        let rows = matrix.first_rows();
        let text = format!("measuring {} rows to estimate the time", rows.len());
        output::progress("place", &text);
        let first = run(&rows, Turns::default(), 1, &output)?;
        if !first.is_whole() {
            return Ok(done(first, &matrix, asked.boots, &session));
        }
        // The later results replace those of the first rows.
        output = Output {
            folder: Some(first.folder.path().to_owned()),
            force: true,
        };
        let took = begun.elapsed();
        let asked = Asked {
            time: asked.time.saturating_sub(took),
            ..asked
        };
        matrix = Matrix::choose(&cpus, asked, Matrix::slowness(&rows, took));
    }
    output::progress("place", &matrix.said());
    let all = run(&matrix.rows(), matrix.turns(), asked.boots, &output)?;
    Ok(done(all, &matrix, asked.boots, &session))
}

/// Prints problems, and the planned placements that were left out.
fn done(
    measured: Measured,
    planned: &Matrix,
    boots: u32,
    session: &Session,
) -> (Vec<ResultFile>, bool) {
    if !measured.interrupted {
        // The plan has named what it leaves out, and all of the plan was measured.
        return measured.finish();
    }
    let rows = measured.results.iter().flat_map(|result| &result.rows);
    let is_whole = |row: &&Row| {
        let ends = row
            .outcomes
            .iter()
            .filter(|end| end.status != Status::Unreached);
        ends.count() >= boots as usize
    };
    let whole: BTreeSet<String> = rows
        .filter(is_whole)
        .map(|row| row.benchmark.clone())
        .collect();
    let left_out = planned.left_out(|row| whole.contains(&row.name()));
    if let (Some(why), Some(left_out)) = (session.stop.why(), left_out) {
        let boots = match boots {
            1 => String::new(),
            boots => format!(", or measured in fewer than {boots} boots"),
        };
        let text = format!("{}; left out{boots}: {left_out}", why.words());
        output::remark(&text);
    }
    measured.finish()
}
