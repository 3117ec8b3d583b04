//! Measures servers of vhost-user block and network devices under load, for `worldswitch run io`.
//!
//! One measurement ([`measure`]) starts a server ([`server`]) that serves all devices, and client
//! processes ([`client`]) that put a [`load`] on it together, mostly one per device; the result is what
//! the clients counted. They drive block devices by libblkio's driver, and pairs of network devices
//! ([`pair`]) by our own ([`nic`]). [`experiments`] are the loads and servers of a run, [`results`] its result files,
//! [`table`] its table. [`host::run`] does all of it.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

pub mod client;
pub mod cpus;
mod device;
pub mod experiments;
pub mod host;
pub mod load;
pub mod measure;
pub mod nic;
pub mod pair;
mod pattern;
mod programs;
pub mod results;
pub mod server;
mod slots;
mod station;
pub mod table;
pub mod turns;
