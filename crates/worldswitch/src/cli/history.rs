//! Subcommands and options of `worldswitch history`.

use super::values::right;
use super::{Form, JudgeArgs, file};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use ws_history::Right;

const CHECK_HELP: &str = "\
Exit codes, the first that applies:
  2  wrong usage
  3  a regression
  1  an error, or conditions that differ
  4  something is inconclusive, missing or in another unit, or no run is newer than the pinned one
  0  all was judged, and nothing is worse";

const HISTORY_EXAMPLES: &str = "\
Examples:
  worldswitch history add ws-runs/*
  worldswitch history list --platform lab:kvm
  worldswitch history plot hypercall --platform lab:kvm --by kernel
  worldswitch history plot hypercall --platform lab:kvm --svg hypercall.svg
  worldswitch history pin 12
  worldswitch history check               the newest run of each platform against the pinned one
  worldswitch history list --db postgresql://user@host/database";

#[derive(Debug, Args)]
#[command(after_help = HISTORY_EXAMPLES)]
pub struct HistoryArgs {
    /// The history file. Default: what $WORLDSWITCH_HISTORY names, else worldswitch/history.sqlite in $XDG_DATA_HOME
    /// or ~/.local/share.
    #[arg(long, global = true, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// The history is in this database of a PostgreSQL server: postgresql://USER@HOST:PORT/DATABASE. What is left out
    /// comes from libpq's variables (PGHOST, PGUSER, PGPASSWORD, ...) and from ~/.pgpass.
    #[arg(long, global = true, value_name = "URL", conflicts_with = "store")]
    pub db: Option<String>,
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
        /// Only runs of this host.
        #[arg(long, value_name = "HOST")]
        host: Option<String>,
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
    /// Compare the newest run of each pinned platform with the pinned one.
    #[command(after_help = CHECK_HELP)]
    Check {
        /// Only this platform and its variants.
        #[arg(long, value_name = "PLATFORM")]
        platform: Option<String>,
        /// Only runs of this host.
        #[arg(long, value_name = "HOST")]
        host: Option<String>,
        /// Accept a pinned run that is still its platform's newest, as in a history that just begins. Without
        /// this option the exit code is then 4.
        #[arg(long)]
        allow_first: bool,
        #[command(flatten)]
        how: Box<JudgeArgs>,
    },
    /// Say which hosts differ from others of their kind, by the newest run of each host and platform.
    Hosts {
        /// Only this platform and its variants.
        #[arg(long, value_name = "PLATFORM")]
        platform: Option<String>,
        /// Show also hosts that are as the others.
        #[arg(long, conflicts_with = "json")]
        all: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a page: the newest run of each platform, and the hosts.
    Report {
        /// Only this platform and its variants.
        #[arg(long, value_name = "PLATFORM")]
        platform: Option<String>,
        /// Only runs of this host.
        #[arg(long, value_name = "HOST")]
        host: Option<String>,
        /// The page. - is standard output.
        #[arg(short, long, value_name = "FILE", default_value = "history.html",
            value_parser = file(Form::Html))]
        output: PathBuf,
    },
    /// Remove a run from the history.
    Remove {
        /// Its number, as in history list.
        #[arg(value_name = "RUN")]
        run: i64,
    },
    /// Copy all runs and pins into another history, an SQLite file or a database, without loss.
    Copy {
        /// The other history: FILE or postgresql://USER@HOST:PORT/DATABASE. It is made if it is not there.
        #[arg(long, value_name = "PLACE")]
        to: String,
    },
    /// Bring a database's tables to this program's version (its owner). A file needs no such step.
    Migrate,
    /// Let roles of a PostgreSQL server use the database, and take other rights from them (its owner).
    Grant {
        /// What they may do: read; add results too; nothing.
        #[arg(value_name = "RIGHT", value_parser = right())]
        right: Right,
        /// The roles, which must exist (CREATE ROLE).
        #[arg(required = true, value_name = "ROLE")]
        roles: Vec<String>,
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
    /// Only runs of this host.
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Order of the runs. By kernel, the runs of one kernel are shown as their median.
    #[arg(long, value_enum, default_value = "date")]
    pub by: By,
    /// Print the values as JSON instead.
    #[arg(long, conflicts_with = "svg")]
    pub json: bool,
    /// Write the plot to this SVG file instead. - is standard output.
    #[arg(long, value_name = "FILE", value_parser = file(Form::Svg))]
    pub svg: Option<PathBuf>,
}

/// The order of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    Date,
    Kernel,
}
