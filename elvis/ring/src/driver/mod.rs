//! The driver side of a virtqueue, split or packed, for tests, benchmarks and load generators.
//!
//! It accesses memory through [`Span`]s as the device does, and can write invalid values on request.

mod packed;
mod split;

use crate::{Memory, Region, Ring, RingAddresses, RingError, Span};
use packed::Packed;
use split::Split;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Buffer of a request: guest address, length, whether the device writes it.
pub type Buffer = (u64, u32, bool);

/// Guest address, length and flags of a descriptor.
type Descriptor = (u64, u32, u16);

/// Flags of a descriptor.
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// Guest memory of one region and a ring at its start.
#[derive(Debug)]
pub struct Driver {
    memory: Arc<Memory>,
    all: Span,
    size: u16,
    base: u64,
    event_idx: bool,
    layout: Layout,
}

/// State of the driver's side of a ring.
#[derive(Debug)]
enum Layout {
    Split(Split),
    Packed(Packed),
}

impl Driver {
    /// Bytes of memory for a ring of this size, split or packed.
    #[must_use]
    pub fn ring_bytes(size: u16) -> u64 {
        Split::bytes(size).max(Packed::bytes(size))
    }

    /// Maps a whole file as guest memory at address 0, with a split ring at its start.
    ///
    /// # Errors
    ///
    /// The file can't be mapped, or is too small.
    pub fn new(file: &File, size: u16, event_idx: bool) -> io::Result<Self> {
        Self::of_file(file, size, event_idx, false)
    }

