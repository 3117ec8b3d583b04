//! Progress of a run on standard error: one line that is redrawn on a terminal, plain lines from time to time
//! elsewhere. Several platforms may run at once.

use crate::output;
use crate::time::short;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval of updates on a terminal.
const REDRAW: Duration = Duration::from_millis(100);
/// Interval of plain lines.
const PLAIN: Duration = Duration::from_secs(10);

/// The progress of a run, shared by all threads that work on it.
#[derive(Debug)]
pub struct Progress {
    terminal: bool,
    verbose: bool,
    quiet: bool,
    started: Instant,
    shown: Mutex<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    /// Progress of each running platform, and the time left.
    at: BTreeMap<String, (String, Option<Duration>)>,
    /// The time since the run's begin at which it ends in any case.
    end: Option<Duration>,
    last: Option<Instant>,
    /// Whether a line is drawn, which must be cleared before other output.
    drawn: bool,
}

impl Progress {
    /// Starts the progress of a run.
    pub fn new(verbose: bool) -> Self {
        Self {
            terminal: io::stderr().is_terminal(),
            verbose,
            quiet: output::is_quiet(),
            started: Instant::now(),
            shown: Mutex::default(),
        }
    }

    /// Time since the run began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Sets the time since the run's begin at which it ends in any case.
    pub fn end_by(&self, end: Duration) {
        self.lock().end = Some(end);
    }

    /// Shows the progress of `platform` if an update is due. `left` is the time left of the whole run, if known.
    pub fn show(&self, platform: &str, what: impl FnOnce() -> String, left: Option<Duration>) {
        if self.quiet {
            return;
        }
        let interval = if self.terminal { REDRAW } else { PLAIN };
        let mut shown = self.lock();
        let due = match shown.last {
            Some(last) => last.elapsed() >= interval,
            // A terminal shows progress at once; elsewhere a short run needs none.
            None => self.terminal || self.started.elapsed() >= PLAIN,
        };
        // With several platforms, each stores its text, as another platform may make the next update.
        if !due && shown.at.len() <= 1 {
            return;
        }
        shown.at.insert(platform.to_owned(), (what(), left));
        if !due {
            return;
        }
        shown.last = Some(Instant::now());
        let words: Vec<String> = shown
            .at
            .iter()
            .map(|(name, (what, _))| format!("{name}{what}"))
            .collect();
        // The time left is known only if it is known for all running platforms.
        let left: Option<Vec<Duration>> = shown.at.values().map(|(_, left)| *left).collect();
        let end = shown.end.map(|end| end.saturating_sub(self.elapsed()));
        let left = left.and_then(|left| left.into_iter().max());
        let left = left.map(|left| end.map_or(left, |end| left.min(end)));
        let left = left.map_or(String::new(), |left| {
            format!(", about {} left", short(left))
        });
        let text = format!("{}{left}", words.join(" | "));
        let text = ws_text::terminal(&text);
        if self.terminal {
            let columns = columns().saturating_sub(1);
            let text: String = text.chars().take(columns).collect();
            write(&format!("\r\x1b[K{text}"));
            shown.drawn = true;
        } else {
            write(&format!("{text}\n"));
        }
    }

    /// Removes a platform that has finished.
    pub fn done(&self, platform: &str) {
        self.lock().at.remove(platform);
    }

    /// Prints a line.
    pub fn say(&self, text: &str) {
        if self.quiet {
            return;
        }
        let mut shown = self.lock();
        clear(&mut shown);
        write(&format!("{}\n", ws_text::terminal(text)));
    }

    /// Prints a line if the run is verbose.
    pub fn detail(&self, text: impl FnOnce() -> String) {
        if self.verbose {
            self.say(&text());
        }
    }

    /// Clears the progress line.
    pub fn clear(&self) {
        clear(&mut self.lock());
    }

    /// Locks the state. A poisoned lock is used as it is: a panic while drawing leaves no bad state.
    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn clear(shown: &mut Shown) {
    if shown.drawn {
        write("\r\x1b[K");
        shown.drawn = false;
    }
}

fn columns() -> usize {
    // Some terminals report 0 columns.
    match rustix::termios::tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => 80,
    }
}

fn write(text: &str) {
    // If standard error is gone, there is nowhere to report it.
    let _ = io::stderr().write_all(text.as_bytes());
}
