//! A virtqueue with everything needed to serve it. It is passed between a device's control thread,
//! which sets it up, and the I/O thread that serves it.

use super::channel::Channel;
use super::kind::Kind;
use super::ringfile::RingFile;
use super::stats::Counted;
use elvis_policy::Limiter;
use elvis_ring::Ring;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The data shared by all queues of a device.
#[derive(Debug)]
pub struct Shared {
    /// Its number, unique in this process.
    pub number: u64,
    /// Its name, for messages.
    pub name: String,
    /// What it is to its driver.
    pub kind: Kind,
    /// Where it keeps how far packed rings got that are served in order. None: it has no such rings.
    pub rings: Option<RingFile>,
    /// By which its front-end learns of changes.
    pub channel: Channel,
    /// Its weight among the devices of each of its I/O threads.
    pub weight: u32,
    /// Its limits, shared by its I/O threads.
    pub limiter: Limiter,
    /// Time that I/O threads spent on it, in ns.
    pub spent_ns: AtomicU64,
    /// Until when its descriptors are not written to, in ns: see [`Shared::stalled`].
    pub distrusted_until_ns: AtomicU64,
}

/// For how long a device is not served after an I/O thread waited for it, in ns.
const DISTRUST_NS: u64 = 10_000_000_000;

impl Shared {
    /// Why its queues are not served.
    pub const STALLED: &str = "a notification eventfd of this device was full, for which all devices of its I/O thread \
                               waited; it is not served for 10 s: then restart its rings";

    /// An I/O thread waited until a write to one of its eventfds was interrupted. For some time no other one is
    /// written, or all others of the thread would wait again and again.
    pub fn stalled(&self, now_ns: u64) {
        let until_ns = now_ns.saturating_add(DISTRUST_NS);
        self.distrusted_until_ns.store(until_ns, Ordering::Relaxed);
    }

    /// Whether that was a short time ago.
    pub fn distrusted(&self, now_ns: u64) -> bool {
        self.distrusted_until_ns.load(Ordering::Relaxed) > now_ns
    }

    /// If so: why its queues are not served.
    pub fn why_distrusted(&self, now_ns: u64) -> Option<String> {
        self.distrusted(now_ns).then(|| Self::STALLED.to_owned())
    }

    /// Adds time that an I/O thread spent on it.
    pub fn spend(&self, ns: u64) {
        self.spent_ns.fetch_add(ns, Ordering::Relaxed);
    }
}

/// How an I/O thread learns of new requests.
#[derive(Debug)]
pub enum Kick {
    /// The driver writes to this eventfd.
    Eventfd(OwnedFd),
    /// The driver has no way to tell: the queue is polled always.
    Never,
}

/// A queue, ready to be served.
#[derive(Debug)]
pub struct Queue {
    /// Its device.
    pub shared: Arc<Shared>,
    /// Its number in the device.
    pub index: u16,
    /// The features that its driver uses.
    pub features: u64,
    /// Its ring.
    pub ring: Ring,
    /// How the driver tells of new requests.
    pub kick: Kick,
    /// The I/O thread writes to it for replies.
    pub call: Option<OwnedFd>,
    /// The I/O thread writes to it when the queue fails.
    pub err: Option<OwnedFd>,
    /// The error that ended its service.
    pub fault: Option<String>,
    /// Whether it was polled on its last I/O thread.
    pub polled: bool,
    /// Its counters.
    pub counted: Counted,
}
