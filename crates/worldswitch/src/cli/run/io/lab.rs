//! Options of `worldswitch run io` with `--on`: the devices of a VM in the lab.

use crate::cli::help::{MACHINES, OUTPUT};
use crate::cli::values::yes_or_no;
use crate::cli::{Exports, PartsArgs, PlatformList, platforms};
use clap::{Arg, Args};

/// The option that chooses the lab, which all others here need.
const ON: &str = "on";

/// All options of the lab alone.
const OF_LAB: [&str; 12] = [
    "explain",
    "device",
    "busy",
    "boots",
    "perturb",
    "export_markdown",
    "guest",
    "qemu",
    "vmm",
    "no_resume",
    "lab_dir",
    "cache",
];

/// Options of both.
const OF_BOTH: [&str; 6] = [ON, "depth", "output", "force", "json", "export_json"];

/// Adds to an option of the command where it belongs: others are of servers on this host.
pub(super) fn where_it_belongs(arg: Arg) -> Arg {
    let id = arg.get_id().as_str();
    match OF_LAB.contains(&id) {
        true => arg.requires(ON),
        false if OF_BOTH.contains(&id) => arg,
        false => arg.conflicts_with(ON),
    }
}

#[derive(Debug, Args)]
pub struct LabArgs {
    /// Measure the devices of a VM in the lab instead of servers on this host: instructions and exits of one request.
    /// Platforms, separated by commas; may be repeated.
    #[arg(long, value_name = "PLATFORM,...", value_parser = platforms)]
    pub on: Vec<PlatformList>,
    /// Show which functions execute the instructions of a request. Each chosen row is measured once more. Choose at
    /// most three rows (--device, --depth, --busy=no).
    #[arg(long)]
    pub explain: bool,
    /// Measure only devices whose name matches this regular expression (any part of the name).
    #[arg(long, value_name = "REGEX", value_parser = regex::Regex::new)]
    pub device: Option<regex::Regex>,
    /// Measure only with a vCPU that never halts (yes), or only with a vCPU that sleeps while it waits (no). Default:
    /// both.
    #[arg(long, value_name = "WHETHER", value_parser = yes_or_no(), require_equals = true, num_args = 0..=1,
        default_missing_value = "yes")]
    pub busy: Option<bool>,
    /// Boots of each platform. The second boot proves that the counts are exact.
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub boots: u32,
    /// Extra boots with more instructions before each row and another memory size. The range of a figure over all
    /// boots is its band.
    #[arg(long, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub perturb: u32,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub exports: Exports,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
}

#[cfg(test)]
mod tests {
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn parse(words: &str) -> Result<Command, String> {
        let words = ["worldswitch", "run", "io"]
            .into_iter()
            .chain(words.split(' '));
        let cli = Cli::try_parse_from(words);
        cli.map(|cli| cli.command)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_lab_and_this_host_do_not_mix() {
        for good in [
            "--depth 1 --rounds 2",
            "--on lab:kvm-linux --depth 1,8 --device ^qemu$ --busy -o x",
            "--on lab:kvm-linux --busy=no --perturb 4 --export-json x --lab-dir y",
            "--quick --json",
            "--quick --export-json x",
            "scaling --quick",
        ] {
            assert!(parse(good).is_ok(), "{good}: {:?}", parse(good));
        }
        for (wrong, said) in [
            ("--on lab:kvm-linux scaling", "'[EXPERIMENT]...'"),
            ("--on lab:kvm-linux --rounds 3", "'--rounds <N>'"),
            ("--on lab:kvm-linux --elvis x", "'--elvis <FILE>'"),
            ("--on lab:kvm-linux --io-cpu 1", "'--io-cpu <CPU>'"),
            ("--on lab:kvm-linux --disk tmpfs", "'--disk <DISK>'"),
            ("--boots 3", "--on <PLATFORM,...>"),
            ("--busy", "--on <PLATFORM,...>"),
            ("--qemu x", "--on <PLATFORM,...>"),
            ("--on lab:kvm-linux --busy=maybe", "'maybe'"),
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
