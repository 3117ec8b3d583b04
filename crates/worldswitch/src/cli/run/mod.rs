//! Options of `run`, some of which other commands share.

mod apps;
pub mod fleet;
pub mod io;
mod nested;
mod place;

use super::help::{MACHINES, OUTPUT};
use super::values::{Cpus, PlatformList, apic, bytes, cpus, folder, page, platforms, seconds};
use super::{Exports, Form, PartsArgs, Suite, file};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;
use ws_machines::name::PlatformName;
use ws_runner::plan::{Apic, Page, Parameters};
use ws_runner::{Benchmarks, Output, RunSpec};

pub use apps::AppsArgs;
pub use fleet::FleetArgs;
pub use io::IoArgs;
pub use nested::NestedArgs;
pub use place::PlaceArgs;

const RUN_EXAMPLES: &str = "\
Platforms (worldswitch machines shows which are usable here):
  lab:native       QEMU counting instructions, no hypervisor; the same figures on every host
  lab:kvm, ...     a hypervisor in that QEMU (worldswitch lab list has all recipes)
  kvm              this host's KVM, with the project's own monitor (vmm)
  qemu-kvm         this host's KVM, with QEMU
  qemu-tcg         QEMU's TCG, in real time
  serial:DEVICE    a machine that you boot, read over a serial line
  log:FILE         a saved console
Options of the QEMU platforms: +cpu=MODEL, +memory=MIB, as in qemu-tcg+cpu=EPYC+memory=256.
Option of kvm: +memory=MIB.
A path follows serial: and log: literally. Write a comma in the path as '\\,'.

Examples:
  worldswitch run --on lab:native --boots 1
  worldswitch run hypercall in --on lab:kvm
  worldswitch run --suite dall2015 --on lab:kvm,lab:kvm-vhe,lab:kvm-nvhe,lab:arm-xen
  worldswitch run --on qemu-tcg --bench '^(in|out)$' --samples 50
  worldswitch run --on qemu-tcg --page 2m --ws 64M --bench memory
  worldswitch run --on qemu-tcg --external --bench '^(idle|in|sgdt)$'
                   the guest's clock against the host's; Idle shows the host's accuracy
  worldswitch run --on serial:/dev/ttyUSB0 -o bare-metal
  worldswitch run apps --on lab:linux,lab:kvm-linux
                   applications, natively and in a VM
  worldswitch run --on log:console.txt --export-csv table.csv
  worldswitch run hypercall --on lab:kvm --json -q | jq '.rows[].cells[].value'";

/// Headings of options.
const SIZE: &str = "How much is measured";
const GUEST: &str = "How the guest runs";

/// Workloads with options and a table of their own.
#[derive(Debug, Subcommand)]
pub enum Work {
    /// Measure applications, natively and in a VM.
    Apps(Box<AppsArgs>),
    /// Measure disks and networks: elvis and other servers on this host, or a VM's devices in the lab.
    Io(Box<IoArgs>),
    /// Measure a host and its VM on the same CPUs and on different CPUs.
    Place(Box<PlaceArgs>),
    /// Measure nested virtualization, next to the NEVE paper's figures.
    Nested(Box<NestedArgs>),
    /// Measure a campaign over many machines, by Slurm or here.
    Fleet(Box<FleetArgs>),
}

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES, args_conflicts_with_subcommands = true, disable_help_subcommand = true,
    subcommand_value_name = "WORKLOAD", subcommand_help_heading = "Workloads with options of their own")]
