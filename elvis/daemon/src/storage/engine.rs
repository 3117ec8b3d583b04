//! What carries out requests to files: io_uring, or a pool of threads where that is not allowed.

use super::buffers::{Counted, Registered};
use super::pool::Pool;
use super::uring::Uring;
use elvis_ring::{Memory, Piece};
use std::io;
use std::os::fd::BorrowedFd;

/// What is to be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Read.
    Read,
    /// Write; with `dsync` it is on the disk when it is done.
    Write {
        /// Whether to wait for the disk.
        dsync: bool,
    },
    /// Wait until all that is written is on the disk.
    Flush,
    /// fallocate with this mode, over `bytes`.
    Allocate {
        /// FALLOC_FL_...
        mode: i32,
        /// Length of the range.
        bytes: u64,
    },
}

/// One request to a file. Its pieces stay where they are until it is done.
#[derive(Debug)]
pub struct Job<'a> {
    /// Comes back with the result.
    pub token: u64,
    /// The file.
    pub fd: BorrowedFd<'a>,
    /// What to do.
    pub operation: Operation,
    /// Where in the file.
    pub offset: u64,
    /// What to read into or to write.
    pub pieces: &'a [Piece<'a>],
    /// The driver's memory, as far as it is registered with this engine.
    pub registered: &'a Registered,
}

/// Results: a job's token, and bytes or a negative errno.
pub type Results = Vec<(u64, i32)>;

/// An engine of one I/O thread.
pub enum Engine {
    /// io_uring.
    Uring(Box<Uring>),
    /// Threads.
    Pool(Pool),
}

impl Engine {
    /// io_uring where this process may use it, else threads.
    ///
    /// # Errors
    ///
    /// Neither can be had.
    pub fn new(threads_only: bool) -> io::Result<Self> {
        if !threads_only {
            if let Ok(uring) = Uring::new() {
                return Ok(Self::Uring(Box::new(uring)));
            }
        }
        Ok(Self::Pool(Pool::new()?))
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Uring(_) => "io_uring",
            Self::Pool(_) => "threads",
        }
    }

    /// Readable when results are there.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Uring(uring) => uring.fd(),
            Self::Pool(pool) => pool.fd(),
        }
    }

    /// Takes a request in. It starts at the next [`Engine::start`] at the latest.
    ///
    /// # Safety
    ///
    /// The pieces' memory, the array of them, and the file stay where they are until the result is there.
    ///
    /// # Errors
    ///
    /// It can't be taken in; nothing will happen.
    pub unsafe fn submit(&mut self, job: &Job) -> io::Result<()> {
        match self {
            // SAFETY: as the caller says.
            Self::Uring(uring) => unsafe { uring.submit(job) },
            // SAFETY: as the caller says.
            Self::Pool(pool) => unsafe { pool.submit(job) },
        }
    }

    /// Registers a driver's memory, where that is possible; what is not is used as it is.
    pub fn register(&mut self, memory: &Memory) -> Registered {
        match self {
            Self::Uring(uring) => uring.register(memory),
            Self::Pool(_) => Registered::default(),
        }
    }

    /// Ends that. No request on that memory may be on its way.
    pub fn unregister(&mut self, registered: Registered) {
        if let Self::Uring(uring) = self {
            uring.unregister(registered);
        }
    }

    /// What is registered.
    #[must_use]
    pub fn buffers(&self) -> Counted {
        match self {
            Self::Uring(uring) => uring.buffers(),
            Self::Pool(_) => Counted::default(),
        }
    }

    /// Starts what was taken in.
    ///
    /// # Errors
    ///
    /// The kernel did not take it; try again.
    pub fn start(&mut self) -> io::Result<()> {
        match self {
            Self::Uring(uring) => uring.start(),
            Self::Pool(_) => Ok(()),
        }
    }

    /// Takes out the results that are there.
    pub fn reap(&mut self, results: &mut Results) {
        match self {
            Self::Uring(uring) => uring.reap(results),
            Self::Pool(pool) => pool.reap(results),
        }
    }
}
