//! Tests of the simulator.

#![allow(clippy::unwrap_used)]

mod known_answers;
mod placement;
