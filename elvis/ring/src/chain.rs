//! Descriptor chains: the checked buffers of one request (VIRTIO 1.2, sections 2.7.4, 2.7.5, and 2.8.5 to 2.8.7).

use crate::ring::RingError;
use crate::span::{self, AlignedPairs, Paired, Pairs, UnalignedPairs};
use crate::{DirtyLog, Memory, Piece, Span};
use std::sync::Arc;

/// Longest chain, in descriptors: those of the ring and of an indirect table together.
pub const LONGEST: usize = 1024;

pub(crate) const NEXT: u16 = 1;
pub(crate) const WRITE: u16 = 2;
pub(crate) const INDIRECT: u16 = 4;
/// Bytes of a descriptor.
pub(crate) const DESCRIPTOR: usize = 16;
/// Most bytes of a split ring's chain (section 2.7.5).
const LARGEST: u64 = 1 << 32;

/// Descriptor of a split ring, read once.
#[derive(Debug, Clone, Copy)]
struct Descriptor {
    guest: u64,
    bytes: u32,
    flags: u16,
    next: u16,
}

impl Descriptor {
    #[inline]
    fn read(table: &impl Paired, index: u16) -> Option<Self> {
        let [guest, rest] = table.load(index.into())?;
        Some(Self {
            guest: u64::from_le(guest),
            bytes: u64::from_le(rest) as u32,
            flags: (u64::from_le(rest) >> 32) as u16,
            next: (u64::from_le(rest) >> 48) as u16,
        })
    }

    /// Returns the indirect table that the descriptor points to; `allowed` if the driver may use one.
    #[inline]
    fn table<'a>(&self, allowed: bool, memory: &'a Memory) -> Result<Table<'a>, RingError> {
        if !allowed {
            return Err(RingError::IndirectUnwanted);
        }
        if self.flags & NEXT != 0 {
            return Err(RingError::IndirectNext);
        }
        table(self.guest, self.bytes, memory)
    }
}

/// Indirect table. The specification requires no alignment of it.
pub(crate) enum Table<'a> {
    /// Table at an 8-byte aligned address, as nearly all are.
    Aligned(Pairs<'a>),
    Unaligned(UnalignedPairs<'a>),
}

/// Returns the indirect table of `bytes` bytes at guest address `guest`.
#[inline]
pub(crate) fn table(guest: u64, bytes: u32, memory: &Memory) -> Result<Table<'_>, RingError> {
    let length = bytes as usize;
    if length == 0 || length % DESCRIPTOR != 0 {
        return Err(RingError::TableBytes(bytes));
    }
    let outside = RingError::TableOutside { guest, bytes };
    let (span, offset) = memory.within(guest, length).ok_or(outside)?;
    if let Some(pairs) = span.pairs(offset, length) {
        return Ok(Table::Aligned(pairs));
    }
    let pairs = span.unaligned_pairs(offset, length);
    pairs.map(Table::Unaligned).ok_or(outside)
}

/// The sums of a chain that is being read.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    total: u64,
    /// 0 or, from the first writable buffer on, WRITE.
    writing: u16,
}

/// A contiguous part of a buffer, in the memory that its [`Chain`] keeps mapped.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Guest-physical address, for the dirty log.
    pub guest: u64,
    /// Address in this process.
    place: *mut u8,
    /// Length.
    pub bytes: u32,
}

impl Segment {
    /// Returns the segment's address in this process.
    #[must_use]
    pub fn place(&self) -> *const u8 {
        self.place
    }
}

// SAFETY: the address points to shared memory, which any thread may use; it is read and written
// only through `Chain`, which keeps it mapped.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

/// The buffers of one request: first those that the device reads, then those that it writes.
#[derive(Debug, Default)]
pub struct Chain {
    head: u16,
    segments: Vec<Segment>,
    readable: usize,
    readable_bytes: u64,
    writable_bytes: u64,
    memory: Option<Arc<Memory>>,
    /// The region of the last search, to try first in the next.
    hit: usize,
}

