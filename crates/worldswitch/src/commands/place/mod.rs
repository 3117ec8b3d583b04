//! `worldswitch place`: a host and its VM at work on chosen CPUs, alone and together.

mod matrix;
mod work;

use crate::cli::{Output, PlaceArgs, RunArgs};
use crate::commands::{Done, Usage, put, whole};
use crate::rounds::rows::RowsOf;
use crate::terminal::{Colours, output};
use anyhow::{Context, bail};
use matrix::{Asked, Cpus, Matrix};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use ws_machines::name::PlatformName;
use ws_report::{PlaceKind, PlaceRow, Placement};
use ws_results::ResultFile;

/// Platforms with a VM on this host, and whether it is an emulator's.
const PLATFORMS: [(&str, bool); 2] = [("qemu-kvm", false), ("qemu-tcg", true)];

/// Measures, or loads earlier results, and shows them.
///
/// # Errors
/// Nothing could be measured, there is no such result, or a table can't be written.
pub fn place(args: &PlaceArgs, colours: Colours) -> anyhow::Result<Done> {
    let (results, done) = match args.of.is_empty() {
        true => measured(args, colours)?,
        false => (ws_results::load_all(&args.of)?, Done::Whole),
    };
    let placement = Placement::of(&results, &ws_report::reference::load()?);
    if placement.kinds.is_empty() {
        bail!("no placement was measured there");
    }
    put(
        &args.usual.exports,
        || placement.to_terminal(),
        || placement.to_json(),
        || placement.to_markdown(),
    )?;
    Ok(done)
}

/// The platform, and whether its VM is an emulator's.
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

/// A matrix that by the times of a quiet host would take more than this part of the time is chosen by what
/// the first rows take on this one.
const CERTAIN: u32 = 4;

fn measured(args: &PlaceArgs, colours: Colours) -> anyhow::Result<(Vec<ResultFile>, Done)> {
    let (name, is_emulator) = platform(args)?;
    let cpus = Cpus::of_host()?;
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
    let run = |rows: &[PlaceRow], boots: u32, output: &Output| {
        let mut parts = args.usual.parts.clone();
        parts.lab.workloads = workloads(rows, is_emulator, &cpus.all())?;
        let run = RunArgs {
            bench: Some(regex::Regex::new("^place-")?),
            rows: Some(RowsOf::Applications),
            ..whole::run(&[vec![name.clone()]], (boots, 0), &parts, output)
        };
        whole::quietly(&run, |_| false, "placements", colours)
    };
    let mut matrix = Matrix::choose(&cpus, asked, 1.0);
    let mut output = args.usual.output.clone();
    if matrix.takes() * CERTAIN > asked.time {
        let rows = matrix.first_rows();
        let text = format!("{} rows tell how long this host takes", rows.len());
        output::progress("place", &text);
        let begun = Instant::now();
        let first = run(&rows, 1, &output)?;
        if !first.is_whole() {
            return Ok(first.told(colours));
        }
        // What follows replaces their results.
        output = Output {
            output: Some(first.folder.path().to_owned()),
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
    Ok(run(&matrix.rows(), args.boots, &output)?.told(colours))
}

/// The workloads of these rows, and what is beside them, by their files' names.
fn workloads(
    rows: &[PlaceRow],
    is_emulator: bool,
    all: &str,
) -> anyhow::Result<BTreeMap<String, String>> {
    let of = |row: &PlaceRow| {
        let text = work::workload(row, is_emulator, all);
        let text = text.context("a workload can't be written")?;
        Ok((format!("{}.toml", row.name()), text))
    };
    let shell = (work::SHELL_FILE.to_owned(), work::SHELL.to_owned());
    rows.iter().map(of).chain([Ok(shell)]).collect()
}
