//! Requests by io_uring. A module with `unsafe`.

use super::engine::{Job, Operation, Results};
use crate::sys::Piece;
use io_uring::{IoUring, opcode, squeue, types};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Entries of the submission queue; as many are started at once at most.
const ENTRIES: u32 = 256;

/// One ring of one I/O thread.
pub struct Uring {
    ring: IoUring,
    /// The ring's own descriptor once more, so that it can be lent with a lifetime.
    descriptor: OwnedFd,
    unstarted: bool,
}

impl Uring {
    /// A ring, where this process may have one.
    pub fn new() -> io::Result<Self> {
        // Completions never get lost: the kernel keeps those that have no room (NODROP).
        let ring: IoUring = IoUring::builder()
            .setup_cqsize(ENTRIES * 16)
            .build(ENTRIES)?;
        if !ring.params().is_feature_nodrop() || !ring.params().is_feature_rw_cur_pos() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: the ring is open for as long as this borrow lasts.
        let borrowed = unsafe { BorrowedFd::borrow_raw(ring.as_raw_fd()) };
        let descriptor = borrowed.try_clone_to_owned()?;
        Ok(Self {
            ring,
            descriptor,
            unstarted: false,
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// # Safety
    ///
    /// As for [`super::Engine::submit`].
    pub unsafe fn submit(&mut self, job: &Job) -> io::Result<()> {
        let fd = types::Fd(job.fd);
        let count = u32::try_from(job.pieces.len()).unwrap_or(u32::MAX);
        let pieces = Piece::as_iovecs(job.pieces);
        let entry: squeue::Entry = match job.operation {
            Operation::Read => opcode::Readv::new(fd, pieces, count)
                .offset(job.offset)
                .build(),
            Operation::Write { dsync } => opcode::Writev::new(fd, pieces, count)
                .offset(job.offset)
                .rw_flags(if dsync { libc::RWF_DSYNC } else { 0 })
                .build(),
            Operation::Flush => opcode::Fsync::new(fd)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
            Operation::Allocate { mode, bytes } => opcode::Fallocate::new(fd, bytes)
                .offset(job.offset)
                .mode(mode)
                .build(),
        };
        let entry = entry.user_data(job.token);
        // SAFETY: what the entry points to stays until it is done, as the caller says.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.start()?;
            // SAFETY: as above.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            pushed.map_err(|_| io::Error::from(io::ErrorKind::WouldBlock))?;
        }
        self.unstarted = true;
        Ok(())
    }

    pub fn start(&mut self) -> io::Result<()> {
        if self.unstarted {
            match self.ring.submit() {
                Ok(_) => self.unstarted = !self.ring.submission().is_empty(),
                // No memory for it now, or completions wait to be taken: the next call tries again.
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EBUSY | libc::EAGAIN | libc::EINTR)
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub fn reap(&mut self, results: &mut Results) {
        for entry in self.ring.completion() {
            results.push((entry.user_data(), entry.result()));
        }
    }
}
