//! A load on vhost-user block devices, and the servers to put it on.
//!
//! `worldswitch io` measures with it: each device is driven by a process of its own ([`client`], on
//! libblkio's driver), a server serves them all ([`server`]), and one measurement ([`measure`]) is a
//! server started, put under a [`load`], its clients run together, and what all of them counted.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod client;
pub mod cpus;
mod device;
pub mod load;
pub mod measure;
mod pattern;
pub mod server;
