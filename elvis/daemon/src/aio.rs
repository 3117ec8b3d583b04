//! Signals eventfds that untrusted processes hold too. One of the modules with `unsafe`.
//!
//! A write to an eventfd waits while its counter is full, and its peer can keep it full. O_NONBLOCK would not help: the
//! peer shares the open file, and can clear the flag. The kernel's own signals never wait, and leave a full counter
//! full. The kernel signals an eventfd when an asynchronous request ends (io_submit(2), IOCB_FLAG_RESFD); a read of
//! /dev/null ends at once.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// `struct iocb` (linux/aio_abi.h), on a machine with little-endian words.
#[repr(C)]
#[derive(Default)]
struct Request {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    eventfd: u32,
}

/// `IOCB_CMD_PREAD` and `IOCB_FLAG_RESFD`.
const READ: u16 = 0;
const SIGNAL: u32 = 1;

/// Words of `struct aio_ring`, which is at the context's address, and the value of one of them (fs/aio.c).
const HEAD: usize = 2;
const TAIL: usize = 3;
const MAGIC: (usize, u32) = (4, 0xa10a_10a1);

/// Signaller of eventfds, which never waits for a process that holds them.
#[derive(Debug)]
pub struct Signaller {
    /// Context of io_setup(2).
    context: libc::c_ulong,
    null: File,
}

impl Signaller {
    /// Makes a signaller for one thread.
    ///
    /// # Errors
    ///
    /// The kernel has no asynchronous requests, or none left (fs.aio-max-nr).
    pub fn new() -> io::Result<Self> {
        let why = |error: io::Error| {
            let why = format!("can't make asynchronous requests (io_setup): {error}");
            io::Error::new(error.kind(), why)
        };
        let null = File::open("/dev/null")?;
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one word.
        let done = unsafe { libc::syscall(libc::SYS_io_setup, 1, &raw mut context) };
        if done != 0 {
            return Err(why(io::Error::last_os_error()));
        }
        let signaller = Self { context, null };
        if signaller.word(MAGIC.0).load(Ordering::Relaxed) != MAGIC.1 {
            return Err(why(io::ErrorKind::Unsupported.into()));
        }
        Ok(signaller)
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        let ring = self.context as *const AtomicU32;
        // SAFETY: the kernel has mapped the context's ring at its address, until io_destroy(2) in `drop`; the ring
        // starts with eight words.
        unsafe { &*ring.add(at) }
    }

    /// Adds 1 to an eventfd, unless its counter is full.
    ///
    /// # Errors
    ///
    /// The descriptor is no eventfd, or the kernel is short of memory.
    pub fn signal(&self, eventfd: &impl AsFd) -> io::Result<()> {
        let mut request = Request {
            opcode: READ,
            fd: self.null.as_raw_fd().unsigned_abs(),
            flags: SIGNAL,
            eventfd: eventfd.as_fd().as_raw_fd().unsigned_abs(),
            ..Request::default()
        };
        let mut requests = [&raw mut request];
        // SAFETY: the kernel reads one address and one request, whose key it writes; the request reads 0 bytes, and has
        // ended when the call returns.
        let taken =
            unsafe { libc::syscall(libc::SYS_io_submit, self.context, 1, requests.as_mut_ptr()) };
        let done = match taken {
            1 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        // Nobody wants the result of the read.
        let tail = self.word(TAIL).load(Ordering::Relaxed);
        self.word(HEAD).store(tail, Ordering::Release);
        done
    }
}

impl Drop for Signaller {
    fn drop(&mut self) {
        // SAFETY: the context is this one's, and no reference to its ring is left.
        unsafe {
            libc::syscall(libc::SYS_io_destroy, self.context);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    fn counter(eventfd: &impl AsFd) -> u64 {
        let mut count = [0; 8];
        rustix::io::read(eventfd, &mut count).unwrap();
        u64::from_ne_bytes(count)
    }

    /// More often than the ring has places for results.
    #[test]
    fn each_signal_is_one() {
        let signaller = Signaller::new().unwrap();
        let eventfd = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        for _ in 0..10_000 {
            signaller.signal(&eventfd).unwrap();
        }
        assert_eq!(counter(&eventfd), 10_000);
        assert!(signaller.signal(&File::open("/dev/null").unwrap()).is_err());
    }

    #[test]
    fn a_full_eventfd_does_not_stop_the_thread() {
        let full = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        rustix::io::write(&full, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let (said, heard) = channel();
        std::thread::spawn(move || {
            let signaller = Signaller::new().unwrap();
            let done = (0..100).all(|_| signaller.signal(&full).is_ok());
            said.send((done, counter(&full))).unwrap();
        });
        let done = heard.recv_timeout(Duration::from_secs(60));
        assert_eq!(done.expect("it waits"), (true, u64::MAX));
    }
}
