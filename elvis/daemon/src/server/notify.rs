//! Notification descriptors from untrusted front-ends.
//!
//! A front-end passes eventfds, and keeps them too. It can make writes to one block (by filling its
//! counter), or pass another kind of file. Neither may stop an I/O thread: other files are refused, and
//! a watchdog interrupts a write that blocks.

use crate::{sys, thread};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// A write is interrupted after one to two of these intervals.
const WATCH: Duration = Duration::from_millis(20);

/// Checks that a descriptor is an eventfd.
///
/// # Errors
///
/// It is not.
pub fn check_eventfd(file: File) -> io::Result<OwnedFd> {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    if link.to_str() == Some("anon_inode:[eventfd]") {
        return Ok(file.into());
    }
    let why = format!(
        "a notification descriptor must be an eventfd, is {}",
        link.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Watches the writes of one thread.
#[derive(Debug)]
pub struct Guard {
    /// Incremented before and after each write: odd during a write.
    writes: AtomicU64,
    thread: AtomicI32,
}

static GUARDS: Mutex<Vec<(Weak<Guard>, u64)>> = Mutex::new(Vec::new());

impl Guard {
    /// A guard for the calling thread.
    ///
    /// # Errors
    ///
    /// The watchdog can't be started.
    pub fn new() -> io::Result<Arc<Self>> {
        static WATCHDOG: Mutex<bool> = Mutex::new(false);
        let mut is_there = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_there {
            sys::interruptible();
            // If it can't be started now, the next guard tries again: none works without.
            thread::start("elvis-watchdog", Some(64 << 10), watch)?;
            *is_there = true;
        }
        drop(is_there);
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let guard = Arc::new(Self {
            writes: AtomicU64::new(0),
            thread: AtomicI32::new(thread),
        });
        let mut guards = GUARDS.lock().unwrap_or_else(PoisonError::into_inner);
        guards.push((Arc::downgrade(&guard), 0));
        Ok(guard)
    }

    /// Adds 1 to an eventfd. Always returns within tens of milliseconds.
    ///
    /// # Errors
    ///
    /// The write fails, or its counter is full.
    pub fn notify(&self, eventfd: &impl AsFd) -> io::Result<()> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        let done = rustix::io::write(eventfd, &1u64.to_ne_bytes());
        self.writes.fetch_add(1, Ordering::Relaxed);
        done.map(drop).map_err(io::Error::from)
    }

    /// The same if its counter is not full now. Its peer may fill it before the write.
    ///
    /// # Errors
    ///
    /// As [`Guard::notify`].
    pub fn notify_if_room(&self, eventfd: &impl AsFd) -> io::Result<()> {
        let mut fds = [PollFd::new(eventfd, PollFlags::OUT)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match poll(&mut fds, Some(&now))? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => self.notify(eventfd),
        }
    }
}

fn watch() {
    loop {
        std::thread::sleep(WATCH);
        let mut guards = GUARDS.lock().unwrap_or_else(PoisonError::into_inner);
        guards.retain_mut(|(guard, before)| {
            let Some(guard) = guard.upgrade() else {
                return false;
            };
            let writes = guard.writes.load(Ordering::Relaxed);
            if writes % 2 == 1 && writes == *before {
                sys::interrupt(guard.thread.load(Ordering::Relaxed));
            }
            *before = writes;
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::sync::mpsc::channel;

    #[test]
    fn a_full_eventfd_does_not_stop_the_thread() {
        let full = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        rustix::io::write(&full, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let (said, heard) = channel();
        std::thread::spawn(move || {
            let guard = Guard::new().unwrap();
            let good = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
            let done = (guard.notify(&full).is_err(), guard.notify(&good).is_ok());
            said.send(done).unwrap();
        });
        let done = heard.recv_timeout(Duration::from_secs(60));
        assert_eq!(done.expect("the write was not ended"), (true, true));
    }

    #[test]
    fn only_an_eventfd_is_taken() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        assert!(check_eventfd(writer.into()).is_err());
        assert!(check_eventfd(reader.into()).is_err());
        let good = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        assert!(check_eventfd(good.into()).is_ok());
    }
}
