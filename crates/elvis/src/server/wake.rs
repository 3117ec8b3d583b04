//! What sleeping and waking costs on this host.

use rustix::event::{EventfdFlags, epoll, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// Round trips that are measured.
const ROUNDS: usize = 200;

fn waiter(eventfd: &OwnedFd) -> io::Result<OwnedFd> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(
        &epoll,
        eventfd,
        epoll::EventData::new_u64(0),
        epoll::EventFlags::IN,
    )?;
    Ok(epoll)
}

fn wait(epoll: &OwnedFd, eventfd: &OwnedFd) -> io::Result<()> {
    let mut events = [epoll::Event {
        flags: epoll::EventFlags::empty(),
        data: epoll::EventData::new_u64(0),
    }];
    loop {
        match epoll::wait(epoll, &mut events[..], None) {
            Err(rustix::io::Errno::INTR) => {}
            other => {
                other?;
                break;
            }
        }
    }
    rustix::io::read(eventfd, &mut [0; 8])?;
    Ok(())
}

/// Measures the time from an eventfd's write until a thread that waits for it in epoll runs: half
/// of a round trip between two threads, the median of many. Takes a few milliseconds.
///
/// # Errors
///
/// The descriptors or the thread can't be had.
pub fn measure_wake_ns() -> io::Result<u64> {
    let there = eventfd(0, EventfdFlags::CLOEXEC)?;
    let back = eventfd(0, EventfdFlags::CLOEXEC)?;
    let (there_waiter, back_waiter) = (waiter(&there)?, waiter(&back)?);
    let one = 1u64.to_ne_bytes();
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| -> io::Result<()> {
            for _ in 0..ROUNDS {
                wait(&there_waiter, &there)?;
                rustix::io::write(&back, &one)?;
            }
            Ok(())
        });
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            rustix::io::write(&there, &one)?;
            wait(&back_waiter, &back)?;
            times.push(start.elapsed().as_nanos() / 2);
        }
        echo.join()
            .map_err(|_| io::Error::other("the measuring thread ended"))??;
        times.sort_unstable();
        Ok(u64::try_from(times[ROUNDS / 2]).unwrap_or(u64::MAX))
    })
}
