//! `worldswitch`: measures what virtualization costs.
//!
//! Layers, top to bottom; none uses one above it:
//! `commands` (what each command does), `cli` (the command line), `rounds` (what is booted when),
//! `launch` (one launch, from bytes to rows), `outcome` (rows to a result), `patcher` (hypervisor
//! images for virtual EL2).
//!
//! The only exit point. Exit codes: 0 ok, 1 error, 2 wrong usage, 3 regression, 4 inconclusive or nothing compared.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod cli;
mod commands;
#[cfg(test)]
mod fake;
mod launch;
mod measure;
mod outcome;
mod patcher;
mod recorder;
mod rounds;
mod shared;

use clap::FromArgMatches;
use cli::Cli;
use measure::Usage;
use std::process::ExitCode;
use ws_terminal::output;

fn main() -> ExitCode {
    let parsed = cli::help::command().try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // If the terminal is gone, there is nowhere to report the error.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let colours = output::Colours::choose(cli.color.asked());
    output::be_quiet(cli.quiet);
    match commands::command(&cli.command, colours) {
        Ok(done) => ExitCode::from(done.code()),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error, colours);
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// In the order of this file's head.
    const LAYERS: [&str; 9] = [
        "commands", "shared", "cli", "recorder", "measure", "rounds", "launch", "outcome",
        "patcher",
    ];

    /// Checks every file in `folder`, which belongs to layer number `layer`.
    fn check(folder: &Path, layer: usize) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                check(&path, layer);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for used in text.split("crate::").skip(1) {
                let above = LAYERS[..layer]
                    .iter()
                    .find(|above| used.starts_with(**above));
                assert_eq!(above, None, "{} uses a layer above it", path.display());
            }
        }
    }

    #[test]
    fn no_layer_uses_one_above_it() {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for (index, layer) in LAYERS.iter().enumerate() {
            check(&src.join(layer), index);
        }
    }
}
