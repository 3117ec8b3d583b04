//! What is measured: on which platforms, which benchmarks, how often, from which files, and where the results go.

use crate::benchmarks::only;
use crate::outcome::folder::Folder;
use crate::parts::Parts;
use crate::rounds::plan::Parameters;
use crate::rounds::rows::RowsOf;
use crate::rounds::turns::Turns;
use regex::Regex;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use ws_machines::name::PlatformName;
use ws_machines::recording::What;
use ws_terminal::{Colours, Stop};

/// A run. What is not given has the default of each platform.
#[derive(Clone, Debug, Default)]
pub struct RunSpec {
    /// Empty: the usable ones of the default set.
    pub platforms: Vec<PlatformName>,
    pub benchmarks: Benchmarks,
    /// Only rows of this kind.
    pub rows: Option<RowsOf>,
    /// Which rows are measured first.
    pub turns: Turns,
    pub boots: Option<u32>,
    /// Perturbed boots, where instructions are counted. Default: 1, none if `boots` is given.
    pub perturb: Option<u32>,
    /// Of the guest; its seed comes from `seed`.
    pub parameters: Parameters,
    /// vCPUs of all launches. Default: as few as each row needs.
    pub smp: Option<u32>,
    /// Seed of the first boot where time is measured; the next boots have the next numbers. 0: no seeds.
    pub seed: u64,
    /// Choose boots and samples so that measuring ends in about a minute.
    pub quick: bool,
    /// The platform that the others are compared with; one of the run's.
    pub base: Option<PlatformName>,
    /// Time limit of one benchmark.
    pub timeout: Option<Duration>,
    /// The host CPUs of vCPU threads.
    pub pin: Option<Vec<u32>>,
    pub parts: Parts,
    pub output: Output,
    /// Where a lab machine's recording goes, and what is recorded.
    pub recording: Option<(PathBuf, What)>,
    /// Prints the machines' command lines, and what each launch did.
    pub verbose: bool,
}

/// Which benchmarks are measured.
#[derive(Clone, Debug, Default)]
pub enum Benchmarks {
    #[default]
    All,
    /// By name; each must be known.
    Named(Vec<String>),
    /// Those whose name matches, in any part of it.
    Matching(Regex),
}

impl Benchmarks {
    /// Matches their names; none if all are measured.
    ///
    /// # Errors
    /// So many names that no regular expression can hold them.
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

/// Where results go.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Default: a new one in `ws-runs`.
    pub folder: Option<PathBuf>,
    /// Replaces results that are already there.
    pub force: bool,
}

impl Output {
    /// Makes the folder.
    pub fn make(&self, created: SystemTime) -> anyhow::Result<Folder> {
        Folder::make(self.folder.as_deref(), self.force, created)
    }
}

/// The program that measures.
#[derive(Clone, Debug)]
pub struct Session {
    /// The program and its version, for results.
    pub tool: String,
    /// Whether it must end.
    pub stop: Stop,
    /// The colours of its messages.
    pub colours: Colours,
}
