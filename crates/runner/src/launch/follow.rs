//! Launches a machine and reads its console until the launch is over: the clock and the I/O around the
//! state machine in `state`.

use crate::launch::limits::Limits;
use crate::launch::line::Line;
use crate::launch::state::{Event, LaunchReport, LaunchState};
use std::time::{Duration, Instant};
use ws_machines::earshot::Chunk;
use ws_machines::machine::{
    CONSOLE_LIMIT_BYTES, Console, Engine, LaunchRequest, Machine, MachineError,
};
use ws_records::{Expect, Nonce};
use ws_results::{Launch, LaunchEnd};
use ws_terminal::time::millis;
use ws_terminal::{Stop, Why};

/// Longest time from a guest's `bye` until its machine powers off.
const POWER_OFF_LIMIT: Duration = Duration::from_secs(3);

/// Characters of the machine's standard error in the end's detail: the last ones, which usually have the reason.
const COMPLAINTS_CHARS: usize = 400;

/// A launch to make.
#[derive(Debug)]
pub struct Order<'a> {
    pub vcpus: u32,
    /// CPUs of the machine that runs the guest's VM.
    pub host_cpus: u32,
    /// Name of the guest's VM among the machine's.
    pub vm: &'a str,
    pub rows: &'a [String],
    pub command_line: String,
    /// A memory size other than the platform's.
    pub memory_mib: Option<u64>,
    pub nonce: Nonce,
    pub limits: Limits,
    /// Whether the host times the guest from outside.
    pub timed: bool,
}

/// Launches the machine once and follows it until the launch is over; then the machine is stopped.
/// `watch` is called often, with the launch's state.
pub fn follow(
    machine: &mut dyn Machine,
    order: &Order<'_>,
    stop: &Stop,
    watch: &mut dyn FnMut(&LaunchState),
) -> Result<(LaunchReport, Launch), MachineError> {
    let started = Instant::now();
    machine.launch(&LaunchRequest {
        vcpus: order.vcpus,
        host_cpus: order.host_cpus,
        vm: order.vm.to_owned(),
        command_line: order.command_line.clone(),
        memory_mib: order.memory_mib,
        timed: order.timed,
    })?;
    let mut follower = Follower {
        machine,
        state: LaunchState::new(order.limits).timed(order.timed),
        line: Line::new(Expect::Exact(order.nonce)).with_marks(order.timed),
        started,
        waited: Duration::ZERO,
        first_record: None,
    };
    loop {
        // The signal is read before the console, so that output from before the signal is not lost.
        let stopping = stop.why();
        let (console, over) = follower.read(stopping)?;
        watch(&follower.state);
        if over {
            break;
        }
        if console == Console::Quiet {
            follower.machine.wait();
        }
    }
    let Follower {
        machine,
        state,
        line,
        first_record,
        ..
    } = follower;
    let report = ended(machine, state, stop)?;
    let launch = Launch {
        vcpus: order.vcpus,
        asked: order.rows.to_vec(),
        first_record_ms: first_record.map(millis),
        wall_ms: millis(started.elapsed()),
        ..line.launch(&report)
    };
    Ok((report, launch))
}

/// A running machine and its launch.
struct Follower<'a> {
    machine: &'a mut dyn Machine,
    state: LaunchState,
    line: Line,
    started: Instant,
    /// Time for which the machine waited for a host CPU.
    waited: Duration,
    first_record: Option<Duration>,
}

impl Follower<'_> {
    /// Clock of the guest's limits: time in which the machine waits for a host CPU does not count.
    fn now(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.waited)
    }

    /// Reads the console once. True when the launch is over.
    fn read(&mut self, stopping: Option<Why>) -> Result<(Console, bool), MachineError> {
        let (mut buffer, mut chunks) = (Vec::new(), Vec::new());
        let console = self.machine.console(&mut buffer)?;
        self.machine.heard(&mut chunks);
        if console == Console::Data || self.state.is_late(self.now()) {
            self.waited = self.waited.max(self.machine.waited());
        }
        let now = self.now();
        let rows_before = self.state.rows_done();
        let mut over = self.take(&buffer, &chunks, now);
        if self.first_record.is_none() && self.state.has_spoken() {
            self.first_record = Some(self.started.elapsed());
        }
        if console == Console::Data {
            self.state.saw_strayed(&self.machine.strayed(), rows_before);
        }
        if let Console::Ended(how) = &console {
            over |= self.end(how, now);
        }
        over = over || self.state.on(Event::Tick, now);
        if self.line.bytes() > CONSOLE_LIMIT_BYTES {
            over = over || self.state.on(Event::Flood(CONSOLE_LIMIT_BYTES), now);
        }
        if let Some(why) = stopping {
            over = over || self.state.on(Event::Interrupted(why), now);
        }
        Ok((console, over))
    }

    /// Takes bytes of the console. True when the launch is over.
    fn take(&mut self, bytes: &[u8], chunks: &[Chunk], now: Duration) -> bool {
        let mut over = false;
        for event in self.line.feed(bytes, chunks) {
            let restarted = matches!(&event, Event::Record(record) if record.launch > 1);
            let event = if restarted { Event::Restarted } else { event };
            over = self.state.on(event, now);
        }
        over
    }

    /// Takes the end of the machine. True when the launch is over.
    fn end(&mut self, how: &str, now: Duration) -> bool {
        let mut over = false;
        for event in self.line.finish() {
            over |= self.state.on(event, now);
        }
        let software = self.machine.description().engine == Engine::SoftwareKvm;
        let instruction = self.machine.could_not_emulate().filter(|_| software);
        let event = match &instruction {
            Some(instruction) => Event::CouldNotEmulate(instruction),
            None => Event::Ended(how),
        };
        over || self.state.on(event, now)
    }
}

/// Stops the machine of a launch that is over, and returns the report.
fn ended(
    machine: &mut dyn Machine,
    state: LaunchState,
    stop: &Stop,
) -> Result<LaunchReport, MachineError> {
    let mut report = state.finish();
    if report.end == LaunchEnd::Bye && !powered_off(machine, stop)? {
        report.detail += "; its machine did not power off and was stopped";
    }
    machine.kill();
    let complaints = machine.complaints();
    if report.end != LaunchEnd::Bye && !complaints.is_empty() {
        let beyond = complaints.chars().count().saturating_sub(COMPLAINTS_CHARS);
        let complaints: String = complaints.chars().skip(beyond).collect();
        report.detail = format!("{}; it said: {complaints}", report.detail);
    }
    Ok(report)
}

/// Waits until the machine powers itself off; false if it does not in time.
fn powered_off(machine: &mut dyn Machine, stop: &Stop) -> Result<bool, MachineError> {
    let started = Instant::now();
    let mut rest = Vec::new();
    while started.elapsed() < POWER_OFF_LIMIT && !stop.requested() {
        rest.clear();
        match machine.console(&mut rest)? {
            Console::Ended(_) => return Ok(true),
            Console::Data => {}
            Console::Quiet => machine.wait(),
        }
    }
    Ok(false)
}
