//! Measures servers of vhost-user block devices under load, for `worldswitch io`.
//!
//! One measurement ([`measure`]) starts a server ([`server`]) that serves all devices, and client
//! processes ([`client`], on libblkio's driver) that put a [`load`] on it together, mostly one per
//! device; the result is what the clients counted.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

pub mod client;
pub mod cpus;
mod device;
pub mod load;
pub mod measure;
mod pattern;
pub mod server;
