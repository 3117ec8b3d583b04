//! The command line: its definition and its help texts.

mod apps;
pub mod bisect;
mod explain;
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

pub use apps::AppsArgs;
pub use explain::ExplainArgs;
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
  worldswitch run --quick                 the same, in about a minute
  worldswitch run --on lab:native --bench '^s[gli]dt$'
                                          three benchmarks, in exact instructions
  worldswitch run --on lab:native,qemu-tcg -o before
                                          two platforms, results in ./before
  worldswitch show before                 the table of an earlier run
  worldswitch show before:lab:native      one of its platforms in detail
  worldswitch compare before after        what got better or worse; exit code 3 on a regression
  worldswitch lab check --budget kvm.toml instruction counts against a budget, for CI
  worldswitch explain hypercall --on lab:kvm
                                          the functions that it spends its instructions on
  worldswitch bisect --kernel-tree linux --good v6.12 --bad v6.13 --bench hypercall
                                          the Linux commit that changed it
  worldswitch report before -o page.html  an HTML page with tables and plots
  worldswitch list platforms              what is usable here, and what is missing for the rest
  worldswitch doctor                      what disturbs measurements on this host, and the fix

Results go to stdout, everything else to stderr.
Exit codes: 0 ok, 1 error or interrupted, 2 wrong usage, 3 regression, 4 inconclusive.";

/// Measures what virtualization costs: boots a small guest kernel that times every operation that
/// can force an exit to the hypervisor.
#[derive(Debug, Parser)]
#[command(name = "worldswitch", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: When,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure; show the table and keep the results.
    Run(Box<RunArgs>),
    /// List benchmarks or platforms, and what they need.
    List {
        #[command(subcommand)]
        what: ListWhat,
    },
    /// Show results of an earlier run.
    Show(ShowArgs),
    /// The deterministic lab: list, fetch, boot and check its machines.
    Lab {
        #[command(subcommand)]
        what: LabCommand,
    },
    /// Compare results with a base: better, worse, no change or inconclusive.
    Compare(CompareArgs),
    /// Show which functions an operation's instructions are in, and what another kernel does more.
    Explain(Box<ExplainArgs>),
    /// Find the kernel commit that changed a benchmark's instruction count.
    Bisect(Box<BisectArgs>),
    /// Write an HTML page of results: what was found, a chart, what changed, the papers' figures, all tables.
    Report(ReportArgs),
    /// Keep results over time, and plot a benchmark by date or by kernel.
    History(HistoryArgs),
    /// Model what each kind of event costs in a guest, and predict a workload's cost.
    Model(ModelArgs),
    /// Measure block I/O of many devices: elvis, its baselines and its peers.
    Io(Box<IoArgs>),
    /// One client of `io`.
    #[command(name = io::CLIENT, hide = true)]
    IoClient { task: String },
    /// Measure applications natively and in a virtual machine, in the lab.
    Apps(Box<AppsArgs>),
    /// Measure nested virtualization on Arm with every mechanism, beside the NEVE paper's tables.
    Nested(Box<NestedArgs>),
    /// Rewrite a hypervisor's image so that it runs as a guest hypervisor on an Arm CPU that does
    /// not trap its instructions.
    PatchHyp(PatchHypArgs),
    /// Check this host: what is missing, what disturbs measurements, and how to fix it.
    Doctor(DoctorArgs),
    /// Write the manual pages and completions of this command, for `make install`.
    #[command(hide = true)]
    Manual {
        /// The folder `share` of an installation.
        share: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum ListWhat {
    /// Benchmarks, what each measures, and which platforms can measure it.
    Benchmarks {
        /// Platforms, separated by commas. Default: those that run uses by default here.
        #[arg(long, value_name = "PLATFORM,...", value_parser = platforms)]
        on: Vec<PlatformList>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        parts: Parts,
    },
    /// Platforms to measure on, what each needs, and whether it is usable here.
    Platforms {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        parts: Parts,
    },
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub parts: Parts,
}

/// Files to which a command also writes what it shows.
#[derive(Clone, Debug, Default, Args)]
pub struct Exports {
    /// Also write the tables as JSON, with all counts.
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,
    /// Also write the tables as Markdown.
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
}

/// The user's replacements for the files that machines are made from.
#[derive(Clone, Debug, Default, Args)]
pub struct Parts {
    /// The guest image. Default: the one that make build makes.
    #[arg(long, value_name = "FILE")]
    pub guest: Option<PathBuf>,
    /// The QEMU program. Default: in the lab, the one from worldswitch lab fetch; elsewhere
    /// qemu-system-x86_64 in PATH.
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// The KVM monitor (vmm). Default: the one that make build makes.
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
