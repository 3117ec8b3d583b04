//! Record of requests in flight that outlives this process (vhost-user: "Inflight I/O tracking", packed virtqueues).
//! [`crate::inflight`] has the record of split ones.
//!
//! Each entry describes a descriptor that was taken. An entry is linked to the next one of its request, or of the list
//! of free entries. The list and the used index keep their last values beside them while they change. The specification
//! changes the list whenever a request ends. Here a process takes requests while the replies to others wait to be
//! published. The entries of those others must stay, so the list changes in [`Inflight::publishing`].

use super::entries::Entries;
use super::position::{AVAIL_USED, Position};
use super::{DESCRIPTOR, Descriptor, FLAGS};
use crate::Span;
use crate::ring::{RecordError, RingError, record};
use std::sync::atomic::{Ordering, fence};

const VERSION: usize = 8;
const DESC_NUM: usize = 10;
const FREE_HEAD: usize = 12;
const OLD_FREE_HEAD: usize = 14;
/// `used_idx` and `old_used_idx`, 16 bits each; the wrap counters of both, 8 bits each; padding. Written at once.
const USED: usize = 16;
const ENTRIES: usize = 32;
const ENTRY: usize = 32;
const INFLIGHT: usize = 0;
/// Number of processes that ended while they ran the request again; padding in the specification.
const AGAIN: usize = 1;
const NEXT: usize = 2;
const LAST: usize = 4;
const NUM: usize = 6;
const COUNTER: usize = 8;
/// `id` and `flags`, 16 bits each, and `len`, 32.
const REST: usize = 16;
const ADDR: usize = 24;

/// Returns the bytes of the region of a queue of this size.
pub(crate) fn bytes(queue_size: u16) -> u64 {
    ENTRIES as u64 + ENTRY as u64 * u64::from(queue_size)
}

/// The region of one queue.
#[derive(Debug)]
pub(super) struct Inflight {
    region: Span,
    size: u16,
    counter: u64,
    /// The used index, as last published.
    told: Position,
}

/// A request that the last process did not finish.
pub(super) struct Unfinished {
    counter: u64,
    /// Entries of the request, in order.
    pub(super) entries: Vec<u16>,
    /// Descriptors of the request, as they were in the ring.
    pub(super) descriptors: Vec<[u64; 2]>,
}

/// State that the last process left.
pub(super) struct Found {
    /// The next used element.
    pub(super) used: Position,
    /// Unfinished requests, in the order in which they were taken.
    pub(super) requests: Vec<Unfinished>,
}

impl Inflight {
    /// Opens the region of a queue of this size. If it was made for no queue or for one of another size, the record is
    /// new, and the next used element is at `used`.
    pub(super) fn new(region: Span, size: u16, used: Position) -> Result<Self, RingError> {
        record(&region, bytes(size)).map_err(RingError::Inflight)?;
        let inflight = Self {
            region,
            size,
            counter: 0,
            told: used,
        };
        let region = &inflight.region;
        let (version, entries) = (
            region.load_u16(VERSION, Ordering::Acquire),
            region.load_u16(DESC_NUM, Ordering::Relaxed),
        );
        if version > 1 {
            return Err(RingError::Inflight(RecordError::Version(version)));
        }
        // A ring's size changes only by a reset, after which nothing is in flight.
        if version == 0 || entries != size {
            region.store_u16(VERSION, 0, Ordering::Release);
            inflight.region.zero();
            inflight.set_free(&Entries::new(size));
            inflight.set_used(used, used);
            region.store_u16(DESC_NUM, size, Ordering::Relaxed);
            region.store_u16(VERSION, 1, Ordering::Release);
        }
        Ok(inflight)
    }

    fn at(entry: u16) -> usize {
        ENTRIES + ENTRY * usize::from(entry)
    }

    fn load(&self, entry: u16, field: usize) -> u16 {
        self.region
            .load_u16(Self::at(entry) + field, Ordering::Relaxed)
    }