impl Chain {
    /// An empty chain, to be filled by [`crate::Ring::take`]; its allocation is reused.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A number that identifies the request to its [`crate::Ring`] until it is put back. In a split ring: the
    /// index of its first descriptor.
    #[inline]
    #[must_use]
    pub fn head(&self) -> u16 {
        self.head
    }

    /// Returns the bytes of memory that the chain has allocated.
    #[must_use]
    pub fn held(&self) -> usize {
        self.segments.capacity() * size_of::<Segment>()
    }

    /// Bytes that the device reads.
    #[inline]
    #[must_use]
    pub fn readable_bytes(&self) -> u64 {
        self.readable_bytes
    }

    /// Bytes that the device writes.
    #[inline]
    #[must_use]
    pub fn writable_bytes(&self) -> u64 {
        self.writable_bytes
    }

    /// The segments that the device reads.
    #[inline]
    #[must_use]
    pub fn readable(&self) -> &[Segment] {
        &self.segments[..self.readable]
    }

    /// The segments that the device writes.
    #[inline]
    #[must_use]
    pub fn writable(&self) -> &[Segment] {
        &self.segments[self.readable..]
    }

    /// Returns up to `bytes` bytes that the device reads, after the first `skip`, for system calls.
    pub fn readable_pieces(&self, skip: u64, bytes: u64) -> impl Iterator<Item = Piece<'_>> {
        Self::pieces(self.readable(), skip, bytes).map(|it| {
            // SAFETY: it is in memory that this chain keeps mapped, and there are no references to it.
            unsafe { Piece::new(it.place, it.bytes as usize) }
        })
    }

    /// Returns up to `bytes` bytes that the device writes, after the first `skip`, for system calls.
    pub fn writable_pieces(&self, skip: u64, bytes: u64) -> impl Iterator<Item = Piece<'_>> {
        Self::pieces(self.writable(), skip, bytes).map(|it| {
            // SAFETY: as above.
            unsafe { Piece::new(it.place, it.bytes as usize) }
        })
    }

    /// Returns up to `bytes` bytes of `segments`, after the first `skip`.
    fn pieces(segments: &[Segment], skip: u64, bytes: u64) -> impl Iterator<Item = Segment> {
        let mut at = 0u64;
        segments.iter().filter_map(move |segment| {
            let (start, end) = (at, at + u64::from(segment.bytes));
            at = end;
            let from = skip.max(start);
            let until = skip.saturating_add(bytes).min(end);
            (from < until).then(|| Segment {
                guest: segment.guest + (from - start),
                place: segment.place.wrapping_add((from - start) as usize),
                bytes: (until - from) as u32,
            })
        })
    }

    /// Copies from the readable buffers, after the first `skip` bytes. False if they are too short.
    #[inline]
    pub fn read(&self, skip: u64, to: &mut [u8]) -> bool {
        // Fast path: a header is nearly always in the first buffer, and so is a short frame.
        match Self::in_first(self.readable(), skip, to.len()) {
            Some(place) => {
                // SAFETY: the segment is in memory that this chain keeps mapped.
                unsafe { span::copy_out(place, to) };
                true
            }
            None => self.read_parts(skip, to),
        }
    }

    /// Returns the address after `skip` bytes, if the first segment has `bytes` bytes there.
    #[inline]
    fn in_first(segments: &[Segment], skip: u64, bytes: usize) -> Option<*mut u8> {
        let first = segments.first()?;
        let end = skip.saturating_add(bytes as u64);
        (end <= first.bytes.into()).then(|| first.place.wrapping_add(skip as usize))
    }

    fn read_parts(&self, skip: u64, to: &mut [u8]) -> bool {
        if skip
            .checked_add(to.len() as u64)
            .is_none_or(|end| end > self.readable_bytes)
        {
            return false;
        }
        let mut done = 0;
        for piece in Self::pieces(self.readable(), skip, to.len() as u64) {
            let end = done + piece.bytes as usize;
            // SAFETY: the piece is part of a segment, in memory that this chain keeps mapped.
            unsafe { span::copy_out(piece.place, &mut to[done..end]) };
            done = end;
        }
        true
    }

    /// Copies to the writable buffers, after the first `skip` bytes. False if they are too short.
    #[inline]
    pub fn write(&self, skip: u64, from: &[u8]) -> bool {
        match Self::in_first(self.writable(), skip, from.len()) {
            Some(place) => {
                // SAFETY: as in `read`.
                unsafe { span::copy_in(from, place) };
                true
            }
            None => self.write_parts(skip, from),
        }
    }

    fn write_parts(&self, skip: u64, from: &[u8]) -> bool {
        if skip
            .checked_add(from.len() as u64)
            .is_none_or(|end| end > self.writable_bytes)
        {
            return false;
        }
        let mut done = 0;
        for piece in Self::pieces(self.writable(), skip, from.len() as u64) {
            let end = done + piece.bytes as usize;
            // SAFETY: as in `read`.
            unsafe { span::copy_in(&from[done..end], piece.place) };
            done = end;
        }
        true
    }

    /// Copies `bytes` bytes of a span into the writable buffers, after the first `skip`. False if either is too
    /// short.
    pub fn write_span(&self, skip: u64, from: &Span, offset: usize, bytes: u64) -> bool {
        if skip
            .checked_add(bytes)
            .is_none_or(|end| end > self.writable_bytes)
        {
            return false;
        }
        let Some(mut source) = from.address(offset, bytes as usize) else {
            return false;
        };
        for piece in Self::pieces(self.writable(), skip, bytes) {
            // SAFETY: the piece is in memory that this chain keeps mapped, the source in the span.
            unsafe { span::copy_across(source, piece.place, piece.bytes as usize) };
            source = source.wrapping_add(piece.bytes as usize);
        }
        true
    }

    /// Copies `bytes` bytes of the readable buffers, after the first `skip`, into a span. False if
    /// either is too short.
    pub fn read_span(&self, skip: u64, to: &Span, offset: usize, bytes: u64) -> bool {
        if skip
            .checked_add(bytes)
            .is_none_or(|end| end > self.readable_bytes)
        {
            return false;
        }
        let Some(mut target) = to.address(offset, bytes as usize) else {
            return false;
        };
        for piece in Self::pieces(self.readable(), skip, bytes) {
            // SAFETY: as above, with source and target exchanged.
            unsafe { span::copy_across(piece.place, target, piece.bytes as usize) };
            target = target.wrapping_add(piece.bytes as usize);
        }
        true
    }

    /// Copies `bytes` bytes of the readable buffers, after the first `skip`, into another chain's writable
    /// buffers, after the first `to_skip`. False if either are too short.
    pub fn copy_to(&self, skip: u64, to: &Self, to_skip: u64, bytes: u64) -> bool {
        let fits = |from: u64, most: u64| from.checked_add(bytes).is_some_and(|end| end <= most);
        if !fits(skip, self.readable_bytes) || !fits(to_skip, to.writable_bytes) {
            return false;
        }
        let mut targets = Self::pieces(to.writable(), to_skip, bytes);
        let (mut place, mut room) = (std::ptr::null_mut::<u8>(), 0usize);
        for piece in Self::pieces(self.readable(), skip, bytes) {
            let (mut source, mut left) = (piece.place, piece.bytes as usize);
            while left > 0 {
                if room == 0 {
                    let Some(target) = targets.next() else {
                        return false;
                    };
                    (place, room) = (target.place, target.bytes as usize);
                }
                let part = left.min(room);
                // SAFETY: both are parts of segments, in memory that the two chains keep mapped.
                unsafe { span::copy_across(source, place, part) };
                (source, left) = (source.wrapping_add(part), left - part);
                (place, room) = (place.wrapping_add(part), room - part);
            }
        }
        true
    }

    /// Marks the first `bytes` bytes of the writable buffers in a log.
    pub fn mark(&self, log: &DirtyLog, bytes: u64) {
        for piece in Self::pieces(self.writable(), 0, bytes) {
            log.mark(piece.guest, piece.bytes.into());
        }
    }

    /// Writes the last writable byte, a block device's status. False if there is none.
    #[inline]
    pub fn write_last(&self, value: u8) -> bool {
        match self.segments.last() {
            Some(last) if self.readable < self.segments.len() => {
                let place = last.place.wrapping_add(last.bytes as usize).wrapping_sub(1);
                // SAFETY: as in `read`; a segment has at least one byte.
                unsafe { span::copy_in(&[value], place) };
                true
            }
            _ => false,
        }
    }

    /// Fills part of the writable buffers with one value. False if they are too short.
    pub fn fill(&self, skip: u64, bytes: u64, value: u8) -> bool {
        if skip
            .checked_add(bytes)
            .is_none_or(|end| end > self.writable_bytes)
        {
            return false;
        }
        for piece in Self::pieces(self.writable(), skip, bytes) {
            // SAFETY: as in `read`.
            unsafe { span::fill(piece.place, piece.bytes as usize, value) };
        }
        true
    }

    /// Empties the chain, to be filled with buffers of `memory`.
    #[inline]
    pub(crate) fn start(&mut self, memory: &Arc<Memory>) {
        (self.readable, self.readable_bytes, self.writable_bytes) = (0, 0, 0);
        self.renew(memory);
    }

    /// Empties the chain as [`Self::start`] does, but not its numbers of bytes: the end of the chain sets them.
    #[inline]
    fn renew(&mut self, memory: &Arc<Memory>) {
        self.segments.clear();
        match &self.memory {
            Some(mine) if Arc::ptr_eq(mine, memory) => {}
            _ => self.memory = Some(Arc::clone(memory)),
        }
    }

    /// Adds the buffer of one descriptor.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        sums: &mut Sums,
        (guest, bytes, flags): (u64, u32, u16),
        memory: &Memory,
    ) -> Result<(), RingError> {
        if (flags ^ sums.writing) & WRITE != 0 {
            if sums.writing != 0 {
                return Err(RingError::Order);
            }
            sums.writing = WRITE;
            (self.readable, self.readable_bytes) = (self.segments.len(), sums.total);
        }
        match memory.find_whole(guest, bytes) {
            Some(place) => self.segments.push(Segment {
                guest,
                place,
                bytes,
            }),
            None => self.add_parts(guest, bytes, memory)?,
        }
        sums.total += u64::from(bytes);
        Ok(())
    }

    /// Ends the chain, which `head` identifies.
    #[inline(always)]
    pub(crate) fn end(&mut self, sums: &Sums, head: u16) {
        if sums.writing == 0 {
            (self.readable, self.readable_bytes) = (self.segments.len(), sums.total);
        }
        self.writable_bytes = sums.total - self.readable_bytes;
        self.head = head;
    }

    /// Reads the chain that starts at descriptor `head` of a split ring's table. `indirect`: it may end in an indirect
    /// table.
    #[inline]
    pub(crate) fn fetch(
        &mut self,
        table: &AlignedPairs,
        head: u16,
        indirect: bool,
        memory: &Arc<Memory>,
    ) -> Result<(), RingError> {
        match self.fetch_usual(table.pairs(), head, indirect, memory) {
            true => Ok(()),
            false => self.fetch_any(table, head, indirect, memory),
        }
    }

    /// Reads a chain as drivers usually make it: all of it in the ring, or all in an indirect table. False for any
    /// other chain, valid or not: [`Self::fetch_any`] reads that.
    #[inline(always)]
    fn fetch_usual<'a>(
        &mut self,
        mut table: Pairs<'a>,
        head: u16,
        indirect: bool,
        memory: &'a Arc<Memory>,
    ) -> bool {
        self.renew(memory);
        let Some(mut descriptor) = Descriptor::read(&table, head) else {
            return false;
        };
        if descriptor.flags & INDIRECT != 0 {
            let Ok(Table::Aligned(pairs)) = descriptor.table(indirect, memory) else {
                return false;
            };
            table = pairs;
            match Descriptor::read(&table, 0) {
                Some(first) => descriptor = first,
                None => return false,
            }
        }
        let mut sums = Sums::default();
        for _ in 0..table.count().min(LONGEST) {
            let Descriptor {
                guest,
                bytes,
                flags,
                next,
            } = descriptor;
            if flags & INDIRECT != 0 {
                return false;
            }
            if self.add(&mut sums, (guest, bytes, flags), memory).is_err() {
                return false;
            }
            if flags & NEXT == 0 {
                self.end(&sums, head);
                return sums.total >> 32 == 0;
            }
            match Descriptor::read(&table, next) {
                Some(next) => descriptor = next,
                None => return false,
            }
        }
        false
    }

    /// Reads any chain. The chain may end in an indirect table after zero or more other descriptors (section
    /// 2.7.5.3.2).
    #[cold]
    fn fetch_any(
        &mut self,
        table: &AlignedPairs,
        head: u16,
        indirect: bool,
        memory: &Arc<Memory>,
    ) -> Result<(), RingError> {
        self.start(memory);
        let table = table.pairs();
        let mut sums = Sums::default();
        let entries = table.count() as u32;
        if u32::from(head) >= entries {
            let index = head;
            return Err(RingError::Head { index, entries });
        }
        let (before, last) = self.add_table(&mut sums, &table, head, LONGEST, memory)?;
        if let Some(last) = last {
            let most = LONGEST - before;
            let (_, last) = match last.table(indirect, memory)? {
                Table::Aligned(table) => self.add_table(&mut sums, &table, 0, most, memory),
                Table::Unaligned(table) => self.add_table(&mut sums, &table, 0, most, memory),
            }?;
            if last.is_some() {
                return Err(RingError::Nested);
            }
        }
        if sums.total > LARGEST {
            return Err(RingError::TooLarge(sums.total));
        }
        self.end(&sums, head);
        Ok(())
    }

    /// Adds the buffers of a table from descriptor `index` on, at most `most`. Returns their number, and the indirect
    /// descriptor after them if there is one.
    fn add_table(
        &mut self,
        sums: &mut Sums,
        table: &impl Paired,
        mut index: u16,
        most: usize,
        memory: &Memory,
    ) -> Result<(usize, Option<Descriptor>), RingError> {
        let entries = table.count() as u32;
        for before in 0..table.count() {
            let descriptor = Descriptor::read(table, index);
            let descriptor = descriptor.ok_or(RingError::Next { index, entries })?;
            if descriptor.flags & INDIRECT != 0 {
                return Ok((before, Some(descriptor)));
            }
            if before == most {
                return Err(RingError::TooLong);
            }
            let Descriptor {
                guest,
                bytes,
                flags,
                next,
            } = descriptor;
            self.add(sums, (guest, bytes, flags), memory)?;
            if flags & NEXT == 0 {
                return Ok((before + 1, None));
            }
            index = next;
        }
        match u32::from(index) < entries {
            true => Err(RingError::Endless { entries }),
            false => Err(RingError::Next { index, entries }),
        }
    }

    /// Adds a buffer that is not entirely in one of the largest regions.
    #[cold]
    fn add_parts(
        &mut self,
        mut guest: u64,
        mut left: u32,
        memory: &Memory,
    ) -> Result<(), RingError> {
        let outside = RingError::Outside { guest, bytes: left };
        if left == 0 {
            return Err(RingError::Empty { guest });
        }
        while left > 0 {
            // A front-end may share memory in many small regions.
            if self.segments.len() >= LONGEST {
                return Err(RingError::TooLong);
            }
            let (place, bytes) = memory.find(guest, left, &mut self.hit).ok_or(outside)?;
            self.segments.push(Segment {
                guest,
                place,
                bytes,
            });
            left -= bytes;
            if left > 0 {
                guest = guest.checked_add(u64::from(bytes)).ok_or(outside)?;
            }
        }
        Ok(())
    }
}
