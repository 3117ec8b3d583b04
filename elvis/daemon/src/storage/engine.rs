//! The engine of an I/O thread executes file requests: by io_uring, or by a pool of threads where io_uring is not
//! allowed.

use super::buffers::{Counted, Registered};
use super::pool::Pool;
use super::uring::Uring;
use elvis_ring::{Memory, Piece};
use std::io;
use std::os::fd::BorrowedFd;

/// An operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Read.
    Read,
    /// Write.
    Write {
        /// Whether to wait until the data are on the disk.
        dsync: bool,
    },
    /// Wait until all written data are on the disk.
    Flush,
    /// fallocate with this mode.
    Allocate {
        /// FALLOC_FL_...
        mode: i32,
        /// Length of the range.
        bytes: u64,
    },
}

/// Request to a file. Its pieces must not move until it is done.
#[derive(Debug)]
pub struct Job<'a> {
    /// Number that is returned with the result. It must be small, as it is an index.
    pub token: u64,
    /// The file.
    pub fd: BorrowedFd<'a>,
    /// The operation.
    pub operation: Operation,
    /// Offset in the file.
    pub offset: u64,
    /// Memory to read into or to write from.
    pub pieces: &'a [Piece<'a>],
    /// Parts of the driver's memory that are registered with this engine.
    pub registered: &'a Registered,
}

impl Job<'_> {
    /// Returns the bytes that the job reads or writes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self.operation {
            Operation::Read | Operation::Write { .. } => {
                self.pieces.iter().map(|piece| piece.bytes() as u64).sum()
            }
            Operation::Flush | Operation::Allocate { .. } => 0,
        }
    }
}

/// Results: a job's token, and bytes or a negative errno.
pub type Results = Vec<(u64, i32)>;

/// The engine of one I/O thread.
pub enum Engine {
    /// io_uring.
    Uring(Box<Uring>),
    /// Threads.
    Pool(Pool),
}

impl Engine {
    /// Makes an engine: by io_uring if this process may use it, else by threads. Requests start when `start_requests`
    /// are queued, at the latest.
    pub fn new(threads_only: bool, start_requests: u32) -> io::Result<Self> {
        if !threads_only {
            if let Ok(uring) = Uring::new(start_requests) {
                return Ok(Self::Uring(Box::new(uring)));
            }
        }
        Ok(Self::Pool(Pool::new()?))
    }

    /// Returns the engine's name, for users.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Uring(_) => "io_uring",
            Self::Pool(_) => "threads",
        }
    }

    /// Returns a descriptor that is readable when there are results.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Uring(uring) => uring.fd(),
            Self::Pool(pool) => pool.fd(),
        }
    }

    /// Queues a request. It starts at the next [`Engine::start`] at the latest.
    ///
    /// # Safety
    ///
    /// The memory of the pieces, the array of pieces and the file must stay valid, and in place, until the
    /// result has arrived.
    ///
    /// # Errors
    ///
    /// The request can't be queued; it has no effect.
    pub unsafe fn submit(&mut self, job: &Job) -> io::Result<()> {
        match self {
            // SAFETY: guaranteed by the caller.
            Self::Uring(uring) => unsafe { uring.submit(job) },
            // SAFETY: guaranteed by the caller.
            Self::Pool(pool) => unsafe { pool.submit(job) },
        }
    }

    /// Registers a driver's memory as far as possible. The rest is used unregistered.
    pub fn register(&mut self, memory: &Memory) -> Registered {
        match self {
            Self::Uring(uring) => uring.register(memory),
            Self::Pool(_) => Registered::default(),
        }
    }

    /// Unregisters memory. No request on it may be in flight.
    pub fn unregister(&mut self, registered: Registered) {
        if let Self::Uring(uring) = self {
            uring.unregister(registered);
        }
    }

    /// Returns the counters of the registered memory.
    #[must_use]
    pub fn buffers(&self) -> Counted {
        match self {
            Self::Uring(uring) => uring.buffers(),
            Self::Pool(_) => Counted::default(),
        }
    }

    /// Starts the queued requests.
    ///
    /// # Errors
    ///
    /// The kernel did not accept them; try again.
    pub fn start(&mut self) -> io::Result<()> {
        match self {
            Self::Uring(uring) => uring.start(),
            Self::Pool(_) => Ok(()),
        }
    }

    /// Whether requests wait for the next call of [`Engine::start`], as the kernel did not take them.
    #[must_use]
    pub fn unstarted(&self) -> bool {
        match self {
            Self::Uring(uring) => uring.unstarted(),
            Self::Pool(_) => false,
        }
    }

    /// Returns the bytes of the queued requests, if these have to be started before more are queued: they are too many,
    /// or have at least `bytes` bytes. The kernel copies data in the page cache in the I/O thread as it starts
    /// requests. All queued requests are then one step, which no other queue can interrupt.
    #[must_use]
    pub fn due(&self, bytes: u64) -> Option<u64> {
        match self {
            Self::Uring(uring) => uring.due(bytes),
            Self::Pool(_) => None,
        }
    }

    /// Whether threads of the engine work on requests. These threads have the CPUs of the I/O thread.
    #[must_use]
    pub fn threads_work(&self) -> bool {
        match self {
            Self::Uring(uring) => uring.threads_work(),
            Self::Pool(_) => true,
        }
    }

    /// Moves available results to `results`.
    pub fn reap(&mut self, results: &mut Results) {
        match self {
            Self::Uring(uring) => uring.reap(results),
            Self::Pool(pool) => pool.reap(results),
        }
    }
}
