//! Launches a machine and follows its console to the launch's end: the clock and the I/O around
//! the state machine of `launch`.

use crate::launch::limits::Limits;
use crate::launch::line::{Line, Said};
use crate::launch::state::{Event, LaunchReport, LaunchState};
use crate::terminal::stop::Stop;
use crate::terminal::time::millis;
use std::time::{Duration, Instant};
use ws_machines::machine::{
    CONSOLE_LIMIT_BYTES, Console, Engine, LaunchRequest, Machine, MachineError,
};
use ws_records::{Expect, Nonce};
use ws_results::{Launch, LaunchEnd};

/// After its `bye`, a guest has so long to power its machine off.
const POWER_OFF_LIMIT: Duration = Duration::from_secs(3);

/// So much of the end of what a machine complained about goes into an end's detail: its last words say why.
const COMPLAINTS_CHARS: usize = 400;

/// A launch to make.
#[derive(Debug)]
pub struct Order<'a> {
    pub vcpus: u32,
    pub rows: &'a [String],
    pub command_line: String,
    /// Another memory size than the platform's.
    pub memory_mib: Option<u64>,
    pub nonce: Nonce,
    pub limits: Limits,
    /// Time the guest from outside.
    pub timed: bool,
}

/// Launches the machine once and follows it until the launch is over; the machine is gone then.
/// `watch` is called often, with the launch as it stands.
///
/// # Errors
/// The machine can't be started, or its console can't be read.
pub fn follow(
    machine: &mut dyn Machine,
    order: &Order<'_>,
    stop: &Stop,
    watch: &mut dyn FnMut(&LaunchState),
) -> Result<(LaunchReport, Launch), MachineError> {
    let started = Instant::now();
    machine.launch(&LaunchRequest {
        vcpus: order.vcpus,
        command_line: order.command_line.clone(),
        memory_mib: order.memory_mib,
        timed: order.timed,
    })?;
    let mut state = LaunchState::new(order.limits).timed(order.timed);
    let mut line = Line::new(Expect::Exact(order.nonce)).with_marks(order.timed);
    let (mut buffer, mut chunks) = (Vec::new(), Vec::new());
    let (mut waited, mut first_record) = (Duration::ZERO, None);
    loop {
        buffer.clear();
        chunks.clear();
        // Before the console: what the machine said until the user wanted to stop is heard.
        let stopping = stop.requested();
        let console = machine.console(&mut buffer)?;
        machine.heard(&mut chunks);
        // A guest's clock for its limits: what its machine waited for a processor is the host's doing.
        let mut now = started.elapsed().saturating_sub(waited);
        if console == Console::Data || state.is_late(now) {
            waited = waited.max(machine.waited());
            now = started.elapsed().saturating_sub(waited);
        }
        let rows_before = state.rows_done();
        let mut over = take(&mut state, line.feed_timed(&buffer, &chunks), now);
        if first_record.is_none() && state.has_spoken() {
            first_record = Some(started.elapsed());
        }
        if console == Console::Data {
            state.saw_strayed(&machine.strayed(), rows_before);
        }
        if let Console::Ended(how) = &console {
            for record in line.finish() {
                over |= state.on(Event::Record(&record), now);
            }
            let software = machine.engine() == Engine::SoftwareKvm;
            let instruction = machine.could_not_emulate().filter(|_| software);
            let event = match &instruction {
                Some(instruction) => Event::CouldNotEmulate(instruction),
                None => Event::Ended(how),
            };
            over = over || state.on(event, now);
        }
        over = over || state.on(Event::Tick, now);
        if line.bytes() > CONSOLE_LIMIT_BYTES {
            over = over || state.on(Event::Flood(CONSOLE_LIMIT_BYTES), now);
        }
        if stopping {
            over = over || state.on(Event::Interrupted, now);
        }
        watch(&state);
        if over {
            break;
        }
        if console == Console::Quiet {
            machine.wait();
        }
    }
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
    let launch = Launch {
        vcpus: order.vcpus,
        asked: order.rows.to_vec(),
        first_record_ms: first_record.map(millis),
        wall_ms: millis(started.elapsed()),
        ..line.launch(&report)
    };
    Ok((report, launch))
}

/// Feeds what the console said. True when the launch is over.
fn take(state: &mut LaunchState, said: Vec<Said>, now: Duration) -> bool {
    let mut over = false;
    for said in said {
        over = match said {
            Said::Record(record) if record.launch > 1 => state.on(Event::Restarted, now),
            Said::Record(record) => state.on(Event::Record(&record), now),
            Said::Mark(heard) => state.on(Event::Mark(heard), now),
        };
    }
    over
}

/// Waits for the machine to end by itself.
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
