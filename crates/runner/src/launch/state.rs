//! A launch as a state machine. Input: records, time and the machine's end. Output: the outcome of each benchmark, and
//! when to stop.
//!
//! Pure: it reads no clock and touches no machine, so that unit tests cover every way in which a launch
//! can fail. `follow` and `listen` feed it. All times are relative to the launch's start.

use crate::launch::below::{Below, MARKS, SHORTER};
use crate::launch::limits::Limits;
use crate::launch::marks::{Heard, Marks};
use crate::outcome::row::{External, RowReport};
use std::time::Duration;
use ws_machines::image::ROWS_MAX;
use ws_records::{BenchResult, CheckVerdict, Exits, Fault, Hello, Kind, Record, ResultAssembler};
use ws_results::{Check, LaunchEnd, Status, Verdict};
use ws_terminal::Why;

/// The source of the guest's own records (docs/records.md). A guest could forge its monitor's records,
/// because it knows the launch's nonce; nothing here prevents that.
pub const GUEST: &str = "guest";

/// Source of records of the host's monitor, which is below a nested machine's.
pub const BELOW: &str = "l0";

/// Source of neve's records. neve is below a nested machine's monitor if there is one.
const NEVE: &str = "neve";

/// Event in a launch.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A record of this launch arrived.
    Record(Box<Record>),
    /// A mark of this launch arrived.
    Mark(Heard),
    /// Time passed.
    Tick,
    /// The machine ended, for this reason; all its output has been fed.
    Ended(&'a str),
    /// The machine ended because a software KVM can't emulate an instruction.
    CouldNotEmulate(&'a str),
    /// The machine restarted by itself.
    Restarted,
    /// The log or the line ended.
    Eof(&'a str),
    /// The console is longer than this limit, in bytes.
    Flood(u64),
    /// The run must end.
    Interrupted(Why),
}

/// A launch that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchReport {
    pub end: LaunchEnd,
    pub detail: String,
    pub hello: Option<Hello>,
    /// Benchmarks that sent any record, in that order.
    pub rows: Vec<RowReport>,
    /// Reason why records were left out, if a guest sent records of more benchmarks than it had announced.
    pub left_out: Option<String>,
}

/// A launch in progress.
#[derive(Clone, Debug)]
pub struct LaunchState {
    limits: Limits,
    /// Whether the host times the launch from outside.
    timed: bool,
    hello: Option<Hello>,
    has_spoken: bool,
    /// Start of the current step.
    step_since: Duration,
    current: Option<Current>,
    /// Counts by a nested machine's host of windows with nothing but marks.
    marks: Below,
    /// A fault outside of any benchmark, in words.
    guest_fault: Option<String>,
    rows: Vec<RowReport>,
    /// Number of records of benchmarks beyond those that `hello` announced.
    surplus: u64,
    over: Option<(LaunchEnd, String)>,
}

/// The running benchmark.
#[derive(Clone, Debug)]
struct Current {
    bench: String,
    assembler: ResultAssembler,
    marks: Marks,
    report: Option<RowReport>,
    /// Reason why parts of the result do not fit together.
    damage: Option<String>,
    exits: Option<Exits>,
    /// Counts by a nested machine's host.
    below: Option<Below>,
    /// Counts by that host in shorter runs.
    shorter: Option<Below>,
    strayed: Vec<String>,
}

impl Current {
    /// Returns the benchmark's report; if none arrived, one with this status. `why` gets the damage and returns the
    /// reason.
    fn settled(self, status: Status, why: impl FnOnce(Option<String>) -> String) -> RowReport {
        let mut report = self
            .report
            .unwrap_or_else(|| RowReport::without(&self.bench, status, why(self.damage)));
        (report.exits, report.strayed) = (self.exits, self.strayed);
        report
    }
}

impl LaunchState {
    /// A launch that begins now.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            timed: false,
            hello: None,
            has_spoken: false,
            step_since: Duration::ZERO,
            current: None,
            marks: Below::default(),
            guest_fault: None,
            rows: Vec::new(),
            surplus: 0,
            over: None,
        }
    }

    /// Sets whether the host times the launch from outside, by the guest's marks.
    pub fn timed(self, timed: bool) -> Self {
        Self { timed, ..self }
    }

    /// Takes an event that happened at `now`. True when the launch is over: then the machine must be
    /// stopped, and further events have no effect.
    pub fn on(&mut self, event: Event<'_>, now: Duration) -> bool {
        if self.over.is_some() {
            return true;
        }
        match event {
            Event::Record(record) if record.source == GUEST => self.record(*record, now),
            Event::Record(record) => self.monitor(*record),
            Event::Mark(heard) => {
                if let Some(current) = &mut self.current {
                    current.marks.hear(heard);
                }
            }
            Event::Tick => self.tick(now),
            Event::Ended(how) => self.end(LaunchEnd::Died, Status::Died, how),
            Event::CouldNotEmulate(how) => self.end(
                LaunchEnd::Died,
                Status::Skip,
                &format!("a software KVM can't emulate one of its instructions ({how})"),
            ),
            Event::Restarted => {
                self.end(
                    LaunchEnd::Died,
                    Status::Died,
                    "the machine restarted by itself",
                );
            }
            Event::Eof(how) => self.end(LaunchEnd::Eof, Status::Unreached, how),
            Event::Flood(bytes) => self.end(
                LaunchEnd::Flood,
                Status::Died,
                &format!(
                    "its console wrote more than {} MiB, so the machine was stopped",
                    bytes >> 20
                ),
            ),
            Event::Interrupted(why) => {
                self.end(LaunchEnd::Interrupted, Status::Unreached, why.words());
            }
        }
        self.over.is_some()
    }

    /// Notes that vCPU threads were just seen on other CPUs than they are pinned to, as `how` says. The note goes to
    /// the running benchmark and to those that ended after the first `rows_before`.
    pub fn saw_strayed(&mut self, how: &[String], rows_before: usize) {
        let over = self.rows.iter_mut().skip(rows_before);
        let running = self.current.as_mut().map(|current| &mut current.strayed);
        for strayed in over.map(|row| &mut row.strayed).chain(running) {
            for one in how {
                if !strayed.contains(one) {
                    strayed.push(one.clone());
                }
            }
        }
    }

    /// Whether any record has arrived.
    pub fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// The guest's `hello`, once it has arrived.
    pub fn hello(&self) -> Option<&Hello> {
        self.hello.as_ref()
    }

    /// The name of the running benchmark.
    pub fn running(&self) -> Option<&str> {
        self.current.as_ref().map(|current| current.bench.as_str())
    }

    /// Number of benchmarks that are over.
    pub fn rows_done(&self) -> usize {
        self.rows.len()
    }

    /// Ends the launch, and returns its report. A launch that is not over counts as interrupted.
    pub fn finish(mut self) -> LaunchReport {
        self.on(Event::Interrupted(Why::Asked), self.step_since);
        let most = self.most_rows();
        let left_out = (self.surplus > 0).then(|| {
            format!(
                "{} records of benchmarks beyond the {most} that its hello announced were left out",
                self.surplus
            )
        });
        let (end, detail) = self.over.unwrap_or((LaunchEnd::Interrupted, String::new()));
        LaunchReport {
            end,
            detail,
            hello: self.hello,
            rows: self.rows,
            left_out,
        }
    }

    /// Most benchmarks of a launch: as many as its `hello` announced, and never more than an image can have. The limit
    /// bounds the time that each record takes.
    fn most_rows(&self) -> usize {
        let announced = self.hello.as_ref().and_then(|hello| hello.selected);
        let announced = announced.map_or(ROWS_MAX, u64::from);
        usize::try_from(announced.min(ROWS_MAX)).unwrap_or(usize::MAX)
    }

    fn record(&mut self, record: Record, now: Duration) {
        self.has_spoken = true;
        match record.kind {
            Kind::Hello(hello) => {
                // A second `hello` in the same launch is a copy; the first one counts.
                if self.hello.is_none() {
                    self.hello = Some(hello);
                    self.step_since = now;
                }
            }
            Kind::Begin(begin) => self.open(&begin.bench, now),
            Kind::Result(part) => {
                self.resume(&part.bench, now);
                let Some(current) = &mut self.current else {
                    return;
                };
                match current.assembler.push(part) {
                    Ok(Some(result)) if current.report.is_none() => {
                        let marks = self.timed.then_some(&current.marks);
                        current.report = Some(judge(result, marks));
                    }
                    Ok(_) => {}
                    Err(error) => {
                        current.damage.get_or_insert(error.to_string());
                    }
                }
            }
            Kind::Skip(skip) => {
                self.resume(&skip.bench, now);
                self.settle(RowReport::without(&skip.bench, Status::Skip, skip.reason));
            }
            Kind::Fault(fault) => self.fault(&fault, now),
            Kind::End(end) => {
                self.resume(&end.bench, now);
                self.close(now);
            }
            Kind::Bye(_) => {
                self.close(now);
                let detail = match self.guest_fault.take() {
                    Some(fault) => format!("the guest ended after a fault: {fault}"),
                    None => "the guest ended".to_owned(),
                };
                self.over = Some((LaunchEnd::Bye, detail));
            }
            Kind::Exits(_) | Kind::Unknown(_) => {}
        }
    }

    /// Takes a monitor's record. The counts go to the benchmark that the record names, if that is running. A nested
    /// machine's host sends its counts first: they wait for the record of the guest's own monitor, and are kept beside
    /// its counts.
    fn monitor(&mut self, record: Record) {
        let Kind::Exits(exits) = record.kind else {
            return;
        };
        let is_below = [BELOW, NEVE].contains(&&*record.source);
        if is_below && exits.bench == MARKS {
            self.marks.learn(Below::of(*exits));
            return;
        }
        let Some(current) = &mut self.current else {
            return;
        };
        if is_below && exits.bench == SHORTER {
            let of_shorter = Below::of(*exits);
            current.shorter.get_or_insert_default().add(of_shorter);
            return;
        }
        if current.bench != exits.bench {
            return;
        }
        if is_below {
            let of_below = Below::of((*exits).clone());
            current.below.get_or_insert_default().add(of_below);
        }
        if record.source == NEVE {
            // These are the guest's own exits, unless a monitor above neve sends a record later.
            current.exits = Some(*exits);
        } else if !is_below {
            // A shorter run has the same marks, so the marks are subtracted only where there is none.
            let below = match (current.below.take(), current.shorter.take()) {
                (Some(below), Some(shorter)) => below.without(&shorter),
                (Some(below), None) if exits.marked => below.without(&self.marks),
                (below, _) => below.unwrap_or_default(),
            };
            current.exits = Some(Exits {
                below: below.counts,
                below_causes: below.causes,
                ..*exits
            });
        }
    }

    fn fault(&mut self, fault: &Fault, now: Duration) {
        let words = describe(fault);
        match &fault.bench {
            Some(bench) => {
                self.resume(bench, now);
                self.settle(RowReport::without(bench, Status::Fault, words));
            }
            None => {
                if let Some(bench) = self.running().map(str::to_owned) {
                    self.settle(RowReport::without(&bench, Status::Fault, &*words));
                }
                self.guest_fault = Some(words);
            }
        }
    }

    /// Begins `bench`, and ends the current benchmark if there is one.
    fn open(&mut self, bench: &str, now: Duration) {
        self.close(now);
        self.step_since = now;
        if self.rows.len() >= self.most_rows() && !self.is_over(bench) {
            self.surplus += 1;
            return;
        }
        self.current = Some(Current {
            bench: bench.to_owned(),
            assembler: ResultAssembler::new(),
            marks: Marks::default(),
            report: None,
            damage: None,
            exits: None,
            below: None,
            shorter: None,
            strayed: Vec::new(),
        });
    }

    /// Begins `bench` if its `begin` was lost. A benchmark that is over stays over.
    fn resume(&mut self, bench: &str, now: Duration) {
        if self.running() != Some(bench) && !self.is_over(bench) {
            self.open(bench, now);
        }
    }

    /// Whether `bench` is over.
    fn is_over(&self, bench: &str) -> bool {
        self.rows.iter().any(|row| row.bench == bench)
    }

    /// Sets the outcome of the current benchmark, unless it has one.
    fn settle(&mut self, report: RowReport) {
        if let Some(current) = &mut self.current {
            if current.bench == report.bench && current.report.is_none() {
                current.report = Some(report);
            }
        }
    }

    /// Ends the current benchmark, if any.
    fn close(&mut self, now: Duration) {
        let Some(mut current) = self.current.take() else {
            return;
        };
        self.step_since = now;
        if let Err(error) = current.assembler.close() {
            current.damage.get_or_insert(error.to_string());
        }
        let report = current.settled(Status::Lost, |damage| {
            damage.unwrap_or_else(|| "it ended, but its result never arrived".to_owned())
        });
        if !self.is_over(&report.bench) {
            self.rows.push(report);
        }
    }

    /// Whether the current step has reached its time limit.
    pub fn is_late(&self, now: Duration) -> bool {
        let (limit, _) = self.limit();
        limit.is_some_and(|limit| now.saturating_sub(self.step_since) >= limit)
    }

    /// Time limit of the current step, and the beginning of the message if the step exceeds it.
    fn limit(&self) -> (Option<Duration>, &'static str) {
        match (&self.current, &self.hello) {
            (Some(_), _) => (self.limits.bench, "it took"),
            (None, Some(_)) => (
                self.limits.between,
                "the guest sent no record between benchmarks for",
            ),
            (None, None) => (self.limits.boot, "the guest sent no record for"),
        }
    }

    fn tick(&mut self, now: Duration) {
        if let (Some(limit), what) = self.limit() {
            if self.is_late(now) {
                let why = format!(
                    "{what} longer than {} s, so the machine was stopped",
                    limit.as_secs_f64()
                );
                self.end(LaunchEnd::Timeout, Status::Timeout, &why);
            }
        }
    }

    /// Ends the launch without a `bye`, and the current benchmark with it.
    fn end(&mut self, end: LaunchEnd, status: Status, why: &str) {
        let mut detail = why.to_owned();
        if let Some(current) = self.current.take() {
            detail = format!("{why} (in {})", current.bench);
            // A report that arrived before the end stays valid: its figures are complete.
            let report = current.settled(status, |_| why.to_owned());
            if !self.is_over(&report.bench) {
                self.rows.push(report);
            }
        }
        if let Some(fault) = self.guest_fault.take() {
            detail = format!("{detail}, after a fault: {fault}");
        }
        self.over = Some((end, detail));
    }
}

