//! The words of `history`.

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
  worldswitch history check               the newest of each platform against the pinned one
Exit codes of check: those of compare.";

#[derive(Debug, Args)]
#[command(after_help = HISTORY_EXAMPLES)]
pub struct HistoryArgs {
    /// The history's file. Default: worldswitch/history.sqlite in the user's data directory
    /// ($XDG_DATA_HOME, ~/.local/share).
    #[arg(long, global = true, value_name = "FILE")]
    pub store: Option<PathBuf>,
    #[command(subcommand)]
    pub what: HistoryWhat,
}

#[derive(Debug, Subcommand)]
pub enum HistoryWhat {
    /// Keep results: a folder, FOLDER:PLATFORM, or a file. The same result is kept once.
    Add {
        #[arg(required = true, value_name = "RESULT")]
        runs: Vec<String>,
        /// Pin those whose platform has no pinned run yet.
        #[arg(long)]
        pin_first: bool,
    },
    /// The runs that are kept, the oldest first.
    List {
        /// Only this platform and its variants.
        #[arg(long, value_name = "PLATFORM")]
        platform: Option<String>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// All about one run.
    Show {
        /// Its number, as list has it.
        #[arg(value_name = "RUN")]
        run: i64,
    },
    /// A benchmark over time or over kernels, on each platform that has it.
    Plot(PlotArgs),
    /// Pin a run: what newer ones of its platform are to be compared with.
    Pin {
        /// Its number, as list has it.
        #[arg(value_name = "RUN")]
        run: i64,
    },
    /// Judge the newest run of each pinned platform against the pinned one, as compare does and with
    /// its exit codes.
    Check {
        /// Only this platform and its variants.
        #[arg(long, value_name = "PLATFORM")]
        platform: Option<String>,
        #[command(flatten)]
        how: Box<JudgeArgs>,
    },
    /// Take a run out of the history.
    Remove {
        /// Its number, as list has it.
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
    /// What the runs are ordered by. By kernel, the runs of one kernel stand as their median.
    #[arg(long, value_enum, default_value = "date")]
    pub by: By,
    /// Draw it into this file, for a browser or a document.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// The order of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    Date,
    Kernel,
}
