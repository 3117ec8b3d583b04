//! The command line: its definition and its help texts.

mod explain;
mod form;
pub mod help;
mod history;
mod judge;
pub mod lab;
pub mod old;
mod paper;
mod results;
mod run;
mod test;
mod values;

use clap::{ArgAction, Args, Parser, Subcommand};
use help::{GENERAL, MACHINES};
use lab::{LabCommand, PlacesArgs};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use ws_machines::name::PlatformName;
use ws_runner::parts::Parts;
use ws_runner::{RunSpec, Session};
use ws_terminal::Stop;

pub use explain::ExplainArgs;
pub use form::{Form, file, file_of};
pub use history::{FilterArgs, HistoryArgs, HistoryWhat, PlotArgs, StoreArgs};
pub use judge::{CompareArgs, Effect, JudgeArgs};
pub use paper::PaperArgs;
pub use results::{ModelArgs, ReportArgs, ShowArgs, Suite, View};
pub use run::{AppsArgs, NestedArgs, OutputArgs, PlaceArgs, RunArgs, Work, fleet, io};
pub use test::TestArgs;
use values::When;
pub use values::{PlatformList, folder, platforms, seconds};

/// The version, and the commit if it is known (build.rs).
pub const VERSION: &str = env!("WORLDSWITCH_VERSION");

const EXAMPLES: &str = "\
Examples:
  worldswitch run                               all benchmarks on every usable platform
  worldswitch run --quick                       the same, in about a minute
  worldswitch run hypercall in --on lab:kvm     two benchmarks, in exact instructions
  worldswitch run --on lab:native,qemu-tcg -o before
                                                two platforms, results in ./before
  worldswitch run apps                          applications, natively and in a VM
  worldswitch test HEAD~ HEAD                   what a kernel's last commit costs, and why
  worldswitch show before                       the results of an earlier run
  worldswitch compare before after              what got better or worse
  worldswitch test --budget kvm.toml            instruction counts against a budget, for CI
  worldswitch explain hypercall --on lab:kvm    the functions that execute its instructions
  worldswitch machines                          which are usable here, and what the others lack
  worldswitch paper                             the tables and figures of five papers, with the
                                                commands that measure them

Results go to stdout, everything else to stderr. --json prints results as JSON. The file name -
means stdout (docs/results.md).

Exit codes:
  0  ok
  1  an error, or interrupted
  2  wrong usage
  3  a regression
  4  inconclusive, or nothing was compared";

/// Measures what virtualization costs: boots a small guest kernel that times every operation that
/// can force an exit to the hypervisor.
#[derive(Debug, Parser)]
#[command(name = "worldswitch", version = VERSION, after_help = EXAMPLES, arg_required_else_help = true,
    disable_help_flag = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Use colour: auto (on a terminal, unless NO_COLOR is set), always or never.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true,
        hide_default_value = true, help_heading = GENERAL)]
    pub color: When,
    /// Print only data and errors, without progress and notes.
    #[arg(short, long, global = true, help_heading = GENERAL)]
    pub quiet: bool,
    /// Print help.
    #[arg(short, long, global = true, action = ArgAction::Help, help_heading = GENERAL)]
    help: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure any workload on any machine, and keep the results.
    Run(Box<RunArgs>),
    /// Test a change or a budget: costs that moved, and their functions.
    Test(Box<TestArgs>),
    /// List, show and measure the tables and figures of five papers.
    Paper(PaperArgs),
    /// Show results of an earlier run, or their cost model.
    Show(Box<ShowArgs>),
    /// Compare results: better, worse, no change, inconclusive.
    Compare(CompareArgs),
    /// Write an HTML page: findings, changes and all tables.
    Report(ReportArgs),
    /// Keep results over time; plot a benchmark by date or by kernel.
    History(HistoryArgs),
    /// Show which functions execute an operation's instructions.
    Explain(Box<ExplainArgs>),
    /// List platforms: what each needs, and which are usable here.
    Machines(MachinesArgs),
    /// List benchmarks: what each measures, and on which platforms.
    Benchmarks(BenchmarksArgs),
    /// Fetch, boot and bisect machines of the deterministic lab.
    Lab {
        #[command(subcommand)]
        what: LabCommand,
    },
    /// Check this host for missing parts and disturbances, with cures.
    Doctor(DoctorArgs),
    /// Serve as one client of `run io`.
    #[command(name = io::CLIENT, hide = true)]
    IoClient { task: String },
    /// Write the manual pages and completions of this command, for `make install`.
    #[command(hide = true)]
    Manual {
        /// The folder `share` of an installation.
        share: PathBuf,
    },
    /// Print the completions of a command line's last word.
    #[command(hide = true)]
    Complete {
        /// The program, and its arguments.
        #[arg(last = true)]
        words: Vec<OsString>,
    },
}

