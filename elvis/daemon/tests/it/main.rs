//! Servers in this process, and the drivers that they serve.
//!
//! The tests run beside each other, so none may rest on what the whole process has: what is counted for it
//! (pinned memory, in `registered`) is looked at by one test at a time. None starts a program either: until a
//! child runs its program it has all descriptors of this process, and so holds the disks and sockets that another
//! test has just closed. Tests that start programs are in `../daemon`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../client/mod.rs"]
mod client;
mod fair;
mod hostile;
mod many;
mod placement;
mod ranges;
#[path = "../raw/mod.rs"]
mod raw;
mod registered;
mod serve;
mod stalled;
