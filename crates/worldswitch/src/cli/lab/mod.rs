//! Subcommands and options of `worldswitch lab`.

mod bisect;
mod diverge;
mod patch;

use crate::cli::help::{MACHINES, OUTPUT};
use crate::cli::{Form, OutputArgs, PartsArgs, PlatformList, file};
use clap::{Args, Subcommand};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use ws_lab::fetch::old;
use ws_runner::parts::{Parts, Places};

pub use bisect::BisectArgs;
pub use diverge::{By, DivergeArgs};
pub use patch::PatchHypArgs;

const FETCH_HELP: &str = "\
A NAME is a recipe (kvm, lab:kvm@6.12) or a set of packages (qemu); worldswitch lab list shows both.
apt downloads the packages as your user, into a separate folder: it installs nothing on this system
and needs no root. They come from the Debian archive that this system's apt is configured for. If
there is none, name one:
  worldswitch lab fetch --mirror URL --keyring /usr/share/keyrings/debian-archive-keyring.gpg
Without apt: run worldswitch lab export on a system that has it, and worldswitch lab import here.";

const BOOT_HELP: &str = "\
The kernel needs no changes: it runs under the machine's hypervisor, as the project's guest does.
Ctrl-C stops it.

Examples:
  worldswitch lab boot kvm --kernel grub-i386-xen_pvh.bin
  worldswitch lab boot kvm --kernel vmlinuz --initrd initrd.img --append 'console=ttyS0 quiet'
  worldswitch lab boot native --kernel vmexit.flat --append cpuid

Exit codes:
  0  the kernel powered the machine off
  1  any other end: a refusal, a reset, a triple fault, an error of KVM, --timeout or Ctrl-C
  2  wrong usage";

