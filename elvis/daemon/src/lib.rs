//! elvis: a vhost-user back-end that serves the block devices of many machines from few I/O cores.
//!
//! It does what ELVIS (USENIX ATC 2013) does inside KVM's vhost in a process of its own: one thread
//! a core serves the virtqueues of many devices, polls those that are busy, and shares its time
//! fairly. `docs/elvis.md` is its description.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod blk;
pub mod config;
pub mod confine;
pub mod control;
mod devices;
pub mod metrics;
pub mod numa;
pub mod placer;
pub mod serve;
pub mod server;
pub mod simulate;
pub mod size;
pub mod storage;
pub mod sys;
pub mod watch;
