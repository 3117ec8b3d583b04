//! Output to the user, and the user's files, signals and mistakes. Knows nothing of machines or results.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod columns;
pub mod input;
pub mod output;
mod progress;
mod stop;
pub mod time;
mod wait;

pub use progress::Progress;
pub use stop::{Stop, Stopped, Why};
pub use wait::taken;

/// Wrong usage that the command line parser does not detect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);
