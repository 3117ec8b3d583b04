//! A split virtqueue, seen from the device (VIRTIO 1.2, section 2.7).
//!
//! Layout: the available ring is `flags, idx, ring[size], used_event`, 16 bits each; the used ring
//! is `flags, idx` (16 bits) `, ring[size]` of `id, len` (32 bits) `, avail_event` (16 bits). The
//! driver writes descriptors and available ring; the device writes the used ring.

use crate::chain::{Chain, DESCRIPTOR};
use crate::{DirtyLog, Inflight, Memory, Span};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// `avail.flags`: the driver wants no calls.
const NO_INTERRUPT: u16 = 1;
/// `used.flags`: the device wants no kicks.
const NO_NOTIFY: u16 = 1;
const IDX: usize = 2;
const RING: usize = 4;
const USED_ELEMENT: usize = 8;

/// A rule that a driver broke. The ring can't be used again before it is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The available index is further ahead than the ring is long.
    #[error("the available index is {avail}, {pending} ahead in a ring of {size}")]
    Jump {
        /// The index.
        avail: u16,
        /// How far it is ahead.
        pending: u16,
        /// The ring's size.
        size: u16,
    },
    /// A head or a successor that the table does not have.
    #[error("descriptor {index} is not in the table")]
    Descriptor {
        /// The index.
        index: u16,
    },
    /// A chain longer than its table, or than [`crate::chain::LONGEST`].
    #[error("a descriptor chain that does not end")]
    Endless,
    /// A buffer that the device reads, after one that it writes.
    #[error("a readable descriptor after a writable one")]
    Order,
    /// A wrong use of indirect descriptors.
    #[error("{0}")]
    Indirect(&'static str),
    /// A buffer, or a part of it, that is not in the driver's memory, or is empty.
    #[error("a buffer of {bytes} bytes at guest address {guest:#x} is not in memory")]
    Outside {
        /// Its guest-physical address.
        guest: u64,
        /// Its length.
        bytes: u32,
    },
    /// The size is no power of two, or above 32768.
    #[error("a ring of {0} entries")]
    Size(u32),
    /// One of the three parts is not in memory or not aligned.
    #[error("the {0} is not in memory, or not aligned")]
    Address(&'static str),
}

/// Where the parts of a ring lie, as guest-physical addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingAddresses {
    /// Descriptor table, 16-byte aligned.
    pub descriptors: u64,
    /// Available ring, 2-byte aligned.
    pub available: u64,
    /// Used ring, 4-byte aligned.
    pub used: u64,
    /// Where writes to the used ring are logged as, for migration.
    pub used_log: Option<u64>,
}

/// What a look at the available ring shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The driver's index.
    pub avail: u16,
    /// Requests that are there and not yet taken.
    pub pending: u16,
}

/// A virtqueue that is running.
#[derive(Debug)]
pub struct Ring {
    size: u16,
    /// The size less one.
    mask: usize,
    descriptors: Span,
    available: Span,
    used: Span,
    memory: Arc<Memory>,
    /// Next entry of the available ring to be taken, and what was last seen of its index.
    next: u16,
    seen: u16,
    /// Next entry of the used ring, and how far the driver was told.
    used_next: u16,
    used_told: u16,
    event_idx: bool,
    kicks_wanted: bool,
    /// What `avail_event` was last set to.
    avail_event: u16,
    inflight: Option<Inflight>,
    resubmit: Vec<u16>,
    /// The last request taken was one of `resubmit`.
    again: bool,
    log: Option<DirtyLog>,
    used_log: Option<u64>,
}

