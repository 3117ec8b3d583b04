//! Subcommands and options of `worldswitch history`.

use super::values::{one_of, right};
use super::{Form, JudgeArgs, file};
use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use ws_history::{Address, By, Filter, Place, Right};

const CHECK_HELP: &str = "\
Exit codes, the first that applies:
  2  wrong usage
  3  a regression
  1  an error, or conditions that differ
  4  something is inconclusive, missing or in another unit, or no run is newer than the pinned one
  0  everything was judged, and nothing is worse";

const HISTORY_EXAMPLES: &str = "\
Examples:
  worldswitch history add ws-runs/*
  worldswitch history list --platform lab:kvm
  worldswitch history plot hypercall --platform lab:kvm --by kernel
  worldswitch history plot hypercall --platform lab:kvm --svg hypercall.svg
  worldswitch history pin 12
  worldswitch history check               the newest run of each platform against its pinned run
  worldswitch history list --db postgresql://user@host/database";

#[derive(Debug, Args)]
#[command(after_help = HISTORY_EXAMPLES)]
pub struct HistoryArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(subcommand)]
    pub what: HistoryWhat,
}

/// Place of the history.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// The history file. Default: the file or database that $WORLDSWITCH_HISTORY names, else
    /// worldswitch/history.sqlite in $XDG_DATA_HOME or ~/.local/share.
    #[arg(long, global = true, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// The history in a database of a PostgreSQL server: postgresql://USER@HOST:PORT/DATABASE. Missing parts come from
    /// libpq's variables (PGHOST, PGUSER, PGPASSWORD, ...) and from ~/.pgpass.
    #[arg(long, global = true, value_name = "URL", conflicts_with = "store")]
    pub db: Option<String>,
}

impl StoreArgs {
    /// Returns the history's address: from the command line, else the usual one.
    pub fn place(&self) -> anyhow::Result<Place> {
        Ok(match (&self.db, &self.store) {
            (Some(url), _) => Place::Server(Box::new(Address::parse(url)?)),
            (None, Some(path)) => Place::File(path.clone()),
            (None, None) => Place::usual()?,
        })
    }
}

#[derive(Debug, Subcommand)]
pub enum HistoryWhat {
    /// Add results to the history. A result is kept only once.
    Add {
        /// Results to add: a folder, FOLDER:PLATFORM or a file.
        #[arg(required = true, value_name = "RESULT")]
        runs: Vec<String>,
        /// Pin the runs whose platform has no pinned run yet.
        #[arg(long)]
        pin_first: bool,
    },
    /// List the runs, oldest first.
    List {
        #[command(flatten)]
        of: FilterArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one run in detail.
    Show {
        /// Number of the run, as in history list.
        #[arg(value_name = "RUN")]
        run: i64,
        /// Print its result file.
        #[arg(long)]
        json: bool,
    },
    /// Plot a benchmark by date or by kernel, for each platform that measured the benchmark.
    Plot(PlotArgs),
    /// Pin a run. history check compares newer runs of the platform with this run.
    Pin {
        /// Number of the run, as in history list.
        #[arg(value_name = "RUN")]
        run: i64,
    },
    /// Compare the newest run of each pinned platform with the pinned run.
    #[command(after_help = CHECK_HELP)]
    Check {
        #[command(flatten)]
        of: FilterArgs,
        /// Accept that no run is newer than the pinned run, as in a new history. Without this option, the exit code is
        /// then 4.
        #[arg(long)]
        allow_first: bool,
        #[command(flatten)]
        how: Box<JudgeArgs>,
    },
    /// List hosts that differ from others of their kind, by the newest run of each host and platform.
    Hosts {
        /// Use only runs of this platform and its variants.
        #[arg(long, value_name = "PLATFORM")]
        platform: Option<String>,
        /// Show all hosts, also hosts that do not differ.
        #[arg(long, conflicts_with = "json")]
        all: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a run from the history.
    Remove {
        /// Number of the run, as in history list.
        #[arg(value_name = "RUN")]
        run: i64,
    },
    /// Copy all runs and pins into another history: an SQLite file or a database.
    Copy {
        /// The other history: FILE or postgresql://USER@HOST:PORT/DATABASE. A missing history is created.
        #[arg(long, value_name = "PLACE")]
        to: String,
    },
    /// Upgrade the database schema (owner only; files upgrade themselves).
    Migrate,
    /// Grant or revoke access for PostgreSQL roles (owner only).
    Grant {
        /// Access of the roles: read; add (read, and add results); or nothing.
        #[arg(value_name = "RIGHT", value_parser = right())]
        right: Right,
        /// PostgreSQL roles, which must exist (CREATE ROLE).
        #[arg(required = true, value_name = "ROLE")]
        roles: Vec<String>,
    },
}

/// Choice of runs.
#[derive(Debug, Args)]
pub struct FilterArgs {
    /// Use only runs of this platform and its variants.
    #[arg(long, value_name = "PLATFORM")]
    pub platform: Option<String>,
    /// Use only runs of this host.
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
}

impl FilterArgs {
    /// Converts the choice for the code that reads the history.
    pub fn to_filter(&self) -> Filter<'_> {
        Filter {
            platform: self.platform.as_deref(),
            host: self.host.as_deref(),
        }
    }
}

#[derive(Debug, Args)]
pub struct PlotArgs {
    /// The benchmark.
    #[arg(value_name = "BENCH")]
    pub bench: String,
    #[command(flatten)]
    pub of: FilterArgs,
    /// Order of the values. By kernel, a value is the median of all runs of a kernel.
    #[arg(long, value_parser = by(), default_value = "date")]
    pub by: By,
    /// Print the values as JSON instead.
    #[arg(long, conflicts_with = "svg")]
    pub json: bool,
    /// Write the plot to this SVG file instead. - is standard output.
    #[arg(long, value_name = "FILE", value_parser = file(Form::Svg))]
    pub svg: Option<PathBuf>,
}

/// Parses the order of a plot.
fn by() -> impl TypedValueParser<Value = By> {
    one_of(&[(By::Date, &["date"], ""), (By::Kernel, &["kernel"], "")])
}
