//! Disks.

use super::{Blocks, Syncs};
use crate::lock::lock;
use crate::sys;
use elvis_ring::{Chain, Mapping, Piece, Span};
use rustix::fs::OFlags;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a sector, the unit of the virtio block protocol.
pub const SECTOR: u64 = 512;

/// The file system type of a tmpfs (linux/magic.h).
const TMPFS: rustix::fs::FsWord = libc::TMPFS_MAGIC as _;

/// Source of a disk's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// No data: writes are dropped, reads leave the guest's buffer unchanged; for measurements.
    Null {
        /// Size in bytes.
        bytes: u64,
        /// Time that the I/O thread spends on each read and write, in ns.
        service_ns: u64,
    },
    /// Memory of this process, lost when it exits.
    Ram {
        /// Size in bytes.
        bytes: u64,
    },
    /// Raw image or block device.
    File {
        /// Path of the image or block device.
        path: PathBuf,
        /// Whether to bypass the page cache (O_DIRECT).
        direct: bool,
        /// Whether to lock the file only while a queue runs, so that the destination of a migration can open it before
        /// the guest arrives.
        migratable: bool,
        /// Whether to register, and so pin, the driver's memory with io_uring.
        registered_buffers: bool,
    },
}

/// File or block device, by its identity: its path may be one of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// Number of the block device itself, or of the one that the file is on.
    device: u64,
    /// Inode number of the file there. None: the storage is the block device.
    inode: Option<u64>,
}

impl Storage {
    fn of(metadata: &Metadata) -> Self {
        match metadata.file_type().is_block_device() {
            true => Self {
                device: metadata.rdev(),
                inode: None,
            },
            false => Self {
                device: metadata.dev(),
                inode: Some(metadata.ino()),
            },
        }
    }
}

/// An open disk.
#[derive(Debug)]
pub enum Disk {
    /// Disk of a [`Source::Null`].
    Null {
        /// Size in bytes.
        bytes: u64,
        /// Time of each read and write.
        service: Duration,
    },
    /// Disk of a [`Source::Ram`].
    Ram {
        /// Memory of the disk.
        memory: Span,
    },
    /// Disk of a [`Source::File`].
    File {
        /// File of the disk, which is locked.
        file: File,
        /// Identity of the file.
        storage: Storage,
        /// Whether the lock is shared, with others that only read.
        readonly: bool,
        /// Whether the file is locked only between [`Disk::begin`] and [`Disk::end`].
        migratable: bool,
        /// Time to wait for a lock that is held elsewhere.
        lock_wait: Duration,
        /// Size in bytes, rounded down to whole blocks. It may grow.
        bytes: AtomicU64,
        /// Block sizes of the disk.
        blocks: Blocks,
        /// Whether the file is in memory (tmpfs), so that a request is a copy that does not block.
        in_memory: bool,
        /// Whether to register the driver's memory, see [`Source::File`].
        registered_buffers: bool,
        /// Syncs of the disk, of all data or of one write.
        syncs: Syncs,
    },
}

/// Error of a disk that can't be opened.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {cause}")]
pub struct DiskError {
    what: String,
    cause: io::Error,
}

impl Disk {
    /// Time to wait for a locked file: a process that was killed keeps its lock until its last request has ended.
    const LOCK_WAIT: Duration = Duration::from_secs(5);

    /// Opens a disk. A file is locked first, so that two processes never serve it at once; a
    /// migratable one is locked by [`Disk::begin`].
    ///
    /// # Errors
    ///
    /// The disk can't be opened, is smaller than a block, has blocks that no guest can use, or is in use.
    pub fn open(source: &Source, readonly: bool) -> Result<Self, DiskError> {
        Self::open_within(source, readonly, Self::LOCK_WAIT)
    }

    /// Opens a disk as [`Disk::open`] does, but waits `lock_wait` for a lock that is held elsewhere.
    ///
    /// # Errors
    ///
    /// See [`Disk::open`].
    pub fn open_within(
        source: &Source,
        readonly: bool,
        lock_wait: Duration,
    ) -> Result<Self, DiskError> {
        match source {
            Source::Null { bytes, service_ns } => Ok(Self::Null {
                service: Duration::from_nanos(*service_ns),
                bytes: bytes / SECTOR * SECTOR,
            }),
            Source::Ram { bytes } => Self::ram(*bytes).map_err(|cause| DiskError {
                what: format!("a RAM disk of {bytes} bytes"),
                cause,
            }),
            Source::File {
                path,
                direct,
                migratable,
                registered_buffers: registered,
            } => {
                let file = Self::file(path, readonly, *direct, *migratable, *registered, lock_wait);
                file.map_err(|cause| DiskError {
                    what: path.display().to_string(),
                    cause,
                })
            }
        }
    }

