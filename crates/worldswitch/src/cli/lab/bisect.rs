//! Options of `worldswitch lab bisect`.

use crate::cli::help::{MACHINES, OUTPUT};
use crate::cli::{OutputArgs, PartsArgs};
use clap::Args;
use std::path::PathBuf;
use ws_machines::name::PlatformName;

const HELP: &str = "\
Each commit is built in a git worktree in the cache (your checkout is never touched), booted in the
lab, and compared with GOOD. GOOD's band is the range of counts that layout alone causes. A commit
is bad if the benchmark's count is outside this band, on the same side as BAD's. A commit that can't
be built or booted is skipped. If BAD itself is inside the band, there is nothing to search.

The found commit and its parent are then built and booted once more, to show which functions changed
(worldswitch explain --diff). If that fails, the outcome is the same.

Without --build, each commit is built with the lab's small configuration, lab/kernel.config. This
needs flex, bison, bc and libelf-dev. With --build COMMAND, sh runs COMMAND
in the worktree instead. COMMAND gets these variables:
  WORLDSWITCH_OUT      an empty folder, for bzImage and the *.ko files
  WORLDSWITCH_OBJECTS  a folder that is kept from commit to commit, for make O=
  WORLDSWITCH_CONFIG   the lab's small configuration, for make KCONFIG_ALLCONFIG=
  WORLDSWITCH_JOBS     the number of processors, for make -j
  WORLDSWITCH_COMMIT   the commit

Examples:
  worldswitch lab bisect --kernel-tree linux --good v6.12 --bad v6.13 --bench hypercall
  worldswitch lab bisect --kernel-tree linux --good HEAD~20 --bad HEAD --bench cold-memory-access \\
                     --on lab:kvm-shadow --build ./my-build -o found

Exit codes:
  0  the commit was found
  1  an error, stopped, or BAD does not differ from GOOD
  2  wrong usage
  4  only skipped commits are left";

/// Options of `lab bisect`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct BisectArgs {
    /// A git repository of Linux.
    #[arg(long, value_name = "DIR")]
    pub kernel_tree: PathBuf,
    /// A commit without the change.
    #[arg(long, value_name = "COMMIT")]
    pub good: String,
    /// A commit with the change.
    #[arg(long, value_name = "COMMIT")]
    pub bad: String,
    /// The benchmark whose count changed.
    #[arg(long, value_name = "BENCHMARK")]
    pub bench: String,
    /// The lab machine that boots the kernels.
    #[arg(long, value_name = "PLATFORM", default_value = "lab:kvm")]
    pub on: PlatformName,
    /// Build each commit by this shell command. Default: a build with lab/kernel.config.
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Extra boots of each kernel with another memory size and an empty loop before each batch. The range of the
    /// figure over all boots is its band.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub perturb: u32,
    /// Compare kernels even if this condition differs; may be repeated.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
    /// Skip the comparison of functions (saves two kernel builds).
    #[arg(long)]
    pub no_explain: bool,
    /// Print JSON instead of the table.
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub output: OutputArgs,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
}
