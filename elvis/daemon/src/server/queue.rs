//! A virtqueue with all that is needed to serve it. It moves between a device's control thread,
//! which prepares it, and the I/O thread that serves it.

use super::stats::Counted;
use crate::storage::Disk;
use elvis_policy::RateLimit;
use elvis_ring::Ring;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What all queues of a device share.
#[derive(Debug)]
pub struct Shared {
    /// Its number, unique in this process.
    pub number: u64,
    /// Its name, for messages.
    pub name: String,
    /// Its disk.
    pub disk: Disk,
    /// Whether writes fail.
    pub readonly: bool,
    /// Whether there is a write cache: without, each write waits for the disk.
    pub writeback: AtomicBool,
    /// What the guest sees as its serial number.
    pub serial: String,
    /// Its weight among the devices of its I/O thread.
    pub weight: u32,
    /// Its limits.
    pub limit: RateLimit,
    /// Time that I/O threads spent on it, in ns. One thread at a time adds to it.
    pub spent_ns: AtomicU64,
}

impl Shared {
    /// Notes time that its I/O thread spent on it.
    pub fn spend(&self, ns: u64) {
        // Its queues are on one thread, so nobody else writes between the two.
        let spent_ns = self.spent_ns.load(Ordering::Relaxed);
        self.spent_ns
            .store(spent_ns.wrapping_add(ns), Ordering::Relaxed);
    }
}

/// A queue that can be served.
#[derive(Debug)]
pub struct Queue {
    /// Its device.
    pub shared: Arc<Shared>,
    /// Its number in the device.
    pub index: u16,
    /// Its ring.
    pub ring: Ring,
    /// Written by the driver for new requests.
    pub kick: OwnedFd,
    /// Written by us for replies.
    pub call: Option<OwnedFd>,
    /// Written by us when the ring is broken.
    pub err: Option<OwnedFd>,
    /// Why it is served no longer.
    pub fault: Option<String>,
    /// Whether it was polled where it was served before.
    pub polled: bool,
    /// What was counted.
    pub counted: Counted,
}