    fn ram(bytes: u64) -> io::Result<Self> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = File::from(rustix::fs::memfd_create("elvis-ram-disk", flags)?);
        let bytes = bytes / SECTOR * SECTOR;
        file.set_len(bytes)?;
        let mapping = Arc::new(Mapping::new(&file, bytes)?);
        let small = || io::Error::new(io::ErrorKind::InvalidInput, "too large");
        Ok(Self::Ram {
            memory: Span::new(&mapping, 0, bytes).ok_or_else(small)?,
        })
    }

    /// Opens a file or block device. A file is locked before its size is read: another process could change it.
    fn file(
        path: &Path,
        readonly: bool,
        direct: bool,
        migratable: bool,
        registered_buffers: bool,
        lock_wait: Duration,
    ) -> io::Result<Self> {
        let flags = if direct {
            OFlags::DIRECT.bits() as i32
        } else {
            0
        };
        let file = OpenOptions::new()
            .read(true)
            .write(!readonly)
            .custom_flags(flags)
            .open(path)?;
        let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        let metadata = file.metadata()?;
        let kind = metadata.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(invalid("not a regular file or block device"));
        }
        if !migratable {
            lock(&file, readonly, lock_wait)?;
        }
        let blocks = Blocks::of(&file, direct)?;
        let bytes = size(&file)?;
        let (block, rest) = (blocks.logical, bytes % u64::from(blocks.logical));
        if bytes == rest {
            let why =
                format!("smaller than a block of {block} bytes; make it larger (truncate -s)");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        if rest > 0 {
            let path = path.display();
            log::warn!(
                "{path}: its last {rest} bytes are not served: they are less than a block of {block} bytes"
            );
        }
        let in_memory = !direct && rustix::fs::fstatfs(&file)?.f_type == TMPFS;
        Ok(Self::File {
            file,
            storage: Storage::of(&metadata),
            readonly,
            migratable,
            lock_wait,
            bytes: AtomicU64::new(bytes - rest),
            blocks,
            in_memory,
            registered_buffers,
            syncs: Syncs::default(),
        })
    }

    /// Returns a disk in a file that is open already, of this size in bytes. The file is not locked.
    pub fn given(
        file: File,
        bytes: u64,
        blocks: Blocks,
        registered_buffers: bool,
    ) -> io::Result<Self> {
        Ok(Self::File {
            storage: Storage::of(&file.metadata()?),
            file,
            readonly: false,
            migratable: false,
            lock_wait: Duration::ZERO,
            bytes: AtomicU64::new(bytes),
            blocks,
            in_memory: false,
            registered_buffers,
            syncs: Syncs::default(),
        })
    }

    /// Returns the storage that the disk is on, so that several disks of one storage are known. None: the disk is on no
    /// file or block device.
    #[must_use]
    pub fn storage(&self) -> Option<Storage> {
        match self {
            Self::File { storage, .. } => Some(*storage),
            Self::Null { .. } | Self::Ram { .. } => None,
        }
    }

    /// Returns the size of the disk's file or block device now, in bytes; the disk's own size stays. Asks the kernel,
    /// so it may wait for a host that stores the file.
    ///
    /// # Errors
    ///
    /// The disk is on no file or block device, or the kernel does not tell.
    pub fn file_bytes(&self) -> io::Result<u64> {
        match self {
            Self::File { file, .. } => size(file),
            Self::Null { .. } | Self::Ram { .. } => Err(io::Error::other(
                "only a disk on a file or a block device can be resized",
            )),
        }
    }

    /// Returns the disk's size in bytes with a file of `file_bytes` bytes: its whole blocks.
    ///
    /// # Errors
    ///
    /// That is less than the disk has now.
    pub fn fits(&self, file_bytes: u64) -> io::Result<u64> {
        let (before, block) = (self.bytes(), u64::from(self.blocks().logical));
        let now = file_bytes / block * block;
        if now < before {
            let why = format!(
                "its file has {file_bytes} bytes, fewer than the {before} of the disk: a disk can't shrink; enlarge \
                 the file again (truncate -s {before}), as requests beyond its end fail"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(now)
    }

    /// Serves `now` bytes from now on, as [`Disk::fits`] returned them, but never fewer than before. Returns the size
    /// before, in bytes.
    pub fn grow(&self, now: u64) -> u64 {
        match self {
            Self::File { bytes, .. } => bytes.fetch_max(now, Ordering::Relaxed),
            Self::Null { .. } | Self::Ram { .. } => self.bytes(),
        }
    }

    /// Locks a migratable disk, before its first queue is served. Does nothing for other disks.
    ///
    /// # Errors
    ///
    /// Another process serves the disk.
    pub fn begin(&self) -> io::Result<()> {
        match self {
            Self::File {
                file,
                readonly,
                migratable: true,
                lock_wait,
                ..
            } => lock(file, *readonly, *lock_wait),
            _ => Ok(()),
        }
    }

    /// Unlocks a migratable disk when no queue is served any more. Syncs its data first, as another host
    /// may read them next.
    pub fn end(&self) -> io::Result<()> {
        let Self::File {
            file,
            migratable: true,
            syncs,
            ..
        } = self
        else {
            return Ok(());
        };
        let synced = file.sync_data();
        if synced.is_err() {
            syncs.fail();
        }
        sys::ofd_lock(file, libc::F_UNLCK)?;
        synced
    }

    /// Returns the disk's size in bytes, a multiple of its logical block.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Null { bytes, .. } => *bytes,
            Self::File { bytes, .. } => bytes.load(Ordering::Relaxed),
            Self::Ram { memory } => memory.bytes() as u64,
        }
    }

    /// Returns the block sizes of the disk.
    #[must_use]
    pub fn blocks(&self) -> Blocks {
        match self {
            Self::File { blocks, .. } => *blocks,
            Self::Null { .. } | Self::Ram { .. } => Blocks::SECTORS,
        }
    }

    /// Whether to register the driver's memory with the engine. Not for a disk that does not use the engine.
    #[must_use]
    pub fn registered_buffers(&self) -> bool {
        matches!(
            self,
            Self::File {
                registered_buffers: true,
                in_memory: false,
                ..
            }
        )
    }

    fn in_memory(&self) -> bool {
        matches!(
            self,
            Self::File {
                in_memory: true,
                ..
            }
        )
    }

    /// Whether the I/O thread copies data itself, which takes time.
    #[must_use]
    pub fn copies(&self) -> bool {
        matches!(self, Self::Ram { .. }) || self.in_memory()
    }

    /// Reads into the writable buffers of a chain, after `skip` bytes, at once. None: the engine must do it.
    #[must_use]
    pub fn read_now(&self, chain: &Chain, skip: u64, offset: u64, bytes: u64) -> Option<bool> {
        match self {
            Self::Null { service, .. } => Some(spend(*service)),
            Self::Ram { memory } => Some(chain.write_span(skip, memory, offset as usize, bytes)),
            Self::File { file, .. } if self.in_memory() => {
                let pieces: Vec<Piece> = chain.writable_pieces(skip, bytes).collect();
                whole(sys::readv(file.as_fd(), &pieces, offset), bytes)
            }
            Self::File { .. } => None,
        }
    }

    /// Writes the readable buffers of a chain, after `skip` bytes, at once. None: the engine must do it.
    #[must_use]
    pub fn write_now(&self, chain: &Chain, skip: u64, offset: u64, bytes: u64) -> Option<bool> {
        match self {
            Self::Null { service, .. } => Some(spend(*service)),
            Self::Ram { memory } => Some(chain.read_span(skip, memory, offset as usize, bytes)),
            Self::File { file, .. } if self.in_memory() => {
                let pieces: Vec<Piece> = chain.readable_pieces(skip, bytes).collect();
                whole(sys::writev(file.as_fd(), &pieces, offset, false), bytes)
            }
            Self::File { .. } => None,
        }
    }

    /// Zeroes a range at once, which takes as long as a write. False if the engine must do it, or if the
    /// range is not in the disk.
    #[must_use]
    pub fn zero_now(&self, offset: u64, bytes: u64) -> bool {
        match self {
            Self::Null { .. } => true,
            Self::Ram { memory } => {
                let range = memory.part(offset as usize, bytes as usize);
                range.is_some_and(|range| {
                    range.zero();
                    true
                })
            }
            Self::File { .. } => false,
        }
    }
}

/// Returns the size of a file or block device, in bytes.
fn size(file: &File) -> io::Result<u64> {
    Ok(rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))?)
}

/// Busy-waits for this time. Always true.
fn spend(time: Duration) -> bool {
    if !time.is_zero() {
        let start = Instant::now();
        while start.elapsed() < time {
            std::hint::spin_loop();
        }
    }
    true
}

/// Returns Some(true) if all bytes were transferred. Otherwise None: the engine repeats the request, as it handles
/// errors and partial transfers.
fn whole(result: i32, bytes: u64) -> Option<bool> {
    (u64::try_from(result) == Ok(bytes)).then_some(true)
}
