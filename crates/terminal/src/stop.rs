//! Requests that end a run early, and in order: the user's (SIGINT, SIGTERM or SIGHUP), or a time limit. A second
//! signal ends the program immediately; the kernel then ends its machines.

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Source of the requests that a run must end.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    end: Option<Instant>,
}

/// Reason why a run must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The user asked for the end.
    Asked,
    /// The time limit is reached.
    TimeIsUp,
}

impl Why {
    /// Text of the reason.
    pub fn words(self) -> &'static str {
        match self {
            Self::Asked => "the run was stopped",
            Self::TimeIsUp => "the time was used up",
        }
    }
}

/// Error: the user stopped the run.
#[derive(Debug, thiserror::Error)]
#[error("stopped")]
pub struct Stopped;

impl Stop {
    /// Installs the signal handlers.
    pub fn listen() -> anyhow::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: the first signal finds the flag clear, and then sets it.
            signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop.asked))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop.asked)))
                .context("can't listen for Ctrl-C")?;
        }
        Ok(stop)
    }

    /// Makes the state after a signal, for tests.
    pub fn asked() -> Self {
        let stop = Self::default();
        stop.asked.store(true, Ordering::Relaxed);
        stop
    }

    /// Adds a time limit.
    pub fn until(self, end: Instant) -> Self {
        Self {
            end: Some(end),
            ..self
        }
    }

    /// Whether the run must end.
    pub fn requested(&self) -> bool {
        self.why().is_some()
    }

    /// Reason why the run must end; none if it goes on.
    pub fn why(&self) -> Option<Why> {
        let asked = self.asked.load(Ordering::Relaxed);
        why(asked, self.end, Instant::now())
    }
}

fn why(asked: bool, end: Option<Instant>, now: Instant) -> Option<Why> {
    let is_up = end.is_some_and(|end| now >= end);
    let up = is_up.then_some(Why::TimeIsUp);
    if asked { Some(Why::Asked) } else { up }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_run_ends_at_its_time_or_when_asked() {
        let begin = Instant::now();
        let end = begin + Duration::from_secs(60);
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(why(false, None, at(1_000_000)), None);
        assert_eq!(why(false, Some(end), at(59)), None);
        assert_eq!(why(false, Some(end), at(60)), Some(Why::TimeIsUp));
        assert_eq!(why(true, Some(end), at(59)), Some(Why::Asked));
        assert_eq!(why(true, Some(end), at(61)), Some(Why::Asked));
    }
}
