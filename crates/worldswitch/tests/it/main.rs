//! The command from outside, as one program: each more would be linked for itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
mod compare;
mod external;
mod kvm;
mod log;
mod machines;
mod usage;
