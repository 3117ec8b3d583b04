//! elvis: a vhost-user back-end that serves the disks and networks of many virtual machines from a
//! few I/O cores.
//!
//! It does in user space what ELVIS (USENIX ATC 2013) does in KVM's vhost: one thread per core
//! serves the virtqueues of many devices, polls the busy ones, and divides its time fairly. See
//! `docs/elvis.md`.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod aio;
pub mod blk;
pub mod config;
pub mod confine;
pub mod control;
pub mod daemon;
mod devices;
mod lock;
pub mod logs;
mod manager;
pub mod metrics;
pub mod model;
pub mod net;
pub mod numa;
pub mod placer;
pub mod resize;
pub mod serve;
pub mod server;
pub mod simulate;
pub mod size;
pub mod storage;
pub mod sys;
pub mod thread;
pub mod watch;
