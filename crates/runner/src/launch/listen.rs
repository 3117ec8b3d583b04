//! Reads consoles of machines that somebody else boots: a serial line, or a saved console. A boot is
//! everything from `hello` to `bye`.

use crate::launch::limits::Limits;
use crate::launch::line::Line;
use crate::launch::state::{Event, LaunchReport, LaunchState};
use std::time::{Duration, Instant};
use ws_machines::machine::{
    CONSOLE_LIMIT_BYTES, Console, Control, LaunchRequest, Machine, MachineError,
};
use ws_records::{Expect, Kind};
use ws_results::Launch;
use ws_terminal::Stop;
use ws_terminal::time::millis;

/// State of a listener.
struct Listener {
    limits: Limits,
    replayed: bool,
    line: Line,
    /// Current launch, and its number on the line.
    current: Option<(u64, LaunchState)>,
    since: Instant,
    heard: Vec<(LaunchReport, Launch)>,
}

/// Listens until `boots` boots have arrived (without a number: without limit), the console ends, or the
/// user stops. `watch` is called often, with the number of boots so far and the current launch.
pub fn listen(
    machine: &mut dyn Machine,
    bench_limit: Duration,
    boots: Option<u32>,
    stop: &Stop,
    watch: &mut dyn FnMut(usize, Option<&LaunchState>),
) -> Result<Vec<(LaunchReport, Launch)>, MachineError> {
    let replayed = machine.description().control == Control::Replayed;
    let limits = if replayed {
        Limits::NONE
    } else {
        Limits::listened(bench_limit)
    };
    let mut listener = Listener {
        limits,
        replayed,
        line: Line::new(Expect::Learn),
        current: None,
        since: Instant::now(),
        heard: Vec::new(),
    };
    machine.launch(&LaunchRequest {
        vcpus: 0,
        host_cpus: 1,
        vm: String::new(),
        command_line: String::new(),
        memory_mib: None,
        timed: false,
    })?;
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        // The signal is read before the console, so that output from before the signal is not lost.
        let stopping = stop.why();
        let console = machine.console(&mut buffer)?;
        listener.feed(&buffer);
        match (&console, stopping) {
            (Console::Ended(how), _) => {
                listener.ended(how);
                break;
            }
            (_, Some(why)) => {
                listener.event(Event::Interrupted(why));
                break;
            }
            _ => listener.tick(),
        }
        watch(listener.heard.len(), listener.state());
        if boots.is_some_and(|boots| listener.heard.len() as u64 >= u64::from(boots)) {
            break;
        }
        if console == Console::Quiet {
            machine.wait();
        }
    }
    let mut heard = listener.heard;
    if let Some(boots) = boots {
        // The last bytes that were read may contain more boots than wanted.
        heard.truncate(boots as usize);
    }
    Ok(heard)
}

impl Listener {
    fn state(&self) -> Option<&LaunchState> {
        self.current.as_ref().map(|(_, state)| state)
    }

    fn feed(&mut self, bytes: &[u8]) {
        // Line by line, so that counts and console text go to the launch in which they arrived.
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            for event in self.line.feed(line, &[]) {
                self.said(event);
            }
        }
    }

    /// Takes an event of the line; only records matter, because these guests send no marks.
    fn said(&mut self, event: Event<'_>) {
        let Event::Record(record) = &event else {
            return;
        };
        let known = self.current.as_ref().map(|(number, _)| *number);
        if known != Some(record.launch) {
            self.event(Event::Restarted);
            // Records without `hello` belong to a launch that is over: they follow its `bye`, or the
            // time limit that ended it.
            if !matches!(record.kind, Kind::Hello(_)) {
                return;
            }
            self.since = Instant::now();
            self.line.restart();
            self.current = Some((record.launch, LaunchState::new(self.limits)));
        }
        self.event(event);
    }

    fn tick(&mut self) {
        self.event(Event::Tick);
        // The length of a log is fixed; a line may send forever.
        if !self.replayed && self.line.bytes() > CONSOLE_LIMIT_BYTES {
            self.event(Event::Flood(CONSOLE_LIMIT_BYTES));
        }
    }

    fn ended(&mut self, how: &str) {
        for event in self.line.finish() {
            self.said(event);
        }
        self.event(Event::Eof(how));
    }

    /// Passes an event to the current launch, if there is one.
    fn event(&mut self, event: Event<'_>) {
        let now = self.since.elapsed();
        let over = self
            .current
            .as_mut()
            .is_some_and(|(_, state)| state.on(event, now));
        if !over {
            return;
        }
        let Some((_, state)) = self.current.take() else {
            return;
        };
        let report = state.finish();
        let launch = Launch {
            wall_ms: if self.replayed { 0 } else { millis(now) },
            ..self.line.launch(&report)
        };
        self.heard.push((report, launch));
    }
}
