//! Subcommands and options of `worldswitch fleet`.

use super::PartsArgs;
use super::help::{MACHINES, OUTPUT};
use super::values::folder;
use clap::{Args, Subcommand};
use std::path::PathBuf;

const HELP: &str = "\
A campaign file says what to measure, and where (docs/fleet.md has all fields):
  name = \"week\"
  folder = \"/shared/week\"              # all nodes see it
  machines = [\"lab:kvm\", \"lab:kvm-shadow\"]
  benchmarks = [\"hypercall\", \"in\"]     # default: all
  [[kernel]]
  package = \"6.12\"                     # a version of the lab's
  [[kernel]]
  tree = \"/shared/linux\"
  commits = \"v6.12..v6.13\"             # each is built
  every = 10
  [budget]
  core_hours = 20
  [slurm]
  partition = \"lab\"
  time = \"0:10:00\"

Each cell (one machine with one kernel, and its benchmarks) becomes one task of Slurm. A cell is
known by the digest of its machine and by its benchmarks: it is measured once, however often and by
whomever it is submitted.

Examples:
  worldswitch fleet plan week.toml            what there is to do, and how long it takes
  worldswitch fleet submit week.toml          give what is not known to Slurm
  worldswitch fleet submit week.toml --local  or measure it here, one cell after another
  worldswitch fleet status week.toml
  worldswitch fleet collect week.toml -o week
  worldswitch fleet cancel week.toml          submit goes on later

Exit codes:
  0  ok
  1  an error, or collect found cells without a result or a node that is not trusted
  2  wrong usage, or an invalid campaign";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct FleetArgs {
    #[command(subcommand)]
    pub what: FleetWhat,
}

#[derive(Debug, Subcommand)]
pub enum FleetWhat {
    /// Show the campaign's cells, what is known of them, and how long the rest takes.
    Plan(CampaignArgs),
    /// Give to Slurm what is neither known nor queued; again after a failure, it goes on.
    Submit(SubmitArgs),
    /// Show what is measured, running, waiting, failed; and which nodes are not trusted.
    Status(CampaignArgs),
    /// Copy the results into a folder.
    Collect(CollectArgs),
    /// Take back what is queued or running.
    Cancel(CampaignArgs),
    /// What a job of Slurm does.
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
    /// This node was wrong and is repaired: forget what it measured; may be repeated.
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
    /// A folder of the user's with recipes.
    #[arg(long)]
    pub lab_dir: Vec<PathBuf>,
    /// The guest image of the submitter's.
    #[arg(long)]
    pub guest: Option<PathBuf>,
    /// QEMU of the submitter's.
    #[arg(long)]
    pub qemu: Option<PathBuf>,
    /// The KVM monitor of the submitter's.
    #[arg(long)]
    pub vmm: Option<PathBuf>,
}
