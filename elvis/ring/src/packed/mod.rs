//! The device side of a packed virtqueue (VIRTIO 1.2, section 2.8).
//!
//! Layout: the descriptor ring has entries of 16 bytes: `addr` (64 bits), `len` (32), `id`, `flags` (16 each).
//! Driver and device write to the same entries; bits of `flags` say whose turn it is. The two event suppression
//! structures, one written by each side, are `desc` and `flags`, 16 bits each.
//!
//! The entries from the next used element to the next descriptor to take belong to the device. Replies in another order
//! may overwrite them. The state of a request until its reply is therefore in [`entries`], and, for the next process,
//! in [`inflight`] or [`progress`].

mod descriptor;
mod entries;
mod events;
mod inflight;
mod position;
pub(crate) mod progress;

use crate::chain::{Chain, DESCRIPTOR, INDIRECT, LONGEST, NEXT, Sums, WRITE};
use crate::ring::{Look, Part, RingAddresses, RingError, entries};
use crate::span::{AlignedPairs, Pairs};
use crate::{DirtyLog, Memory, Span};
use descriptor::{Descriptor, fill_from_table};
use entries::Entries;
use events::EVENT;
pub(crate) use events::{DESC, DISABLE, ENABLE};
pub(crate) use inflight::bytes as region_bytes;
use inflight::{Found, Inflight};
pub(crate) use position::{AVAIL_USED, Position};
use progress::{Origin, Progress};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Offsets of a descriptor's fields.
const LEN: usize = 8;
const ID: usize = 12;
const FLAGS: usize = 14;

/// A request of another process, to run again.
#[derive(Debug)]
struct Again {
    head: u16,
    descriptors: Vec<Descriptor>,
}

/// A packed virtqueue that is running. [`crate::Ring`] says what its functions do.
#[derive(Debug)]
pub struct Packed {
    size: u16,
    /// Whether the driver may use indirect descriptors.
    pub(crate) indirect: bool,
    ring: AlignedPairs,
    /// The driver's event suppression structure.
    driver: Span,
    /// The device's event suppression structure.
    device: Span,
    memory: Arc<Memory>,
    /// Next descriptor to take.
    next: Position,
    /// First descriptor that was not available at the last look; number of descriptors before it that are not taken;
    /// number of chains that those end.
    seen: Position,
    ahead: u16,
    pending: u16,
    /// Requests taken so far.
    taken: u16,
    /// Next used element.
    used: Position,
    /// Descriptors taken and not yet published as used.
    held: u16,
    entries: Entries,
    /// First used element that is not yet published: offset of its flags, and the flags.
    first: (usize, u16),
    /// Number of descriptors that the unpublished used elements stand for.
    unpublished: u16,
    event_idx: bool,
    kicks_wanted: bool,
    inflight: Option<Inflight>,
    progress: Option<Progress>,
    /// Requests of another process to run again, the next one last.
    resubmit: Vec<Again>,
    /// Whether the last request taken was from `resubmit`; it is then `request_again`.
    again: bool,
    /// If `again`: number of processes that ended while they had the request.
    survived: u8,
    request_again: Option<Again>,
    log: Option<DirtyLog>,
    /// Addresses under which writes to the ring and to the device's structure are logged.
    ring_log: u64,
    device_log: Option<u64>,
}

impl Packed {
    pub(crate) fn new(
        size: u32,
        at: &RingAddresses,
        memory: &Arc<Memory>,
        base: u32,
        event_idx: bool,
    ) -> Result<Self, RingError> {
        let size = entries(size)?;
        let ring = Part::Packed.pairs(memory, at.descriptors, size)?;
        let driver = Part::DriverEvents.span(memory, at.available, EVENT)?;
        let device = Part::DeviceEvents.span(memory, at.used, EVENT)?;
        // Without requests in flight the used elements continue at `next` too. The upper half of `base` adds nothing,
        // and some front-ends leave it 0.
        let next = Position::new(base as u16, size)?;
        Ok(Self {
            size,
            indirect: true,
            ring,
            driver,
            device,
            memory: Arc::clone(memory),
            next,
            seen: next,
            ahead: 0,
            pending: 0,
            taken: 0,
            used: next,
            held: 0,
            entries: Entries::new(size),
            first: (0, 0),
            unpublished: 0,
            event_idx,
            kicks_wanted: true,
            inflight: None,
            progress: None,
            resubmit: Vec::new(),
            again: false,
            survived: 0,
            request_again: None,
            log: None,
            ring_log: at.descriptors,
            device_log: at.used_log,
        })
    }

