//! File requests by io_uring. One of the modules with `unsafe`.

use super::buffers::{Buffer, Counted, ENTRIES as BUFFERS, Registered, Table};
use super::engine::{Job, Operation, Results};
use elvis_ring::{Memory, Piece};
use io_uring::{IoUring, Submitter, opcode, squeue, types};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Entries of the submission queue: the greatest number of requests that start together.
const ENTRIES: u32 = 256;

/// Most work in flight that the I/O thread submits itself, in requests to the block device: one for each started
/// [`WORK_BYTES`]. To submit more could make the thread wait, as a block device takes a limited number at a time
/// (nr_requests). One of the kernel's workers does so then.
const OWN_WORK: u64 = 64;
const WORK_BYTES: u64 = 128 << 10;

/// io_uring of one I/O thread.
pub struct Uring {
    ring: IoUring,
    /// A duplicate of the ring's descriptor, which can be borrowed with a lifetime.
    descriptor: OwnedFd,
    unstarted: bool,
    unstarted_bytes: u64,
    unstarted_requests: u32,
    /// Number of queued requests at which they are due, see [`Uring::due`].
    start_requests: u32,
    /// Work in flight, and number of requests that one of the kernel's workers submits: in all, and by token.
    work: u64,
    worked: usize,
    in_flight: Vec<Flight>,
    /// Table of registered buffers; None before the first.
    buffers: Option<Table>,
}

/// Work of a request in flight.
#[derive(Clone, Copy, Default)]
struct Flight {
    work: u64,
    /// Whether one of the kernel's workers submits it.
    worker: bool,
}

