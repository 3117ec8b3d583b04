//! What the policy promises, whatever devices do.

#![allow(clippy::unwrap_used)]

mod placement;
mod properties;
mod simulated;
mod simulated_placement;
