//! A discrete-event simulation of I/O cores that serve many devices.
//!
//! The ELVIS modes run the daemon's policy ([the crate](crate)), not a model of it. The modes with a
//! thread per device use a model of a fair operating-system scheduler ([`threads`]). Costs and
//! arrivals are parameters ([`Scenario`]); the same scenario and seed give exactly the same
//! [`Outcome`].
//!
//! This simulation and [`machine`] are two models, because they answer different questions:
//!
//! | | [`simulate`] | [`machine::play`] |
//! |---|---|---|
//! | question | is the policy fair and quick under a load? | what do exits, interrupts and cores cost a guest? |
//! | guests | clients that use no core | vCPUs that share cores with servers, or run in turns |
//! | load | any arrivals, weights, rate limits, storage, devices that move | transactions of a fixed number, a wire |
//! | time | ns | ticks: the lab's instructions, or cycles of the paper's machine |
//! | result | quantiles of latency, fairness, use of I/O cores | transactions and exits of guests, use of all cores |
//!
//! Both run the same [`Scheduler`](crate::Scheduler). Each has its own model of an operating system's scheduler: here
//! threads have weights, there they prefer the core that they ran on last. One model for both would need both columns
//! of the table, and would move the figures with which each was checked.

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
