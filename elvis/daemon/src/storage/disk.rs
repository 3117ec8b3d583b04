//! Disks.

use crate::sys;
use elvis_ring::{Chain, Mapping, Piece, Span};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a sector, the unit of the virtio block protocol.
pub const SECTOR: u64 = 512;

/// What statfs calls a tmpfs (linux/magic.h).
const TMPFS: rustix::fs::FsWord = libc::TMPFS_MAGIC as _;

/// What a disk is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Takes what is written, reads as whatever is in the guest's buffer; for measurements.
    Null {
        /// Its size.
        bytes: u64,
        /// Time that the I/O thread spends on each read and write, in ns.
        service_ns: u64,
    },
    /// Memory of this process, gone when it ends.
    Ram {
        /// Its size.
        bytes: u64,
    },
    /// A raw image or a block device.
    File {
        /// Where it is.
        path: PathBuf,
        /// Whether to bypass the page cache (O_DIRECT).
        direct: bool,
        /// Whether to lock it only while it is served, so that the device that a machine migrates to
        /// can be there before it comes.
        migratable: bool,
        /// Whether its driver's memory is registered with io_uring, and pinned.
        registered_buffers: bool,
    },
}

/// A disk that is open.
#[derive(Debug)]
pub enum Disk {
    /// See [`Source::Null`].
    Null {
        /// Its size.
        bytes: u64,
        /// Time of each read and write.
        service: Duration,
    },
    /// See [`Source::Ram`].
    Ram {
        /// Its memory.
        memory: Span,
    },
    /// See [`Source::File`].
    File {
        /// The file, locked.
        file: File,
        /// Whether it is locked for others that only read, too.
        readonly: bool,
        /// Whether it is locked between [`Disk::begin`] and [`Disk::end`] only.
        migratable: bool,
        /// How long another's lock is waited for.
        lock_wait: Duration,
        /// Its size, in whole sectors.
        bytes: u64,
        /// Alignment that buffers and lengths must have, 1 where there is none.
        align: u64,
        /// Whether it lies in memory (tmpfs), so that a request is a copy and waits for nothing.
        in_memory: bool,
        /// See [`Source::File`].
        registered_buffers: bool,
    },
}

/// Why a disk can't be opened.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {cause}")]
pub struct DiskError {
    what: String,
    cause: io::Error,
}

impl Disk {
    /// How long a file that is locked is waited for: a process that was killed keeps its lock
    /// until its last request has ended.
    const LOCK_WAIT: Duration = Duration::from_secs(5);

    /// Opens a disk. A file is locked first, so that two processes never serve it at once; one that is
    /// migratable by [`Disk::begin`].
    ///
    /// # Errors
    ///
    /// It can't be opened, has no size, or is in use.
    pub fn open(source: &Source, readonly: bool) -> Result<Self, DiskError> {
        Self::open_within(source, readonly, Self::LOCK_WAIT)
    }

    /// The same, and another's lock is waited for so long.
    ///
    /// # Errors
    ///
    /// As [`Disk::open`].
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
        let kind = file.metadata()?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(invalid("neither a file nor a block device"));
        }
        if !migratable {
            lock(&file, readonly, lock_wait)?;
        }
        let bytes = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))? / SECTOR * SECTOR;
        if bytes == 0 {
            return Err(invalid(
                "it has less than one sector; give it a size (truncate -s)",
            ));
        }
        // Buffers of a guest are aligned to 512 at least where its driver knows our block size.
        let align = if direct { SECTOR } else { 1 };
        let in_memory = !direct && rustix::fs::fstatfs(&file)?.f_type == TMPFS;
        Ok(Self::File {
            file,
            readonly,
            migratable,
            lock_wait,
            bytes,
            align,
            in_memory,
            registered_buffers,
        })
    }

    /// Locks a migratable disk, before its first queue is served. Nothing for others.
    ///
    /// # Errors
    ///
    /// Another process serves it.
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

    /// Unlocks a migratable disk when no queue is served any more. What was written is on the disk first,
    /// where another host may look for it.
    ///
    /// # Errors
    ///
    /// It could not be brought there.
    pub fn end(&self) -> io::Result<()> {
        let Self::File {
            file,
            migratable: true,
            ..
        } = self
        else {
            return Ok(());
        };
        let synced = file.sync_data();
        sys::ofd_lock(file, libc::F_UNLCK)?;
        synced
    }

    /// Its size, a multiple of [`SECTOR`].
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Null { bytes, .. } | Self::File { bytes, .. } => *bytes,
            Self::Ram { memory } => memory.bytes() as u64,
        }
    }

    /// Whether its driver's memory is to be registered with the engine: not where that has no requests.
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

    /// Reads into what the device may write of a chain, at once. None where the engine must.
    #[must_use]
    pub fn read_now(&self, chain: &Chain, offset: u64, bytes: u64) -> Option<bool> {
        match self {
            Self::Null { service, .. } => Some(spend(*service)),
            Self::Ram { memory } => Some(chain.write_span(memory, offset as usize, bytes)),
            Self::File { file, .. } if self.in_memory() => {
                let pieces: Vec<Piece> = chain.writable_pieces(0, bytes).collect();
                whole(sys::readv(file.as_fd(), &pieces, offset), bytes)
            }
            Self::File { .. } => None,
        }
    }

    /// Writes what follows `skip` bytes of a chain, at once. None where the engine must.
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

    /// Makes a range read as zeros, at once, which takes as long as to write it. False where the engine must,
    /// or where there is no such range.
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

/// Lets time pass at work, not asleep. True.
fn spend(time: Duration) -> bool {
    if !time.is_zero() {
        let start = Instant::now();
        while start.elapsed() < time {
            std::hint::spin_loop();
        }
    }
    true
}

/// What was done whole is done; the engine, which knows what to do with errors and with parts, does
/// everything else again.
fn whole(result: i32, bytes: u64) -> Option<bool> {
    (u64::try_from(result) == Ok(bytes)).then_some(true)
}

/// Takes an OFD lock on the whole file: shared where it is only read.
fn lock(file: &File, readonly: bool, wait: Duration) -> io::Result<()> {
    let end = Instant::now() + wait;
    loop {
        match try_lock(file, readonly) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
                if Instant::now() >= end {
                    let why = "another process has locked it; stop that one first";
                    return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other,
        }
    }
}

/// Open file description locks belong to the open file, not to the process (fcntl(2)), and so to
/// its requests in flight too.
fn try_lock(file: &File, readonly: bool) -> io::Result<()> {
    let kind = if readonly {
        libc::F_RDLCK
    } else {
        libc::F_WRLCK
    };
    crate::sys::ofd_lock(file, kind)
}
