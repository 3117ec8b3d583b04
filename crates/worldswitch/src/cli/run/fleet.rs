//! Subcommands and options of `worldswitch run fleet`.

use super::PartsArgs;
use crate::cli::help::{MACHINES, OUTPUT};
use crate::cli::values::folder;
use clap::{Args, Subcommand};
use std::path::PathBuf;

const HELP: &str = "\
A campaign file says what to measure, and where (docs/fleet.md has all fields):
  name = \"week\"
  folder = \"/shared/week\"              # visible on all nodes
  machines = [\"lab:kvm\", \"lab:kvm-shadow\"]
  benchmarks = [\"hypercall\", \"in\"]     # default: all
  [[kernel]]
  package = \"6.12\"                     # one of the lab's kernels
  [[kernel]]
  tree = \"/shared/linux\"
  commits = \"v6.12..v6.13\"             # each is built
  every = 10
  [budget]
  core_hours = 20
  [slurm]
  partition = \"lab\"
  time = \"0:10:00\"

Each cell (a machine with a kernel, and its benchmarks) becomes one Slurm task. The digest of the
machine and the benchmarks identify a cell. A cell is measured once, even if several users submit
the same cell.

Examples:
  worldswitch run fleet plan week.toml            the missing cells, and the time that they need
  worldswitch run fleet submit week.toml          queue all missing cells on Slurm
  worldswitch run fleet submit week.toml --local  or measure the cells here, one after another
  worldswitch run fleet status week.toml
  worldswitch run fleet collect week.toml -o week
  worldswitch run fleet cancel week.toml          submit continues later

Exit codes:
  0  ok
  1  an error, or collect found a cell without a result or an untrusted node
  2  wrong usage, or an invalid campaign";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct FleetArgs {
    #[command(subcommand)]
    pub what: FleetWhat,
}

#[derive(Debug, Subcommand)]
pub enum FleetWhat {
    /// Show the cells, the known results, and the time that the missing cells need.
    Plan(CampaignArgs),
    /// Queue all missing cells on Slurm; safe to repeat.
    Submit(SubmitArgs),
    /// Show which cells are measured, running, waiting or failed, and which nodes are not trusted.
    Status(CampaignArgs),
    /// Copy the results into a folder.
    Collect(CollectArgs),
    /// Cancel queued and running cells.
    Cancel(CampaignArgs),
    /// Run a job of Slurm.
    #[command(hide = true)]
    Work(WorkArgs),
}

#[derive(Debug, Args)]
pub struct CampaignArgs {
    /// The campaign file.
    #[arg(value_name = "FILE")]
    pub campaign: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
}

#[derive(Debug, Args)]
pub struct SubmitArgs {
    #[command(flatten)]
    pub campaign: CampaignArgs,
    /// Measure here, one cell after another, without Slurm.
    #[arg(long)]
    pub local: bool,
    /// Forget all results of this node, which was wrong and is repaired. May be repeated.
    #[arg(long, value_name = "NODE")]
    pub repaired: Vec<String>,
}

#[derive(Debug, Args)]
pub struct CollectArgs {
    #[command(flatten)]
    pub campaign: CampaignArgs,
    /// The folder for the results, one file per platform.
    #[arg(short, long, value_name = "DIR", value_parser = folder(), help_heading = OUTPUT)]
    pub output: PathBuf,
    /// Replace results that are already in the folder.
    #[arg(long, help_heading = OUTPUT)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct WorkArgs {
    /// The shared folder.
    #[arg(long)]
    pub folder: PathBuf,
    /// The number of the submission.
    #[arg(long)]
    pub submission: u32,
    /// The name of the job.
    #[arg(long)]
    pub job: String,
    /// The submitter's own files.
    #[command(flatten)]
    pub parts: PartsArgs,
}
