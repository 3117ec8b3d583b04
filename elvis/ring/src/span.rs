//! Range of shared memory, and all kinds of access to it. One of the modules with `unsafe`.
//!
//! Drivers write to this memory at any time, so there is never a reference to it. Fields are accessed by atomics; data
//! is copied. An access outside the span reads 0 or does nothing. Callers check first: this is a second check.

use crate::{Mapping, Piece};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A range of a [`Mapping`], which it keeps mapped.
#[derive(Debug, Clone)]
pub struct Span {
    start: NonNull<u8>,
    bytes: usize,
    mapping: Arc<Mapping>,
}

// SAFETY: a span is a range of a mapping that it keeps alive; all access is by atomics and copies.
unsafe impl Send for Span {}
// SAFETY: as above.
unsafe impl Sync for Span {}

macro_rules! access {
    ($load:ident, $store:ident, $atomic:ty, $value:ty, $what:literal) => {
        #[doc = concat!("Reads ", $what, " once. 0 if outside the span or not aligned.")]
        #[inline]
        #[must_use]
        pub fn $load(&self, offset: usize, order: Ordering) -> $value {
            match self.place(offset, size_of::<$value>()) {
                // SAFETY: `place` checked that it is inside the span and aligned, and the mapping lives.
                Some(place) => unsafe { <$atomic>::from_ptr(place.cast()) }.load(order),
                None => 0,
            }
        }

        #[doc = concat!("Writes ", $what, ". Does nothing if outside the span or not aligned.")]
        #[inline]
        pub fn $store(&self, offset: usize, value: $value, order: Ordering) {
            #[cfg(test)]
            if !crate::killed::may_write() {
                return;
            }
            if let Some(place) = self.place(offset, size_of::<$value>()) {
                // SAFETY: as for the read.
                unsafe { <$atomic>::from_ptr(place.cast()) }.store(value, order);
            }
        }
    };
}

impl Span {
    /// Returns `bytes` bytes of a mapping, from `offset` on; None if it has fewer.
    #[must_use]
    pub fn new(mapping: &Arc<Mapping>, offset: u64, bytes: u64) -> Option<Self> {
        let (offset, bytes) = (usize::try_from(offset).ok()?, usize::try_from(bytes).ok()?);
        if offset.checked_add(bytes)? > mapping.bytes() {
            return None;
        }
        // SAFETY: the offset is at most the mapping's length, checked above.
        let start = unsafe { mapping.base().add(offset) };
        Some(Self {
            start,
            bytes,
            mapping: Arc::clone(mapping),
        })
    }

