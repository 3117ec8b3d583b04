//! The user's request to stop: SIGINT, SIGTERM or SIGHUP. The first one ends the run in order, the
//! second one ends the program immediately (the kernel then ends its machines).

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Installs the signal handlers.
    ///
    /// # Errors
    /// They can't be installed.
    pub fn listen() -> anyhow::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: the first signal finds the flag clear, and then sets it.
            signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop.0))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop.0)))
                .context("can't listen for Ctrl-C")?;
        }
        Ok(stop)
    }

    /// True after the first signal.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
