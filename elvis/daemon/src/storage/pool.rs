//! File requests by a pool of threads, where io_uring is not allowed. One of the modules with `unsafe`.

use super::engine::{Job, Operation, Results};
use crate::{sys, thread};
use elvis_ring::Piece;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of threads in the pool of one I/O thread.
const THREADS: usize = 4;

struct Order {
    token: u64,
    fd: BorrowedFd<'static>,
    operation: Operation,
    offset: u64,
    pieces: Vec<Piece<'static>>,
}

struct Shared {
    orders: Mutex<Receiver<Order>>,
    results: Mutex<Results>,
    ready: OwnedFd,
}

/// Pool of threads. Each thread executes one request at a time. Dropping the pool ends the threads.
pub struct Pool {
    orders: Sender<Order>,
    shared: Arc<Shared>,
}

impl Pool {
    pub fn new() -> io::Result<Self> {
        let (orders, receiver) = channel();
        let ready = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared {
            orders: Mutex::new(receiver),
            results: Mutex::new(Vec::new()),
            ready,
        });
        for number in 0..THREADS {
            let shared = Arc::clone(&shared);
            let name = format!("elvis-file-{number}");
            thread::start(&name, Some(128 << 10), move || work(&shared))?;
        }
        Ok(Self { orders, shared })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.shared.ready.as_fd()
    }

    /// # Safety
    ///
    /// As for [`super::Engine::submit`].
    pub unsafe fn submit(&self, job: &Job) -> io::Result<()> {
        // SAFETY: the caller keeps the memory until the result has arrived, and it is not used afterwards.
        let kept = |piece: &Piece| unsafe { Piece::new(piece.address() as *mut u8, piece.bytes()) };
        let order = Order {
            token: job.token,
            // SAFETY: as for the pieces.
            fd: unsafe { BorrowedFd::borrow_raw(job.fd.as_raw_fd()) },
            operation: job.operation,
            offset: job.offset,
            pieces: job.pieces.iter().map(kept).collect(),
        };
        self.orders
            .send(order)
            .map_err(|_| io::Error::other("the threads for file requests have ended"))
    }

    pub fn reap(&self, results: &mut Results) {
        let mut theirs = self
            .shared
            .results
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !theirs.is_empty() {
            // Under the lock, so that a new result makes the eventfd readable again.
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.shared.ready, &mut count);
            results.append(&mut theirs);
        }
    }
}

fn work(shared: &Shared) {
    loop {
        let order = shared
            .orders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(order) = order else { return };
        let result = match order.operation {
            Operation::Read => sys::readv(order.fd, &order.pieces, order.offset),
            Operation::Write { dsync } => sys::writev(order.fd, &order.pieces, order.offset, dsync),
            Operation::Flush => sys::datasync(order.fd),
            Operation::Allocate { mode, bytes } => {
                sys::allocate(order.fd, mode, order.offset, bytes)
            }
        };
        let mut results = shared
            .results
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        results.push((order.token, result));
        let _ = rustix::io::write(&shared.ready, &1u64.to_ne_bytes());
    }
}