    fn store(&self, entry: u16, field: usize, value: u16) {
        self.region
            .store_u16(Self::at(entry) + field, value, Ordering::Relaxed);
    }

    fn set_in_flight(&self, entry: u16, value: u8) {
        self.region
            .store_u8(Self::at(entry) + INFLIGHT, value, Ordering::Release);
    }

    fn set_used(&self, new: Position, old: Position) {
        let ([a, b], [c, d]) = (new.slot().to_ne_bytes(), old.slot().to_ne_bytes());
        let [e, f] = [new, old].map(|it| (it.bits() >> 15) as u8);
        let word = u64::from_ne_bytes([a, b, c, d, e, f, 0, 0]);
        self.region.store_u64(USED, word, Ordering::Release);
    }

    /// Returns the used index, and its old value.
    fn used(&self) -> Result<(Position, Position), RingError> {
        let word = self.region.load_u64(USED, Ordering::Relaxed).to_ne_bytes();
        let position = |at: usize, wrap: u8| {
            let slot = u16::from_ne_bytes([word[at], word[at + 1]]);
            // A slot above 15 bits must not pass as a wrap counter.
            let bits = slot.min(0x7fff) | u16::from(wrap & 1) << 15;
            Position::new(bits, self.size)
        };
        Ok((position(0, word[4])?, position(2, word[5])?))
    }

    /// Whether the driver was given the element that the last process wrote at `used` of this ring.
    fn was_published(ring: &Span, used: Position) -> bool {
        let offset = DESCRIPTOR * usize::from(used.slot()) + FLAGS;
        let flags = u16::from_le(ring.load_u16(offset, Ordering::Relaxed));
        flags & AVAIL_USED != used.available()
    }

    /// Returns the state that the last process left. The process' last step is completed if the driver has seen it,
    /// else undone.
    pub(super) fn recover(&mut self, ring: &Span) -> Result<Found, RingError> {
        let (new, old) = self.used()?;
        let published = new != old && Self::was_published(ring, old);
        let used = if published { new } else { old };
        let (from, to) = if published {
            (FREE_HEAD, OLD_FREE_HEAD)
        } else {
            (OLD_FREE_HEAD, FREE_HEAD)
        };
        let free = self.region.load_u16(from, Ordering::Relaxed);
        self.region.store_u16(to, free, Ordering::Release);
        let mut known = vec![false; self.size.into()];
        for entry in self.linked(free, self.size, &mut known) {
            self.set_in_flight(entry, 0);
        }
        fence(Ordering::SeqCst);
        self.set_used(used, used);
        self.told = used;
        let mut requests: Vec<_> = (0..self.size)
            .filter_map(|head| self.unfinished(head, &mut known))
            .collect();
        requests.sort_by_key(|request| request.counter);
        self.counter = requests
            .last()
            .map_or(0, |last| last.counter.wrapping_add(1));
        Ok(Found { used, requests })
    }

    /// Returns up to `count` entries that are linked from `entry` on. All are new to `known`, to which they are added.
    fn linked(&self, mut entry: u16, count: u16, known: &mut [bool]) -> Vec<u16> {
        let mut entries = Vec::new();
        while entries.len() < usize::from(count) {
            match known.get_mut(usize::from(entry)) {
                Some(known) if !*known => *known = true,
                _ => break,
            }
            entries.push(entry);
            entry = self.load(entry, NEXT);
        }
        entries
    }

