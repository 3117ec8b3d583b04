//! `worldswitch run place`: a host and its VM at work on chosen CPUs, alone and together.

use crate::cli::{PlaceArgs, View, session};
use crate::shared::{Done, views};
use anyhow::{Context, bail};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use ws_machines::name::PlatformName;
use ws_place::{Asked, Cpus, Matrix, facts, workloads};
use ws_results::place::{PlaceKind, PlaceRow};
use ws_results::{ResultFile, Row, Status};
use ws_runner::rows::RowsOf;
use ws_runner::turns::Turns;
use ws_runner::{Measured, Output, RunSpec, Session, whole};
use ws_terminal::{Colours, Usage, output};

/// Platforms with a VM on this host, and whether the VM is emulated.
const PLATFORMS: [(&str, bool); 2] = [("qemu-kvm", false), ("qemu-tcg", true)];

/// Measures and shows the results.
pub fn place(args: &PlaceArgs, colours: Colours) -> anyhow::Result<Done> {
    let (results, is_whole) = measured(args, colours)?;
    let places = args.usual.parts.lab.to_places();
    views::show(View::Place, &results, &places, &args.usual.exports)?;
    Ok(Done::whole_if(is_whole))
}

/// Returns the platform, and whether its VM is emulated.
fn platform(args: &PlaceArgs) -> anyhow::Result<(&PlatformName, bool)> {
    if let [name] = &*args.on {
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

/// Measures until all placements are done, or the time is used up.
fn measured(args: &PlaceArgs, colours: Colours) -> anyhow::Result<(Vec<ResultFile>, bool)> {
    let begun = Instant::now();
    let (name, is_emulator) = platform(args)?;
    let cpus = Cpus::of_host();
    let kinds: Vec<PlaceKind> = PlaceKind::ALL
        .into_iter()
        .filter(|kind| args.kind.is_empty() || args.kind.contains(kind))
        .collect();
    let asked = Asked {
        kinds: &kinds,
        cells: args.cells,
        time: Duration::from_secs(u64::from(args.time) * 60),
        boots: args.boots,
    };
    let mut session = session(colours)?;
    session.stop = session.stop.until(begun + asked.time);
    let run = |rows: &[PlaceRow], turns: Turns, boots: u32, output: &Output| {
        let mut parts = args.usual.parts.to_parts();
        let workloads = workloads(rows, is_emulator, &cpus.all());
        parts.lab.workloads = workloads.context("a workload can't be written")?;
        let spec = RunSpec {
            rows: Some(RowsOf::Placements),
            facts: facts(rows),
            turns,
            platforms: vec![name.clone()],
            boots: Some(boots),
            perturb: Some(0),
            parts,
            output: output.clone(),
            ..RunSpec::default()
        };
        whole::measure(&spec, |_| false, "placements", &session)
    };
    // Estimates assume a quiet host. If they come close to the limit, the first rows measure how slow this host is,
    // and the matrix is chosen again.
    let mut matrix = Matrix::choose(&cpus, asked, 1.0);
    let mut output = args.usual.output.to_output();
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
    let all = run(&matrix.rows(), matrix.turns(), args.boots, &output)?;
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
        return measured.finish(session.colours);
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
        output::remark(&text, session.colours);
    }
    measured.finish(session.colours)
}
