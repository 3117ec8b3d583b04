//! `worldswitch place`: a host and its VM at work on chosen CPUs, alone and together.

mod matrix;
mod work;

use crate::cli::{PlaceArgs, RunArgs};
use crate::commands::{Done, Usage, put, whole};
use crate::rounds::rows::RowsOf;
use crate::terminal::{Colours, output};
use anyhow::{Context, bail};
use matrix::{Cpus, Matrix};
use std::fs;
use ws_machines::name::PlatformName;
use ws_report::{PlaceKind, Placement};
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
        &args.exports,
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

fn measured(args: &PlaceArgs, colours: Colours) -> anyhow::Result<(Vec<ResultFile>, Done)> {
    let (name, is_emulator) = platform(args)?;
    let cpus = Cpus::of_host()?;
    let kinds: Vec<PlaceKind> = PlaceKind::ALL
        .into_iter()
        .filter(|kind| args.kind.is_empty() || args.kind.contains(kind))
        .collect();
    let matrix = Matrix::choose(&cpus, &kinds, args.cells, args.time, args.boots);
    output::progress("place", &matrix.said());
    let folder = tempfile::tempdir().context("can't make a folder for workloads")?;
    let workloads = folder.path().join("workloads");
    fs::create_dir(&workloads)?;
    for row in matrix.rows() {
        let text = work::workload(&row, is_emulator, &cpus.all());
        fs::write(
            workloads.join(format!("{}.toml", row.name())),
            text.context("a workload can't be written")?,
        )?;
    }
    let mut parts = args.parts.clone();
    parts.lab.lab_dir.push(folder.path().to_owned());
    let run = RunArgs {
        bench: Some(regex::Regex::new("^place-")?),
        rows: Some(RowsOf::Applications),
        ..whole::run(&[vec![name.clone()]], (args.boots, 0), &parts, &args.output)
    };
    whole::measured(&run, |_| false, "placements", colours)
}
