//! Integration tests of the command, in one program because each further one would be linked separately.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)]

mod book;
mod common;
mod compare;
mod complete;
mod external;
mod features;
mod fleet;
mod gates;
mod house;
mod json;
mod kvm;
mod log;
mod machines;
mod paper;
mod report;
mod usage;