    /// Maps a whole file as guest memory at address 0, with a ring at its start, packed or split.
    ///
    /// # Errors
    ///
    /// The file can't be mapped, or is too small.
    pub fn of_file(file: &File, size: u16, event_idx: bool, packed: bool) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        let region = Region::map(file, 0, 0, 0, bytes)?;
        let memory = Arc::new(Memory::new(vec![region])?);
        Self::of_memory(&memory, 0, size, event_idx, packed)
    }

    /// Makes a split ring at `base` in existing memory; `base` is a multiple of 64.
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
        Self::of_memory(memory, base, size, event_idx, false)
    }

    /// Makes a ring, packed or split, at `base` in existing memory; `base` is a multiple of 64.
    ///
    /// # Errors
    ///
    /// The memory is too small.
    pub fn of_memory(
        memory: &Arc<Memory>,
        base: u64,
        size: u16,
        event_idx: bool,
        packed: bool,
    ) -> io::Result<Self> {
        let small = || io::Error::new(io::ErrorKind::InvalidInput, "the memory is too small");
        let bytes = if packed {
            Packed::bytes(size)
        } else {
            Split::bytes(size)
        };
        let all = memory.span(base, bytes).ok_or_else(small)?;
        let layout = if packed {
            Layout::Packed(Packed::new(size).map_err(io::Error::other)?)
        } else {
            Layout::Split(Split::new(size))
        };
        Ok(Self {
            memory: Arc::clone(memory),
            all,
            size,
            base,
            event_idx,
            layout,
        })
    }

    /// Returns the device side of the driver's ring, which continues as [`Ring::base`] says.
    pub fn device_at(&self, base: u32) -> Result<Ring, RingError> {
        let (size, at, events) = (self.size.into(), self.addresses(), self.event_idx);
        match self.layout {
            Layout::Split(_) => Ring::new(size, &at, &self.memory, base as u16, events),
            Layout::Packed(_) => Ring::packed(size, &at, &self.memory, base, events),
        }
    }

    /// Returns the device side of a new ring.
    pub fn device(&self) -> Result<Ring, RingError> {
        self.device_at(self.start())
    }

    /// Returns the start of a new ring, in the format of [`Ring::base`].
    #[must_use]
    pub fn start(&self) -> u32 {
        match self.layout {
            Layout::Split(_) => 0,
            Layout::Packed(_) => Packed::START,
        }
    }

    /// The memory shared with the device.
    #[must_use]
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Returns the addresses of the ring.
    #[must_use]
    pub fn addresses(&self) -> RingAddresses {
        let (available, used) = match self.layout {
            Layout::Split(_) => (Split::available(self.size), Split::used(self.size)),
            Layout::Packed(_) => (Packed::driver(self.size), Packed::device(self.size)),
        };
        RingAddresses {
            descriptors: self.base,
            available: self.base + available as u64,
            used: self.base + used as u64,
            used_log: None,
        }
    }

    /// The ring's memory: descriptors, available ring, used ring; if packed: descriptors, event structures.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.all
    }

    /// Writes descriptor `index`. The last field is `next` in a split ring. In a packed one it is the buffer's
    /// identifier, and the flags say whether the descriptor is available.
    pub fn describe(&self, index: u16, guest: u64, bytes: u32, flags: u16, last: u16) {
        let (above_bytes, above_last) = match self.layout {
            Layout::Split(_) => (flags, last),
            Layout::Packed(_) => (last, flags),
        };
        let offset = 16 * usize::from(index);
        let rest = u64::from(bytes) | u64::from(above_bytes) << 32 | u64::from(above_last) << 48;
        self.all.store_u64(offset, guest.to_le(), Ordering::Relaxed);
        self.all
            .store_u64(offset + 8, rest.to_le(), Ordering::Relaxed);
    }

    /// Writes descriptors, each as two words, at any guest address. None if they are not entirely in memory.
    pub fn write(&self, guest: u64, descriptors: &[[u64; 2]]) -> Option<()> {
        let words = descriptors.as_flattened();
        let span = self.memory.span(guest, 8 * words.len() as u64)?;
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        for (at, byte) in bytes.enumerate() {
            span.store_u8(at, byte, Ordering::Relaxed);
        }
        Some(())
    }

    /// Writes an indirect table of `buffers` at any guest address. None if it is not entirely in memory.
    pub fn write_table(&self, guest: u64, buffers: &[Buffer]) -> Option<()> {
        let descriptor = |(next, &(guest, bytes, written)): (u64, &Buffer)| {
            let flags = u64::from(written) * u64::from(WRITE);
            let more = u64::from(next < buffers.len() as u64) * u64::from(NEXT);
            let rest = match self.layout {
                Layout::Split(_) => (flags | more) << 32 | next << 48,
                Layout::Packed(_) => flags << 48,
            };
            [guest, u64::from(bytes) | rest]
        };
        let all: Vec<_> = (1..).zip(buffers).map(descriptor).collect();
        self.write(guest, &all)
    }

    /// Makes a request of these buffers and returns the number that its reply will have. None if there are too
    /// few free descriptors.
    pub fn submit(&mut self, buffers: &[Buffer]) -> Option<u16> {
        let flags = |&(guest, bytes, written): &Buffer| (guest, bytes, u16::from(written) * WRITE);
        self.add(buffers.iter().map(flags))
    }

    /// Makes a request of one descriptor, which points to a table of this many bytes.
    pub fn submit_indirect(&mut self, table: u64, bytes: u32) -> Option<u16> {
        self.add([(table, bytes, INDIRECT)].into_iter())
    }

    /// Makes a request of these buffers and, after them, those of a table of this many bytes. Only split rings may have
    /// such.
    pub fn submit_mixed(&mut self, buffers: &[Buffer], table: u64, bytes: u32) -> Option<u16> {
        let plain = |&(guest, bytes, written): &Buffer| (guest, bytes, u16::from(written) * WRITE);
        let mut all: Vec<Descriptor> = buffers.iter().map(plain).collect();
        all.push((table, bytes, INDIRECT));
        self.add(all.into_iter())
    }

    fn add(&mut self, descriptors: impl ExactSizeIterator<Item = Descriptor>) -> Option<u16> {
        match &mut self.layout {
            Layout::Split(ring) => ring.add(&self.all, descriptors),
            Layout::Packed(ring) => ring.add(&self.all, descriptors),
        }
    }

    /// Split: puts any head, valid or not, into the available ring and publishes it. Packed: makes the next
    /// descriptor available as it is.
    pub fn offer(&mut self, head: u16) {
        match &mut self.layout {
            Layout::Split(ring) => ring.offer(&self.all, head),
            Layout::Packed(ring) => ring.offer(&self.all),
        }
    }

    /// Whether the device wants a kick for the requests since the last call of this function.
    pub fn kick_wanted(&mut self) -> bool {
        fence(Ordering::SeqCst);
        match &mut self.layout {
            Layout::Split(ring) => ring.kick_wanted(&self.all, self.event_idx),
            Layout::Packed(ring) => ring.kick_wanted(&self.all, self.event_idx),
        }
    }

    /// Asks for a call with the next reply, or for none (split, with EVENT_IDX: for as long as possible).
    pub fn want_calls(&mut self, wanted: bool) {
        match &mut self.layout {
            Layout::Split(ring) => ring.want_calls(&self.all, self.event_idx, wanted),
            Layout::Packed(ring) => ring.want_calls(&self.all, self.event_idx, wanted),
        }
        fence(Ordering::SeqCst);
    }

    /// Whether there is a reply.
    #[must_use]
    pub fn has_reply(&self) -> bool {
        match &self.layout {
            Layout::Split(ring) => ring.has_reply(&self.all),
            Layout::Packed(ring) => ring.has_reply(&self.all),
        }
    }

    /// The next reply: the request's number, and the bytes written.
    pub fn reply(&mut self) -> Option<(u16, u32)> {
        match &mut self.layout {
            Layout::Split(ring) => ring.reply(&self.all),
            Layout::Packed(ring) => ring.reply(&self.all),
        }
    }
}
