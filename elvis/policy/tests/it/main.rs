//! Tests of the policy: properties that hold for every behaviour of the devices.

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

mod echoes;
mod machine;
mod mixed;
mod pairs;
mod placement;
mod play;
mod properties;
mod simulated;
mod simulated_placement;
