//! Files of strangers, mapped. One of the modules with `unsafe`.

use crate::sigbus;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// File systems whose files are memory, by what fstatfs calls them (linux/magic.h): memfds, tmpfs, huge pages.
const MEMORY: [i64; 2] = [libc::TMPFS_MAGIC, libc::HUGETLBFS_MAGIC];

/// Refuses files of all others: an access to a page of theirs may wait for a disk, or for a host that never
/// answers, and all devices of an I/O thread with it.
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
        "shared memory lies in a file system of type {kind:#x}, whose files are no memory; share a memfd, or a file \
         on a tmpfs or of huge pages (QEMU: -object memory-backend-memfd,share=on)"
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// A shared mapping of the start of a file, readable and writable, unmapped when it is dropped.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    slot: Option<sigbus::Slot>,
}

// SAFETY: a mapping is an address range that any thread may use; all access goes through `Span`,
// which uses atomics and copies only, and makes no reference into it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` of a file, which is memory.
    ///
    /// # Errors
    ///
    /// The file lies on a disk or a network, or is shorter than that, or can't be mapped, or more mappings are there than
    /// [`sigbus::SLOTS`].
    pub fn new(file: &File, bytes: u64) -> io::Result<Self> {
        let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        check_memory(file)?;
        let metadata = file.metadata()?;
        if bytes == 0 {
            return Err(invalid("a region of no bytes"));
        }
        if metadata.len() < bytes {
            return Err(invalid("the file is shorter than the region"));
        }
        // Huge pages are unmapped as a whole; st_blksize is their size.
        let page = std::os::unix::fs::MetadataExt::blksize(&metadata).max(4096);
        let rounded = bytes.checked_next_multiple_of(page.next_power_of_two());
        let bytes = rounded.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| invalid("a region larger than the address space"))?;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
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
            return Err(invalid("mapped at address 0"));
        };
        let mut mapping = Self {
            base,
            bytes,
            slot: None,
        };
        mapping.slot = Some(sigbus::watch(base.as_ptr() as usize, bytes)?);
        Ok(mapping)
    }

    /// The first byte.
    #[must_use]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Bytes mapped, at least as many as were asked for.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the file became too short for an access. The memory reads as zeros since then, and
    /// the driver sees nothing of what is written.
    #[must_use]
    pub fn broken(&self) -> bool {
        self.slot.as_ref().is_some_and(sigbus::Slot::broken)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // First the watch, so that the handler never maps over what somebody else got.
        self.slot = None;
        // SAFETY: this is the range that `new` mapped, and every `Span` into it holds an `Arc` of
        // this mapping, so none is left.
        unsafe {
            libc::munmap(self.base.as_ptr().cast(), self.bytes);
        }
    }
}
