//! Progress of a device in a packed ring whose requests it ends in order, in memory that outlives this process.
//!
//! A split ring says its progress itself, by its used index. The descriptors of a packed ring do not, as a driver may
//! reuse them at once. A front-end that keeps an in-flight area (see [`super::inflight`]) has the progress there. No
//! front-end keeps one for a network device: it continues the ring where the ring was started at first.
//!
//! The order of writes, so that a process that is killed between any two of them leaves a record to go on from:
//! 1. [`Progress::note`]: the used elements to come, in the record. The ring is not written.
//! 2. [`Progress::publish`]: in one word the place before and after them, and how many they are. From now on they
//!    are certain, and the next process completes them.
//! 3. The elements in the ring, the first one last: the driver sees all or none.
//! 4. In one word the place after them.
//!
//! A record of another ring must never be used. A record may be left by one of these, and each is detected:
//! - another machine, or a ring of another size or place: [`Origin`];
//! - the same front-end, which has stopped the ring since: it knows a new place (`told`), and the record is
//!   cleared ([`clear`]);
//! - the same front-end, which reset the ring while no process served it: a driver zeroes the memory of a new
//!   ring. In a served ring the device's event structure is never zero (see `Packed::arm`), and the last used
//!   element is there.

use super::position::{AVAIL_USED, Position, USED};
use super::{DESCRIPTOR, FLAGS, LEN};
use crate::Span;
use crate::chain::WRITE;
use crate::ring::{RingError, record};
use std::sync::atomic::{Ordering, fence};

/// Mark of a complete record. Its last byte is the version.
const MARK: u64 = u64::from_be_bytes(*b"elvisrp\x01");
/// Offsets: the mark, the origin, the place, the used elements to come.
const MARKED: usize = 0;
const ORIGIN: usize = 8;
/// Offset of the place before and after the elements to come, their number, and the last used element before: 16 bits
/// each.
const AT: usize = 64;
const ELEMENTS: usize = 128;
/// Bytes of an element: `len`, 32 bits, `id` and its position, 16 bits each.
const ELEMENT: usize = 8;

/// Returns the bytes of the record of a ring of this size.
#[must_use]
pub fn bytes(size: u16) -> u64 {
    (ELEMENTS + ELEMENT * usize::from(size)) as u64
}

/// Properties that stay the same when a front-end starts the same ring again after its device's process died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) size: u16,
    /// Guest addresses of the ring's parts.
    pub(super) parts: [u64; 3],
    /// Device and inode number of the memory file that contains the ring.
    pub(super) file: [u64; 2],
    /// Base at which the front-end last started the ring.
    pub(super) told: u32,
}

impl Origin {
    fn words(&self) -> [u64; 7] {
        let ([a, b, c], [d, e]) = (self.parts, self.file);
        [self.size.into(), a, b, c, d, e, self.told.into()]
    }
}

/// Place at which a ring continues.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Positions before and after the elements to come; the same if there are none.
    old: Position,
    new: Position,
    /// Number of the elements to come.
    count: u16,
    /// Last used element before them; `old` if there is none yet.
    last: Position,
}

impl Place {
    fn word(self) -> u64 {
        let [old, new, last] = [self.old, self.new, self.last].map(|it| u64::from(it.bits()));
        old | new << 16 | u64::from(self.count) << 32 | last << 48
    }

    fn of(word: u64, size: u16) -> Result<Self, RingError> {
        let position = |at: u32| Position::new((word >> at) as u16, size);
        Ok(Self {
            old: position(0)?,
            new: position(16)?,
            count: ((word >> 32) as u16).min(size),
            last: position(48)?,
        })
    }
}

/// The record of a ring, which continues from it.
#[derive(Debug)]
pub(super) struct Progress {
    region: Span,
    /// Next used element as last published, and the last one before it.
    told: Position,
    last: Position,
    /// Number of elements noted since.
    noted: u16,
}

/// Clears a record: its ring was stopped, and its front-end knows where it continues.
pub fn clear(region: &Span) {
    region.store_u64(MARKED, 0, Ordering::Release);
}

/// Whether a record is complete.
#[must_use]
pub fn says(region: &Span) -> bool {
    region.load_u64(MARKED, Ordering::Acquire) == MARK
}

impl Progress {
    /// Opens the record of a ring. The elements to come of a record of this ring are completed. A record of another
    /// ring is written anew, to continue at `start`. `wrote` gets the offset of each element written to the ring.
    pub(super) fn new(
        region: Span,
        origin: &Origin,
        start: Position,
        (ring, device): (&Span, &Span),
        wrote: impl FnMut(usize),
    ) -> Result<Self, RingError> {
        record(&region, bytes(origin.size)).map_err(RingError::Progress)?;
        let mut progress = Self {
            region,
            told: start,
            last: start,
            noted: 0,
        };
        match progress.found(origin, ring, device) {
            Some(place) => progress.complete(place, origin.size, ring, wrote),
            None => progress.begin(origin),
        }
        Ok(progress)
    }

    /// Returns the next used element.
    pub(super) fn told(&self) -> Position {
        self.told
    }

