//! Waiting for what another process has.

use crate::{Stop, Stopped, output};
use std::time::Duration;

/// Polling interval.
const LOOK: Duration = Duration::from_millis(200);

/// Takes something, such as a lock. While another process has it (`take` gives `None`), this waits, and prints `waiting`
/// once, as progress of `area`.
///
/// # Errors
/// [`Stopped`], if the program is stopped while it waits; the error of `take`.
pub fn taken<T, E: Into<anyhow::Error>>(
    stop: &Stop,
    area: &str,
    waiting: &str,
    take: impl Fn() -> Result<Option<T>, E>,
) -> anyhow::Result<T> {
    let mut told = false;
    loop {
        if let Some(taken) = take().map_err(Into::into)? {
            return Ok(taken);
        }
        if stop.requested() {
            return Err(Stopped.into());
        }
        if !told {
            output::progress(area, waiting);
            told = true;
        }
        std::thread::sleep(LOOK);
    }
}
