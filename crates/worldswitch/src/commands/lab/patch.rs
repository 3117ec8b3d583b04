//! `worldswitch lab patch`: rewrites a hypervisor's image for virtual EL2 of a CPU that does not
//! trap its instructions.

use crate::cli::STDOUT;
use crate::cli::lab::PatchHypArgs;
use crate::shared::write as write_file;
use anyhow::{Context, bail};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use ws_patcher::{Options, Outline};
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
        report.to_text()
    })
}