#[derive(Debug, Args)]
pub struct BenchmarksArgs {
    /// Platforms, separated by commas. Default: the platforms that run uses on this host.
    #[arg(long, value_name = "PLATFORM,...", value_parser = platforms)]
    pub on: Vec<PlatformList>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
}

#[derive(Debug, Args)]
pub struct MachinesArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes:\n  0  no problem\n  1  a problem, or the report can't be printed\n  2  wrong usage"
)]
pub struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
}

/// Exports of a table. One of them may go to standard output, in place of the table.
#[derive(Clone, Debug, Default, Args)]
pub struct Exports {
    /// Print JSON instead of the table.
    #[arg(long, conflicts_with = "export_json")]
    pub json: bool,
    /// Write the table as JSON to FILE. With -, print JSON instead of the table.
    #[arg(long, value_name = "FILE", value_parser = file(Form::Json))]
    pub export_json: Option<PathBuf>,
    /// Write the table as Markdown to FILE. With -, print Markdown instead of the table.
    #[arg(long, value_name = "FILE", value_parser = file(Form::Markdown))]
    pub export_markdown: Option<PathBuf>,
}

impl Exports {
    /// File of the JSON, if the user asked for one.
    pub fn json_to(&self) -> Option<&Path> {
        match self.json {
            true => Some(Path::new(STDOUT)),
            false => self.export_json.as_deref(),
        }
    }

    /// All files.
    pub fn files(&self) -> [Option<&Path>; 2] {
        [self.json_to(), self.markdown_to()]
    }

    /// File of the Markdown, if the user asked for one.
    pub fn markdown_to(&self) -> Option<&Path> {
        self.export_markdown.as_deref()
    }
}

/// The file name that means standard output.
pub const STDOUT: &str = "-";

/// Options that all commands share which measure and show a table of their own.
#[derive(Clone, Debug, Default, Args)]
pub struct Usual {
    #[command(flatten, next_help_heading = help::OUTPUT)]
    pub output: OutputArgs,
    #[command(flatten, next_help_heading = help::OUTPUT)]
    pub exports: Exports,
    #[command(flatten, next_help_heading = help::MACHINES)]
    pub parts: PartsArgs,
}

impl Usual {
    /// Returns the settings of a run: these options, for platforms and boots.
    pub fn spec(&self, platforms: Vec<PlatformName>, boots: u32) -> RunSpec {
        RunSpec {
            platforms,
            boots: Some(boots),
            parts: self.parts.to_parts(),
            output: self.output.to_output(),
            ..RunSpec::default()
        }
    }
}

/// The user's replacements for the files that machines are made from.
#[derive(Clone, Debug, Default, Args)]
pub struct PartsArgs {
    /// The guest image. Default: the image that make build makes.
    #[arg(long, value_name = "FILE")]
    pub guest: Option<PathBuf>,
    /// The QEMU program. Default in the lab: QEMU from worldswitch lab fetch. Default elsewhere: qemu-system-x86_64 in
    /// PATH.
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// The KVM monitor (vmm). Default: the monitor that make build makes.
    #[arg(long, value_name = "FILE")]
    pub vmm: Option<PathBuf>,
    /// Boot a lab machine at each launch instead of resuming its saved state.
    #[arg(long)]
    pub no_resume: bool,
    #[command(flatten)]
    pub lab: PlacesArgs,
}

impl PartsArgs {
    /// Converts the options for the code that makes machines.
    pub fn to_parts(&self) -> Parts {
        Parts {
            guest: self.guest.clone(),
            qemu: self.qemu.clone(),
            vmm: self.vmm.clone(),
            no_resume: self.no_resume,
            lab: self.lab.to_places(),
        }
    }
}

/// Makes the session of a measurement, which a signal stops.
pub fn session() -> anyhow::Result<Session> {
    Ok(Session {
        tool: format!("worldswitch {VERSION}"),
        stop: Stop::listen()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_holds_together() {
        help::command().debug_assert();
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
