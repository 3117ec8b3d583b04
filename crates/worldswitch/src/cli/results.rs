//! Options of commands that read results: `show`, `report`, `model`.

use super::values::paging;
use super::{Form, file, file_of};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use ws_machines::name::PlatformName;
use ws_results::Paging;

const MODEL_EXAMPLES: &str = "\
Examples:
  worldswitch model run --native run:lab:native
  worldswitch model i10 i100 i1000 --native native --paging nested
                                   also fits the operator, from runs with --iters 10, 100 and 1000
  worldswitch model run:kvm --native run:serial --events web.toml
A file for --events:
  [events]
  in = 2000
  cold-memory-access = 512
  [time]                           optional: the whole workload, natively and measured in the guest
  unit = \"insns\"
  direct = 900000
  guest = 10200000";

/// A paper whose benchmarks and table layout can be chosen.
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
    /// Its name in `reference/suites.csv`.
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
    /// Results: a folder, FOLDER:PLATFORM or a file. A folder or several results are shown as a
    /// table, a single result in detail.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<String>,
    /// Show all benchmarks. By default the table of a whole suite has the dozen that matter.
    #[arg(long)]
    pub all: bool,
    /// Use a paper's table layout, with its published figures.
    #[arg(long, value_name = "PAPER")]
    pub suite: Option<Suite>,
    /// The platform that the others are compared with.
    #[arg(long, value_name = "PLATFORM", alias = "baseline")]
    pub base: Option<PlatformName>,
    /// Compare results even if this condition differs; may be repeated.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
    /// Print the table as JSON.
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print the table as Markdown.
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// Print the table as CSV.
    #[arg(long, group = "form")]
    pub csv: bool,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Results: a folder, FOLDER:PLATFORM or a file. Explanations in a folder are shown too.
    #[arg(required_unless_present = "simulated", value_name = "RUN")]
    pub runs: Vec<String>,
    /// Also draw figures that a model gives: the output of `elvis simulate --figure N --json`.
    #[arg(long, value_name = "FILE")]
    pub simulated: Option<PathBuf>,
    /// The page to write: one self-contained HTML file. FILE.svg gets only the page's first chart. Other file
    /// extensions are refused. -: write the page to standard output.
    #[arg(short, long, value_name = "FILE", default_value = "report.html",
        value_parser = file_of(&[Form::Html, Form::Svg]))]
    pub output: PathBuf,
    /// What the results are compared with. One of their platforms: the others are shown relative to it
    /// (default: the lab's machines without a hypervisor). A folder of other results: each platform is judged
    /// against the same one there. FOLDER:PLATFORM or a file: all platforms are judged against this one. May be
    /// given twice, once for a platform and once for results.
    #[arg(long, value_name = "PLATFORM|RUN", alias = "baseline")]
    pub base: Vec<String>,
    /// Also show what a workload would cost on each platform: a file as for `worldswitch model
    /// --events`.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Compare results even if this condition differs; may be repeated.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = MODEL_EXAMPLES)]
pub struct ModelArgs {
    /// Results of guests: a folder, FOLDER:PLATFORM or a file. Several results of one platform,
    /// with different --iters or --page, give one model.
    #[arg(required = true, value_name = "GUEST")]
    pub guests: Vec<String>,
    /// Results of the same benchmarks, measured natively; may be repeated, for other --iters or
    /// --page.
    #[arg(long, required = true, value_name = "NATIVE")]
    pub native: Vec<String>,
    /// How guest addresses are translated, if the results do not say.
    #[arg(long, value_name = "PAGING", value_parser = paging())]
    pub paging: Option<Paging>,
    /// A workload's events: a TOML file whose table [events] has a count per benchmark.
    #[arg(long, value_name = "FILE", conflicts_with = "events_of")]
    pub events: Option<PathBuf>,
    /// Take the events from the host's counts of a benchmark in a result.
    #[arg(long, num_args = 2, value_names = ["RESULT", "BENCHMARK"])]
    pub events_of: Vec<String>,
    /// Use guest and native results even if this condition differs; may be repeated.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
    /// Print JSON instead of the tables.
    #[arg(long, conflicts_with = "export_json")]
    pub json: bool,
    /// Also write the model as JSON. FILE may be -, standard output, which then has no table.
    #[arg(long, value_name = "FILE", value_parser = file(Form::Json))]
    pub export_json: Option<PathBuf>,
}
