//! Subcommands and options of `worldswitch lab`.

mod bisect;
mod diverge;
mod patch;

use clap::{Args, Subcommand};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use ws_lab::fetch::old;
use ws_runner::parts::{Parts, Places};

pub use bisect::BisectArgs;
pub use diverge::DivergeArgs;
pub use patch::PatchHypArgs;

const FETCH_HELP: &str = "\
A NAME is a machine (kvm, lab:kvm@6.12) or a set of packages (qemu); worldswitch lab list shows both.
apt downloads the packages as your user, into a separate folder. apt installs nothing on this system
and needs no root. The packages come from the Debian archive that this system's apt is configured
for. Without such an archive, name one:
  worldswitch lab fetch --mirror URL --keyring /usr/share/keyrings/debian-archive-keyring.gpg
Without apt: run worldswitch lab export on a system with apt, then worldswitch lab import here.";

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

/// Folders of recipes and packages.
#[derive(Clone, Debug, Default, Args)]
pub struct PlacesArgs {
    /// A folder with your own recipes/NAME.toml and packages.toml, searched before the installed folder. May be
    /// repeated.
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
        /// A machine, such as kvm or lab:kvm-vhe@6.12+gicv4=1.
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
    /// Print the functions of a lab machine's kernel and modules with their addresses, in the format of
    /// /proc/kallsyms. The machine boots once; later calls read the cache.
    Symbols {
        /// The machine, such as kvm or lab:kvm@6.12.
        name: String,
        /// The QEMU program. Default: QEMU from worldswitch lab fetch.
        #[arg(long, value_name = "PATH")]
        qemu: Option<PathBuf>,
        #[command(flatten)]
        places: PlacesArgs,
    },
    /// Find the first instruction that two boots execute differently, or the functions that only one executes.
    Diverge(DivergeArgs),
    /// Write fetched packages to one file, for a host without apt or network.
    Export {
        /// The file to write, such as lab.tar.gz. - is standard output.
        file: PathBuf,
        /// Sets to write. Default: all fetched sets.
        sets: Vec<String>,
        #[command(flatten)]
        places: PlacesArgs,
    },
    /// Import packages from a file of lab export, after a check of the whole file.
    Import {
        /// The file that lab export wrote.
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
    /// The kernel. On x86: a Linux bzImage, an ELF file with a PVH entry, or a multiboot kernel. On ARM: an arm64
    /// Image, or a program without a header whose name ends in .flat. On RISC-V: an Image. The kernel may be compressed,
    /// or in an EFI program (zboot, unified kernel image).
    #[arg(long, value_name = "FILE")]
    pub kernel: PathBuf,
    /// The initramfs of the kernel.
    #[arg(long, value_name = "FILE")]
    pub initrd: Option<PathBuf>,
    /// The command line of the kernel.
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
    /// The QEMU program. Default: QEMU from worldswitch lab fetch.
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// The KVM monitor (vmm). Default: the monitor that make build makes.
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

#[derive(Debug, Args)]
pub struct FetchArgs {
    /// Recipes and sets to fetch. Default: all packages of lab:native, lab:kvm and lab:kvm-shadow.
    #[arg(value_name = "NAME", conflicts_with = "all")]
    pub names: Vec<String>,
    /// Fetch all sets, except those that must be named, such as the kernel of unstable.
    #[arg(long)]
    pub all: bool,
    /// Fetch the debug information of kernels and of Xen too, for worldswitch explain. Each kernel needs some 300 MB
    /// more.
    #[arg(long, conflicts_with = "all", requires = "names")]
    pub debug: bool,
    /// Take the newest versions where no archive has the pinned versions (lock.toml). Such packages are marked as not
    /// pinned.
    #[arg(long)]
    pub newest: bool,
    /// Take the newest versions and pin them in lock.toml.
    #[arg(long, conflicts_with = "newest")]
    pub update_lock: bool,
    /// A Debian archive. file:/PATH names a local folder. Default: the archive of this system's apt.
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    /// The archive of pinned versions that Debian's archive has dropped. {date} stands for the date of the pins in
    /// lock.toml. With none, no such archive is used.
    #[arg(long, value_name = "URL", default_value = old::DEBIAN)]
    pub old_archive: String,
    /// The keyring of --mirror and of --old-archive. A local folder needs no keyring.
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    #[command(flatten)]
    pub places: PlacesArgs,
}
