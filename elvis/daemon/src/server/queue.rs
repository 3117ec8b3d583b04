//! A virtqueue with everything needed to serve it. It is passed between a device's control thread,
//! which sets it up, and the I/O thread that serves it.

use super::channel::Channel;
use super::core::now_ns;
use super::kind::Kind;
use super::ringfile::RingFile;
use super::stats::Counted;
use elvis_policy::{Limiter, RateLimit};
use elvis_ring::Ring;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    /// Its weight and its limits, which may change.
    pub terms: Mutex<Terms>,
    /// Time that I/O threads spent on it, in ns.
    pub spent_ns: AtomicU64,
    /// How often its rings were started.
    pub starts: Mutex<Starts>,
    /// No ring starts before this time, in ns.
    pub rests_until_ns: AtomicU64,
}

/// What a device may use of its I/O threads.
#[derive(Debug)]
pub struct Terms {
    /// Its weight among the devices of each of them.
    pub weight: u32,
    /// Its limits.
    pub limit: RateLimit,
    /// What enforces them. An I/O thread has a clone.
    pub limiter: Limiter,
}

impl Terms {
    /// New terms of a device, whose queues several I/O threads serve if it is spread.
    #[must_use]
    pub fn new(weight: u32, limit: RateLimit, spread: bool) -> Self {
        let limiter = match spread {
            true => Limiter::shared(&limit),
            false => Limiter::new(&limit),
        };
        Self {
            weight,
            limit,
            limiter,
        }
    }
}

/// How often a device's rings may be started: each start and stop takes some of its I/O thread's time, which is nobody's
/// share.
#[derive(Debug, Default)]
pub struct Starts {
    /// When all starts so far are paid for, in ns.
    paid_ns: u64,
}

impl Starts {
    /// So many at once, and each pays for itself in this time: 1,000 a second.
    const AT_ONCE: u64 = 1024;
    const EACH_NS: u64 = 1_000_000;

    /// One more. Returns how long it has to wait, in ns.
    fn one(&mut self, now_ns: u64) -> u64 {
        let paid_ns = self.paid_ns.max(now_ns);
        self.paid_ns = paid_ns.saturating_add(Self::EACH_NS);
        paid_ns.saturating_sub(now_ns.saturating_add(Self::AT_ONCE * Self::EACH_NS))
    }
}

impl Shared {
    /// After its front-end truncated its memory file no ring starts for so long, in ns. To replace the lost memory an I/O
    /// thread waits for the front-end's system call: 5 ms if the host stops the front-end in it.
    const REST_NS: u64 = 1_000_000_000;

    /// Notes that its front-end truncated its memory file.
    pub fn rest(&self) {
        let until_ns = now_ns().saturating_add(Self::REST_NS);
        self.rests_until_ns.store(until_ns, Ordering::Relaxed);
    }

    /// Waits until one more ring may be started, in the device's own thread: it delays nobody else.
    pub fn start(&self) {
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = now_ns();
        let wait_ns = starts.one(now_ns);
        drop(starts);
        let rests_until_ns = self.rests_until_ns.load(Ordering::Relaxed);
        let wait_ns = wait_ns.max(rests_until_ns.saturating_sub(now_ns));
        if wait_ns > 0 {
            std::thread::sleep(Duration::from_nanos(wait_ns));
        }
    }

    /// Its weight and its limits.
    pub fn terms(&self) -> MutexGuard<'_, Terms> {
        self.terms.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// The I/O thread signals it for replies.
    pub call: Option<OwnedFd>,
    /// The I/O thread signals it when the queue fails.
    pub err: Option<OwnedFd>,
    /// The error that ended its service.
    pub fault: Option<String>,
    /// Whether it was polled on its last I/O thread.
    pub polled: bool,
    /// Its counters.
    pub counted: Counted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_started_a_thousand_times_a_second() {
        let mut starts = Starts::default();
        let second = 1_000_000_000;
        // All queues of a device at once.
        assert!((0..1025).all(|_| starts.one(second) == 0));
        assert_eq!(starts.one(second), Starts::EACH_NS);
        // In a loop, each after its wait: for ten seconds.
        let (mut now_ns, mut count) = (second, 0);
        while now_ns < 11 * second {
            now_ns += starts.one(now_ns);
            count += 1;
        }
        assert!((9_990..=10_010).contains(&count), "{count}");
        // What is not used is saved up, but no more than that.
        now_ns += 100 * second;
        assert!((0..1025).all(|_| starts.one(now_ns) == 0));
        assert!(starts.one(now_ns) > 0);
    }
}