pub struct RunArgs {
    #[command(subcommand)]
    pub work: Option<Work>,
    /// Run only these benchmarks (worldswitch benchmarks lists all). Default: all.
    #[arg(value_name = "BENCH", conflicts_with_all = ["bench", "suite"])]
    pub names: Vec<String>,
    /// Platforms, separated by commas; may be repeated. Default: all of lab:native, kvm, qemu-kvm and qemu-tcg that
    /// are usable here (KVM only with hardware virtualization).
    #[arg(long, value_name = "PLATFORM,...", value_parser = platforms)]
    pub on: Vec<PlatformList>,
    /// Run only benchmarks whose name matches this regular expression (any part of the name).
    #[arg(long, value_name = "REGEX", value_parser = regex::Regex::new)]
    pub bench: Option<regex::Regex>,
    /// Show all benchmarks. Default if all were run: only the dozen main benchmarks.
    #[arg(long)]
    pub all: bool,
    /// Run the benchmarks of a suite, and show its table. A paper's table has the published figures too. Without --on,
    /// every-kvm runs on KVM for AMD, Intel, ARM and RISC-V.
    #[arg(long, value_name = "SUITE", conflicts_with = "bench")]
    pub suite: Option<Suite>,
    /// Boots of each platform. Default where instructions are counted: 2. The second boot proves that the counts are
    /// exact. It resumes the state of the first, unless --no-resume is given. Default where time is measured: 16. With
    /// 16 boots, compare detects a change of 10 % in one benchmark. Default on a software KVM: 3. Default on a serial
    /// line: 1. Default for a log: all boots in the log.
    #[arg(long, value_name = "N", help_heading = SIZE, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub boots: Option<u32>,
    /// Extra boots with shifted code and more memory, where instructions are counted. The range of a figure over all
    /// boots is its band. compare ignores changes inside the band, and gives no verdict without such boots. Default:
    /// 1; none if --boots is given.
    #[arg(long, value_name = "N", help_heading = SIZE, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub perturb: Option<u32>,
    /// Samples of each benchmark per boot. Default: the guest chooses.
    #[arg(long, value_name = "N", help_heading = SIZE, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub samples: Option<u64>,
    /// Operations in each sample. Default: the guest chooses.
    #[arg(long, value_name = "N", help_heading = SIZE,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub iters: Option<u64>,
    /// Run all benchmarks with N vCPUs. Default: as few as each benchmark needs.
    #[arg(long, value_name = "N", help_heading = GUEST, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub smp: Option<u32>,
    /// Page size of the measured memory.
    #[arg(long, value_name = "SIZE", help_heading = GUEST, value_parser = page())]
    pub page: Option<Page>,
    /// Working set of the memory benchmarks, in bytes or with K, M or G.
    #[arg(long, value_name = "BYTES", help_heading = GUEST, value_parser = bytes)]
    pub ws: Option<u64>,
    /// Run N passes of an empty loop before each timed batch. Shows which figures depend on the phase of timers.
    #[arg(long, value_name = "N", help_heading = GUEST, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub pad: Option<u64>,
    /// Access of x86 guests to their local APIC. Default: x2apic if the CPU has it, else xapic.
    #[arg(long, value_name = "APIC", help_heading = GUEST, value_parser = apic())]
    pub apic: Option<Apic>,
    /// Seed of the boots, where time is measured: boot N has the seed SEED + N - 1. The seed sets the order of the
    /// benchmarks, the order of operation loop and control loop, and the addresses of data. With 0, all boots are
    /// alike.
    #[arg(long, value_name = "SEED", default_value_t = 1, help_heading = GUEST,
          value_parser = clap::value_parser!(u64).range(0..=u64::from(u32::MAX)))]
    pub seed: u64,
    /// Time each batch on the host too. The guest sends a byte before and after each batch. This program reads the
    /// host's counter when the byte arrives. The table has both costs and their difference. Only on qemu-tcg. Batches
    /// last more than 10 ms, so a boot takes longer.
    #[arg(long, help_heading = GUEST)]
    pub external: bool,
    /// Choose boots and samples so that measuring ends in about a minute, and report omissions. Each platform boots at
    /// least once. Where instructions are counted, one perturbed boot is always added.
    #[arg(long, help_heading = SIZE, conflicts_with_all = ["boots", "samples", "iters"])]
    pub quick: bool,
    /// The platform that all others are compared with.
    #[arg(long, value_name = "PLATFORM", alias = "baseline", help_heading = OUTPUT)]
    pub base: Option<PlatformName>,
    /// Compare results even if this condition differs; may be repeated.
    #[arg(long, value_name = "FIELD", help_heading = OUTPUT)]
    pub allow: Vec<String>,
    /// Time limit of one benchmark, after which the machine is stopped. Time in which the machine waits for a host CPU
    /// does not count. Default: 30; 600 for workloads of a whole Linux.
    #[arg(long, value_name = "SECONDS", help_heading = SIZE, value_parser = seconds)]
    pub timeout: Option<Duration>,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
    /// Pin the threads of vCPU 0, 1, ... to these host CPUs, on every platform that measures time. Default: isolated
    /// CPUs if there are enough. Second choice, on a host with several kinds of cores: CPUs of the fastest kind with
    /// enough CPUs. Otherwise threads are not pinned.
    #[arg(long, value_name = "CPU,...", help_heading = GUEST, value_parser = cpus)]
    pub pin: Option<Cpus>,
    /// Write an HTML page too: report.html in the folder of the results.
    #[arg(long, help_heading = OUTPUT)]
    pub report: bool,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub output: OutputArgs,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub exports: Exports,
    /// Write the table as CSV to FILE. With -, print CSV instead of the table.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, value_parser = file(Form::Csv))]
    pub export_csv: Option<PathBuf>,
    /// Show each machine's command line, time to the first record, and chosen iterations.
    #[arg(short, long, conflicts_with = "quiet", help_heading = super::help::GENERAL)]
    pub verbose: bool,
}

/// Folder of the results.
#[derive(Debug, Clone, Default, Args)]
pub struct OutputArgs {
    /// Folder for the results, one file per platform. Default: ws-runs/TIME.
    #[arg(short, long, value_name = "DIR", value_parser = folder())]
    pub output: Option<PathBuf>,
    /// Replace results that are already in the folder.
    #[arg(long)]
    pub force: bool,
}

impl OutputArgs {
    /// Converts the options for the code that writes results.
    pub fn to_output(&self) -> Output {
        Output {
            folder: self.output.clone(),
            force: self.force,
        }
    }
}

impl RunArgs {
    /// Returns the settings of the run, without a suite's benchmarks, which the caller adds.
    pub fn spec(&self) -> RunSpec {
        RunSpec {
            platforms: self.on.iter().flatten().cloned().collect(),
            benchmarks: match &*self.names {
                [] => self.bench.clone().into(),
                names => Benchmarks::Named(names.to_vec()),
            },
            boots: self.boots,
            perturb: self.perturb,
            parameters: Parameters {
                samples: self.samples,
                iters: self.iters,
                page: self.page,
                ws_bytes: self.ws,
                pad: self.pad,
                apic: self.apic,
                external: self.external,
                ..Parameters::default()
            },
            smp: self.smp,
            seed: self.seed,
            quick: self.quick,
            base: self.base.clone(),
            timeout: self.timeout,
            pin: self.pin.clone(),
            parts: self.parts.to_parts(),
            output: self.output.to_output(),
            verbose: self.verbose,
            ..RunSpec::default()
        }
    }
}
