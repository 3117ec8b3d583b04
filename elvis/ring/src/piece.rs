//! Memory for vectored system calls. One of the modules with `unsafe`.

use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, Ordering};

/// Bytes of the smallest page of the known processors.
const PAGE: usize = 4096;

/// A piece of memory that a system call may read and write during `'a`, as a `struct iovec`. A
/// [`crate::Chain`] or a [`crate::Span`] makes it and keeps its memory mapped:
///
/// ```compile_fail,E0505
/// # fn chain() -> elvis_ring::Chain { elvis_ring::Chain::new() }
/// let chain = chain();
/// let pieces: Vec<_> = chain.writable_pieces(0, 512).collect();
/// drop(chain);
/// pieces.first();
/// ```
///
/// Making one from an address requires `unsafe`:
///
/// ```compile_fail,E0133
/// let piece = elvis_ring::Piece::new(0x1000 as *mut u8, 512);
/// ```
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Piece<'a>(libc::iovec, PhantomData<&'a crate::Memory>);

// SAFETY: it describes memory that any thread may use, as `new` requires.
unsafe impl Send for Piece<'_> {}
// SAFETY: as above.
unsafe impl Sync for Piece<'_> {}

impl Piece<'_> {
    /// A piece of memory of the caller's choice.
    ///
    /// # Safety
    ///
    /// During each system call that gets it, and each [`Piece::touch`], all its bytes are mapped, and there is no reference
    /// to them in this process: the kernel reads and writes them.
    #[must_use]
    pub unsafe fn new(place: *mut u8, bytes: usize) -> Self {
        let piece = libc::iovec {
            iov_base: place.cast(),
            iov_len: bytes,
        };
        Self(piece, PhantomData)
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iov_len
    }

    /// Returns the address.
    #[must_use]
    pub fn address(&self) -> usize {
        self.0.iov_base as usize
    }

    /// Returns the rest of the piece after the first `bytes` bytes.
    #[must_use]
    pub fn skip(&self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes());
        let place = self.0.iov_base.cast::<u8>().wrapping_add(bytes);
        // SAFETY: it is part of this piece.
        unsafe { Self::new(place, self.bytes() - bytes) }
    }

    /// Makes the piece's pages present, for a system call that writes or reads them; changes no byte.
    ///
    /// A system call that finds a page missing waits for the lock of all memory maps of the process (Linux 6.18,
    /// `lock_mm_and_find_vma`). Another thread that maps a front-end's memory may have that lock, for milliseconds if
    /// the host stops it. An access by the program waits only for the map that it accesses (since 6.4).
    pub fn touch(&self, written: bool) {
        let (mut at, end) = (self.address(), self.address() + self.bytes());
        while at < end {
            // SAFETY: `new` requires that the byte is mapped. All other accesses to it are atomic or the kernel's.
            let byte = unsafe { AtomicU8::from_ptr(at as *mut u8) };
            if written {
                // The compiler must not see that this changes nothing.
                byte.fetch_or(black_box(0), Ordering::Relaxed);
            } else {
                black_box(byte.load(Ordering::Relaxed));
            }
            at = (at | (PAGE - 1)) + 1;
        }
    }

    /// The pieces as an array for system calls.
    #[must_use]
    pub fn as_iovecs(pieces: &[Self]) -> *const libc::iovec {
        pieces.as_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use crate::driver::Driver;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;

    /// The pages are those of the piece, and what they hold stays.
    #[test]
    fn touched_pages_are_there() {
        for written in [false, true] {
            let memory = File::from(memfd_create("piece", MemfdFlags::CLOEXEC).unwrap());
            memory.set_len(1 << 20).unwrap();
            let mut driver = Driver::new(&memory, 8, false).unwrap();
            let buffers = [(0x8000, 16, false), (0x8_1ffe, 0x1003, true)];
            driver.submit(&buffers).unwrap();
            let (mut ring, mut chain) = (driver.device().unwrap(), crate::Chain::new());
            ring.look().unwrap();
            assert!(ring.take(&mut chain).unwrap());
            let data = driver.memory().span(0x8_2000, 1).unwrap();
            data.store_u8(0, 77, std::sync::atomic::Ordering::Relaxed);
            let pages = || memory.metadata().unwrap().blocks() / 8;
            let before = pages();
            let mut pieces = chain.writable_pieces(0, 0x1003);
            let piece = pieces.next().unwrap();
            assert!(pieces.next().is_none() && piece.skip(0x1003).bytes() == 0);
            piece.skip(0x1003).touch(written);
            assert_eq!(pages(), before);
            piece.touch(written);
            // Of three pages one was there.
            assert_eq!(pages(), before + 2);
            assert_eq!(data.load_u8(0, std::sync::atomic::Ordering::Relaxed), 77);
        }
    }
}
