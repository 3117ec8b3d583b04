//! A discrete-event simulation of whole machines: guests' cores that pay for exits and interrupts, I/O cores, the wire,
//! and sockets. `docs/elvis-model.md` has its parameters, its checks, and the figures that it gives.
//!
//! [`super::simulate`] has I/O cores only, and more kinds of load: [its module](super) says why it is another model.

pub mod claims;
mod cores;
pub mod figures;
mod guest;
pub mod lab;
pub mod paper;
mod pool;
mod prices;
mod server;
mod setup;
mod world;

pub use cores::Spent;
pub use guest::Counted;
pub use prices::{Parameter, Prices};
pub use setup::{Load, Placed, Serving, Setup};

use serde::Serialize;

/// Counts of a simulation, after the warm-up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// Counts of each guest.
    pub guests: Vec<Counted>,
    /// Use of each core's time.
    pub cores: Vec<Spent>,
}

/// Plays a machine.
#[must_use]
pub fn play(setup: &Setup) -> Measured {
    let mut world = world::World::new(setup);
    let cores = world.run();
    Measured {
        guests: world.guests.iter().map(|guest| guest.counted).collect(),
        cores,
    }
}