impl Ring {
    /// A ring at these addresses that goes on with entry `next` of its available ring.
    ///
    /// # Errors
    ///
    /// The size or an address can't be.
    pub fn new(
        size: u32,
        at: &RingAddresses,
        memory: &Arc<Memory>,
        next: u16,
        event_idx: bool,
    ) -> Result<Self, RingError> {
        let small = u16::try_from(size)
            .ok()
            .filter(|size| size.is_power_of_two());
        let size = small.ok_or(RingError::Size(size))?;
        let part = |guest, bytes: usize, align, name| {
            let span = memory
                .span(guest, bytes as u64)
                .filter(|span| span.aligned(align));
            span.ok_or(RingError::Address(name))
        };
        let n = usize::from(size);
        let descriptors = part(at.descriptors, DESCRIPTOR * n, 16, "descriptor table")?;
        let available = part(at.available, RING + 2 * n + 2, 2, "available ring")?;
        let used = part(at.used, RING + USED_ELEMENT * n + 2, 4, "used ring")?;
        let used_next = u16::from_le(used.load_u16(IDX, Ordering::Relaxed));
        Ok(Self {
            size,
            mask: n - 1,
            descriptors,
            available,
            used,
            memory: Arc::clone(memory),
            next,
            seen: next,
            used_next,
            used_told: used_next,
            event_idx,
            kicks_wanted: true,
            avail_event: next,
            inflight: None,
            resubmit: Vec::new(),
            again: false,
            log: None,
            used_log: at.used_log,
        })
    }

    /// Notes requests in flight from now on, and takes over what another process left there: its
    /// requests are taken first, and the available ring is gone on with behind them.
    pub fn track(&mut self, mut inflight: Inflight) {
        self.resubmit = inflight.recover(self.used_next);
        let left = u16::try_from(self.resubmit.len()).unwrap_or(u16::MAX);
        self.next = self.used_next.wrapping_add(left);
        self.seen = self.next;
        self.resubmit.reverse();
        self.inflight = Some(inflight);
    }

    /// Marks what the device writes from now on; None ends it.
    pub fn log_to(&mut self, log: Option<DirtyLog>) {
        self.log = log;
    }

    /// The log that writes to buffers are to be marked in.
    #[must_use]
    pub fn log(&self) -> Option<&DirtyLog> {
        self.log.as_ref()
    }

    /// Entries.
    #[must_use]
    pub fn size(&self) -> u16 {
        self.size
    }

    /// The entry of the available ring that is taken next, which a front-end asks for.
    #[must_use]
    pub fn next(&self) -> u16 {
        self.next
    }

    /// The driver's memory.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Whether a file of the driver's memory was shortened.
    #[must_use]
    pub fn broken(&self) -> bool {
        self.memory.broken()
    }

    /// The entry that an index means.
    fn slot(&self, index: u16) -> usize {
        usize::from(index) & self.mask
    }

    /// Looks for new requests: one read of shared memory.
    ///
    /// # Errors
    ///
    /// The index is out of bounds.
    #[inline]
    pub fn look(&mut self) -> Result<Look, RingError> {
        let avail = u16::from_le(self.available.load_u16(IDX, Ordering::Acquire));
        let pending = avail.wrapping_sub(self.next);
        if pending > self.size {
            return Err(RingError::Jump {
                avail,
                pending,
                size: self.size,
            });
        }
        self.seen = avail;
        Ok(Look {
            avail,
            pending: pending.saturating_add(self.resubmit.len() as u16),
        })
    }

    /// Takes the next request that [`Ring::look`] saw. False where there is none.
    ///
    /// # Errors
    ///
    /// The ring or the request breaks the rules.
    #[inline]
    pub fn take(&mut self, chain: &mut Chain) -> Result<bool, RingError> {
        let again = self.resubmit.pop();
        let head = match again {
            Some(head) => head,
            None if self.next == self.seen => return Ok(false),
            None => {
                let offset = RING + 2 * self.slot(self.next);
                u16::from_le(self.available.load_u16(offset, Ordering::Relaxed))
            }
        };
        // A head that the table does not have is no descriptor of it.
        chain.fetch(&self.descriptors, head, &self.memory)?;
        self.again = again.is_some();
        if self.again {
            return Ok(true);
        }
        self.next = self.next.wrapping_add(1);
        if let Some(inflight) = &mut self.inflight {
            inflight.taken(head);
        }
        // An avail_event that stays behind is met again after 65536 requests, as a kick.
        if self.event_idx
            && !self.kicks_wanted
            && self.next.wrapping_sub(self.avail_event) > self.size + 0x2000
        {
            self.set_avail_event(self.long_past());
        }
        Ok(true)
    }

