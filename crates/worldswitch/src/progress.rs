//! How far the run is, on standard error: one line that is written over on a terminal, plain
//! lines now and then elsewhere.

use crate::time::short;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Between two updates on a terminal.
const REDRAW: Duration = Duration::from_millis(100);
/// Between two plain lines.
const PLAIN: Duration = Duration::from_secs(10);

/// The progress of a run.
#[derive(Debug)]
pub struct Progress {
    terminal: bool,
    verbose: bool,
    started: Instant,
    last: Option<Instant>,
    /// A line stands there that must be cleared before anything else is written.
    drawn: bool,
}

impl Progress {
    /// Progress that starts now.
    pub fn new(verbose: bool) -> Self {
        Self {
            terminal: io::stderr().is_terminal(),
            verbose,
            started: Instant::now(),
            last: None,
            drawn: false,
        }
    }

    /// Since the run began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Shows where the run is, if it is time to. `left` is what it will take yet, if known.
    pub fn show(&mut self, what: impl FnOnce() -> String, left: Option<Duration>) {
        let interval = if self.terminal { REDRAW } else { PLAIN };
        let due = match self.last {
            Some(last) => last.elapsed() >= interval,
            // On a terminal at once; elsewhere a short run needs no progress.
            None => self.terminal || self.started.elapsed() >= PLAIN,
        };
        if !due {
            return;
        }
        self.last = Some(Instant::now());
        let left = left.map_or(String::new(), |left| {
            format!(", about {} left", short(left))
        });
        let text = format!("{}{left}", what());
        let text = ws_text::terminal(&text);
        if self.terminal {
            let columns = columns().saturating_sub(1);
            let text: String = text.chars().take(columns).collect();
            write(&format!("\r\x1b[K{text}"));
            self.drawn = true;
        } else {
            write(&format!("{text}\n"));
        }
    }

    /// Tells something once.
    pub fn say(&mut self, text: &str) {
        self.clear();
        write(&format!("{}\n", ws_text::terminal(text)));
    }

    /// Tells something to whoever wants to know more.
    pub fn detail(&mut self, text: impl FnOnce() -> String) {
        if self.verbose {
            self.say(&text());
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.drawn {
            write("\r\x1b[K");
            self.drawn = false;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn columns() -> usize {
    // Some terminals do not know their own size, and say 0.
    match rustix::termios::tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => 80,
    }
}

fn write(text: &str) {
    // Nobody is left to be told when standard error is gone.
    let _ = io::stderr().write_all(text.as_bytes());
}
