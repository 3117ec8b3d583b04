//! Tests of the policy: properties that hold for every behaviour of the devices.

#![allow(clippy::unwrap_used)]

mod placement;
mod properties;
mod simulated;
mod simulated_placement;
