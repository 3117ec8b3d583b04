//! The driver side of a packed ring.

use super::{Descriptor, NEXT};
use crate::packed::{AVAIL_USED, DESC, DISABLE, ENABLE, Position};
use crate::{RingError, Span};
use std::sync::atomic::Ordering;

/// Positions and free identifiers. `all` is the memory of the ring in each function.
#[derive(Debug)]
pub(super) struct Packed {
    size: u16,
    avail: Position,
    used: Position,
    /// Descriptors made available since the device was last asked whether it wants a kick.
    added: u16,
    /// Descriptors that are free.
    room: u16,
    free: Vec<u16>,
    /// For each identifier in use, the number of its descriptors.
    counts: Vec<u16>,
}

impl Packed {
    /// Start of a ring: both positions, in the format of [`crate::Ring::base`].
    pub(super) const START: u32 = Position::START as u32 | (Position::START as u32) << 16;

    pub(super) fn bytes(size: u16) -> u64 {
        (Self::device(size) + 64) as u64
    }

    pub(super) fn driver(size: u16) -> usize {
        (16 * usize::from(size)).next_multiple_of(64)
    }

    pub(super) fn device(size: u16) -> usize {
        Self::driver(size) + 64
    }

    pub(super) fn new(size: u16) -> Result<Self, RingError> {
        let start = Position::new(Position::START, size)?;
        Ok(Self {
            size,
            avail: start,
            used: start,
            added: 0,
            room: size,
            free: (0..size).rev().collect(),
            counts: vec![0; size.into()],
        })
    }

    /// Makes a request of these addresses, lengths and flags. Its first descriptor becomes available last
    /// (VIRTIO 1.2, section 2.8.21).
    pub(super) fn add(
        &mut self,
        all: &Span,
        wanted: impl ExactSizeIterator<Item = Descriptor>,
    ) -> Option<u16> {
        let count = u16::try_from(wanted.len()).ok()?;
        if count == 0 || count > self.room {
            return None;
        }
        let id = self.free.pop()?;
        let mut first = (0, 0);
        for (place, (guest, bytes, flags)) in wanted.enumerate() {
            let offset = 16 * usize::from(self.avail.slot());
            let more = u16::from(place + 1 < usize::from(count)) * NEXT;
            let flags = flags | more | self.avail.available();
            all.store_u64(offset, guest.to_le(), Ordering::Relaxed);
            all.store_u32(offset + 8, bytes.to_le(), Ordering::Relaxed);
            all.store_u16(offset + 12, id.to_le(), Ordering::Relaxed);
            if place == 0 {
                first = (offset, flags);
            } else {
                all.store_u16(offset + 14, flags.to_le(), Ordering::Relaxed);
            }
            self.avail.advance(1, self.size);
        }
        all.store_u16(first.0 + 14, first.1.to_le(), Ordering::Release);
        self.room -= count;
        self.added = self.added.saturating_add(count);
        self.counts[usize::from(id)] = count;
        Some(id)
    }

    pub(super) fn offer(&mut self, all: &Span) {
        let offset = 16 * usize::from(self.avail.slot()) + 14;
        let flags = u16::from_le(all.load_u16(offset, Ordering::Relaxed));
        let flags = flags & !AVAIL_USED | self.avail.available();
        all.store_u16(offset, flags.to_le(), Ordering::Release);
        self.avail.advance(1, self.size);
        self.added = self.added.saturating_add(1);
    }

    pub(super) fn kick_wanted(&mut self, all: &Span, event_idx: bool) -> bool {
        let added = std::mem::take(&mut self.added);
        if added == 0 {
            return false;
        }
        let event = u32::from_le(all.load_u32(Self::device(self.size), Ordering::Relaxed));
        match (event >> 16) as u16 & 3 {
            DISABLE => false,
            DESC if event_idx => self.avail.passed(event as u16, added, self.size),
            _ => true,
        }
    }

    pub(super) fn want_calls(&mut self, all: &Span, event_idx: bool, wanted: bool) {
        let flags = match (wanted, event_idx) {
            (false, _) => DISABLE,
            (true, false) => ENABLE,
            (true, true) => DESC,
        };
        let event = u32::from(self.used.bits()) | u32::from(flags) << 16;
        let offset = Self::driver(self.size);
        all.store_u32(offset, event.to_le(), Ordering::Relaxed);
    }

    pub(super) fn has_reply(&self, all: &Span) -> bool {
        let offset = 16 * usize::from(self.used.slot());
        let flags = u16::from_le(all.load_u16(offset + 14, Ordering::Acquire));
        flags & AVAIL_USED == self.used.used()
    }

    pub(super) fn reply(&mut self, all: &Span) -> Option<(u16, u32)> {
        if !self.has_reply(all) {
            return None;
        }
        let offset = 16 * usize::from(self.used.slot());
        let written = u32::from_le(all.load_u32(offset + 8, Ordering::Relaxed));
        let id = u16::from_le(all.load_u16(offset + 12, Ordering::Relaxed));
        // A device that breaks the rules stops this driver here.
        let count = std::mem::take(self.counts.get_mut(usize::from(id)).filter(|it| **it > 0)?);
        self.used.advance(count, self.size);
        self.room += count;
        self.free.push(id);
        Some((id, written))
    }
}