    /// Returns a part of this span; None if the part is not inside.
    #[must_use]
    pub fn part(&self, offset: usize, bytes: usize) -> Option<Self> {
        if offset.checked_add(bytes)? > self.bytes {
            return None;
        }
        // SAFETY: the offset is at most the span's length, checked above.
        let start = unsafe { self.start.add(offset) };
        Some(Self {
            start,
            bytes,
            mapping: Arc::clone(&self.mapping),
        })
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the mapping that contains the span.
    #[must_use]
    pub fn mapping(&self) -> &Arc<Mapping> {
        &self.mapping
    }

    /// Whether the span starts at a multiple of this power of two.
    #[must_use]
    pub fn aligned(&self, to: usize) -> bool {
        (self.start.as_ptr() as usize) & (to - 1) == 0
    }

    /// Returns the address at `offset`, followed by at least `bytes` bytes of this span; None if it has fewer.
    #[must_use]
    pub fn address(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        if offset.checked_add(bytes)? > self.bytes {
            return None;
        }
        // SAFETY: inside the span, checked above.
        Some(unsafe { self.start.add(offset) }.as_ptr())
    }

    /// Prefetches the cache line at `offset`, which will be read soon, and does not wait. Does nothing outside of the
    /// span, or on a processor other than x86-64.
    #[inline]
    pub fn prefetch(&self, offset: usize) {
        if let Some(place) = self.place_of(offset, 1, 1) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: it changes no memory and raises no fault, whatever the address.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast());
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = place;
        }
    }

    /// Returns a part of the span for system calls; None if the part is not inside.
    #[must_use]
    pub fn piece(&self, offset: usize, bytes: usize) -> Option<Piece<'_>> {
        let place = self.address(offset, bytes)?;
        // SAFETY: inside the span, which keeps it mapped, and there are no references to it.
        Some(unsafe { Piece::new(place, bytes) })
    }

    /// Returns the address of the first byte.
    #[inline]
    #[must_use]
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Returns a part of the span as pairs of 64-bit words, as many as fit; None if the part is not inside, or not
    /// 8-byte aligned.
    #[inline]
    #[must_use]
    pub fn pairs(&self, offset: usize, bytes: usize) -> Option<Pairs<'_>> {
        if offset.checked_add(bytes)? > self.bytes {
            return None;
        }
        // SAFETY: the offset is at most the span's length, checked above.
        let start = unsafe { self.start.add(offset) };
        let aligned = (start.as_ptr() as usize) & 7 == 0;
        aligned.then_some(Pairs {
            start,
            count: bytes / PAIR,
            span: PhantomData,
        })
    }

    /// Returns a part of the span at any address as pairs of 64-bit words; None if the part is not inside.
    #[must_use]
    pub fn unaligned_pairs(&self, offset: usize, bytes: usize) -> Option<UnalignedPairs<'_>> {
        let start = self.address(offset, bytes)?;
        Some(UnalignedPairs {
            start,
            count: bytes / PAIR,
            span: PhantomData,
        })
    }

    #[inline]
    fn place(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        self.place_of(offset, bytes, bytes)
    }

    #[inline]
    fn place_of(&self, offset: usize, bytes: usize, align: usize) -> Option<*mut u8> {
        if offset.checked_add(bytes)? > self.bytes {
            return None;
        }
        // SAFETY: inside the span, checked above.
        let place = unsafe { self.start.add(offset) }.as_ptr();
        ((place as usize) & (align - 1) == 0).then_some(place)
    }

    access!(load_u8, store_u8, AtomicU8, u8, "a byte");
    access!(load_u16, store_u16, AtomicU16, u16, "16 bits");
    access!(load_u32, store_u32, AtomicU32, u32, "32 bits");
    access!(load_u64, store_u64, AtomicU64, u64, "64 bits");

    /// Writes two consecutive 32-bit words. Does nothing if outside the span or not aligned.
    #[inline]
    pub fn store_u32s(&self, offset: usize, values: [u32; 2], order: Ordering) {
        #[cfg(test)]
        if !crate::killed::may_write() {
            return;
        }
        if let Some(place) = self.place_of(offset, size_of_val(&values), size_of::<u32>()) {
            let place = place.cast::<u32>();
            // SAFETY: as for the read; `place_of` checked both words.
            unsafe {
                AtomicU32::from_ptr(place).store(values[0], order);
                AtomicU32::from_ptr(place.add(1)).store(values[1], order);
            }
        }
    }

    /// Fills the span with zeros.
    pub fn zero(&self) {
        #[cfg(test)]
        if !crate::killed::may_write() {
            return;
        }
        // SAFETY: the whole span is in a mapping that it keeps.
        unsafe { fill(self.start.as_ptr(), self.bytes, 0) }
    }

    /// Sets bits of a byte atomically.
    #[inline]
    pub fn set_bits(&self, offset: usize, bits: u8) {
        if let Some(place) = self.place(offset, 1) {
            // SAFETY: `place` checked that it is inside the span; a byte is always aligned.
            unsafe { AtomicU8::from_ptr(place) }.fetch_or(bits, Ordering::Relaxed);
        }
    }
}

/// Bytes of a pair.
const PAIR: usize = 16;

/// An 8-byte aligned span. Its address and alignment are checked once for all its pairs of 64-bit words.
#[derive(Debug)]
pub(crate) struct AlignedPairs(Span);

impl AlignedPairs {
    /// Returns the pairs of a span. None if the span is not aligned.
    pub(crate) fn new(span: Span) -> Option<Self> {
        span.aligned(8).then_some(Self(span))
    }

    /// Returns as many pairs as fit.
    #[inline]
    pub(crate) fn pairs(&self) -> Pairs<'_> {
        Pairs {
            start: self.0.start,
            count: self.0.bytes / PAIR,
            span: PhantomData,
        }
    }
}

