//! Options of `worldswitch lab diverge`.

use crate::cli::PartsArgs;
use crate::cli::help::{MACHINES, OUTPUT};
use crate::cli::values::one_of;
use clap::Args;
use clap::builder::TypedValueParser;
use std::path::PathBuf;
use std::time::Duration;
use ws_diverge::By;

const HELP: &str = "\
Both machines boot side by side, without saved states. Their instructions are compared while
they run. One boot of each is enough, even if no two boots are the same. The output has the first
instruction, halt or CPU that differs, with its function and level, and the functions that each
boot executes next.

Different machines have different code, or the same code at different addresses. For them the
output has the functions that only one boot executes, in the order of their first execution.

Examples:
  worldswitch lab diverge kvm kvm        do two boots execute the same? (they must)
  worldswitch lab diverge kvm kvm --other-qemu ./qemu-system-x86_64
                                         the same machine on two emulators
  worldswitch lab diverge kvm kvm@6.12   the functions that only one kernel executes
  worldswitch lab diverge kvm kvm-shadow
  worldswitch lab diverge native native --kernel vmexit.flat --append cpuid

Exit codes:
  0  no difference
  1  an error, or stopped by the user
  2  wrong usage
  3  the boots differ";

/// Options of `lab diverge`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct DivergeArgs {
    /// A lab machine, such as kvm or lab:kvm@6.12.
    pub a: String,
    /// Another lab machine, or the same one.
    pub b: String,
    /// The benchmark or workload that both run. Default: hypercall; on a whole Linux, the first workload.
    #[arg(long, value_name = "BENCH", conflicts_with = "kernel")]
    pub bench: Option<String>,
    /// A kernel that both boot instead of the benchmark kernel, as in lab boot.
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// The initramfs of --kernel.
    #[arg(long, value_name = "FILE", requires = "kernel")]
    pub initrd: Option<PathBuf>,
    /// The command line of --kernel.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        requires = "kernel",
        allow_hyphen_values = true
    )]
    pub append: String,
    /// Method of comparison. Default: instructions if A and B are the same machine, else functions.
    #[arg(long, value_parser = by())]
    pub by: Option<By>,
    /// Compare the instructions of this CPU only. Default: all CPUs, in the order of their turns.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=63))]
    pub cpu: Option<u32>,
    /// Number of rows to show of each boot: functions after the difference, or functions that only this boot executes.
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub next: u32,
    /// End a machine that executes nothing for this time. Time in which the machine waits for a host CPU does not
    /// count.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = crate::cli::seconds)]
    pub timeout: Duration,
    /// Print JSON instead of the text.
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// The QEMU program of B. Default: the QEMU program of A.
    #[arg(long, value_name = "PATH", help_heading = MACHINES)]
    pub other_qemu: Option<PathBuf>,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
}

/// Parses how two boots are compared.
fn by() -> impl TypedValueParser<Value = By> {
    one_of(&[
        (
            By::Instructions,
            &["instructions"],
            "Each executed instruction, in order",
        ),
        (
            By::Functions,
            &["functions"],
            "The set of executed functions",
        ),
    ])
}
