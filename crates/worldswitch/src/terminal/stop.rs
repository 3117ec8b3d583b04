//! The user's wish to stop: SIGINT, SIGTERM or SIGHUP. The first ends the run in order, a second
//! one ends the program at once (the kernel then ends its machines).

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens from now on.
    ///
    /// # Errors
    /// The system refuses to hand us signals.
    pub fn listen() -> anyhow::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: the first signal finds the flag down, and only then raises it.
            signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop.0))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop.0)))
                .context("can't listen for Ctrl-C")?;
        }
        Ok(stop)
    }

    /// True from the first signal on.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