const CHECK_HELP: &str = "\
A budget names platforms and benchmarks, and how many instructions one operation may cost:
  [budget.\"lab:kvm\"]
  hypercall = 3100
  in = 3500

Only these benchmarks are run, two boots each; a figure counts only if both boots agree exactly.
With --perturb a figure is over only if it is over in all boots: if its band reaches down to the
budget, it is in doubt.

Examples:
  worldswitch lab check --budget kvm.toml --write --on lab:kvm --bench '^(hypercall|in)$'
                                         measure, and write the figures as a budget
  worldswitch lab check --budget kvm.toml
  worldswitch lab check --budget kvm.toml --json -o results

A budget can name a kernel of your own: [budget.\"lab:kvm@./my-build\"].

Exit codes, the first that applies:
  2  wrong usage, or an invalid budget
  1  a broken lab: no figure of it can be trusted
  3  a figure is over its budget
  1  an error, or a platform that failed
  4  a figure is in doubt or not exact
  0  all figures are within";

/// Folders of recipes and packages.
#[derive(Clone, Debug, Default, Args)]
pub struct PlacesArgs {
    /// A folder with your own recipes/NAME.toml and packages.toml, searched before the installed
    /// one; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub lab_dir: Vec<PathBuf>,
    /// The folder of fetched packages. Default: $XDG_CACHE_HOME/worldswitch, or
    /// ~/.cache/worldswitch.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

impl PlacesArgs {
    /// Converts the options for the code that opens the folders.
    pub fn to_places(&self) -> Places {
        Places {
            lab_dir: self.lab_dir.clone(),
            cache: self.cache.clone(),
            workloads: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// List recipes and sets of packages, and which sets are fetched.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        places: PlacesArgs,
    },
    /// Show a resolved recipe: the machine's parts, and the reason for each flag.
    Show {
        /// A recipe, such as kvm or lab:kvm@6.12.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        places: PlacesArgs,
    },
    /// Fetch the packages of lab machines: emulator, kernels, hypervisors.
    #[command(after_help = FETCH_HELP)]
    Fetch(FetchArgs),
    /// Find the kernel commit that changed a benchmark's instructions.
    Bisect(Box<BisectArgs>),
    /// Boot your own kernel in a lab machine, with its console on standard output.
    #[command(after_help = BOOT_HELP)]
    Boot(BootArgs),
    /// Rewrite an Arm hypervisor so that it runs as a guest hypervisor.
    Patch(PatchHypArgs),
    /// Print the functions of a lab machine's kernel and modules with their addresses, as
    /// /proc/kallsyms of that machine has them. Boots it once; later calls read the cache.
    Symbols {
        /// The machine, such as kvm or lab:kvm@6.12.
        name: String,
        /// The QEMU program. Default: the one from worldswitch lab fetch.
        #[arg(long, value_name = "PATH")]
        qemu: Option<PathBuf>,
        #[command(flatten)]
        places: PlacesArgs,
    },
    /// Find the first instruction that two boots execute differently, or the functions that only one executes.
    Diverge(DivergeArgs),
    /// Check benchmarks' instruction counts on lab machines against a budget, for CI.
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
    /// Write fetched packages to one file, for a host without apt or network.
    Export {
        /// The file to write, such as lab.tar.gz. - is standard output.
        file: PathBuf,
        /// Only these sets. Default: all that are fetched.
        sets: Vec<String>,
        #[command(flatten)]
        places: PlacesArgs,
    },
    /// Import packages from a file that export wrote, after checking all of it.
    Import {
        file: PathBuf,
        #[command(flatten)]
        places: PlacesArgs,
    },
}

/// Options of `lab boot`.
#[derive(Debug, Args)]
pub struct BootArgs {
    /// The machine, such as kvm or lab:kvm-shadow@6.12.
    pub name: String,
    /// The kernel. On x86: a Linux bzImage, an ELF file with a PVH entry, or a multiboot kernel. On
    /// ARM: an arm64 Image, or a program without a header whose name ends in .flat. It may be compressed,
    /// or in an EFI program (zboot, unified kernel image).
    #[arg(long, value_name = "FILE")]
    pub kernel: PathBuf,
    /// Its initramfs.
    #[arg(long, value_name = "FILE")]
    pub initrd: Option<PathBuf>,
    /// Its command line.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        allow_hyphen_values = true
    )]
    pub append: String,
    /// Number of vCPUs.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub cpus: u32,
    /// Stop the machine after this time.
    #[arg(long, value_name = "SECONDS", value_parser = crate::cli::seconds)]
    pub timeout: Option<Duration>,
    /// The QEMU program. Default: the one from worldswitch lab fetch.
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// The KVM monitor (vmm). Default: the one that make build makes.
    #[arg(long, value_name = "FILE")]
    pub vmm: Option<PathBuf>,
    #[command(flatten)]
    pub places: PlacesArgs,
}

impl BootArgs {
    /// The files that the machine is made from, other than the user's kernel.
    pub fn parts(&self) -> Parts {
        Parts {
            guest: None,
            qemu: self.qemu.clone(),
            vmm: self.vmm.clone(),
            // A user's kernel boots once, so no state is saved.
            no_resume: true,
            lab: self.places.to_places(),
        }
    }
}

/// Options of `lab check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The budget, a TOML file.
    #[arg(long, value_name = "FILE")]
    pub budget: PathBuf,
    /// Measure, and write the figures as a budget into a new file; - is standard output.
    #[arg(long, requires = "on", conflicts_with = "json")]
    pub write: bool,
    /// With --write: the platforms, separated by commas; may be repeated.
    #[arg(long, value_name = "PLATFORM,...", requires = "write", value_parser = crate::cli::platforms)]
    pub on: Vec<PlatformList>,
    /// With --write: only benchmarks whose name matches this regular expression (any part of it).
    #[arg(long, value_name = "REGEX", requires = "write", value_parser = regex::Regex::new)]
    pub bench: Option<regex::Regex>,
    /// Extra boots that vary what should not matter (memory size, an empty loop before each batch).
    /// The range of a figure over all boots is its band; --write takes its upper end.
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub perturb: u32,
    /// Print JSON instead of the table.
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// Also write the table as Markdown, as a CI job's summary.
    #[arg(long, value_name = "FILE", conflicts_with = "write", help_heading = OUTPUT,
        value_parser = file(Form::Markdown))]
    pub export_markdown: Option<PathBuf>,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub output: OutputArgs,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
}

#[derive(Debug, Args)]
pub struct FetchArgs {
    /// What to fetch. Default: what lab:native, lab:kvm and lab:kvm-shadow need.
    #[arg(value_name = "NAME", conflicts_with = "all")]
    pub names: Vec<String>,
    /// All sets, except those that must be named, such as unstable's kernel.
    #[arg(long)]
    pub all: bool,
    /// Also the debug information of their kernels and of Xen, which worldswitch explain then finds: some
    /// 300 MB to fetch for each kernel.
    #[arg(long, conflicts_with = "all", requires = "names")]
    pub debug: bool,
    /// Where no archive has the pinned versions (lock.toml), take the newest ones and mark them as not pinned.
    #[arg(long)]
    pub newest: bool,
    /// Take the newest versions and pin them in lock.toml.
    #[arg(long, conflicts_with = "newest")]
    pub update_lock: bool,
    /// A Debian archive; a local folder is file:/PATH. Default: the one of this system's apt.
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    /// The archive of pinned versions that Debian's archive has dropped. {date} stands for the date of the pins in
    /// lock.toml. none: ask no such archive.
    #[arg(long, value_name = "URL", default_value = old::DEBIAN)]
    pub old_archive: String,
    /// The keyring of --mirror and of --old-archive. A local folder needs none.
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    #[command(flatten)]
    pub places: PlacesArgs,
}
