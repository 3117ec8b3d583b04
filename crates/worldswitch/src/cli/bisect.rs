//! What may be typed behind `worldswitch bisect`.

use crate::cli::{Output, Parts};
use clap::Args;
use std::path::PathBuf;
use ws_machines::name::PlatformName;

const HELP: &str = "\
Each commit is built in a worktree of git's in the cache (your checkout is never touched), booted in
the lab, and held against GOOD: it is bad where what the benchmark counts lies outside of the band in
which layout alone moves GOOD's, on the side on which BAD lies. One that can't be built or booted is
skipped. BAD must lie outside, or nothing is searched.

Without --build each commit is built with the lab's small configuration, lab/kernel.config, which
takes what any build of Linux takes (flex, bison, bc, libelf-dev). --build COMMAND is run by sh in the
worktree instead, and finds in its environment
  WORLDSWITCH_OUT      an empty folder: put bzImage and the *.ko files there
  WORLDSWITCH_OBJECTS  a folder that is kept from commit to commit, as for make O=
  WORLDSWITCH_CONFIG   the lab's small configuration, as for make KCONFIG_ALLCONFIG=
  WORLDSWITCH_JOBS     how many processors there are, as for make -j
  WORLDSWITCH_COMMIT   the commit

Examples:
  worldswitch bisect --kernel-tree linux --good v6.12 --bad v6.13 --bench hypercall
  worldswitch bisect --kernel-tree linux --good HEAD~20 --bad HEAD --bench cold-memory-access \\
                     --on lab:kvm-shadow --build ./my-build -o found

Exit codes: 0 found, 4 only skipped commits are left, 1 error, stopped, or BAD is as GOOD is,
2 wrong usage.";

/// What `bisect` searches.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct BisectArgs {
    /// A git repository of Linux.
    #[arg(long, value_name = "DIR")]
    pub kernel_tree: PathBuf,
    /// A commit from before the change.
    #[arg(long, value_name = "COMMIT")]
    pub good: String,
    /// A commit with the change.
    #[arg(long, value_name = "COMMIT")]
    pub bad: String,
    /// The benchmark that changed.
    #[arg(long, value_name = "BENCHMARK")]
    pub bench: String,
    /// The lab machine that the kernels are booted in.
    #[arg(long, value_name = "PLATFORM", default_value = "lab:kvm")]
    pub on: PlatformName,
    /// How a commit is built, for sh. Default: with lab/kernel.config.
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// So many boots of each kernel in which something differs that should not matter: how far the
    /// figure moves with it is its band.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub perturb: u32,
    /// Let compared kernels differ in this condition; may be given again.
    #[arg(long, value_name = "FIELD")]
    pub allow: Vec<String>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub parts: Parts,
}
