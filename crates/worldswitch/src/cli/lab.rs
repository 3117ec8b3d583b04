//! What may be typed behind `worldswitch lab`.

use crate::cli::{Output, Parts, PlatformList};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

const FETCH_HELP: &str = "\
A NAME is a recipe (kvm, lab:kvm@6.12) or a set of packages (qemu); worldswitch lab list has both.
apt fetches them as you, into a folder of their own: nothing on this system changes, and no root is
needed. The archive is the Debian one that this system's apt is configured with; on a system
without, name one:
  worldswitch lab fetch --mirror URL --keyring /usr/share/keyrings/debian-archive-keyring.gpg
On a system without apt: worldswitch lab export on one that has it, then worldswitch lab import.";

const BOOT_HELP: &str = "\
Nothing of the kernel need be changed: it runs under the machine's hypervisor as our own guest does.
Ctrl-C ends it. Exit codes: 0 the kernel powered the machine off; 1 it was refused, ended in a reset or a
triple fault, or was given up or stopped; 2 wrong usage. Examples:
  worldswitch lab boot kvm --kernel grub-i386-xen_pvh.bin
  worldswitch lab boot kvm --kernel vmlinuz --initrd initrd.img --append 'console=ttyS0 quiet'
  worldswitch lab boot native --kernel vmexit.flat --append cpuid";

const CHECK_HELP: &str = "\
A budget names platforms and benchmarks, and how many instructions one operation may cost:
  [budget.\"lab:kvm\"]
  hypercall = 3100
  in = 3500

Exactly these are run, two boots each; a figure is exact or no figure. With --perturb, a figure
counts as over only if all boots are: one whose band reaches down into the budget is in doubt.

Examples:
  worldswitch lab check --budget kvm.toml --write --on lab:kvm --bench '^(hypercall|in)$'
                                         measure, and write what was measured as the budget
  worldswitch lab check --budget kvm.toml
  worldswitch lab check --budget kvm.toml --json -o results

A kernel of your own is named in the budget: [budget.\"lab:kvm@./my-build\"].
Exit codes: 0 all within, 3 something over, 4 none over but some in doubt, 1 error or a benchmark
without an exact figure, 2 wrong usage or a wrong budget.";

/// Where recipes and packages lie.
#[derive(Clone, Debug, Default, Args)]
pub struct Places {
    /// A folder with recipes/NAME.toml and packages.toml of your own, looked at before the
    /// installed one; may be given again.
    #[arg(long, value_name = "DIR")]
    pub lab_dir: Vec<PathBuf>,
    /// Where fetched packages are kept. Default: $XDG_CACHE_HOME/worldswitch, or
    /// ~/.cache/worldswitch.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Recipes and sets of packages, and which of these are fetched.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        places: Places,
    },
    /// A recipe as it is resolved: the machine's parts, and why each flag is there.
    Show {
        /// A recipe, as kvm or lab:kvm@6.12.
        name: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        places: Places,
    },
    /// Fetch the packages that lab machines are made of: emulator, kernels, hypervisors.
    #[command(after_help = FETCH_HELP)]
    Fetch(FetchArgs),
    /// Boot a kernel of yours in a lab machine, its console on standard output.
    #[command(after_help = BOOT_HELP)]
    Boot(BootArgs),
    /// Hold what benchmarks cost on lab machines against a budget: for a CI that must stay fast.
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
    /// Write fetched packages to one file, for a host without apt or network.
    Export {
        /// The file to write, as lab.tar.gz.
        file: PathBuf,
        /// Only these sets. Default: all that are fetched.
        sets: Vec<String>,
        #[command(flatten)]
        places: Places,
    },
    /// Take fetched packages from a file that export wrote, once all of it proved whole.
    Import {
        file: PathBuf,
        #[command(flatten)]
        places: Places,
    },
}

/// What `lab boot` boots.
#[derive(Debug, Args)]
pub struct BootArgs {
    /// The machine, as kvm or lab:kvm-shadow@6.12.
    pub name: String,
    /// On x86 a Linux bzImage, an ELF file with a PVH entry, or a multiboot kernel; on ARM an arm64 Image,
    /// or a program without a header whose name ends in .flat.
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
    /// How many vCPUs it has.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub cpus: u32,
    /// Stop the machine after so long.
    #[arg(long, value_name = "SECONDS", value_parser = crate::cli::seconds)]
    pub timeout: Option<Duration>,
    /// The QEMU to use. Default: the lab's own.
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// The KVM monitor to use. Default: the one that make build makes.
    #[arg(long, value_name = "FILE")]
    pub vmm: Option<PathBuf>,
    #[command(flatten)]
    pub places: Places,
}

impl BootArgs {
    /// What the machine is made from, beside the user's kernel.
    pub fn parts(&self) -> Parts {
        Parts {
            guest: None,
            qemu: self.qemu.clone(),
            vmm: self.vmm.clone(),
            lab: self.places.clone(),
        }
    }
}

/// What `lab check` checks.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The budget, a TOML file.
    #[arg(long, value_name = "FILE")]
    pub budget: PathBuf,
    /// Measure, and write the budget that this just meets into a new file.
    #[arg(long, requires = "on", conflicts_with = "json")]
    pub write: bool,
    /// With --write: the platforms, separated by commas; may be given again.
    #[arg(long, value_name = "PLATFORM,...", requires = "write", value_parser = crate::cli::platforms)]
    pub on: Vec<PlatformList>,
    /// With --write: only benchmarks in whose name this regular expression is found.
    #[arg(long, value_name = "REGEX", requires = "write", value_parser = regex::Regex::new)]
    pub bench: Option<regex::Regex>,
    /// So many boots more, in which something differs that should not matter: how far figures move
    /// with it is their band. --write takes the greatest figure of the band.
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub perturb: u32,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub parts: Parts,
}

#[derive(Debug, Args)]
pub struct FetchArgs {
    /// What to fetch. Default: what lab:native, lab:kvm and lab:kvm-shadow need.
    #[arg(value_name = "NAME", conflicts_with = "all")]
    pub names: Vec<String>,
    /// All sets but those on request only, as unstable's kernel.
    #[arg(long)]
    pub all: bool,
    /// Where the archive no longer has the versions that lock.toml pins, take its newest, marked as
    /// not pinned.
    #[arg(long)]
    pub newest: bool,
    /// Take the newest versions, and pin them in lock.toml.
    #[arg(long, conflicts_with = "newest")]
    pub update_lock: bool,
    /// A Debian archive. Default: the one of this system's apt.
    #[arg(long, value_name = "URL", requires = "keyring")]
    pub mirror: Option<String>,
    /// The keys of that archive.
    #[arg(long, value_name = "FILE", requires = "mirror")]
    pub keyring: Option<PathBuf>,
    #[command(flatten)]
    pub places: Places,
}
