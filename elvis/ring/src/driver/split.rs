//! The driver side of a split ring.

use super::{Descriptor, NEXT};
use crate::Span;
use std::sync::atomic::Ordering;

/// Indices and free descriptors. `all` is the memory of the ring in each function.
#[derive(Debug)]
pub(super) struct Split {
    size: u16,
    avail: u16,
    used_seen: u16,
    kicked_at: u16,
    free: Vec<u16>,
    /// For each head, the descriptors of its request.
    taken: Vec<Vec<u16>>,
}

impl Split {
    pub(super) fn bytes(size: u16) -> u64 {
        let n = u64::from(size);
        (16 * n + (4 + 2 * n + 2)).next_multiple_of(64) + (4 + 8 * n + 2).next_multiple_of(64)
    }

    pub(super) fn available(size: u16) -> usize {
        16 * usize::from(size)
    }

    pub(super) fn used(size: u16) -> usize {
        (Self::available(size) + 4 + 2 * usize::from(size) + 2).next_multiple_of(64)
    }

    pub(super) fn new(size: u16) -> Self {
        Self {
            size,
            avail: 0,
            used_seen: 0,
            kicked_at: 0,
            free: (0..size).rev().collect(),
            taken: vec![Vec::new(); usize::from(size)],
        }
    }

    /// Makes a request of these addresses, lengths and flags. Allocates no memory once each head has been in use.
    pub(super) fn add(
        &mut self,
        all: &Span,
        wanted: impl ExactSizeIterator<Item = Descriptor>,
    ) -> Option<u16> {
        let start = self.free.len().checked_sub(wanted.len())?;
        let head = *self.free.get(start)?;
        for (place, (guest, bytes, flags)) in (start..).zip(wanted) {
            let next = self.free.get(place + 1).copied();
            let flags = flags | u16::from(next.is_some()) * NEXT;
            let offset = 16 * usize::from(self.free[place]);
            let next = u64::from(next.unwrap_or(0));
            let rest = u64::from(bytes) | u64::from(flags) << 32 | next << 48;
            all.store_u64(offset, guest.to_le(), Ordering::Relaxed);
            all.store_u64(offset + 8, rest.to_le(), Ordering::Relaxed);
        }
        let taken = &mut self.taken[usize::from(head)];
        taken.clear();
        taken.extend(self.free.drain(start..));
        self.offer(all, head);
        Some(head)
    }

    pub(super) fn offer(&mut self, all: &Span, head: u16) {
        let slot = usize::from(self.avail & (self.size - 1));
        let available = Self::available(self.size);
        all.store_u16(available + 4 + 2 * slot, head.to_le(), Ordering::Relaxed);
        self.avail = self.avail.wrapping_add(1);
        all.store_u16(available + 2, self.avail.to_le(), Ordering::Release);
    }

    pub(super) fn kick_wanted(&mut self, all: &Span, event_idx: bool) -> bool {
        let (old, new) = (
            std::mem::replace(&mut self.kicked_at, self.avail),
            self.avail,
        );
        if old == new {
            return false;
        }
        let used = Self::used(self.size);
        if event_idx {
            let offset = used + 4 + 8 * usize::from(self.size);
            let event = u16::from_le(all.load_u16(offset, Ordering::Relaxed));
            return new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old);
        }
        u16::from_le(all.load_u16(used, Ordering::Relaxed)) & 1 == 0
    }

    pub(super) fn want_calls(&mut self, all: &Span, event_idx: bool, wanted: bool) {
        let available = Self::available(self.size);
        if event_idx {
            let offset = available + 4 + 2 * usize::from(self.size);
            let event = if wanted {
                self.used_seen
            } else {
                self.used_seen.wrapping_sub(1)
            };
            all.store_u16(offset, event.to_le(), Ordering::Relaxed);
        } else {
            all.store_u16(available, u16::from(!wanted).to_le(), Ordering::Relaxed);
        }
    }

    pub(super) fn has_reply(&self, all: &Span) -> bool {
        let index = all.load_u16(Self::used(self.size) + 2, Ordering::Acquire);
        u16::from_le(index) != self.used_seen
    }

    pub(super) fn reply(&mut self, all: &Span) -> Option<(u16, u32)> {
        if !self.has_reply(all) {
            return None;
        }
        let used = Self::used(self.size);
        let offset = used + 4 + 8 * usize::from(self.used_seen & (self.size - 1));
        let field = |at: usize| u32::from_le(all.load_u32(at, Ordering::Relaxed));
        let (head, written) = (field(offset) as u16, field(offset + 4));
        self.used_seen = self.used_seen.wrapping_add(1);
        if let Some(descriptors) = self.taken.get_mut(usize::from(head)) {
            self.free.append(descriptors);
        }
        Some((head, written))
    }
}
