//! Virtqueue with everything needed to serve it. It is passed between a device's control thread, which sets it up, and
//! the I/O thread that serves it.

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

/// Data shared by all queues of a device.
#[derive(Debug)]
pub struct Shared {
    /// Number of the device, unique in this process.
    pub number: u64,
    /// Name of the device, for messages.
    pub name: String,
    /// Kind of the device, open.
    pub kind: Kind,
    /// File in which the device records the progress of packed rings that are served in order. None: it has no such
    /// rings.
    pub rings: Option<RingFile>,
    /// Channel by which the front-end learns of changes.
    pub channel: Channel,
    /// Weight and limits of the device, which may change.
    pub terms: Mutex<Terms>,
    /// Time that I/O threads spent on the device, in ns.
    pub spent_ns: AtomicU64,
    /// Account of the starts of the device's rings.
    pub starts: Mutex<Starts>,
    /// Time before which no ring starts, in ns.
    pub rests_until_ns: AtomicU64,
}

/// Share of its I/O threads that a device may use.
#[derive(Debug)]
pub struct Terms {
    /// Weight among the devices of each I/O thread.
    pub weight: u32,
    /// Limits of the device.
    pub limit: RateLimit,
    /// Limiter that enforces the limits. Each I/O thread has a clone.
    pub limiter: Limiter,
}

impl Terms {
    /// Returns new terms of a device, whose queues several I/O threads serve if it is spread.
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

/// Limit on the starts of a device's rings. Each start and stop takes some time of the device's I/O thread, which no
/// share is charged for.
#[derive(Debug, Default)]
pub struct Starts {
    /// Time at which all starts so far are paid for, in ns.
    paid_ns: u64,
}

impl Starts {
    /// Starts that are possible at once, and the time in which each is paid for: 1,000 a second.
    const AT_ONCE: u64 = 1024;
    const EACH_NS: u64 = 1_000_000;

    /// Counts one more start. Returns how long it has to wait, in ns.
    fn one(&mut self, now_ns: u64) -> u64 {
        let paid_ns = self.paid_ns.max(now_ns);
        self.paid_ns = paid_ns.saturating_add(Self::EACH_NS);
        paid_ns.saturating_sub(now_ns.saturating_add(Self::AT_ONCE * Self::EACH_NS))
    }
}

impl Shared {
    /// Time for which no ring starts after the front-end truncated its memory file, in ns. To replace the lost memory
    /// an I/O thread waits for the front-end's system call: 5 ms if the host stops the front-end in it.
    const REST_NS: u64 = 1_000_000_000;

    /// Notes that the front-end truncated its memory file.
    pub fn rest(&self) {
        let until_ns = now_ns().saturating_add(Self::REST_NS);
        self.rests_until_ns.store(until_ns, Ordering::Relaxed);
    }

    /// Waits until one more ring may be started. It waits in the device's own thread, so no other device is delayed.
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

    /// Returns the device's weight and its limits.
    pub fn terms(&self) -> MutexGuard<'_, Terms> {
        self.terms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds time that an I/O thread spent on the device.
    pub fn spend(&self, ns: u64) {
        self.spent_ns.fetch_add(ns, Ordering::Relaxed);
    }
}

/// Way in which an I/O thread learns of new requests.
#[derive(Debug)]
pub enum Kick {
    /// The driver writes to this eventfd.
    Eventfd(OwnedFd),
    /// The driver can't notify: the queue is polled always.
    Never,
}

/// A queue, ready to be served.
#[derive(Debug)]
pub struct Queue {
    /// Device of the queue.
    pub shared: Arc<Shared>,
    /// Number of the queue in its device.
    pub index: u16,
    /// Features that the driver uses.
    pub features: u64,
    /// Ring of the queue.
    pub ring: Ring,
    /// Way in which the driver notifies of new requests.
    pub kick: Kick,
    /// Eventfd that the I/O thread signals for replies.
    pub call: Option<OwnedFd>,
    /// Eventfd that the I/O thread signals when the queue fails.
    pub err: Option<OwnedFd>,
    /// Error that ended the queue's service.
    pub fault: Option<String>,
    /// Whether the queue was polled on its last I/O thread.
    pub polled: bool,
    /// Counters of the queue.
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
        // Unused starts are saved up, but no more than that.
        now_ns += 100 * second;
        assert!((0..1025).all(|_| starts.one(now_ns) == 0));
        assert!(starts.one(now_ns) > 0);
    }
}
