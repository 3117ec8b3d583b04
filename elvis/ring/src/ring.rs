//! The device side of a split virtqueue (VIRTIO 1.2, section 2.7).
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

/// The driver broke a rule. The ring can't be used until it is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The available index is ahead by more than the ring's size.
    #[error("the available index is {avail}, {pending} ahead in a ring of {size}")]
    Jump {
        /// The index.
        avail: u16,
        /// By how much it is ahead.
        pending: u16,
        /// The ring's size.
        size: u16,
    },
    /// A head or a `next` beyond the end of the table.
    #[error("descriptor {index} is not in the table")]
    Descriptor {
        /// The index.
        index: u16,
    },
    /// A chain longer than its table, or than [`crate::chain::LONGEST`].
    #[error("a descriptor chain does not end")]
    Endless,
    /// A buffer that the device reads follows one that it writes.
    #[error("a readable descriptor follows a writable one")]
    Order,
    /// Invalid use of indirect descriptors.
    #[error("{0}")]
    Indirect(&'static str),
    /// A buffer is empty, or not entirely in the driver's memory.
    #[error("a buffer of {bytes} bytes at guest address {guest:#x} is not in memory")]
    Outside {
        /// Its guest-physical address.
        guest: u64,
        /// Its length.
        bytes: u32,
    },
    /// The size is not a power of two, or is above 32768.
    #[error("a ring of {0} entries, must be a power of two up to 32768")]
    Size(u32),
    /// Descriptor table, available ring or used ring is not in memory, or not aligned.
    #[error("the {0} is not in memory, or not aligned")]
    Address(&'static str),
}

/// Guest-physical addresses of the parts of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingAddresses {
    /// Descriptor table, 16-byte aligned.
    pub descriptors: u64,
    /// Available ring, 2-byte aligned.
    pub available: u64,
    /// Used ring, 4-byte aligned.
    pub used: u64,
    /// Guest-physical address under which writes to the used ring are logged, for migration.
    pub used_log: Option<u64>,
}

/// What a look at the available ring shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The driver's index.
    pub avail: u16,
    /// Requests available and not yet taken.
    pub pending: u16,
}

/// A virtqueue that is running.
#[derive(Debug)]
pub struct Ring {
    size: u16,
    /// The size minus one.
    mask: usize,
    descriptors: Span,
    available: Span,
    used: Span,
    memory: Arc<Memory>,
    /// Next entry of the available ring to take, and its index at the last look.
    next: u16,
    seen: u16,
    /// Next entry of the used ring, and its index as last published.
    used_next: u16,
    used_told: u16,
    event_idx: bool,
    kicks_wanted: bool,
    /// The last value written to `avail_event`.
    avail_event: u16,
    inflight: Option<Inflight>,
    /// Heads of another process's requests to run again, the next one last.
    resubmit: Vec<u16>,
    /// The last request taken was from `resubmit`.
    again: bool,
    log: Option<DirtyLog>,
    used_log: Option<u64>,
}

impl Ring {
    /// A ring at these addresses that continues with entry `next` of its available ring.
    ///
    /// # Errors
    ///
    /// The size or an address is invalid.
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

    /// Records requests in flight from now on, and takes over those that another process left there:
    /// they are taken first, then the available ring continues after them.
    pub fn track(&mut self, mut inflight: Inflight) {
        self.resubmit = inflight.recover(self.used_next);
        let left = u16::try_from(self.resubmit.len()).unwrap_or(u16::MAX);
        self.next = self.used_next.wrapping_add(left);
        self.seen = self.next;
        self.resubmit.reverse();
        self.inflight = Some(inflight);
    }

    /// Continues after the last request that was replied to. For a device that replies in order this is where
    /// the last process was, whatever it had taken.
    pub fn after_last_reply(&mut self) {
        self.next = self.used_next;
        self.seen = self.next;
        self.avail_event = self.next;
    }

    /// Logs the device's writes from now on; None: stops logging.
    pub fn log_to(&mut self, log: Option<DirtyLog>) {
        self.log = log;
    }

    /// The log in which the caller must mark its writes to buffers.
    #[must_use]
    pub fn log(&self) -> Option<&DirtyLog> {
        self.log.as_ref()
    }

    /// The number of entries.
    #[must_use]
    pub fn size(&self) -> u16 {
        self.size
    }

    /// The next entry of the available ring, which GET_VRING_BASE returns.
    #[must_use]
    pub fn next(&self) -> u16 {
        self.next
    }

    /// The driver's memory.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Whether a file of the driver's memory was truncated.
    #[must_use]
    pub fn broken(&self) -> bool {
        self.memory.broken()
    }

    /// The entry of a free-running index.
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

    /// Takes the next request that [`Ring::look`] saw. False if there is none.
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
        // `fetch` checks that the head is in the table.
        chain.fetch(&self.descriptors, head, &self.memory)?;
        self.again = again.is_some();
        if self.again {
            return Ok(true);
        }
        self.next = self.next.wrapping_add(1);
        if let Some(inflight) = &mut self.inflight {
            inflight.taken(head);
        }
        // Indices wrap after 65536 requests: an old avail_event would then cause a kick.
        if self.event_idx
            && !self.kicks_wanted
            && self.next.wrapping_sub(self.avail_event) > self.size + 0x2000
        {
            self.set_avail_event(self.long_past());
        }
        Ok(true)
    }

    /// Gives back the last request taken, which has this head: it will be taken again, here or by the
    /// next owner of the ring.
    pub fn untake(&mut self, head: u16) {
        if self.again {
            // It was found by its in-flight record, which stays.
            self.resubmit.push(head);
            return;
        }
        self.next = self.next.wrapping_sub(1);
        if let Some(inflight) = &mut self.inflight {
            inflight.untaken(head);
        }
    }

    /// Puts a finished request into the used ring; the driver sees it after [`Ring::publish`].
    /// `written` is how many bytes were written, from the start of its writable buffers.
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

    /// Publishes all requests put so far to the driver: one write of shared memory. True if the
    /// driver wants a call.
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
        // The driver writes used_event or flags, then reads the index; the device does the reverse.
        fence(Ordering::SeqCst);
        if self.event_idx {
            let event = self.used_event();
            return new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old);
        }
        self.calls_enabled()
    }

    /// Whether the driver still wants a call that it did not get: it may have seen the replies
    /// meanwhile.
    #[must_use]
    pub fn call_wanted(&self) -> bool {
        fence(Ordering::SeqCst);
        if self.event_idx {
            // It waits for an index that was passed at most `size` entries ago.
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

    /// Asks the driver not to kick. A kick on its way may still arrive.
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

    /// Asks the driver to kick with its next request. The caller must look once more afterwards.
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

    /// A value of `avail_event` for which no driver kicks. A driver compares `avail_event` with the
    /// requests added since its last comparison, at most `size`. The device may have taken some of
    /// them already, so the index of the last one taken could match.
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
