//! The command line: what may be typed, and what `--help` teaches.

pub mod bisect;
mod history;
pub mod io;
mod judge;
pub mod lab;
mod nested;
mod patch_hyp;
mod results;
mod run;
mod values;

use crate::terminal::output::When;
use bisect::BisectArgs;
use clap::{Args, Parser, Subcommand};
use io::IoArgs;
use lab::{LabCommand, Places};
use std::path::PathBuf;

pub use history::{By, HistoryArgs, HistoryWhat, PlotArgs};
pub use judge::{CompareArgs, Effect, JudgeArgs};
pub use nested::NestedArgs;
pub use patch_hyp::PatchHypArgs;
pub use results::{ModelArgs, PagingKind, ReportArgs, ShowArgs, Suite};
pub use run::{Output, RunArgs};
pub use values::{PlatformList, platforms, seconds};

const EXAMPLES: &str = "\
Examples:
  worldswitch run                         all benchmarks on every usable platform
  worldswitch run --quick                 the same within two minutes
  worldswitch run --on lab:native --bench '^s[gli]dt$'
                                          three benchmarks, in exact instructions
  worldswitch run --on lab:native,qemu-tcg -o before
                                          two platforms, results in ./before
  worldswitch show before                 the table of an earlier run
  worldswitch show before:lab:native      all about one of its platforms
  worldswitch compare before after        what became better, what worse; for scripts too
  worldswitch lab check --budget kvm.toml and against a budget, for a CI
  worldswitch bisect --kernel-tree linux --good v6.12 --bad v6.13 --bench hypercall
                                          which commit of Linux changed it
  worldswitch report before -o page.html  a page to look at, with plots
  worldswitch list platforms              what can be used here, and what is missing
  worldswitch doctor                      what on this host spoils measurements, and the cure

Results go to stdout, all else to stderr.
Exit codes: 0 ok, 1 error or interrupted, 2 wrong usage, 3 regression, 4 inconclusive.";

/// Measures what virtualization costs: boots a small guest that times each operation which
/// leaves a virtual machine, and shows the cost of one.
#[derive(Debug, Parser)]
#[command(name = "worldswitch", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// When to colour what is shown.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: When,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure, show the table, keep the results.
    Run(Box<RunArgs>),
    /// What can be measured, and where.
    List {
        #[command(subcommand)]
        what: ListWhat,
    },
    /// Show results of an earlier run.
    Show(ShowArgs),
    /// The deterministic lab: its recipes, and the packages that its machines are made of.
    Lab {
        #[command(subcommand)]
        what: LabCommand,
    },
    /// Better, worse, no change or inconclusive: results against a base.
    Compare(CompareArgs),
    /// Find the commit of a kernel tree from which on a benchmark counts otherwise in the lab.
    Bisect(Box<BisectArgs>),
    /// Write a page of results: tables, plots, the papers' figures beside them.
    Report(ReportArgs),
    /// Keep results over time, and look at a benchmark by date or by kernel.
    History(HistoryArgs),
    /// What each kind of event costs in a guest, and what a workload's events cost together.
    Model(ModelArgs),
    /// Block I/O of many devices: elvis, its baselines and its peers, by turns.
    Io(Box<IoArgs>),
    /// One client of `io`.
    #[command(name = io::CLIENT, hide = true)]
    IoClient { task: String },
    /// Nested virtualization on Arm by all mechanisms, beside the NEVE paper's tables.
    Nested(Box<NestedArgs>),
    /// Rewrite a hypervisor's instructions, so that its image runs as a guest hypervisor on an Arm CPU
    /// that does not trap them.
    PatchHyp(PatchHypArgs),
    /// What this host lacks, what on it spoils measurements, and the cure.
    Doctor(DoctorArgs),
}

#[derive(Debug, Subcommand)]
pub enum ListWhat {
    /// What the guest image can measure, what that needs, and whether this host has it.
    Benchmarks {
        /// As JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        parts: Parts,
    },
    /// Where it can be measured, what that needs, and whether it is usable here.
    Platforms {
        /// As JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        parts: Parts,
    },
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub parts: Parts,
}

/// What machines are made from, where the user names something else than what is found.
#[derive(Clone, Debug, Default, Args)]
pub struct Parts {
    /// The guest image to use. Default: the one that make build makes.
    #[arg(long, value_name = "FILE")]
    pub guest: Option<PathBuf>,
    /// The QEMU to use. Default: in the lab its own, which worldswitch lab fetch brings; elsewhere
    /// qemu-system-x86_64 in the search path.
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// The KVM monitor to use. Default: the one that make build makes.
    #[arg(long, value_name = "FILE")]
    pub vmm: Option<PathBuf>,
    #[command(flatten)]
    pub lab: Places,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn platforms_are_split() {
        let cli =
            Cli::try_parse_from(["ws", "run", "--on", "lab:native,qemu-tcg", "--on", "log:x"]);
        let Command::Run(run) = cli.unwrap().command else {
            panic!("not run");
        };
        let names: Vec<String> = run.on.iter().flatten().map(ToString::to_string).collect();
        assert_eq!(names, ["lab:native", "qemu-tcg", "log:x"]);
        let error = Cli::try_parse_from(["ws", "run", "--on", "lab native"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
