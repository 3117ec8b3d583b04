//! Tests of servers in this process.
//!
//! The tests run in parallel, so none may depend on state of the whole process: tests that check its counters
//! (pinned memory, in `registered`) run one at a time. No test here may start a program: until a child calls
//! exec it has all descriptors of this process, and so holds disks and sockets that another test has just
//! closed. Tests that start programs are in `../daemon`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)]

mod blocks;
#[path = "../client/mod.rs"]
mod client;
mod config;
mod fair;
mod hostile;
mod kickless;
mod many;
mod net;
mod net_packed;
#[path = "../nic/mod.rs"]
mod nic;
mod placement;
mod ranges;
#[path = "../raw/mod.rs"]
mod raw;
mod registered;
mod resize;
mod serve;
mod spread;
mod stalled;
mod uplink;
