//! Record of requests in flight that outlives this process (vhost-user: "Inflight I/O tracking", split virtqueues). The
//! record of packed ones is in `packed/inflight.rs`.
//!
//! The front-end keeps the memory and passes it to the next process, which runs exactly the unacknowledged requests
//! again. The specification prescribes the order of the writes here.

use crate::Span;
use crate::ring::{RecordError, record};
use std::sync::atomic::{Ordering, fence};

const VERSION: usize = 8;
const DESC_NUM: usize = 10;
const LAST_BATCH_HEAD: usize = 12;
const USED_IDX: usize = 14;
const STATES: usize = 16;
const STATE: usize = 16;
/// Number of processes that ended while they ran the request again; padding in the specification.
const STATE_AGAIN: usize = 1;
const STATE_NEXT: usize = 6;
const STATE_COUNTER: usize = 8;

/// The region of one queue.
#[derive(Debug)]
pub struct Inflight {
    region: Span,
    size: u16,
    counter: u64,
    batch: Vec<u16>,
}

/// Bytes of one queue's region, split or packed, a multiple of 64 so that regions share no cache line.
#[must_use]
pub fn region_bytes(queue_size: u16, packed: bool) -> u64 {
    let bytes = if packed {
        crate::packed::region_bytes(queue_size)
    } else {
        STATES as u64 + STATE as u64 * u64::from(queue_size)
    };
    bytes.next_multiple_of(64)
}

/// Counts one more process that runs a request again. Returns how many processes had it before.
pub(crate) fn again(region: &Span, at: usize) -> u8 {
    let before = region.load_u8(at, Ordering::Relaxed).saturating_add(1);
    region.store_u8(at, before, Ordering::Release);
    before
}

/// Undoes [`again`].
pub(crate) fn not_again(region: &Span, at: usize) {
    let before = region.load_u8(at, Ordering::Relaxed);
    region.store_u8(at, before.saturating_sub(1), Ordering::Release);
}

/// Entries of a split queue that fit in a region of this size.
#[must_use]
pub fn region_entries(bytes: u64) -> u16 {
    let entries = bytes.saturating_sub(STATES as u64) / STATE as u64;
    u16::try_from(entries.min(32_768)).unwrap_or(32_768)
}

impl Inflight {
    /// Opens the region of a queue of this size, and initialises an all-zero region.
    pub fn new(region: Span, size: u16) -> Result<Self, RecordError> {
        record(&region, STATES as u64 + STATE as u64 * u64::from(size))?;
        let entries = region.load_u16(DESC_NUM, Ordering::Relaxed);
        match region.load_u16(VERSION, Ordering::Relaxed) {
            0 => {
                region.store_u16(DESC_NUM, size, Ordering::Relaxed);
                region.store_u16(VERSION, 1, Ordering::Release);
            }
            1 if entries >= size => {}
            1 => {
                let wanted = size;
                return Err(RecordError::Entries { entries, wanted });
            }
            version => return Err(RecordError::Version(version)),
        }
        Ok(Self {
            region,
            size,
            counter: 0,
            batch: Vec::new(),
        })
    }

    fn state(head: u16) -> usize {
        STATES + STATE * usize::from(head)
    }

    /// Returns the heads of the requests that the last process did not acknowledge, in the order in which they were
    /// taken. `used` is the used ring's index.
    pub fn recover(&mut self, used: u16) -> Vec<u16> {
        let left = self.region.load_u16(USED_IDX, Ordering::Relaxed);
        if left != used {
            // The last process ended after it published its last batch, and before it recorded that.
            let mut head = self.region.load_u16(LAST_BATCH_HEAD, Ordering::Relaxed);
            for _ in 0..used.wrapping_sub(left).min(self.size) {
                if head >= self.size {
                    break;
                }
                self.region
                    .store_u8(Self::state(head), 0, Ordering::Relaxed);
                head = self
                    .region
                    .load_u16(Self::state(head) + STATE_NEXT, Ordering::Relaxed);
            }
            fence(Ordering::SeqCst);
            self.region.store_u16(USED_IDX, used, Ordering::Relaxed);
        }
        let counter = |head| {
            self.region
                .load_u64(Self::state(head) + STATE_COUNTER, Ordering::Relaxed)
        };
        let mut heads: Vec<(u64, u16)> = (0..self.size)
            .filter(|&head| self.region.load_u8(Self::state(head), Ordering::Relaxed) == 1)
            .map(|head| (counter(head), head))
            .collect();
        heads.sort_unstable();
        self.counter = heads.last().map_or(0, |(last, _)| last.wrapping_add(1));
        heads.into_iter().map(|(_, head)| head).collect()
    }

    /// Records that a request was taken.
    pub fn taken(&mut self, head: u16) {
        self.region.store_u64(
            Self::state(head) + STATE_COUNTER,
            self.counter,
            Ordering::Relaxed,
        );
        self.counter = self.counter.wrapping_add(1);
        // The request is in flight, and was never run again.
        let state = u16::from_ne_bytes([1, 0]);
        self.region
            .store_u16(Self::state(head), state, Ordering::Release);
    }

    /// Records that a request of another process is run again. Returns how many processes ended while they had it.
    pub fn taken_again(&mut self, head: u16) -> u8 {
        again(&self.region, Self::state(head) + STATE_AGAIN)
    }

    /// Undoes [`Self::taken_again`]: the request was given back.
    pub fn untaken_again(&mut self, head: u16) {
        not_again(&self.region, Self::state(head) + STATE_AGAIN);
    }

    /// Removes the record of a request that was given back, see [`crate::Ring::untake`].
    pub fn untaken(&mut self, head: u16) {
        self.region
            .store_u8(Self::state(head), 0, Ordering::Release);
    }

    /// Records that a request was put into the used ring, which is not yet published.
    pub fn used(&mut self, head: u16) {
        let last = self.region.load_u16(LAST_BATCH_HEAD, Ordering::Relaxed);
        self.region
            .store_u16(Self::state(head) + STATE_NEXT, last, Ordering::Relaxed);
        self.region
            .store_u16(LAST_BATCH_HEAD, head, Ordering::Release);
        self.batch.push(head);
    }

    /// Records that the used ring was published up to this index.
    pub fn published(&mut self, used: u16) {
        fence(Ordering::SeqCst);
        for head in self.batch.drain(..) {
            self.region
                .store_u8(Self::state(head), 0, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
        self.region.store_u16(USED_IDX, used, Ordering::Release);
    }
}