    /// Returns the place that the last process left, if that process served this ring.
    fn found(&self, origin: &Origin, ring: &Span, device: &Span) -> Option<Place> {
        let word = |at| self.region.load_u64(at, Ordering::Relaxed);
        let mut own = (0..).zip(origin.words());
        let same = own.all(|(at, own)| word(ORIGIN + 8 * at) == own);
        if !says(&self.region) || !same || device.load_u32(0, Ordering::Relaxed) == 0 {
            return None;
        }
        let place = Place::of(word(AT), origin.size).ok()?;
        // Whatever the driver did since, this bit of the last used element is the device's wrap counter. The last
        // element is that before those to come, or, if the driver has seen them, the last of them.
        let there = |last: Position| flags(ring, last) & USED == last.used() & USED;
        let to_come = place.count.checked_sub(1);
        let to_come = to_come.and_then(|number| self.element(number, origin.size));
        let there = place.last == place.old
            || there(place.last)
            || to_come.is_some_and(|(_, last)| there(last));
        there.then_some(place)
    }

    fn begin(&self, origin: &Origin) {
        clear(&self.region);
        fence(Ordering::SeqCst);
        for (at, word) in (0..).zip(origin.words()) {
            self.region
                .store_u64(ORIGIN + 8 * at, word, Ordering::Relaxed);
        }
        self.set_place(self.told, 0);
        self.region.store_u64(MARKED, MARK, Ordering::Release);
    }

    /// Publishes the elements that the last process had begun to publish, unless the driver has seen them.
    fn complete(&mut self, place: Place, size: u16, ring: &Span, wrote: impl FnMut(usize)) {
        (self.told, self.last, self.noted) = (place.old, place.last, place.count);
        if place.count == 0 {
            return;
        }
        let unseen = flags(ring, place.old) & AVAIL_USED == place.old.available();
        // The first element is at `old`; only a damaged record says otherwise.
        let first = self.element(0, size).filter(|it| it.1 == place.old);
        if let (true, Some(_)) = (unseen, first) {
            self.write(ring, size, wrote);
        }
        self.last = self
            .element(place.count - 1, size)
            .map_or(place.new, |it| it.1);
        self.told = place.new;
        self.noted = 0;
        self.set_place(self.told, 0);
    }

    fn set_place(&self, new: Position, count: u16) {
        let place = Place {
            old: self.told,
            new,
            count,
            last: self.last,
        };
        self.region.store_u64(AT, place.word(), Ordering::Release);
    }

    fn element_at(number: u16) -> usize {
        ELEMENTS + ELEMENT * usize::from(number)
    }

    /// Returns the fields of a noted element: length and identifier, and its position.
    fn element(&self, number: u16, size: u16) -> Option<(u64, Position)> {
        let word = self
            .region
            .load_u64(Self::element_at(number), Ordering::Relaxed);
        let position = Position::new((word >> 48) as u16, size).ok()?;
        Some((word & 0xffff_ffff_ffff, position))
    }

    /// Notes the used element that comes at `at`.
    #[inline]
    pub(super) fn note(&mut self, at: Position, id: u16, written: u32) {
        let word = u64::from(written) | u64::from(id) << 32 | u64::from(at.bits()) << 48;
        self.region
            .store_u64(Self::element_at(self.noted), word, Ordering::Relaxed);
        self.noted = self.noted.wrapping_add(1);
    }

    /// Publishes the noted elements; `next` is the next used element after them. `wrote` gets the offset of each in the
    /// ring.
    #[inline]
    pub(super) fn publish(
        &mut self,
        ring: &Span,
        size: u16,
        next: Position,
        wrote: impl FnMut(usize),
    ) {
        self.set_place(next, self.noted);
        self.last = self.write(ring, size, wrote);
        (self.told, self.noted) = (next, 0);
        self.set_place(next, 0);
    }

    /// Writes the noted elements to the ring, the first one last. Returns the position of the last one.
    #[inline]
    fn write(&self, ring: &Span, size: u16, mut wrote: impl FnMut(usize)) -> Position {
        // After the record, and all of them before the first.
        fence(Ordering::Release);
        let (mut first, mut last) = (None, self.last);
        for number in 0..self.noted {
            let Some((rest, at)) = self.element(number, size) else {
                continue;
            };
            let flags = at.used() | u16::from(rest as u32 > 0) * WRITE;
            let rest = (rest | u64::from(flags) << 48).to_le();
            let offset = DESCRIPTOR * usize::from(at.slot());
            match number {
                0 => first = Some((offset, rest)),
                _ => ring.store_u64(offset + LEN, rest, Ordering::Relaxed),
            }
            wrote(offset);
            last = at;
        }
        if let Some((offset, rest)) = first {
            ring.store_u64(offset + LEN, rest, Ordering::Release);
        }
        last
    }
}

/// Returns the flags of a descriptor.
fn flags(ring: &Span, at: Position) -> u16 {
    let offset = DESCRIPTOR * usize::from(at.slot()) + FLAGS;
    u16::from_le(ring.load_u16(offset, Ordering::Relaxed))
}