    pub(crate) fn track(&mut self, region: Span) -> Result<(), RingError> {
        let mut inflight = Inflight::new(region, self.size, self.used)?;
        let Found { used, requests } = inflight.recover(&self.ring)?;
        (self.used, self.next) = (used, used);
        self.entries = Entries::tracked(self.size, requests.iter().map(|it| &it.entries[..]));
        inflight.set_free(&self.entries);
        for request in requests.into_iter().rev() {
            let (Some(&head), Some(&last)) = (request.entries.first(), request.entries.last())
            else {
                continue;
            };
            let descriptors: Vec<_> = request
                .descriptors
                .into_iter()
                .map(Descriptor::of)
                .collect();
            let id = descriptors.last().map_or(0, |last| last.id);
            // All requests together have at most `size` descriptors.
            let count = descriptors.len() as u16;
            self.entries.set(head, id, count, last);
            self.held += count;
            self.resubmit.push(Again { head, descriptors });
        }
        self.pass_what_is_in_flight();
        self.seen = self.next;
        self.inflight = Some(inflight);
        Ok(())
    }

    pub(crate) fn keep(
        &mut self,
        region: Span,
        at: &RingAddresses,
        told: u32,
    ) -> Result<(), RingError> {
        let origin = Origin {
            size: self.size,
            parts: [at.descriptors, at.available, at.used],
            file: self.memory.file_of(at.descriptors),
            told,
        };
        let (start, memory) = (self.used, (&*self.ring, &self.device));
        let progress = Progress::new(region, &origin, start, memory, |at| self.mark_ring(at))?;
        let next = progress.told();
        (self.used, self.next, self.seen) = (next, next, next);
        self.progress = Some(progress);
        // The record of a ring whose event structure is zero counts as another ring's.
        self.arm();
        Ok(())
    }

    /// Advances over the descriptors in flight. Takes back used elements that another process wrote there and did not
    /// publish. The driver has not seen them, as the first of them was not complete.
    fn pass_what_is_in_flight(&mut self) {
        for _ in 0..self.held {
            let offset = self.offset(self.next) + FLAGS;
            let flags = u16::from_le(self.ring.load_u16(offset, Ordering::Relaxed));
            let flags = flags & !AVAIL_USED | self.next.available();
            self.ring
                .store_u16(offset, flags.to_le(), Ordering::Relaxed);
            self.mark_ring(offset - FLAGS);
            self.next.advance(1, self.size);
        }
        fence(Ordering::SeqCst);
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
        self.taken
    }

    pub(crate) fn base(&self) -> u32 {
        // A request that was taken and did not end is taken again, if requests end in order.
        let ends = |progress: &Progress| (progress.told(), progress.told());
        let (next, used) = self.progress.as_ref().map_or((self.next, self.used), ends);
        u32::from(next.bits()) | u32::from(used.bits()) << 16
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    #[inline]
    fn pairs(&self) -> Pairs<'_> {
        self.ring.pairs()
    }

    fn offset(&self, at: Position) -> usize {
        DESCRIPTOR * usize::from(at.slot())
    }

    #[inline]
    pub(crate) fn look(&mut self) -> Result<Look, RingError> {
        let offset = self.offset(self.seen) + FLAGS;
        let flags = u16::from_le(self.ring.load_u16(offset, Ordering::Acquire));
        if flags & AVAIL_USED == self.seen.available() {
            self.scan()?;
        }
        Ok(Look {
            avail: self.taken.wrapping_add(self.pending),
            pending: self.pending.saturating_add(self.resubmit.len() as u16),
        })
    }

    #[inline]
    pub(crate) fn prefetch(&self) {
        self.ring.prefetch(self.offset(self.next));
    }

    #[inline]
    pub(crate) fn known(&self) -> u16 {
        self.pending.saturating_add(self.resubmit.len() as u16)
    }

