//! A discrete-event simulation of I/O cores that serve many devices.
//!
//! The ELVIS modes are driven by the policy that the daemon uses ([the crate](crate)), not by a
//! model of it. Their peer, a thread for each device, stands on a model of a fair operating-system
//! scheduler ([`threads`]). Costs and arrivals are parameters ([`Scenario`]); the same scenario and
//! seed give the same [`Outcome`], to the digit.

mod clients;
mod outcome;
mod placed;
mod scenario;
mod shared;
pub mod threads;

pub use outcome::{CoreTime, GroupOutcome, Outcome, PlacementOutcome, jain};
pub use scenario::{Arrival, Costs, Group, Mode, Scenario, ScenarioError};

/// Plays a scenario.
///
/// # Errors
///
/// What in the scenario can't be played, by name.
pub fn simulate(scenario: &Scenario) -> Result<Outcome, ScenarioError> {
    scenario.check()?;
    Ok(match scenario.mode {
        Mode::Elvis | Mode::FineGrained => shared::play(scenario),
        Mode::PerDevice | Mode::PerDevicePinned => threads::play(scenario),
    })
}