impl std::ops::Deref for AlignedPairs {
    type Target = Span;

    #[inline]
    fn deref(&self) -> &Span {
        &self.0
    }
}

/// Pairs of 64-bit words.
pub(crate) trait Paired {
    /// The number of pairs.
    fn count(&self) -> usize;
    /// Reads a pair, each byte once. None if there are fewer.
    fn load(&self, index: usize) -> Option<[u64; 2]>;
}

impl Paired for Pairs<'_> {
    #[inline]
    fn count(&self) -> usize {
        self.count
    }

    #[inline]
    fn load(&self, index: usize) -> Option<[u64; 2]> {
        Pairs::load(self, index)
    }
}

/// Part of a span at any address as pairs of 64-bit words, which are copied. A pair that is written at the same time
/// may be read in part.
#[derive(Debug, Clone, Copy)]
pub struct UnalignedPairs<'a> {
    start: *mut u8,
    count: usize,
    span: PhantomData<&'a Span>,
}

impl Paired for UnalignedPairs<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn load(&self, index: usize) -> Option<[u64; 2]> {
        if index >= self.count {
            return None;
        }
        let mut pair = [[0; 8]; 2];
        // SAFETY: `count` pairs are in the span, and its mapping lives.
        unsafe { copy_out(self.start.add(index * PAIR), pair.as_flattened_mut()) };
        Some(pair.map(u64::from_ne_bytes))
    }
}

/// A part of a span as pairs of 64-bit words; address and alignment are checked once for all.
#[derive(Debug, Clone, Copy)]
pub struct Pairs<'a> {
    start: NonNull<u8>,
    count: usize,
    span: PhantomData<&'a Span>,
}

impl Pairs<'_> {
    /// The number of pairs.
    #[inline]
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Reads the second half of a pair once. None if there are fewer.
    #[inline]
    #[must_use]
    pub fn load_second(&self, index: usize, order: Ordering) -> Option<u64> {
        if index >= self.count {
            return None;
        }
        // SAFETY: as for a pair.
        let place = unsafe { self.start.add(index * PAIR + 8) }.as_ptr();
        // SAFETY: as for a pair.
        Some(unsafe { AtomicU64::from_ptr(place.cast()) }.load(order))
    }

    /// Reads a pair, each half once. None if there are fewer.
    #[inline]
    #[must_use]
    pub fn load(&self, index: usize) -> Option<[u64; 2]> {
        if index >= self.count {
            return None;
        }
        // SAFETY: `count` pairs are in the span, the first is aligned, and the span's mapping lives.
        Some([0, 8].map(|half| unsafe {
            let place = self.start.add(index * PAIR + half).as_ptr();
            AtomicU64::from_ptr(place.cast()).load(Ordering::Relaxed)
        }))
    }
}

/// Copies shared memory into private memory.
///
/// # Safety
///
/// `from` and the bytes after it are in a live mapping.
pub(crate) unsafe fn copy_out(from: *const u8, to: &mut [u8]) {
    // SAFETY: the caller ensures that the source is mapped, and a slice is never part of it. A
    // driver may write at the same time: any mix of old and new bytes is a valid result.
    unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) }
}

/// Copies private memory into shared memory.
///
/// # Safety
///
/// `to` and the bytes after it are in a live mapping.
pub(crate) unsafe fn copy_in(from: &[u8], to: *mut u8) {
    // SAFETY: as in `copy_out`.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) }
}

/// Copies shared memory to shared memory; the two may overlap.
///
/// # Safety
///
/// Both, and the bytes after them, are in live mappings.
pub(crate) unsafe fn copy_across(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller ensures that both are mapped; `copy` allows overlaps.
    unsafe { std::ptr::copy(from, to, bytes) }
}

/// Fills shared memory with one value.
///
/// # Safety
///
/// `to` and the bytes after it are in a live mapping.
pub(crate) unsafe fn fill(to: *mut u8, bytes: usize, value: u8) {
    // SAFETY: the caller ensures that the destination is mapped.
    unsafe { std::ptr::write_bytes(to, value, bytes) }
}