    /// Finds the descriptors that became available, and counts the chains that they end.
    fn scan(&mut self) -> Result<(), RingError> {
        let ring = self.pairs();
        let (mut at, mut ahead, mut pending) = (self.seen, self.ahead, self.pending);
        // The rest of the ring belongs to the device: a driver that says otherwise waits in vain.
        let room = self.size.wrapping_sub(self.held);
        while ahead < room {
            let rest = ring.load_second(at.slot().into(), Ordering::Acquire);
            let flags = (u64::from_le(rest.unwrap_or(0)) >> 48) as u16;
            if flags & AVAIL_USED != at.available() {
                break;
            }
            at.advance(1, self.size);
            ahead = ahead.wrapping_add(1);
            pending = pending.wrapping_add(!flags & NEXT);
        }
        (self.seen, self.ahead, self.pending) = (at, ahead, pending);
        if pending == 0 && ahead == room && room > 0 {
            let entries = self.size.into();
            return Err(RingError::Endless { entries });
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn take(&mut self, chain: &mut Chain) -> Result<bool, RingError> {
        if let Some(request) = self.resubmit.pop() {
            return self.take_again(request, chain);
        }
        if self.pending == 0 {
            return Ok(false);
        }
        if self.ahead == 0 {
            // The chain was joined with another one after the last look.
            return Err(RingError::Changed);
        }
        let ring = self.pairs();
        chain.start(&self.memory);
        let (mut slot, head) = (self.next.slot(), self.entries.free());
        let mut descriptor = Descriptor::read(&ring, slot);
        let mut count = 1u16;
        if descriptor.flags & INDIRECT != 0 {
            self.fill_from_table(chain, &descriptor, head)?;
        } else {
            let mut sums = Sums::default();
            let (longest, size) = (self.ahead.min(LONGEST as u16), self.size);
            loop {
                let Descriptor {
                    guest,
                    bytes,
                    flags,
                    ..
                } = descriptor;
                if flags & INDIRECT != 0 {
                    return Err(RingError::IndirectChained);
                }
                chain.add(&mut sums, (guest, bytes, flags), &self.memory)?;
                if flags & NEXT == 0 {
                    break;
                }
                if count >= longest {
                    return Err(self.unended(count));
                }
                count = count.wrapping_add(1);
                slot = slot.wrapping_add(1);
                if slot == size {
                    slot = 0;
                }
                descriptor = Descriptor::read(&ring, slot);
            }
            chain.end(&sums, head);
        }
        // The last descriptor of a chain has the buffer's identifier. The record has all descriptors before it says
        // that the request is in flight: a crash in between leaves no part of a request.
        let last = self.record(head, count);
        self.entries.take(descriptor.id, count, last);
        if let Some(inflight) = &mut self.inflight {
            inflight.taken(head, last, count, self.entries.free());
        }
        self.next.advance(count, self.size);
        self.ahead = self.ahead.wrapping_sub(count);
        self.held = self.held.wrapping_add(count);
        self.pending = self.pending.wrapping_sub(1);
        self.taken = self.taken.wrapping_add(1);
        self.again = false;
        Ok(true)
    }

    /// Returns why a chain does not end with its descriptor `count`.
    #[cold]
    fn unended(&self, count: u16) -> RingError {
        match count < self.ahead {
            true => RingError::TooLong,
            // A chain that ends was available: it was changed since.
            false => RingError::Changed,
        }
    }

    /// Fills a chain with the buffers of the indirect table that a descriptor points to.
    #[inline]
    fn fill_from_table(
        &self,
        chain: &mut Chain,
        descriptor: &Descriptor,
        head: u16,
    ) -> Result<(), RingError> {
        let Descriptor {
            guest,
            bytes,
            flags,
            ..
        } = *descriptor;
        if !self.indirect {
            return Err(RingError::IndirectUnwanted);
        }
        if flags & NEXT != 0 {
            return Err(RingError::IndirectChained);
        }
        fill_from_table(chain, (guest, bytes), head, &self.memory)
    }

    /// Records the next `count` descriptors in entries from `head` on, for another process. Returns the last entry.
    ///
    /// The descriptors are read a second time. If a driver changes them meanwhile, the changed request is run after a
    /// crash, checked as any other.
    #[inline]
    fn record(&self, head: u16, count: u16) -> u16 {
        let Some(inflight) = &self.inflight else {
            return head;
        };
        let ring = self.pairs();
        let (mut at, mut entry, mut last) = (self.next, head, head);
        for _ in 0..count {
            inflight.describe(entry, &Descriptor::read(&ring, at.slot()));
            at.advance(1, self.size);
            last = entry;
            entry = self.entries.after(entry);
        }
        last
    }

    /// Takes a request of another process, whose entries it keeps.
    #[cold]
    fn take_again(&mut self, request: Again, chain: &mut Chain) -> Result<bool, RingError> {
        chain.start(&self.memory);
        let mut sums = Sums::default();
        for descriptor in &request.descriptors {
            let Descriptor {
                guest,
                bytes,
                flags,
                ..
            } = *descriptor;
            if flags & INDIRECT == 0 {
                chain.add(&mut sums, (guest, bytes, flags), &self.memory)?;
                chain.end(&sums, request.head);
            } else if request.descriptors.len() == 1 {
                self.fill_from_table(chain, descriptor, request.head)?;
            } else {
                return Err(RingError::IndirectChained);
            }
        }
        if let Some(inflight) = &self.inflight {
            self.survived = inflight.taken_again(request.head);
        }
        self.again = true;
        self.request_again = Some(request);
        Ok(true)
    }

    #[inline]
    pub(crate) fn survived(&self) -> u8 {
        if self.again { self.survived } else { 0 }
    }

    pub(crate) fn untake(&mut self, head: u16) {
        if self.again {
            // The request was found by its in-flight record, which stays.
            if let Some(inflight) = &self.inflight {
                inflight.untaken_again(head);
            }
            self.resubmit.extend(self.request_again.take());
            return;
        }
        let count = self.entries.of(head).count;
        self.next.retreat(count, self.size);
        self.ahead += count;
        self.held -= count;
        self.pending += 1;
        self.taken = self.taken.wrapping_sub(1);
        self.entries.give_back(head);
        if let Some(inflight) = &mut self.inflight {
            inflight.untaken(head, &self.entries);
        }
    }

    #[inline]
    pub(crate) fn put(&mut self, head: u16, written: u32) {
        let entry = self.entries.of(head);
        if let Some(progress) = &mut self.progress {
            progress.note(self.used, entry.id, written);
        } else {
            self.put_now(entry.id, written);
        }
        self.used.advance(entry.count, self.size);
        self.unpublished = self.unpublished.wrapping_add(entry.count);
        self.entries.ended(head);
    }

    /// Writes the next used element to the ring.
    #[inline]
    fn put_now(&mut self, id: u16, written: u32) {
        let offset = self.offset(self.used);
        // Section 2.8.6: WRITE says that `len` is valid.
        let flags = self.used.used() | u16::from(written > 0) * WRITE;
        if self.unpublished == 0 {
            // The driver waits for these flags: `publish` writes them.
            self.first = (offset + FLAGS, flags);
            self.ring
                .store_u32(offset + LEN, written.to_le(), Ordering::Relaxed);
            self.ring
                .store_u16(offset + ID, id.to_le(), Ordering::Relaxed);
        } else {
            let rest = u64::from(written) | u64::from(id) << 32 | u64::from(flags) << 48;
            self.ring
                .store_u64(offset + LEN, rest.to_le(), Ordering::Relaxed);
        }
        self.mark_ring(offset);
    }

    #[inline(never)]
    pub(crate) fn publish(&mut self) -> bool {
        let count = std::mem::take(&mut self.unpublished);
        if count == 0 {
            return false;
        }
        self.held = self.held.wrapping_sub(count);
        if let Some(inflight) = &mut self.inflight {
            self.entries.give_back_ended();
            // The record is told before and after the write to the ring. The next process compares it with the ring,
            // and so knows whether the driver saw the replies.
            inflight.publishing(&self.entries, self.used);
        }
        if let Some(mut progress) = self.progress.take() {
            progress.publish(&self.ring, self.size, self.used, |at| self.mark_ring(at));
            self.progress = Some(progress);
        } else {
            let (offset, flags) = self.first;
            self.ring
                .store_u16(offset, flags.to_le(), Ordering::Release);
            self.mark_ring(offset - FLAGS);
        }
        if let Some(inflight) = &mut self.inflight {
            inflight.published(&self.entries, self.used);
            self.entries.forget_ended();
        }
        // The driver writes its event structure, then reads the flags; the device does the reverse.
        fence(Ordering::SeqCst);
        self.driver_waits(count)
    }

    #[inline]
    fn mark_ring(&self, offset: usize) {
        if let (Some(log), Some(_)) = (&self.log, self.device_log) {
            let guest = self.ring_log.saturating_add(offset as u64);
            log.mark(guest, DESCRIPTOR as u64);
        }
    }
}
