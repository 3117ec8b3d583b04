//! File in which a network device records the progress of its packed rings, for the process after this one (see
//! [`elvis_ring::progress`]): a record for each queue.
//!
//! The file is made with the device, before the daemon drops its privileges. It is removed with the device, unless a
//! front-end may start its rings again. Its contents are not trusted.

use crate::lock::lock;
use elvis_ring::progress::LARGEST;
use elvis_ring::{Mapping, Span, progress};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Time to wait for a process that has the file and is ending.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Returns the bytes from one record to the next. Only records of rings that run take memory.
fn stride() -> u64 {
    progress::bytes(LARGEST).next_multiple_of(4096)
}

/// The file of one device.
#[derive(Debug)]
pub struct RingFile {
    path: PathBuf,
    file: File,
    mapping: Arc<Mapping>,
    queues: u16,
}

impl RingFile {
    /// Returns the path of a device's file: in this folder, or else beside the socket.
    pub fn path(folder: Option<&Path>, name: &str, socket: &Path) -> PathBuf {
        match folder {
            Some(folder) => folder.join(format!("{name}.rings")),
            None => {
                let mut path = socket.as_os_str().to_owned();
                path.push(".rings");
                path.into()
            }
        }
    }

    /// Opens the file of a device with `queues` queues, or makes it.
    ///
    /// # Errors
    ///
    /// The file can't be made, is not in memory (on a tmpfs), or is not this user's alone, or another process has it.
    pub fn open(path: PathBuf, queues: u16) -> io::Result<Self> {
        let (file, metadata) = loop {
            let file = File::from(Self::file(&path)?);
            lock(&file, false, LOCK_WAIT)?;
            let metadata = file.metadata()?;
            // The process that had the file may have removed it while this one waited for the lock.
            let there = std::fs::symlink_metadata(&path).map(|there| there.ino());
            if there.is_ok_and(|ino| ino == metadata.ino()) {
                break (file, metadata);
            }
        };
        let user = rustix::process::geteuid();
        let own = metadata.uid() == user.as_raw() || user.is_root();
        if !metadata.is_file() || !own || metadata.mode() & 0o077 != 0 {
            let why = "there is another file, or others may access it; remove it";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        if rustix::fs::fstatfs(&file)?.f_type != libc::TMPFS_MAGIC {
            // A file that was made just now is of no use there.
            if metadata.len() == 0 {
                let _ = std::fs::remove_file(&path);
            }
            return Err(invalid(
                "its folder is not on a tmpfs; use --state with one that is",
            ));
        }
        let bytes = stride() * u64::from(queues);
        if metadata.len() != bytes {
            file.set_len(bytes)?;
        }
        let mapping = Arc::new(Mapping::new(&file, bytes)?);
        Ok(Self {
            path,
            file,
            mapping,
            queues,
        })
    }

    fn file(path: &Path) -> io::Result<OwnedFd> {
        let open = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK;
        let flags = open | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let private = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::openat(rustix::fs::CWD, path, flags, private)?)
    }

    fn span(&self, index: u16, bytes: u64) -> Option<Span> {
        let within = index < self.queues;
        let start = stride() * u64::from(index);
        within
            .then(|| Span::new(&self.mapping, start, bytes))
            .flatten()
    }

    /// Returns the record of a queue whose ring has `ring` entries.
    ///
    /// # Errors
    ///
    /// There is no memory for the record, or no such queue.
    pub fn record(&self, index: u16, ring: u32) -> io::Result<Span> {
        let invalid = || invalid("no packed ring is so large");
        let fits = |&ring: &u16| ring <= LARGEST;
        let ring = u16::try_from(ring).ok().filter(fits).ok_or_else(invalid)?;
        let bytes = progress::bytes(ring);
        let span = self.span(index, bytes).ok_or_else(invalid)?;
        // Memory that is missing later would be a SIGBUS.
        let start = stride() * u64::from(index);
        rustix::fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, start, bytes)
            .map_err(|error| named(&self.path, &error.into()))?;
        Ok(span)
    }

    /// Clears the record of a queue: its front-end knows where the ring continues.
    pub fn clear(&self, index: u16) {
        // A record that was never written has no memory, and needs none.
        if let Some(span) = self.span(index, progress::bytes(1)).filter(progress::says) {
            progress::clear(&span);
        }
    }

    /// Removes the file, if no record says where a ring continues.
    pub fn end(&self) {
        let mut records = (0..self.queues).filter_map(|index| self.span(index, progress::bytes(1)));
        if !records.any(|span| progress::says(&span)) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Returns an error with the path that it is about.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::atomic::Ordering;

    /// A folder in memory.
    fn folder() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").unwrap()
    }

    fn mark(file: &RingFile, index: u16) {
        let record = file.record(index, 8).unwrap();
        let word = u64::from_be_bytes(*b"elvisrp\x01");
        record.store_u64(0, word, Ordering::Relaxed);
        assert!(progress::says(&record));
    }

    #[test]
    fn its_place_is_beside_the_socket_or_in_a_folder() {
        let path = |folder| RingFile::path(folder, "vm1", Path::new("/run/a.sock"));
        assert_eq!(path(None), Path::new("/run/a.sock.rings"));
        assert_eq!(path(Some(Path::new("/s"))), Path::new("/s/vm1.rings"));
    }

    #[test]
    fn records_outlive_it_and_the_file_goes_when_none_is_left() {
        let folder = folder();
        let path = folder.path().join("a.rings");
        let open = || RingFile::open(path.clone(), 3).unwrap();
        let file = open();
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
        mark(&file, 2);
        file.end();
        let error = RingFile::open(path.clone(), 3).unwrap_err().to_string();
        assert!(error.contains("another process"), "{error}");
        drop(file);
        let file = open();
        assert!(progress::says(&file.record(2, 1024).unwrap()));
        assert!(!progress::says(&file.record(1, 1024).unwrap()));
        assert!(file.record(3, 8).is_err() && file.record(0, 32_769).is_err());
        assert!(path.metadata().unwrap().blocks() < 100, "it is sparse");
        file.clear(2);
        file.clear(3);
        file.end();
        assert!(!path.exists());
    }

    #[test]
    fn a_file_of_another_length_keeps_what_it_has() {
        let folder = folder();
        let path = folder.path().join("a.rings");
        let file = RingFile::open(path.clone(), 4).unwrap();
        mark(&file, 0);
        mark(&file, 3);
        drop(file);
        for (bytes, left) in [(1 << 21, true), (700_000, false), (20, false)] {
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(bytes)
                .unwrap();
            let file = RingFile::open(path.clone(), 4).unwrap();
            let says = |index| {
                file.record(index, 8)
                    .is_ok_and(|span| progress::says(&span))
            };
            assert_eq!([says(0), says(3)], [true, left], "{bytes}");
        }
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(0)
            .unwrap();
        let file = RingFile::open(path.clone(), 1).unwrap();
        assert!(!progress::says(&file.record(0, 8).unwrap()));
    }

    #[test]
    fn another_file_in_the_way_is_left_alone() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("secret"), "x").unwrap();
        symlink(at("secret"), at("link")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        std::fs::set_permissions(at("secret"), PermissionsExt::from_mode(0o640)).unwrap();
        for name in ["secret", "link", "folder", "pipe", "no/folder"] {
            assert!(RingFile::open(at(name), 1).is_err(), "{name}");
        }
        assert_eq!(std::fs::read_to_string(at("secret")).unwrap(), "x");
    }
}