    /// Leaves the last request that was taken, of this head, to be taken again, here or by whoever has the
    /// ring next.
    pub fn untake(&mut self, head: u16) {
        if self.again {
            // Its note stays, by which it was found.
            self.resubmit.push(head);
            return;
        }
        self.next = self.next.wrapping_sub(1);
        if let Some(inflight) = &mut self.inflight {
            inflight.untaken(head);
        }
    }

    /// Puts a finished request into the used ring; the driver sees it after [`Ring::publish`].
    /// `written` is how much of its writable buffers was written, from their start.
    #[inline]
    pub fn put(&mut self, head: u16, written: u32) {
        let slot = self.slot(self.used_next);
        let offset = RING + USED_ELEMENT * slot;
        let element = [u32::from(head).to_le(), written.to_le()];
        self.used.store_u32s(offset, element, Ordering::Relaxed);
        self.mark_used(offset as u64, USED_ELEMENT as u64);
        self.used_next = self.used_next.wrapping_add(1);
        if let Some(inflight) = &mut self.inflight {
            inflight.used(head);
        }
    }

    /// Tells the driver of all requests that were put: one write of shared memory. True where the
    /// driver wants to be called.
    #[inline]
    pub fn publish(&mut self) -> bool {
        let (old, new) = (self.used_told, self.used_next);
        if old == new {
            return false;
        }
        self.used.store_u16(IDX, new.to_le(), Ordering::Release);
        self.used_told = new;
        self.mark_used(IDX as u64, 2);
        if let Some(inflight) = &mut self.inflight {
            inflight.published(new);
        }
        // The driver writes its wish and then reads the index; we the other way round.
        fence(Ordering::SeqCst);
        if self.event_idx {
            let event = self.used_event();
            return new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old);
        }
        self.calls_enabled()
    }

    /// Whether a driver that wanted a call, and was not called, still waits: it may have found the
    /// replies by itself.
    #[must_use]
    pub fn call_wanted(&self) -> bool {
        fence(Ordering::SeqCst);
        if self.event_idx {
            // It waits for an index that has been passed, and not more than a ring full ago.
            return self
                .used_told
                .wrapping_sub(self.used_event())
                .wrapping_sub(1)
                < self.size;
        }
        self.calls_enabled()
    }

    fn used_event(&self) -> u16 {
        let offset = RING + 2 * usize::from(self.size);
        u16::from_le(self.available.load_u16(offset, Ordering::Relaxed))
    }

    fn calls_enabled(&self) -> bool {
        u16::from_le(self.available.load_u16(0, Ordering::Relaxed)) & NO_INTERRUPT == 0
    }

    /// Asks the driver for no kicks. One that was on its way may still come.
    #[inline]
    pub fn disarm(&mut self) {
        if !std::mem::replace(&mut self.kicks_wanted, false) {
            return;
        }
        if self.event_idx {
            self.set_avail_event(self.long_past());
        } else {
            self.used.store_u16(0, NO_NOTIFY.to_le(), Ordering::Relaxed);
            self.mark_used(0, 2);
        }
    }

    /// Asks the driver for a kick with its next request. Whoever calls this looks once more after.
    #[inline]
    pub fn arm(&mut self) {
        self.kicks_wanted = true;
        if self.event_idx {
            self.set_avail_event(self.next);
        } else {
            self.used.store_u16(0, 0, Ordering::Relaxed);
            self.mark_used(0, 2);
        }
        fence(Ordering::SeqCst);
    }

    /// An index that no driver still asks about. It compares `avail_event` with the requests that it
    /// has added since it last did, at most a ring full of them; some of these may be taken already,
    /// so the index of the last one that was taken would be among them.
    fn long_past(&self) -> u16 {
        self.next.wrapping_sub(self.size).wrapping_sub(1)
    }

    fn set_avail_event(&mut self, event: u16) {
        self.avail_event = event;
        let offset = RING + USED_ELEMENT * usize::from(self.size);
        self.used
            .store_u16(offset, event.to_le(), Ordering::Relaxed);
        self.mark_used(offset as u64, 2);
    }

    #[inline]
    fn mark_used(&self, offset: u64, bytes: u64) {
        if let (Some(log), Some(base)) = (&self.log, self.used_log) {
            log.mark(base.saturating_add(offset), bytes);
        }
    }
}
