//! Mappings of files from untrusted front-ends. One of the modules with `unsafe`.

use crate::sigbus;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// fstatfs types (linux/magic.h) of file systems whose files are memory: memfds, tmpfs, huge pages.
const MEMORY: [i64; 2] = [libc::TMPFS_MAGIC, libc::HUGETLBFS_MAGIC];

/// Refuses files of all other file systems: an access to their pages may block on a disk, or forever on a
/// network host, and with it all devices of an I/O thread.
fn check_memory(file: &File) -> io::Result<()> {
    // SAFETY: a zeroed statfs is a valid value, which fstatfs fills.
    let (done, found) = unsafe {
        let mut found: libc::statfs = std::mem::zeroed();
        (libc::fstatfs(file.as_raw_fd(), &raw mut found), found)
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let kind = found.f_type;
    if MEMORY.contains(&kind) {
        return Ok(());
    }
    let why = format!(
        "shared memory is on a file system of type {kind:#x}, where access may block; share a memfd, \
         or a file on a tmpfs or of huge pages (QEMU: -object memory-backend-memfd,share=on)"
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Most address space of all mappings of this process, in bytes: 64 TiB, half of a process' address space on x86-64.
/// Front-ends can never use up the half that the process itself needs.
pub const MOST: u64 = 1 << 46;

/// Address space of all mappings.
static MAPPED: AtomicU64 = AtomicU64::new(0);

/// Bytes taken of [`MOST`], given back on drop.
#[derive(Debug)]
struct Taken(u64);

impl Taken {
    fn new(bytes: u64) -> io::Result<Self> {
        let more = |mapped: u64| mapped.checked_add(bytes).filter(|all| *all <= MOST);
        match MAPPED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Self(bytes)),
            Err(mapped) => {
                let why = format!(
                    "no address space for {bytes} bytes: all devices together use {mapped} of {MOST}"
                );
                Err(io::Error::new(io::ErrorKind::OutOfMemory, why))
            }
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        MAPPED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// A shared mapping of the start of a file, readable and writable; dropping it unmaps.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    slot: Option<sigbus::Slot>,
    /// Address space that is given back after the range is unmapped.
    _taken: Taken,
}

// SAFETY: a mapping is an address range that any thread may use; all access goes through `Span`,
// which uses only atomics and copies, and makes no references to it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` bytes of a file, which must be memory.
    ///
    /// # Errors
    ///
    /// The file is on a disk or a network, is too short, or can't be mapped, or there are already
    /// [`sigbus::SLOTS`] mappings, or [`MOST`] bytes of them.
    pub fn new(file: &File, bytes: u64) -> io::Result<Self> {
        let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        check_memory(file)?;
        let metadata = file.metadata()?;
        if bytes == 0 {
            return Err(invalid("a memory region is empty"));
        }
        if metadata.len() < bytes {
            return Err(invalid("a memory region is larger than its file"));
        }
        // Huge pages are only unmapped as a whole; st_blksize is their size.
        let page = std::os::unix::fs::MetadataExt::blksize(&metadata).max(4096);
        let rounded = bytes.checked_next_multiple_of(page.next_power_of_two());
        let bytes = rounded.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| invalid("a memory region exceeds the address space"))?;
        let taken = Taken::new(bytes as u64)?;
        // SAFETY: a new mapping at an address chosen by the kernel touches no existing memory.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let Some(base) = NonNull::new(base.cast::<u8>()) else {
            return Err(invalid("the kernel mapped a memory region at address 0"));
        };
        let mut mapping = Self {
            base,
            bytes,
            slot: None,
            _taken: taken,
        };
        mapping.slot = Some(sigbus::watch(base.as_ptr() as usize, bytes)?);
        Ok(mapping)
    }

    /// The first byte.
    #[must_use]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Bytes mapped, at least as many as requested.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether an access was beyond the end of a truncated file. Since then the memory reads as
    /// zeros, and the driver does not see writes to it.
    #[must_use]
    pub fn broken(&self) -> bool {
        self.slot.as_ref().is_some_and(sigbus::Slot::broken)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // End the watch first, so that the handler never maps over a later user of these addresses.
        self.slot = None;
        // SAFETY: this is the range that `new` mapped. Every `Span` of it holds an `Arc` of this
        // mapping, so none is left.
        unsafe {
            libc::munmap(self.base.as_ptr().cast(), self.bytes);
        }
    }
}
