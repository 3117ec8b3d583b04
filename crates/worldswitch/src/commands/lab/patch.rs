//! `worldswitch lab patch`: rewrites a hypervisor's image for virtual EL2 of a CPU that does not
//! trap its instructions.

use crate::cli::STDOUT;
use crate::cli::lab::PatchHypArgs;
use crate::shared::write as write_file;
use anyhow::{Context, bail};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use ws_patcher::{Access, Options, Outline, Report};
use ws_terminal::{Usage, output};

/// Limit of the image's size: ten kernels.
const IMAGE_BYTES_MAX: u64 = 1 << 30;

/// Patches the image and prints the changes.
pub fn patch(args: &PatchHypArgs) -> anyhow::Result<()> {
    if args.json && args.output == Path::new(STDOUT) {
        bail!(Usage(
            "--json and the image can't both go to standard output".to_owned()
        ));
    }
    let name = args.input.display();
    let mut bytes = Vec::new();
    File::open(&args.input)
        .and_then(|file| file.take(IMAGE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .with_context(|| format!("can't read {name}"))?;
    if bytes.len() as u64 > IMAGE_BYTES_MAX {
        bail!("{name} is larger than 1 GiB, too large for a hypervisor's image");
    }
    let options = Options {
        target: args.to,
        vhe: args.vhe,
        outline: Outline {
            code: args.code.clone(),
            veneers: args.veneers,
            pages: args.pages,
        },
    };
    let (patched, report) =
        ws_patcher::patch(&bytes, &options).with_context(|| format!("can't patch {name}"))?;
    if !write_file(&args.output, &patched)? {
        return Ok(());
    }
    output::data(&if args.json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        table(&report)
    })
}

/// Formats the report as text: by register, the replacement of its accesses.
fn table(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let mut line = |register: &str, access: &str, becomes: &str, places: &str| {
        let _ = writeln!(text, "{register:<18} {access:<8} {places:>6}  {becomes}");
    };
    let word = |access| match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Execute => "",
    };
    line("register", "access", "becomes", "places");
    let mut total = 0;
    for row in &report.changed {
        total += row.places.len();
        let places = row.places.len().to_string();
        line(&row.register, word(row.access), row.becomes, &places);
    }
    for row in &report.left {
        let stays = format!("stays: {}", row.why);
        let places = row.places.len().to_string();
        line(&row.register, word(row.access), &stays, &places);
    }
    let _ = writeln!(
        text,
        "\n{total} instructions of {} were rewritten; veneers take {} bytes. {} words of data look like such instructions.",
        report.code_bytes / 4,
        report.veneer_bytes,
        report.in_data,
    );
    text.push_str(
        "The patched image runs only under these conditions, which the image does not show:\n",
    );
    for need in &report.needs {
        let _ = writeln!(text, "- {need}");
    }
    text
}
