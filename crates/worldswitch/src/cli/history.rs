//! Subcommands and options of `worldswitch history`.

use super::JudgeArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

const HISTORY_EXAMPLES: &str = "\
Examples:
  worldswitch history add ws-runs/*
  worldswitch history list --platform lab:kvm
  worldswitch history plot hypercall --platform lab:kvm --by kernel
  worldswitch history plot hypercall --platform lab:kvm --svg hypercall.svg
  worldswitch history pin 12
  worldswitch history check               the newest run of each platform against the pinned one

history check has the exit codes of worldswitch compare.";

#[derive(Debug, Args)]
#[command(after_help = HISTORY_EXAMPLES)]
pub struct HistoryArgs {
    /// The history file. Default: worldswitch/history.sqlite in $XDG_DATA_HOME or ~/.local/share.
    #[arg(long, global = true, value_name = "FILE")]
    pub store: Option<PathBuf>,
    #[command(subcommand)]
    pub what: HistoryWhat,
}

#[derive(Debug, Subcommand)]
pub enum HistoryWhat {
    /// Add results: a folder, FOLDER:PLATFORM or a file. A result is kept only once.
    Add {
        #[arg(required = true, value_name = "RESULT")]
        runs: Vec<String>,
        /// Pin the runs whose platform has no pinned run yet.
        #[arg(long)]
        pin_first: bool,
    },
    /// List the runs, oldest first.
    List {
        /// Only this platform and its variants.
        #[arg(long, value_name = "PLATFORM")]
        platform: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one run in detail.
    Show {
        /// Its number, as in history list.
        #[arg(value_name = "RUN")]
        run: i64,
        /// Print its result file.
        #[arg(long)]
        json: bool,
    },
    /// Plot a benchmark over time or over kernels, for each platform that has it.
    Plot(PlotArgs),
    /// Pin a run: history check compares newer runs of its platform with it.
    Pin {
        /// Its number, as in history list.
        #[arg(value_name = "RUN")]
        run: i64,
    },
    /// Compare the newest run of each pinned platform with the pinned one; exit codes as compare.
    Check {
        /// Only this platform and its variants.
        #[arg(long, value_name = "PLATFORM")]
        platform: Option<String>,
        #[command(flatten)]
        how: Box<JudgeArgs>,
    },
    /// Remove a run from the history.
    Remove {
        /// Its number, as in history list.
        #[arg(value_name = "RUN")]
        run: i64,
    },
}

#[derive(Debug, Args)]
pub struct PlotArgs {
    /// The benchmark.
    #[arg(value_name = "BENCH")]
    pub bench: String,
    /// Only this platform and its variants.
    #[arg(long, value_name = "PLATFORM")]
    pub platform: Option<String>,
    /// Order of the runs. By kernel, the runs of one kernel are shown as their median.
    #[arg(long, value_enum, default_value = "date")]
    pub by: By,
    /// Print the values as JSON instead.
    #[arg(long, conflicts_with = "svg")]
    pub json: bool,
    /// Write the plot to this SVG file instead. - is standard output.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// The order of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    Date,
    Kernel,
}
