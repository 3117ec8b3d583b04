//! Specification of a run: platforms, benchmarks, boots, files, and the folder of results.

use crate::benchmarks::only;
use crate::outcome::folder::Folder;
use crate::parts::Parts;
use crate::rounds::plan::Parameters;
use crate::rounds::rows::RowsOf;
use crate::rounds::turns::Turns;
use regex::Regex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use ws_machines::name::PlatformName;
use ws_machines::recording::What;
use ws_results::RowFacts;
use ws_terminal::Stop;

/// Specification of a run. A field without a value has the default of each platform.
#[derive(Clone, Debug, Default)]
pub struct RunSpec {
    /// Platforms; empty: the usable ones of the default set.
    pub platforms: Vec<PlatformName>,
    pub benchmarks: Benchmarks,
    /// Kind of the rows; None: all kinds.
    pub rows: Option<RowsOf>,
    /// Facts of workloads that the run itself made, by name: their files do not have them.
    pub facts: BTreeMap<String, RowFacts>,
    /// Order of the rows.
    pub turns: Turns,
    pub boots: Option<u32>,
    /// Perturbed boots, where instructions are counted. Default: 1, none if `boots` is given.
    pub perturb: Option<u32>,
    /// Parameters of the guest; its seed comes from `seed`.
    pub parameters: Parameters,
    /// vCPUs of all launches. Default: as few as each row needs.
    pub smp: Option<u32>,
    /// Seed of the first boot where time is measured; the next boots have the next numbers. 0: no seeds.
    pub seed: u64,
    /// Whether boots and samples are chosen so that measuring ends in about a minute.
    pub quick: bool,
    /// Platform that the others are compared with; one of the run's.
    pub base: Option<PlatformName>,
    /// Time limit of one benchmark.
    pub timeout: Option<Duration>,
    /// Host CPUs of vCPU threads.
    pub pin: Option<Vec<u32>>,
    pub parts: Parts,
    pub output: Output,
    /// File of a lab machine's recording, and the choice of its contents.
    pub recording: Option<(PathBuf, What)>,
    /// Whether the machines' command lines are printed, and details of each launch.
    pub verbose: bool,
}

/// Choice of benchmarks.
#[derive(Clone, Debug, Default)]
pub enum Benchmarks {
    #[default]
    All,
    /// Benchmarks of these names; each must be known.
    Named(Vec<String>),
    /// Benchmarks whose name matches, in any part of it.
    Matching(Regex),
}

impl Benchmarks {
    /// Makes a regular expression that matches their names; None if all are measured.
    ///
    /// # Errors
    /// There are so many names that no regular expression can hold them.
    pub fn regex(&self) -> Result<Option<Regex>, regex::Error> {
        Ok(match self {
            Self::All => None,
            Self::Named(names) => Some(only(names)?),
            Self::Matching(regex) => Some(regex.clone()),
        })
    }
}

impl From<Option<Regex>> for Benchmarks {
    fn from(bench: Option<Regex>) -> Self {
        bench.map_or(Self::All, Self::Matching)
    }
}

/// Destination of the results.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Path of the folder; by default a new one in `ws-runs`.
    pub folder: Option<PathBuf>,
    /// Whether results that are already there are replaced.
    pub force: bool,
}

impl Output {
    /// Makes the folder.
    pub fn make(&self, created: SystemTime) -> anyhow::Result<Folder> {
        Folder::make(self.folder.as_deref(), self.force, created)
    }
}

/// Program that measures.
#[derive(Clone, Debug)]
pub struct Session {
    /// Name and version of the program, for results.
    pub tool: String,
    /// Request to end the program.
    pub stop: Stop,
}
