//! Tests that start programs: the daemon, and QEMU. Tests of servers in this process are in `../it`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)]

mod bounds;
mod burst;
#[path = "../client/mod.rs"]
mod client;
mod command;
mod crashes;
mod daemon;
mod descriptors;
mod durable;
mod idle;
mod killed;
#[path = "../layer/mod.rs"]
mod layer;
mod logs;
#[path = "../messages/mod.rs"]
mod messages;
mod network;
#[path = "../nic/mod.rs"]
mod nic;
mod qemu;
mod random;
#[path = "../raw/mod.rs"]
mod raw;
mod start;
mod storm;