impl Uring {
    /// Makes a ring, if this process may use io_uring.
    pub fn new(start_requests: u32) -> io::Result<Self> {
        // With NODROP no completion is lost: the kernel keeps those that do not fit in the queue.
        let ring: IoUring = IoUring::builder()
            .setup_cqsize(ENTRIES * 16)
            .build(ENTRIES)?;
        if !ring.params().is_feature_nodrop() || !ring.params().is_feature_rw_cur_pos() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: the ring stays open during this borrow.
        let borrowed = unsafe { BorrowedFd::borrow_raw(ring.as_raw_fd()) };
        let descriptor = borrowed.try_clone_to_owned()?;
        Ok(Self {
            ring,
            descriptor,
            unstarted: false,
            unstarted_bytes: 0,
            unstarted_requests: 0,
            start_requests,
            work: 0,
            worked: 0,
            in_flight: Vec::new(),
            buffers: None,
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// # Safety
    ///
    /// As for [`super::Engine::submit`].
    pub unsafe fn submit(&mut self, job: &Job) -> io::Result<()> {
        let fd = types::Fd(job.fd.as_raw_fd());
        let count = u32::try_from(job.pieces.len()).unwrap_or(u32::MAX);
        let pieces = Piece::as_iovecs(job.pieces);
        // A request for one piece of registered memory passes its buffer index; its pages are pinned already.
        let fixed = match job.pieces {
            [piece] => job.registered.find(piece).map(|index| {
                let bytes = u32::try_from(piece.bytes()).unwrap_or(u32::MAX);
                (piece.address() as *mut u8, bytes, index)
            }),
            _ => None,
        };
        if fixed.is_none() {
            let written = matches!(job.operation, Operation::Read);
            job.pieces.iter().for_each(|piece| piece.touch(written));
        }
        let flags = |dsync| if dsync { libc::RWF_DSYNC } else { 0 };
        let entry: squeue::Entry = match (job.operation, fixed) {
            (Operation::Read, Some((place, bytes, index))) => {
                opcode::ReadFixed::new(fd, place, bytes, index)
                    .offset(job.offset)
                    .build()
            }
            (Operation::Write { dsync }, Some((place, bytes, index))) => {
                opcode::WriteFixed::new(fd, place, bytes, index)
                    .offset(job.offset)
                    .rw_flags(flags(dsync))
                    .build()
            }
            (Operation::Read, None) => opcode::Readv::new(fd, pieces, count)
                .offset(job.offset)
                .build(),
            (Operation::Write { dsync }, None) => opcode::Writev::new(fd, pieces, count)
                .offset(job.offset)
                .rw_flags(flags(dsync))
                .build(),
            (Operation::Flush, _) => opcode::Fsync::new(fd)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
            (Operation::Allocate { mode, bytes }, _) => opcode::Fallocate::new(fd, bytes)
                .offset(job.offset)
                .mode(mode)
                .build(),
        };
        let work = job.bytes().div_ceil(WORK_BYTES);
        let flags = match self.work + work > OWN_WORK {
            true => squeue::Flags::ASYNC,
            false => squeue::Flags::empty(),
        };
        let entry = entry.user_data(job.token).flags(flags);
        // SAFETY: the caller keeps what the entry points to until the request is done.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.start()?;
            // SAFETY: as above.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            pushed.map_err(|_| io::Error::from(io::ErrorKind::WouldBlock))?;
        }
        self.queued(job, work, flags.contains(squeue::Flags::ASYNC));
        if let (Some(_), Some(table)) = (fixed, &mut self.buffers) {
            table.counted.requests += 1;
        }
        Ok(())
    }

    /// Counts a job that was queued, with its work, and whether a worker submits it.
    fn queued(&mut self, job: &Job, work: u64, worker: bool) {
        self.unstarted = true;
        self.unstarted_bytes += job.bytes();
        self.unstarted_requests += 1;
        self.work += work;
        let token = usize::try_from(job.token).unwrap_or(usize::MAX);
        if self.in_flight.len() <= token {
            self.in_flight.resize(token + 1, Flight::default());
        }
        self.in_flight[token] = Flight { work, worker };
        self.worked += usize::from(worker);
    }

    pub fn register(&mut self, memory: &Memory) -> Registered {
        let submitter = self.ring.submitter();
        let table = self.buffers.get_or_insert_with(|| {
            let mut table = Table::new();
            if let Err(error) = submitter.register_buffers_sparse(BUFFERS.into()) {
                table.counted.refused = Some(format!("can't create the table: {error}"));
            }
            table
        });
        table.add(memory, |buffer| set(&submitter, buffer.index, Some(buffer)))
    }

    pub fn unregister(&mut self, registered: Registered) {
        let submitter = self.ring.submitter();
        if let Some(table) = &mut self.buffers {
            // The kernel frees the pages when no request uses them any more.
            table.remove(registered, |buffer| {
                drop(set(&submitter, buffer.index, None))
            });
        }
    }

    pub fn buffers(&self) -> Counted {
        let table = self.buffers.as_ref();
        table.map_or_else(Counted::default, |table| table.counted.clone())
    }

    pub fn start(&mut self) -> io::Result<()> {
        if self.unstarted {
            (self.unstarted_bytes, self.unstarted_requests) = (0, 0);
            match self.ring.submit() {
                Ok(_) => self.unstarted = !self.ring.submission().is_empty(),
                // The kernel is short of memory, or completions must be reaped first: the next call tries
                // again.
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

    pub fn unstarted(&self) -> bool {
        self.unstarted
    }

    /// Returns the bytes of the queued requests if they are due, see [`super::Engine::due`].
    pub fn due(&self, bytes: u64) -> Option<u64> {
        let due = self.unstarted_bytes >= bytes || self.unstarted_requests >= self.start_requests;
        due.then_some(self.unstarted_bytes)
    }

    pub fn threads_work(&self) -> bool {
        self.worked > 0
    }

    pub fn reap(&mut self, results: &mut Results) {
        for entry in self.ring.completion() {
            let token = entry.user_data();
            let ended = usize::try_from(token).ok();
            if let Some(flight) = ended.and_then(|token| self.in_flight.get_mut(token)) {
                let Flight { work, worker } = std::mem::take(flight);
                self.work -= work;
                self.worked -= usize::from(worker);
            }
            results.push((token, entry.result()));
        }
    }
}

/// Sets an entry of the table; None clears it.
fn set(submitter: &Submitter, index: u16, buffer: Option<&Buffer>) -> io::Result<()> {
    let entry = libc::iovec {
        iov_base: buffer.map_or(0, |buffer| buffer.start) as *mut libc::c_void,
        iov_len: buffer.map_or(0, |buffer| buffer.bytes),
    };
    // SAFETY: the kernel checks the address, and keeps the pages found there while they are in the
    // table: memory that is mapped there later is not accessed.
    let done = unsafe { submitter.register_buffers_update(index.into(), &[entry], None) };
    done.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// Checks that a disk works on the first requests while others are still queued.
    #[test]
    fn requests_start_a_few_at_a_time() {
        let Ok(mut uring) = Uring::new(3) else {
            println!("skipped: this process may not use io_uring");
            return;
        };
        let file = File::open("/dev/null").unwrap();
        let registered = Registered::default();
        let job = |token| Job {
            token,
            fd: file.as_fd(),
            operation: Operation::Read,
            offset: 0,
            pieces: &[],
            registered: &registered,
        };
        for round in 0..4 {
            for place in 0..3 {
                assert_eq!(uring.due(1), None);
                // SAFETY: it has no memory, and the file stays open.
                unsafe { uring.submit(&job(3 * round + place)) }.unwrap();
            }
            assert_eq!(uring.due(1), Some(0));
            assert!(uring.unstarted() && !uring.threads_work());
            uring.start().unwrap();
            assert!(!uring.unstarted());
        }
        let mut results = Results::new();
        while results.len() < 12 {
            uring.reap(&mut results);
        }
        results.sort_unstable();
        assert!(results.iter().map(|it| it.0).eq(0..12));
    }
}
