//! Memory for vectored system calls. One of the modules with `unsafe`.

use std::marker::PhantomData;

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
    /// During each system call that gets it, all its bytes are mapped, and there is no reference to
    /// them in this process: the kernel reads and writes them.
    #[must_use]
    pub unsafe fn new(place: *mut u8, bytes: usize) -> Self {
        let piece = libc::iovec {
            iov_base: place.cast(),
            iov_len: bytes,
        };
        Self(piece, PhantomData)
    }

    /// Its length.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iov_len
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> usize {
        self.0.iov_base as usize
    }

    /// The rest of it after the first `bytes` bytes.
    #[must_use]
    pub fn skip(&self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes());
        let place = self.0.iov_base.cast::<u8>().wrapping_add(bytes);
        // SAFETY: it is part of this piece.
        unsafe { Self::new(place, self.bytes() - bytes) }
    }

    /// The pieces as an array for system calls.
    #[must_use]
    pub fn as_iovecs(pieces: &[Self]) -> *const libc::iovec {
        pieces.as_ptr().cast()
    }
}
