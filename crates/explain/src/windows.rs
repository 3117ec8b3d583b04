//! The windows of a trace: the loop that each one times, and those that are the samples of a benchmark.

use crate::explained::ExplainError;
use crate::flow::Flow;
use crate::place::{Function, Kind, Place, Places};
use crate::sum::{self, Count, Measured, Sum, SumError};
use crate::trace::{Accessed, Architecture, Trace};
use crate::tree::{self, Walk};
use crate::{a64, rv64, x86};
use std::collections::{BTreeSet, HashMap};

/// Suffixes of the names of the loops that a guest times.
const RUN: &str = "_run";
const CONTROL: &str = "_control";
/// Loop with which the harness warms itself up.
const WARM_UP: &str = "idle_run";

/// A path that was followed.
pub struct Followed {
    /// Index of the first path with the same instructions and accesses.
    pub index: u32,
    /// Name of the loop that the path times.
    pub timed: String,
    pub places: Vec<Place>,
    pub walk: Walk,
    pub count: Count,
}

/// Follows all paths of a trace.
pub fn follow(trace: &Trace, places: &mut Places<'_>) -> Vec<Followed> {
    let flows = Flow::all(trace.architecture, &trace.insns);
    let found: Vec<Vec<Place>> = trace
        .paths
        .iter()
        .map(|path| places.path(&path.insns))
        .collect();
    let functions = &places.functions;
    let mut first: HashMap<(&[u32], &[Accessed]), u32> = HashMap::new();
    let paths = trace.paths.iter().zip(found).enumerate();
    paths
        .map(|(index, (path, places))| {
            let walk = tree::walk(trace, &flows, &path.insns, &places, functions);
            let count = sum::count(trace, path, &places, functions, &walk);
            let mut names = places
                .iter()
                .map(|place| &functions[place.function as usize]);
            let timed = names.find(|function| {
                let is_loop = function.name.ends_with(RUN) || function.name.ends_with(CONTROL);
                function.kind == Kind::Guest && is_loop
            });
            Followed {
                index: *first
                    .entry((&path.insns, &path.accesses))
                    .or_insert(index as u32),
                timed: timed.map_or_else(String::new, |function| function.name.clone()),
                places,
                walk,
                count,
            }
        })
        .collect()
}

/// The windows of a benchmark's samples, in their order, each as the index of its path.
pub struct Windows {
    /// Windows of the timed loop.
    pub run: Vec<u32>,
    /// Windows of the control loop.
    pub control: Vec<u32>,
}

impl Windows {
    /// Takes the last windows of both loops, as many as there are samples.
    pub fn of(
        trace: &Trace,
        paths: &[Followed],
        measured: &Measured,
    ) -> Result<Self, ExplainError> {
        if measured.run.is_empty() || measured.run.len() != measured.control.len() {
            return Err(ExplainError::NoSamples);
        }
        let timed = |path: &u32| &*paths[*path as usize].timed;
        let of_kind = |ending: &str| -> BTreeSet<&str> {
            let names = trace.windows.iter().map(timed);
            names.filter(|name| name.ends_with(ending)).collect()
        };
        let mut runs = of_kind(RUN);
        if runs.len() > 1 {
            runs.remove(WARM_UP);
        }
        let find = |names: BTreeSet<&str>, samples: usize| -> Result<Vec<u32>, ExplainError> {
            let all: Vec<&str> = names.into_iter().collect();
            let [name] = all[..] else {
                return Err(match all[..] {
                    [] => ExplainError::NoLoop,
                    _ => ExplainError::Loops(all.join(", ")),
                });
            };
            let windows = trace.windows.iter().copied();
            let found: Vec<u32> = windows.filter(|path| timed(path) == name).collect();
            // Windows before those of the samples are extra: a benchmark may try its loop, or warm it up.
            match found.len().checked_sub(samples) {
                Some(more) => Ok(found[more..].to_vec()),
                None => Err(ExplainError::Sum(SumError::Count {
                    what: name.to_owned(),
                    windows: found.len(),
                    samples,
                })),
            }
        };
        Ok(Self {
            run: find(runs, measured.run.len())?,
            control: find(of_kind(CONTROL), measured.control.len())?,
        })
    }

    /// Returns the sums of the samples. A loop that reads the clock itself measures a part of its window. Its samples
    /// whose sum does not agree are left out, if they are fewer than half; in another loop such a sample is an error.
    pub fn whole(
        &mut self,
        trace: &Trace,
        paths: &[Followed],
        functions: &[Function],
        measured: &Measured,
    ) -> Result<Vec<Sum>, ExplainError> {
        let sums = self.sums(paths, measured);
        if let Some(Err(error)) = sums.iter().find(|sum| sum.is_err()) {
            let first = &paths[self.run[0] as usize];
            if !reads_clock(trace, first, functions) {
                return Err(error.clone().into());
            }
            for windows in [&mut self.run, &mut self.control] {
                let mut sums = sums.iter();
                windows.retain(|_| sums.next().is_some_and(Result::is_ok));
            }
            if 2 * self.run.len() <= sums.len() {
                return Err(ExplainError::SelfTimed(first.timed.clone()));
            }
        }
        Ok(sums.into_iter().flatten().collect())
    }

    /// Returns each sample's sum, or the error that it does not agree with the measurement.
    fn sums(&self, paths: &[Followed], measured: &Measured) -> Vec<Result<Sum, SumError>> {
        let count = |path: &u32| &paths[*path as usize].count;
        let ticks = measured.run.iter().zip(&measured.control);
        let pairs = self.run.iter().zip(&self.control).zip(ticks).enumerate();
        pairs
            .map(|(sample, ((run, control), (run_ticks, control_ticks)))| {
                let measured = run_ticks.wrapping_sub(*control_ticks) as i64;
                Sum::of(sample, count(run), count(control), measured)
            })
            .collect()
    }
}

/// Whether the loop itself reads the clock, and not only the harness around it.
fn reads_clock(trace: &Trace, path: &Followed, functions: &[Function]) -> bool {
    let mut insns = trace.path(path.index).zip(&path.places);
    insns.any(|(insn, place)| {
        let is_clock = match trace.architecture {
            Architecture::X86_64 => x86::is_clock(insn),
            Architecture::Aarch64 => a64::is_clock(insn),
            Architecture::Riscv64 => rv64::is_clock(insn),
        };
        is_clock && functions[place.function as usize].name == path.timed
    })
}
