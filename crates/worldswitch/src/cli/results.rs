//! Options of commands that read results: `show` and `report`.

use super::help::{MACHINES, OUTPUT};
use super::lab::PlacesArgs;
use super::values::paging;
use super::{Exports, FilterArgs, Form, STDOUT, StoreArgs, file_of};
use clap::{Arg, Args, ValueEnum};
use std::path::{Path, PathBuf};
use ws_machines::name::PlatformName;
use ws_results::Paging;

const SHOW_HELP: &str = "\
Results of one kind of workload are shown in the table of that kind. All other results are shown in
the table of benchmarks.

Examples:
  worldswitch show run                          the table of a run
  worldswitch show run:lab:kvm                  one result in detail
  worldswitch show apps --prices run            applications, and the cost model's predictions
  worldswitch show nested --view nested         next to the NEVE paper's figures
  worldswitch show run --suite dall2015         next to the figures of Dall et al.
  worldswitch show run --native run:lab:native  the cost model
  worldswitch show i10 i100 i1000 --native native --paging nested
                                                also fits the operator, from runs with --iters 10,
                                                100 and 1000
  worldswitch show run:kvm --native run:serial --events web.toml

A file for --events:
  [events]
  in = 2000
  cold-memory-access = 512
  [time]                           optional: the whole workload, natively and measured in the guest
  unit = \"insns\"
  direct = 900000
  guest = 10200000";

/// The heading of a history's options.
const HISTORY: &str = "Only for --history";

/// The heading of the cost model's options.
const MODEL: &str = "Cost model";

/// A paper or list whose benchmarks and table layout can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// Dall et al. 2015, Table 2: seven microbenchmarks of KVM and Xen on ARM and x86.
    Dall2015,
    /// HyperBench 2019, Table 3: sixteen benchmarks, on bare metal and in VMs.
    Hyperbench,
    /// NEVE 2017, Tables 1 and 6: four microbenchmarks in VMs and nested VMs.
    Neve2017,
    /// kvm-unit-tests: the rows of x86/vmexit.c and arm/micro-bench.c, under the names there.
    Kut,
    /// Six operations of KVM on AMD, Intel, ARM and RISC-V.
    EveryKvm,
}

impl Suite {
    /// Platforms that the suite is measured on if the user names none; None: those of any run.
    pub fn platforms(self) -> Option<&'static str> {
        match self {
            Self::EveryKvm => Some(
                "lab:native,lab:kvm@unstable,lab:kvm-amd@unstable,lab:kvm-intel@unstable+bochs=3.0,lab:arm-native,lab:kvm-vhe@unstable,\
                 lab:kvm-nvhe@unstable,lab:kvm-protected@unstable,lab:kvm-nested,lab:riscv-native,lab:kvm-riscv@unstable,\
                 lab:kvm-riscv@unstable+aia=1",
            ),
            Self::Dall2015 | Self::Hyperbench | Self::Neve2017 | Self::Kut => None,
        }
    }

    /// Name of the suite, on the command line and in `reference/suites.csv`.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or(String::new(), |value| value.get_name().to_owned())
    }
}

/// A table of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// Benchmarks by machine.
    Table,
    /// Applications: instructions or time of a unit of work, and ratios.
    Apps,
    /// Requests to a VM's devices: exits and instructions.
    Io,
    /// Placements on host CPUs.
    Place,
    /// Benchmarks in nested VMs, next to the NEVE paper's figures.
    Nested,
    /// Applications in nested VMs.
    NestedApps,
}

