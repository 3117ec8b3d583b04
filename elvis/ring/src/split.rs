//! The device side of a split virtqueue (VIRTIO 1.2, section 2.7).
//!
//! Layout: the available ring is `flags, idx, ring[size], used_event`, 16 bits each; the used ring
//! is `flags, idx` (16 bits) `, ring[size]` of `id, len` (32 bits) `, avail_event` (16 bits). The
//! driver writes descriptors and available ring; the device writes the used ring.

use crate::chain::{Chain, DESCRIPTOR};
use crate::inflight::{self, Inflight};
use crate::ring::{Look, Part, RingAddresses, RingError, entries};
use crate::span::AlignedPairs;
use crate::{DirtyLog, Memory, Span};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// `avail.flags`: the driver wants no calls.
const NO_INTERRUPT: u16 = 1;
/// `used.flags`: the device wants no kicks.
const NO_NOTIFY: u16 = 1;
const IDX: usize = 2;
const RING: usize = 4;
const USED_ELEMENT: usize = 8;

/// A split virtqueue that is running. [`crate::Ring`] says what its functions do.
#[derive(Debug)]
pub struct Split {
    size: u16,
    /// Mask of an index: the size minus one.
    mask: usize,
    descriptors: AlignedPairs,
    /// Whether the driver may use indirect descriptors.
    pub(crate) indirect: bool,
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
    /// The head of the last request taken.
    last: u16,
    /// Whether the last request taken was from `resubmit`.
    again: bool,
    /// If `again`: number of processes that ended while they had it.
    survived: u8,
    log: Option<DirtyLog>,
    used_log: Option<u64>,
}

impl Split {
    /// Makes a ring of these areas, to continue at the available entry `next`. The used index is read from the ring.
    pub(crate) fn new(
        size: u32,
        at: &RingAddresses,
        memory: &Arc<Memory>,
        next: u16,
        event_idx: bool,
    ) -> Result<Self, RingError> {
        let size = entries(size)?;
        if !size.is_power_of_two() {
            return Err(RingError::NoPower(size.into()));
        }
        let n = usize::from(size);
        let descriptors = Part::Descriptors.pairs(memory, at.descriptors, size)?;
        let available = Part::Available.span(memory, at.available, RING + 2 * n + 2)?;
        let used = Part::Used.span(memory, at.used, RING + USED_ELEMENT * n + 2)?;
        let used_next = u16::from_le(used.load_u16(IDX, Ordering::Relaxed));
        Ok(Self {
            size,
            mask: n - 1,
            descriptors,
            indirect: true,
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
            last: 0,
            again: false,
            survived: 0,
            log: None,
            used_log: at.used_log,
        })
    }

    pub(crate) fn track(&mut self, region: Span) -> Result<(), RingError> {
        let entries = inflight::region_entries(region.bytes() as u64);
        let inflight = Inflight::new(region, entries.max(self.size));
        let mut inflight = inflight.map_err(RingError::Inflight)?;
        self.resubmit = inflight.recover(self.used_next);
        let left = u16::try_from(self.resubmit.len()).unwrap_or(u16::MAX);
        self.next = self.used_next.wrapping_add(left);
        self.seen = self.next;
        self.resubmit.reverse();
        self.inflight = Some(inflight);
        Ok(())
    }

    pub(crate) fn after_last_reply(&mut self) {
        self.next = self.used_next;
        self.seen = self.next;
        self.avail_event = self.next;
    }

    pub(crate) fn log_to(&mut self, log: Option<DirtyLog>) {
        self.log = log;
    }

    pub(crate) fn log(&self) -> Option<&DirtyLog> {
        self.log.as_ref()
    }

    pub(crate) fn size(&self) -> u16 {
        self.size
    }

    pub(crate) fn next(&self) -> u16 {
        self.next
    }

    pub(crate) fn base(&self) -> u32 {
        self.next.into()
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the entry of a free-running index.
    fn slot(&self, index: u16) -> usize {
        usize::from(index) & self.mask
    }

    #[inline]
    pub(crate) fn look(&mut self) -> Result<Look, RingError> {
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

    #[inline]
    pub(crate) fn known(&self) -> u16 {
        let new = self.seen.wrapping_sub(self.next);
        new.saturating_add(self.resubmit.len() as u16)
    }

    #[inline]
    pub(crate) fn prefetch(&self) {
        self.available.prefetch(RING + 2 * self.slot(self.next));
        // Drivers that use their descriptors in turns use this one.
        let likely = self.slot(self.last.wrapping_add(1));
        self.descriptors.prefetch(DESCRIPTOR * likely);
    }

    #[inline]
    pub(crate) fn take(&mut self, chain: &mut Chain) -> Result<bool, RingError> {
        if !self.resubmit.is_empty() {
            return self.take_again(chain);
        }
        if self.next == self.seen {
            return Ok(false);
        }
        let offset = RING + 2 * self.slot(self.next);
        let head = u16::from_le(self.available.load_u16(offset, Ordering::Relaxed));
        // `fetch` checks that the head is in the table.
        chain.fetch(&self.descriptors, head, self.indirect, &self.memory)?;
        self.again = false;
        self.last = head;
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

    /// Takes a request of another process, which is recorded as in flight.
    #[cold]
    fn take_again(&mut self, chain: &mut Chain) -> Result<bool, RingError> {
        let Some(head) = self.resubmit.pop() else {
            return Ok(false);
        };
        chain.fetch(&self.descriptors, head, self.indirect, &self.memory)?;
        if let Some(inflight) = &mut self.inflight {
            self.survived = inflight.taken_again(head);
        }
        self.again = true;
        Ok(true)
    }

    #[inline]
    pub(crate) fn survived(&self) -> u8 {
        if self.again { self.survived } else { 0 }
    }

    pub(crate) fn untake(&mut self, head: u16) {
        if self.again {
            // The request was found by its in-flight record, which stays.
            self.resubmit.push(head);
            if let Some(inflight) = &mut self.inflight {
                inflight.untaken_again(head);
            }
            return;
        }
        self.next = self.next.wrapping_sub(1);
        if let Some(inflight) = &mut self.inflight {
            inflight.untaken(head);
        }
    }

    #[inline]
    pub(crate) fn put(&mut self, head: u16, written: u32) {
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

    #[inline]
    pub(crate) fn publish(&mut self) -> bool {
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

    pub(crate) fn call_wanted(&self) -> bool {
        fence(Ordering::SeqCst);
        if self.event_idx {
            // The driver waits for an index that was passed at most `size` entries ago.
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

    #[inline]
    pub(crate) fn disarm(&mut self) {
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

    #[inline]
    pub(crate) fn arm(&mut self) {
        self.kicks_wanted = true;
        if self.event_idx {
            // The index at the last look is used, not `next`: a driver compares with the requests that it adds, and
            // requests seen but not taken are not new.
            self.set_avail_event(self.seen);
        } else {
            self.used.store_u16(0, 0, Ordering::Relaxed);
            self.mark_used(0, 2);
        }
        fence(Ordering::SeqCst);
    }

    /// Returns a value of `avail_event` for which no driver kicks. A driver compares `avail_event` with the requests
    /// added since its last comparison, at most `size`. The device may have taken some of them already, so the index of
    /// the last one taken could match.
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
