//! The words of commands that read results: `show`, `report`, `model`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use ws_machines::name::PlatformName;

const MODEL_EXAMPLES: &str = "\
Examples:
  worldswitch model run --native run:lab:native
  worldswitch model i10 i100 i1000 --native native --paging nested
                                   the operator too, from runs with --iters 10, 100 and 1000
  worldswitch model run:kvm --native run:serial --events web.toml
Events:
  [events]
  in = 2000
  cold-memory-access = 512
  [time]                           may be left out: the whole workload, natively and as measured in the guest
  unit = \"insns\"
  direct = 900000
  guest = 10200000";

/// A paper whose benchmarks and table are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// Dall et al. 2015, Table 2: seven microbenchmarks of KVM and Xen on ARM and x86.
    Dall2015,
    /// HyperBench 2019, Table 3: sixteen benchmarks, natively and in virtual machines.
    Hyperbench,
    /// NEVE 2017, Tables 1 and 6: four microbenchmarks in virtual machines and nested ones.
    Neve2017,
}

impl Suite {
    /// As the reference calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dall2015 => "dall2015",
            Self::Hyperbench => "hyperbench",
            Self::Neve2017 => "neve2017",
        }
    }
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A folder of results or several results show as a table; one result, FOLDER:PLATFORM or a
    /// file, shows in detail.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<String>,
    /// The table laid out as a paper's, with what it published beside.
    #[arg(long, value_name = "PAPER")]
    pub suite: Option<Suite>,
    /// Compare the other platforms with this one.
    #[arg(long, value_name = "PLATFORM")]
    pub baseline: Option<PlatformName>,
    /// Let compared results differ in this condition; may be given again.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
    /// The table as JSON.
    #[arg(long, group = "form")]
    pub json: bool,
    /// The table as Markdown.
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// The table as CSV.
    #[arg(long, group = "form")]
    pub csv: bool,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Results: a folder, FOLDER:PLATFORM, or a file.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// The page to write: one file, which needs no network.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Compare the other platforms with this one. Default: lab:native and lab:arm-native, where they are
    /// among them.
    #[arg(long, value_name = "PLATFORM")]
    pub baseline: Option<PlatformName>,
    /// Older results: verdicts of each platform against the same of this run.
    #[arg(long, value_name = "RUN")]
    pub base: Option<String>,
    /// A workload's events, whose cost the model predicts: a file as `worldswitch model` takes it.
    /// Default: one event of each term.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Let compared results differ in this condition; may be given again.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = MODEL_EXAMPLES)]
pub struct ModelArgs {
    /// Results of guests: FOLDER, FOLDER:PLATFORM or a file. Several of one platform, with different
    /// --iters or --page, make one model together.
    #[arg(required = true, value_name = "GUEST")]
    pub guests: Vec<String>,
    /// The same measured natively; may be given again, for other --iters or --page.
    #[arg(long, required = true, value_name = "NATIVE")]
    pub native: Vec<String>,
    /// How the guests' addresses become the host's, where the results do not say.
    #[arg(long, value_name = "PAGING")]
    pub paging: Option<PagingKind>,
    /// A workload's events: a TOML file with a table [events], by benchmark how often.
    #[arg(long, value_name = "FILE", conflicts_with = "events_of")]
    pub events: Option<PathBuf>,
    /// The same from what the host counted while a benchmark of a result ran.
    #[arg(long, num_args = 2, value_names = ["RESULT", "BENCHMARK"])]
    pub events_of: Vec<String>,
    /// Let guest and native differ in this condition; may be given again.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
    /// Also write the model as JSON (docs/model-schema.json).
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,
}

/// How guest addresses become the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PagingKind {
    /// A second set of tables that the processor walks (EPT, NPT).
    Nested,
    /// Tables that the hypervisor keeps in place of the guest's.
    Shadow,
    /// By an emulator.
    Software,
}
