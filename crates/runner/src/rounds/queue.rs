//! A boot as a queue of launches: rows that a dead machine did not reach are launched again, and rows whose records
//! were damaged are repeated once.
//!
//! Pure. The queue always ends: if two consecutive launches settle no row, their first row is given up, or the boot if
//! the guest sent no record.

use crate::launch::state::LaunchReport;
use crate::outcome::row::RowReport;
use crate::rounds::plan::Planned;
use std::collections::{BTreeSet, VecDeque};
use ws_results::{LaunchEnd, Status};

/// The launches that are left in a boot, and the rows that are settled.
#[derive(Clone, Debug)]
pub struct LaunchQueue {
    queue: VecDeque<Planned>,
    settled: Vec<RowReport>,
    /// Rows that were repeated already.
    retried: BTreeSet<String>,
    /// Consecutive launches in which the guest sent no record.
    silent: u32,
    /// The first row of the last launch, if that launch settled nothing.
    stuck: Option<String>,
    interrupted: bool,
    launches: u32,
}

/// Error: the guest sent no record in two consecutive launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silent;

impl LaunchQueue {
    /// Makes the queue of these launches.
    pub fn new(launches: Vec<Planned>) -> Self {
        Self {
            queue: launches.into(),
            settled: Vec::new(),
            retried: BTreeSet::new(),
            silent: 0,
            stuck: None,
            interrupted: false,
            launches: 0,
        }
    }

    /// Returns the next launch; None when the boot is over.
    pub fn next(&mut self) -> Option<Planned> {
        if self.interrupted {
            return None;
        }
        self.queue.pop_front()
    }

    /// Takes the report of a launch.
    ///
    /// # Errors
    /// [`Silent`]: the platform does not work.
    pub fn take(&mut self, mut planned: Planned, report: &LaunchReport) -> Result<(), Silent> {
        let launch = self.launches;
        self.launches += 1;
        let mut again = Vec::new();
        let settled_before = self.settled.len();
        let mut missing = Vec::new();
        for name in std::mem::take(&mut planned.rows) {
            let row = report.rows.iter().find(|row| row.bench == name).cloned();
            let row = match row {
                Some(row) => row,
                None if report.end == LaunchEnd::Bye => {
                    RowReport::without(&name, Status::Lost, "no record of the benchmark arrived")
                }
                None => {
                    missing.push(name);
                    continue;
                }
            };
            self.settle_or_retry(RowReport { launch, ..row }, &mut again);
        }
        let progress = self.settled.len() > settled_before || !again.is_empty();
        if report.end == LaunchEnd::Interrupted {
            self.interrupted = true;
        } else if report.hello.is_none() && !progress {
            // A silent guest may not even have begun: no row is blamed for it.
            self.silent += 1;
            if self.silent >= 2 {
                return Err(Silent);
            }
        } else {
            self.silent = 0;
            if progress {
                self.stuck = None;
            } else if let Some(first) = missing.first().cloned() {
                if self.stuck.as_ref() == Some(&first) {
                    missing.remove(0);
                    self.stuck = None;
                    self.blame(&first, report, launch);
                } else {
                    self.stuck = Some(first);
                }
            }
        }
        planned.rows = missing.into_iter().chain(again).collect();
        self.relaunch(planned);
        Ok(())
    }

    /// Rows in the order in which they were settled, without those that were not reached.
    pub fn finish(self) -> Vec<RowReport> {
        self.settled
    }

    /// Number of settled rows.
    pub fn rows_done(&self) -> usize {
        self.settled.len()
    }

    fn settle_or_retry(&mut self, mut report: RowReport, again: &mut Vec<String>) {
        if report.status == Status::Unreached {
            // The run had to end while the row was running.
            return;
        }
        if report.status == Status::Lost {
            if self.retried.insert(report.bench.clone()) {
                again.push(report.bench);
                return;
            }
            let why = report.reason.take().unwrap_or_default();
            report.reason = Some(format!("{why}; lost in two launches"));
        }
        self.settled.push(report);
    }

    /// Gives up the next row: two launches ended before it began.
    fn blame(&mut self, name: &str, report: &LaunchReport, launch: u32) {
        let status = match report.end {
            LaunchEnd::Timeout => Status::Timeout,
            _ => Status::Died,
        };
        let why = format!("two launches ended before it began: {}", report.detail);
        self.settled.push(RowReport {
            launch,
            ..RowReport::without(name, status, why)
        });
    }

    /// Puts the rest of a launch first, so that rows with the same numbers of CPUs stay together.
    fn relaunch(&mut self, left: Planned) {
        if !left.rows.is_empty() {
            self.queue.push_front(left);
        }
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