#[derive(Debug, Args)]
#[command(after_help = SHOW_HELP)]
pub struct ShowArgs {
    /// Results: a folder, FOLDER:PLATFORM or a file. A folder or several results are shown as a
    /// table, a single result in detail.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<String>,
    /// The table to show. Default: the table for the results' workloads.
    #[arg(long, value_enum)]
    pub view: Option<View>,
    /// Show all benchmarks. Default if all were run: only the dozen main benchmarks.
    #[arg(long)]
    pub all: bool,
    /// Use a suite's table layout, with a paper's published figures.
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<Suite>,
    /// The platform that all others are compared with.
    #[arg(long, value_name = "PLATFORM", alias = "baseline")]
    pub base: Option<PlatformName>,
    /// Compare results even if this condition differs; may be repeated.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
    /// Predict the cost of applications with the cost model, and show the errors of the predictions. Prices of exits
    /// come from these results of microbenchmarks (worldswitch run --on lab:kvm@6.12 ...). May be repeated.
    #[arg(long, value_name = "RUN")]
    pub prices: Vec<String>,
    #[command(flatten, next_help_heading = MODEL)]
    pub model: ModelArgs,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub exports: Exports,
    /// Print Markdown instead of the table.
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["json", "export_markdown", "native"])]
    pub markdown: bool,
    /// Print CSV instead of the table. Only for the table of benchmarks.
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["json", "markdown", "native", "export_json", "export_markdown"])]
    pub csv: bool,
    #[command(flatten, next_help_heading = MACHINES)]
    pub places: PlacesArgs,
}

impl ShowArgs {
    /// Exports of the table, including `--markdown`.
    pub fn forms(&self) -> Exports {
        let mut exports = self.exports.clone();
        if self.markdown {
            exports.export_markdown = Some(Path::new(STDOUT).to_owned());
        }
        exports
    }
}

/// Input of the cost model, and the workload that it predicts.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// Show the cost model: the cost of each kind of event. The model compares the guests' results in PATH with these
    /// native results of the same benchmarks. May be repeated, for other --iters or --page.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["view", "all", "suite", "base", "prices", "export_markdown"])]
    pub native: Vec<String>,
    /// Translation of guest addresses, for results that do not record the paging.
    #[arg(long, value_name = "PAGING", value_parser = paging(), requires = "native")]
    pub paging: Option<Paging>,
    /// Predict a workload from its events: a TOML file whose table [events] has a count for each benchmark.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "events_of",
        requires = "native"
    )]
    pub events: Option<PathBuf>,
    /// Take the events of a workload from the host's counts of a benchmark in a result.
    #[arg(long, num_args = 2, value_names = ["RESULT", "BENCHMARK"], requires = "native")]
    pub events_of: Vec<String>,
}

/// Makes options of a history need it.
fn of_history(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "store" | "db" | "platform" | "host" => arg.requires("history"),
        _ => arg,
    }
}

#[derive(Debug, Args)]
#[command(mut_args = of_history)]
pub struct ReportArgs {
    /// Results: a folder, FOLDER:PLATFORM or a file. Explanations in a folder are shown too.
    #[arg(required_unless_present_any = ["simulated", "history"], value_name = "RUN")]
    pub runs: Vec<String>,
    /// Show the newest run of each platform in the history, the hosts, and the trends by kernel.
    #[arg(long, conflicts_with_all = ["runs", "simulated", "base", "events", "allow"])]
    pub history: bool,
    /// Draw figures of a simulation: the output of elvis simulate --figure N --json.
    #[arg(long, value_name = "FILE")]
    pub simulated: Option<PathBuf>,
    /// The HTML file to write, self-contained. FILE.svg gets only the first chart of the page. Other file extensions
    /// are refused. With -, write the page to standard output.
    #[arg(short, long, value_name = "FILE", default_value = "report.html",
        value_parser = file_of(&[Form::Html, Form::Svg]))]
    pub output: PathBuf,
    /// The base of the comparison. A platform of the results: all others are shown relative to this platform (default:
    /// the lab's machines without a hypervisor). A folder of other results: each platform is judged against the same
    /// platform there. FOLDER:PLATFORM or a file: all platforms are judged against this result. May be given twice,
    /// once for a platform and once for results.
    #[arg(long, value_name = "PLATFORM|RUN", alias = "baseline")]
    pub base: Vec<String>,
    /// Show the cost of a workload on each platform. FILE is a file as for worldswitch show --events.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Compare results even if this condition differs; may be repeated.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
    #[command(flatten, next_help_heading = HISTORY)]
    pub store: StoreArgs,
    #[command(flatten, next_help_heading = HISTORY)]
    pub of: FilterArgs,
}
