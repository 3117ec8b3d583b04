//! The command line: what may be typed, and what `--help` teaches.

pub mod bisect;
mod history;
pub mod io;
mod judge;
pub mod lab;
mod nested;
mod patch_hyp;

use crate::rounds::plan::Page;
use crate::terminal::output::When;
use bisect::BisectArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use io::IoArgs;
use lab::{LabCommand, Places};
use std::path::PathBuf;
use std::time::Duration;
use ws_machines::name::{PlatformName, parse_list};

pub use history::{By, HistoryArgs, HistoryWhat, PlotArgs};
pub use judge::{CompareArgs, Effect, JudgeArgs};
pub use nested::NestedArgs;
pub use patch_hyp::PatchHypArgs;

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

const RUN_EXAMPLES: &str = "\
Platforms (worldswitch list platforms tells which are usable here):
  lab:native       QEMU counting instructions; the same digits on every host
  kvm              this host's KVM, under our own monitor
  qemu-kvm         this host's KVM, under QEMU
  qemu-tcg         QEMU in the host's time
  serial:DEVICE    a machine that you boot, heard over a serial line
  log:FILE         a saved console
Options of the QEMU platforms: +cpu=MODEL, +memory=MIB, as in qemu-tcg+cpu=EPYC+memory=256;
kvm has +memory=MIB.
After serial: and log: the rest is a path as it stands; write a comma in it as '\\,'.

Examples:
  worldswitch run --on lab:native --boots 1
  worldswitch run --suite dall2015 --on lab:kvm,lab:kvm-vhe,lab:kvm-nvhe,lab:arm-xen
  worldswitch run --on qemu-tcg --bench '^(in|out)$' --samples 50
  worldswitch run --on qemu-tcg --page 2m --ws 64M --bench memory
  worldswitch run --on qemu-tcg --external --bench '^(idle|in|sgdt)$'
                   the guest's clock against the host's; Idle shows how sure the latter is
  worldswitch run --on serial:/dev/ttyUSB0 -o bare-metal
  worldswitch run --on log:console.txt --export-csv table.csv";

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

#[derive(Debug, Default, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// Platforms, separated by commas; may be given again. Default: the usable ones of
    /// lab:native, kvm, qemu-kvm (on hardware) and qemu-tcg.
    #[arg(long, value_name = "PLATFORM,...", value_parser = platforms)]
    pub on: Vec<PlatformList>,
    /// Only benchmarks in whose name this regular expression is found.
    #[arg(long, value_name = "REGEX", value_parser = regex::Regex::new)]
    pub bench: Option<regex::Regex>,
    /// The benchmarks of a paper, in a table laid out as the paper's, with what it published beside.
    #[arg(long, value_name = "PAPER", conflicts_with = "bench")]
    pub suite: Option<Suite>,
    /// How often to boot each platform. Default: 2 where instructions are counted (the second
    /// proves the digits), 16 where time is measured (what compare needs to find 10 % in a row), 1 on
    /// a serial line, all that a log holds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub boots: Option<u32>,
    /// Where instructions are counted: so many boots more, in which something differs that should
    /// not matter (passes of an empty loop before each batch, the size of memory). How far figures
    /// move with it is their invariance band, beyond which compare sees a difference. Default: 1,
    /// none where --boots is given, and with --quick as many as fit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub perturb: Option<u32>,
    /// Samples of each benchmark in a boot. Default: the guest chooses.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub samples: Option<u64>,
    /// Operations in each sample. Default: the guest chooses.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub iters: Option<u64>,
    /// Run all benchmarks on this many vCPUs. Default: as few as each needs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub smp: Option<u32>,
    /// Page size of the memory that is measured.
    #[arg(long, value_name = "SIZE")]
    pub page: Option<Page>,
    /// Working set of the memory benchmarks, in bytes or with K, M or G.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub ws: Option<u64>,
    /// Passes of an empty loop before each timed batch: shows which figures move with the phase
    /// of what ticks beside them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub pad: Option<u64>,
    /// Where time is measured: boot N has the seed SEED + N - 1, by which benchmarks are run in another order,
    /// the operation's loop or the control loop comes first, and data lie elsewhere. 0: all boots are alike.
    #[arg(long, value_name = "SEED", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(0..=u64::from(u32::MAX)))]
    pub seed: u64,
    /// Also time each batch from outside: the guest sends a byte before and after it, and this
    /// program reads the host's counter when it comes. Shows both costs and how they differ. Only
    /// where time is measured and the host hears the guest byte by byte: qemu-tcg. Batches are
    /// made to last over 10 ms, so a boot takes longer.
    #[arg(long)]
    pub external: bool,
    /// Choose boots and samples so that all is done within two minutes.
    #[arg(long, conflicts_with_all = ["boots", "samples", "iters"])]
    pub quick: bool,
    /// Compare the other platforms with this one.
    #[arg(long, value_name = "PLATFORM")]
    pub baseline: Option<PlatformName>,
    /// Let compared results differ in this condition; may be given again.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
    /// How long one benchmark may take before its machine is stopped. Time in which the machine waits for a
    /// processor of the host does not count.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub timeout: Duration,
    #[command(flatten)]
    pub parts: Parts,
    /// Pin the threads of vCPU 0, 1, ... to these CPUs of the host, on every platform that
    /// measures time. Default: isolated CPUs where there are enough, else none.
    #[arg(long, value_name = "CPU,...", value_parser = cpus)]
    pub pin: Option<Cpus>,
    /// Also write a page of the results, report.html beside them.
    #[arg(long)]
    pub report: bool,
    #[command(flatten)]
    pub output: Output,
    /// Tell the machines' command lines, their times to the first record, chosen iterations.
    #[arg(short, long)]
    pub verbose: bool,
    /// Also write the table as JSON.
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,
    /// Also write the table as CSV.
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,
    /// Also write the table as Markdown.
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
}

