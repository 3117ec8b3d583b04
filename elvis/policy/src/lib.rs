//! The policy that decides which virtqueue an I/O core serves next, and for how long.
//!
//! The policy is that of ELVIS (USENIX ATC 2013, sections 3.1 to 3.4) for one I/O thread that serves the virtqueues of
//! many devices. It adds what the paper leaves as future work: weights and rate limits per device. The policy is pure:
//! it has no descriptors and no clock. The caller passes in its observations and the time in nanoseconds. The daemon
//! and the simulator run the same code.
//!
//! [`Scheduler`] schedules one core. [`Placement`] decides which cores are in use and which devices
//! they serve. [`Params`] and [`PlacementParams`] hold every constant.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]
#![forbid(unsafe_code)]

mod bucket;
mod calls;
mod counters;
mod list;
mod pace;
mod params;
mod placement;
mod polling;
mod scheduler;
mod share;
pub mod simulation;
mod terms;

pub use bucket::{Limiter, RateLimit};
pub use calls::Calls;
pub use counters::{CoreCounters, QueueCounters};
pub use pace::Pace;
pub use params::{Params, ParamsError};
pub use placement::{Change, DeviceLoad, Placement, PlacementParams};
pub use scheduler::Scheduler;
pub use share::MAX_WEIGHT;
pub use terms::{Begin, DeviceId, Look, QueueId, Step, Then, Visit};
