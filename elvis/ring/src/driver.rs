//! The driver side of a split virtqueue, for tests, benchmarks and load generators.
//!
//! It accesses memory through [`Span`]s as the device does, and can write invalid values on request.

use crate::{Memory, Region, RingAddresses, Span};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// One buffer of a request: guest address, length, whether the device writes it.
pub type Buffer = (u64, u32, bool);

/// Guest memory of one region and a ring at its start.
#[derive(Debug)]
pub struct Driver {
    memory: Arc<Memory>,
    all: Span,
    size: u16,
    base: u64,
    avail: u16,
    used_seen: u16,
    event_idx: bool,
    kicked_at: u16,
    free: Vec<u16>,
    /// For each head, the descriptors of its request.
    taken: Vec<Vec<u16>>,
}

impl Driver {
    /// Bytes of memory for a ring of this size.
    #[must_use]
    pub fn ring_bytes(size: u16) -> u64 {
        let n = u64::from(size);
        (16 * n + (4 + 2 * n + 2)).next_multiple_of(64) + (4 + 8 * n + 2).next_multiple_of(64)
    }

    /// Maps a whole file as guest memory at address 0, with a ring at its start.
    ///
    /// # Errors
    ///
    /// The file can't be mapped, or is too small.
    pub fn new(file: &File, size: u16, event_idx: bool) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        let region = Region::map(file, 0, 0, 0, bytes)?;
        Self::in_memory(&Arc::new(Memory::new(vec![region])?), 0, size, event_idx)
    }

    /// A ring at `base` in existing memory; `base` is a multiple of 64.
    ///
    /// # Errors
    ///
    /// The memory is too small.
    pub fn in_memory(
        memory: &Arc<Memory>,
        base: u64,
        size: u16,
        event_idx: bool,
    ) -> io::Result<Self> {
        let small = || io::Error::new(io::ErrorKind::InvalidInput, "the memory is too small");
        let all = memory
            .span(base, Self::ring_bytes(size))
            .ok_or_else(small)?;
        Ok(Self {
            memory: Arc::clone(memory),
            all,
            size,
            base,
            avail: 0,
            used_seen: 0,
            event_idx,
            kicked_at: 0,
            free: (0..size).rev().collect(),
            taken: vec![Vec::new(); usize::from(size)],
        })
    }

    /// The memory shared with the device.
    #[must_use]
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// The addresses of its ring.
    #[must_use]
    pub fn addresses(&self) -> RingAddresses {
        RingAddresses {
            descriptors: self.base,
            available: self.base + self.available() as u64,
            used: self.base + self.used() as u64,
            used_log: None,
        }
    }

    /// The ring's memory: descriptors, available ring, used ring.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.all
    }

    fn available(&self) -> usize {
        16 * usize::from(self.size)
    }

    fn used(&self) -> usize {
        (self.available() + 4 + 2 * usize::from(self.size) + 2).next_multiple_of(64)
    }

    /// Writes descriptor `index`.
    pub fn describe(&self, index: u16, guest: u64, bytes: u32, flags: u16, next: u16) {
        let offset = 16 * usize::from(index);
        let rest = u64::from(bytes) | u64::from(flags) << 32 | u64::from(next) << 48;
        self.all.store_u64(offset, guest.to_le(), Ordering::Relaxed);
        self.all
            .store_u64(offset + 8, rest.to_le(), Ordering::Relaxed);
    }

    /// Makes a request of these buffers and returns its head. None if there are too few free
    /// descriptors.
    pub fn submit(&mut self, buffers: &[Buffer]) -> Option<u16> {
        if buffers.is_empty() || self.free.len() < buffers.len() {
            return None;
        }
        let descriptors: Vec<u16> = self.free.drain(self.free.len() - buffers.len()..).collect();
        for (place, &(guest, bytes, written)) in buffers.iter().enumerate() {
            let next = descriptors.get(place + 1).copied();
            let flags = u16::from(next.is_some()) | u16::from(written) << 1;
            self.describe(descriptors[place], guest, bytes, flags, next.unwrap_or(0));
        }
        let head = descriptors[0];
        self.taken[usize::from(head)] = descriptors;
        self.offer(head);
        Some(head)
    }

    /// Puts any head, valid or not, into the available ring and publishes it.
    pub fn offer(&mut self, head: u16) {
        let slot = usize::from(self.avail & (self.size - 1));
        let available = self.available();
        self.all
            .store_u16(available + 4 + 2 * slot, head.to_le(), Ordering::Relaxed);
        self.avail = self.avail.wrapping_add(1);
        self.all
            .store_u16(available + 2, self.avail.to_le(), Ordering::Release);
    }

    /// Whether the device wants a kick for the requests since the last call of this function.
    pub fn kick_wanted(&mut self) -> bool {
        fence(Ordering::SeqCst);
        let (old, new) = (
            std::mem::replace(&mut self.kicked_at, self.avail),
            self.avail,
        );
        if old == new {
            return false;
        }
        if self.event_idx {
            let offset = self.used() + 4 + 8 * usize::from(self.size);
            let event = u16::from_le(self.all.load_u16(offset, Ordering::Relaxed));
            return new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old);
        }
        u16::from_le(self.all.load_u16(self.used(), Ordering::Relaxed)) & 1 == 0
    }

    /// Asks for a call with the next reply, or for none (with EVENT_IDX: for as long as possible).
    pub fn want_calls(&mut self, wanted: bool) {
        let available = self.available();
        if self.event_idx {
            let offset = available + 4 + 2 * usize::from(self.size);
            let event = if wanted {
                self.used_seen
            } else {
                self.used_seen.wrapping_sub(1)
            };
            self.all.store_u16(offset, event.to_le(), Ordering::Relaxed);
        } else {
            self.all
                .store_u16(available, u16::from(!wanted).to_le(), Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
    }

    /// The next reply: the request's head, and the bytes written.
    pub fn reply(&mut self) -> Option<(u16, u32)> {
        let used = self.used();
        let index = u16::from_le(self.all.load_u16(used + 2, Ordering::Acquire));
        if index == self.used_seen {
            return None;
        }
        let offset = used + 4 + 8 * usize::from(self.used_seen & (self.size - 1));
        let field = |at: usize| u32::from_le(self.all.load_u32(at, Ordering::Relaxed));
        let (head, written) = (field(offset) as u16, field(offset + 4));
        self.used_seen = self.used_seen.wrapping_add(1);
        if let Some(descriptors) = self.taken.get_mut(usize::from(head)) {
            self.free.append(descriptors);
        }
        Some((head, written))
    }
}
