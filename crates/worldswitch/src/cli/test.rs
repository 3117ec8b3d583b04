//! Options of `worldswitch test`.

use super::help::{MACHINES, OUTPUT};
use super::{Exports, Form, OutputArgs, PartsArgs, PlatformList, Suite, file, platforms};
use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
BASE and HEAD are each, in this order of preference:
  results           a folder, FOLDER:PLATFORM or a file of an earlier run
  a kernel          a build tree, a folder with a bzImage and its modules, or a kernel's file
  a version         of the lab's kernels, as 6.1, 6.12, unstable (worldswitch lab list)
  a commit          of the repository of Linux in the current folder, or of --kernel-tree
With --monitor they are programs: the KVM monitors to compare.

Without BASE and HEAD the command checks a budget: the instructions that one operation may cost, by
platform and benchmark:
  [budget.\"lab:kvm\"]
  hypercall = 3100
  [budget.\"lab:kvm@./my-build\"]     a kernel of your own
  hypercall = 3100
Only these benchmarks run, in two boots. A figure counts only if both boots agree exactly.

Commits are built with the lab's small configuration, in a worktree in the cache. Your checkout
stays as it is. The next build compiles only changed files. The cache keeps 16 kernels. Builds
need gcc, make, flex, bison, bc and libelf-dev. They use ccache if it is installed.

Examples:
  worldswitch test HEAD~ HEAD                   what the last commit costs, from a kernel's tree
  worldswitch test v6.12 v6.13 --on lab:kvm     two releases, on QEMU: a tenth of the time
  worldswitch test 6.1 6.12 --on lab:kvm --all  two kernels of Debian, every benchmark
  worldswitch test before after                 two results; machines boot only to explain
  worldswitch test HEAD~ HEAD --suite kut       the rows of kvm-unit-tests, for a cover letter
  worldswitch test old/vmm new/vmm --monitor --on lab:kvm
  worldswitch test HEAD~ HEAD --comment patch.md
                                                with a comment for the patch, if anything changed
  worldswitch test --budget kvm.toml --write --on lab:kvm --bench '^(hypercall|in)$'
                                                measure, and write the figures as a budget
  worldswitch test --budget kvm.toml --export-markdown summary.md

Exit codes, the first that applies:
  2  wrong usage
  1  a broken lab, whose figures cannot be trusted
  3  a regression, or a figure over its budget
  1  an error, or a machine that failed
  4  a figure is in doubt (inside its band) or not exact, or a machine was not compared
  0  nothing costs more";

/// The heading of options that say how kernels are made.
const KERNELS: &str = "Kernels of commits";

#[derive(Debug, Args)]
#[command(after_help = HELP, override_usage = "worldswitch test [OPTIONS] <BASE> <HEAD>\n       \
    worldswitch test [OPTIONS] --budget <FILE>")]
pub struct TestArgs {
    /// The side without the change: a commit, a kernel, a version, or results.
    #[arg(
        value_name = "BASE",
        required_unless_present = "budget",
        requires = "head"
    )]
    pub base: Option<String>,
    /// The side with the change.
    #[arg(value_name = "HEAD", required_unless_present = "budget")]
    pub head: Option<String>,
    /// Lab machines, separated by commas; may be repeated. Default: lab:kvm-amd,lab:kvm-intel.
    #[arg(long, value_name = "PLATFORM,...", value_parser = platforms)]
    pub on: Vec<PlatformList>,
    /// Measure all benchmarks. Default: only the dozen main benchmarks.
    #[arg(long, conflicts_with_all = ["bench", "suite"])]
    pub all: bool,
    /// Measure the benchmarks of a suite, and print a text for a patch's cover letter with the suite's names. kut:
    /// kvm-unit-tests.
    #[arg(long, value_name = "SUITE", conflicts_with = "bench")]
    pub suite: Option<Suite>,
    /// Measure only benchmarks whose name matches this regular expression (any part of the name).
    #[arg(long, value_name = "REGEX", value_parser = regex::Regex::new)]
    pub bench: Option<regex::Regex>,
    /// Extra boots of each side, with shifted code and more memory. The range of a figure over all boots is its
    /// band. A change inside the band is in doubt, unless each pair of boots changed by the same number. Default: 2;
    /// without BASE and HEAD, 0.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub perturb: Option<u32>,
    /// Compare the sides even if this condition differs; may be repeated.
    #[arg(long, value_name = "FIELD", requires = "head")]
    pub allow: Vec<String>,
    /// Compare KVM monitors: BASE and HEAD are programs.
    #[arg(long, conflicts_with = "vmm", requires = "head")]
    pub monitor: bool,
    /// Skip the comparison of functions.
    #[arg(long, requires = "head")]
    pub no_explain: bool,
    /// The repository of Linux that has the commits. Default: the current folder.
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true, help_heading = KERNELS)]
    pub kernel_tree: PathBuf,
    /// The shell command that builds a commit (worldswitch lab bisect --help lists its variables). Default:
    /// a build with lab/kernel.config.
    #[arg(long, value_name = "COMMAND", help_heading = KERNELS, requires = "head")]
    pub build: Option<String>,
    /// Check HEAD's figures against the budget in FILE too; without BASE and HEAD, check the figures of the budget's
    /// machines. A figure over its budget is a regression, even if HEAD did not add to it. A band that reaches down to
    /// the budget is in doubt. Only measured benchmarks are checked.
    #[arg(long, value_name = "FILE")]
    pub budget: Option<PathBuf>,
    /// Write HEAD's figures, the highest of each band, into the budget's FILE, and check nothing. Without BASE and HEAD,
    /// measure and write the figures of --on. Other lines of FILE stay. FILE is made if it does not exist.
    #[arg(long, requires = "budget")]
    pub write: bool,
    /// Write a comment for the patch as Markdown to FILE. If no figure changed or is in doubt, remove FILE.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, requires = "head", value_parser = file(Form::Markdown))]
    pub comment: Option<PathBuf>,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub output: OutputArgs,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub exports: Exports,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
}
