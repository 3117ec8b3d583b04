//! The words of `run`, and those of its that other commands share.

use super::values::{Cpus, PlatformList, bytes, cpus, platforms, seconds};
use super::{Parts, Suite};
use crate::rounds::plan::Page;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use ws_machines::name::PlatformName;

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