/// What `--timeout` is if nobody says.
const BENCH_LIMIT: Duration = Duration::from_secs(30);

/// Where results go.
#[derive(Debug, Clone, Default, Args)]
pub struct Output {
    /// Folder for the results, a file a platform. Default: ws-runs/TIME.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace results that lie in the folder already.
    #[arg(long)]
    pub force: bool,
}

impl RunArgs {
    /// These benchmarks on these platforms, and all else as if nobody said: for other commands
    /// that measure.
    pub fn of(on: PlatformList, bench: regex::Regex, parts: Parts) -> Self {
        Self {
            on: vec![on],
            bench: Some(bench),
            timeout: BENCH_LIMIT,
            parts,
            ..Self::default()
        }
    }
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

/// The platforms of one `--on`.
pub type PlatformList = Vec<PlatformName>;

/// A list of platforms, as `--on` takes it.
pub fn platforms(text: &str) -> Result<PlatformList, String> {
    parse_list(text).map_err(|e| e.to_string())
}

/// The CPUs of `--pin`.
pub type Cpus = Vec<u32>;

fn cpus(text: &str) -> Result<Cpus, String> {
    ws_machines::pin::parse(text)
}

/// A number of bytes, with a suffix K, M or G (powers of 1024).
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        None => (text, 0),
        Some(digits) => match text.to_ascii_uppercase().chars().last() {
            Some('K') => (digits, 10),
            Some('M') => (digits, 20),
            _ => (digits, 30),
        },
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "a number of bytes, as 4096, 64K, 2M or 1G".to_owned())
}

/// A time limit.
pub fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .filter(|seconds| *seconds >= 0.1 && *seconds <= 86_400.0)
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "a number of seconds from 0.1 to 86400".to_owned())
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
    fn sizes_and_times_are_read() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("64K"), Ok(65_536));
        assert_eq!(bytes("2m"), Ok(2 << 20));
        assert_eq!(bytes("1G"), Ok(1 << 30));
        for wrong in ["", "K", "-1", "1T", "0", "99999999999G", "1.5M"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for wrong in ["0", "-1", "nan", "inf", "x", "1e9"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
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
        assert_eq!(run.timeout, BENCH_LIMIT);
        let error = Cli::try_parse_from(["ws", "run", "--on", "lab native"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