/// Makes the report of a complete result: `Ok`, unless the guest's own check failed.
fn judge(result: BenchResult, marks: Option<&Marks>) -> RowReport {
    let verdict = match result.check {
        CheckVerdict::Proved => Verdict::Proved,
        CheckVerdict::Unproven => Verdict::Unproven,
        CheckVerdict::Failed => Verdict::Failed,
    };
    let failed = verdict == Verdict::Failed;
    let count = result.run.len();
    let external = marks.map(|marks| match &result.unmarked {
        Some(why) => External::none(count, format!("the guest sent no marks: {why}")),
        None => marks.samples(count),
    });
    RowReport {
        external: external.filter(|_| !failed),
        bench: result.bench.clone(),
        launch: 0,
        status: if failed { Status::Failed } else { Status::Ok },
        reason: failed.then(|| format!("its own check failed: {}", result.note)),
        check: Some(Check {
            verdict,
            note: result.note.clone(),
        }),
        result: (!failed).then_some(result),
        exits: None,
        strayed: Vec::new(),
    }
}

fn describe(fault: &Fault) -> String {
    let phase = fault.phase.as_deref().unwrap_or("no phase");
    format!(
        "{} (vector {}) in {phase}, error {:#x}, address {:#x}, at {:#x}",
        fault.name, fault.vector, fault.error, fault.address, fault.ip
    )
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
