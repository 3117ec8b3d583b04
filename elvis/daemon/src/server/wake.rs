//! Measures the wake-up cost of this host.

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// Number of round trips to measure.
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

/// Splits the CPUs of this process into that of an I/O thread and the others. None if there are no others.
fn cpus(io_cpu: Option<usize>) -> io::Result<Option<(CpuSet, CpuSet)>> {
    let mut others = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| others.is_set(cpu));
    let Some(cpu) = io_cpu.filter(|&cpu| cpu < CpuSet::MAX_CPU).or(last) else {
        return Ok(None);
    };
    let mut its = CpuSet::new();
    its.set(cpu);
    others.unset(cpu);
    Ok((others.count() > 0).then_some((its, others)))
}

/// Measures the time from a write to an eventfd on another CPU until a thread on `io_cpu` that waits
/// for it in epoll runs: half the median round trip. Takes a few milliseconds.
///
/// # Errors
///
/// Descriptors or threads can't be created.
pub fn measure_wake_ns(io_cpu: Option<usize>) -> io::Result<u64> {
    let cpus = cpus(io_cpu)?;
    let there = eventfd(0, EventfdFlags::CLOEXEC)?;
    let back = eventfd(0, EventfdFlags::CLOEXEC)?;
    let (there_waiter, back_waiter) = (waiter(&there)?, waiter(&back)?);
    let one = 1u64.to_ne_bytes();
    let bind = |set: Option<&CpuSet>| set.map_or(Ok(()), |set| sched_setaffinity(None, set));
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| -> io::Result<()> {
            bind(cpus.as_ref().map(|(its, _)| its))?;
            for _ in 0..ROUNDS {
                wait(&there_waiter, &there)?;
                rustix::io::write(&back, &one)?;
            }
            Ok(())
        });
        let caller = scope.spawn(|| -> io::Result<Vec<u128>> {
            bind(cpus.as_ref().map(|(_, others)| others))?;
            (0..ROUNDS)
                .map(|_| {
                    let start = Instant::now();
                    rustix::io::write(&there, &one)?;
                    wait(&back_waiter, &back)?;
                    Ok(start.elapsed().as_nanos() / 2)
                })
                .collect()
        });
        let ended = |_| io::Error::other("a thread that measures the wake-up cost panicked");
        let mut times = caller.join().map_err(ended)??;
        echo.join().map_err(ended)??;
        times.sort_unstable();
        Ok(u64::try_from(times[ROUNDS / 2]).unwrap_or(u64::MAX))
    })
}
