//! A discrete-event simulation of I/O cores that serve many devices.
//!
//! The ELVIS modes run the daemon's policy ([the crate](crate)), not a model of it. The modes with a
//! thread per device use a model of a fair operating-system scheduler ([`threads`]). Costs and
//! arrivals are parameters ([`Scenario`]); the same scenario and seed give exactly the same
//! [`Outcome`].

mod clients;
pub mod machine;
mod outcome;
mod placed;
mod scenario;
mod shared;
pub mod threads;

pub use outcome::{CoreTime, GroupOutcome, Outcome, PlacementOutcome, jain};
pub use scenario::{Arrival, Costs, Group, Mode, Scenario, ScenarioError};

/// Plays a scenario.
pub fn simulate(scenario: &Scenario) -> Result<Outcome, ScenarioError> {
    scenario.check()?;
    Ok(match scenario.mode {
        Mode::Elvis | Mode::FineGrained => shared::play(scenario),
        Mode::PerDevice | Mode::PerDevicePinned => threads::play(scenario),
    })
}