    /// Returns the unfinished request with this head, if there is one.
    fn unfinished(&self, head: u16, known: &mut [bool]) -> Option<Unfinished> {
        let at = Self::at(head);
        if known[usize::from(head)] || self.region.load_u8(at + INFLIGHT, Ordering::Relaxed) != 1 {
            return None;
        }
        let count = self.load(head, NUM);
        let entries = self.linked(head, count, known);
        if count == 0 || entries.len() < usize::from(count) {
            self.set_in_flight(head, 0);
            return None;
        }
        let descriptor = |&entry: &u16| {
            let load = |field| {
                self.region
                    .load_u64(Self::at(entry) + field, Ordering::Relaxed)
            };
            let rest = load(REST);
            // In the ring, the length is first.
            [load(ADDR), rest.rotate_left(32).to_le()]
        };
        Some(Unfinished {
            counter: self.region.load_u64(at + COUNTER, Ordering::Relaxed),
            descriptors: entries.iter().map(descriptor).collect(),
            entries,
        })
    }

    /// Makes these free entries the list. All other entries are in flight.
    pub(super) fn set_free(&self, entries: &Entries) {
        for entry in entries.all_free() {
            self.store(entry, NEXT, entries.after(entry));
        }
        fence(Ordering::Release);
        self.set_free_head(entries.free());
    }

    fn set_free_head(&self, entry: u16) {
        self.region.store_u16(FREE_HEAD, entry, Ordering::Release);
        self.region
            .store_u16(OLD_FREE_HEAD, entry, Ordering::Release);
    }

    /// Notes a descriptor of a request that is being taken.
    #[inline]
    pub(super) fn describe(&self, entry: u16, descriptor: &Descriptor) {
        let Descriptor {
            guest,
            bytes,
            id,
            flags,
        } = *descriptor;
        let rest = u64::from(id) | u64::from(flags) << 16 | u64::from(bytes) << 32;
        let at = Self::at(entry);
        self.region.store_u64(at + ADDR, guest, Ordering::Relaxed);
        self.region.store_u64(at + REST, rest, Ordering::Relaxed);
    }

    /// Records a taken request, whose descriptors were noted in the entries from `head` to `last`.
    #[inline]
    pub(super) fn taken(&mut self, head: u16, last: u16, count: u16, free: u16) {
        let at = Self::at(head);
        self.store(head, LAST, last);
        self.store(head, NUM, count);
        self.region
            .store_u64(at + COUNTER, self.counter, Ordering::Relaxed);
        self.counter = self.counter.wrapping_add(1);
        // The request is in flight, and was never run again.
        let state = u16::from_ne_bytes([1, 0]);
        self.region
            .store_u16(at + INFLIGHT, state, Ordering::Release);
        self.set_free_head(free);
    }

    /// Records that a request of another process is run again. Returns how many processes ended while they had it.
    pub(super) fn taken_again(&self, head: u16) -> u8 {
        crate::inflight::again(&self.region, Self::at(head) + AGAIN)
    }

    /// Undoes [`Self::taken_again`]: the request was given back.
    pub(super) fn untaken_again(&self, head: u16) {
        crate::inflight::not_again(&self.region, Self::at(head) + AGAIN);
    }

    /// Removes the record of a request that was given back. Its entries are in the list again.
    pub(super) fn untaken(&mut self, head: u16, entries: &Entries) {
        self.set_in_flight(head, 0);
        let last = entries.of(head).last;
        self.store(last, NEXT, entries.after(last));
        self.set_free_head(head);
    }

    /// Records that the ended requests are about to be published; `used` is the next used element after them. Their
    /// entries are in the list again.
    #[inline]
    pub(super) fn publishing(&mut self, entries: &Entries, used: Position) {
        for &head in entries.all_ended() {
            let last = entries.of(head).last;
            self.store(last, NEXT, entries.after(last));
        }
        self.region
            .store_u16(FREE_HEAD, entries.free(), Ordering::Release);
        self.set_used(used, self.told);
    }

    /// Records that the ended requests were published.
    #[inline]
    pub(super) fn published(&mut self, entries: &Entries, used: Position) {
        fence(Ordering::SeqCst);
        for &head in entries.all_ended() {
            self.set_in_flight(head, 0);
        }
        self.region
            .store_u16(OLD_FREE_HEAD, entries.free(), Ordering::Release);
        self.set_used(used, used);
        self.told = used;
    }
}
