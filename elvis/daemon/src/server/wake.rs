//! Measures the wake-up cost of this host.

use crate::thread::cannot;
use rustix::event::{EventfdFlags, epoll, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Instant;
use ws_cpus::list::Set;
use ws_cpus::{Cpus, bind, named};

/// Number of round trips to measure.
const ROUNDS: usize = 200;

/// An eventfd, and the epoll in which one thread waits for it.
struct Bell {
    eventfd: OwnedFd,
    epoll: OwnedFd,
}

impl Bell {
    fn new() -> io::Result<Self> {
        let eventfd = eventfd(0, EventfdFlags::CLOEXEC)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&epoll, &eventfd, data, epoll::EventFlags::IN)?;
        Ok(Self { eventfd, epoll })
    }

    fn ring(&self) -> io::Result<()> {
        rustix::io::write(&self.eventfd, &1u64.to_ne_bytes())?;
        Ok(())
    }

    fn wait(&self) -> io::Result<()> {
        let mut events = [epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        }];
        rustix::io::retry_on_intr(|| epoll::wait(&self.epoll, &mut events[..], None))?;
        rustix::io::read(&self.eventfd, &mut [0; 8])?;
        Ok(())
    }
}

/// Doorbells of two threads that wake each other in turns. If one thread fails, the other one's wait ends.
struct Pair {
    there: Bell,
    back: Bell,
    failed: AtomicBool,
}

/// Ends the wait of the other thread, unless this one succeeds.
struct Fails<'a>(&'a Pair);

impl Drop for Fails<'_> {
    fn drop(&mut self) {
        self.0.failed.store(true, Ordering::SeqCst);
        let _ = (self.0.there.ring(), self.0.back.ring());
    }
}

impl Pair {
    fn new() -> io::Result<Self> {
        Ok(Self {
            there: Bell::new()?,
            back: Bell::new()?,
            failed: AtomicBool::new(false),
        })
    }

    fn wait(&self, bell: &Bell) -> io::Result<()> {
        bell.wait()?;
        match self.failed.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => Ok(()),
        }
    }

    /// Starts a thread bound to these CPUs; none: any.
    fn start<'scope, T: Send + 'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        name: &str,
        cpus: Option<&'scope Set>,
        work: impl FnOnce() -> io::Result<T> + Send + 'scope,
    ) -> io::Result<ScopedJoinHandle<'scope, io::Result<T>>> {
        let fails = Fails(self);
        let builder = Builder::new().name(name.to_owned());
        let started = builder.spawn_scoped(scope, move || {
            let bound = cpus.map_or(Ok(()), |cpus| {
                bind(None, cpus).map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", named(cpus)))
                })
            });
            let done = bound.and_then(|()| work());
            if done.is_ok() {
                std::mem::forget(fails);
            }
            done
        });
        started.map_err(|error| cannot(name, &error))
    }
}

/// Returns the CPU of an I/O thread, and others of its kind, where possible. None if there are no others.
fn cpus(host: &Cpus, io_cpu: Option<u32>) -> Option<(Set, Set)> {
    let alike = host.alike(&host.allowed, 2);
    let its: Set = [io_cpu.or_else(|| alike.last().copied())?].into();
    let others = [&alike - &its, &host.allowed - &its];
    let others = others.into_iter().find(|others| !others.is_empty());
    Some((its, others?))
}

/// Measures the time from a write to an eventfd on another CPU until a thread on `io_cpu` that waits
/// for it in epoll runs: half the median round trip. Takes a few milliseconds.
///
/// # Errors
///
/// Descriptors or threads can't be created, or there is no such CPU.
pub fn measure_wake_ns(host: &Cpus, io_cpu: Option<u32>) -> io::Result<u64> {
    let cpus = cpus(host, io_cpu);
    let (its, others) = match &cpus {
        Some((its, others)) => (Some(its), Some(others)),
        None => (None, None),
    };
    let pair = Pair::new()?;
    let (called, echoed) = std::thread::scope(|scope| -> io::Result<_> {
        let echo = pair.start(scope, "elvis-wake-echo", its, || {
            for _ in 0..ROUNDS {
                pair.wait(&pair.there)?;
                pair.back.ring()?;
            }
            Ok(())
        })?;
        let caller = pair.start(scope, "elvis-wake-call", others, || {
            let times = (0..ROUNDS).map(|_| {
                let start = Instant::now();
                pair.there.ring()?;
                pair.wait(&pair.back)?;
                Ok(start.elapsed().as_nanos() / 2)
            });
            times.collect::<io::Result<Vec<u128>>>()
        })?;
        Ok((caller.join(), echo.join()))
    })?;
    let panicked = |_| io::Error::other("a thread that measures the wake-up cost panicked");
    let called = called.map_err(panicked).and_then(|done| done);
    let echoed = echoed.map_err(panicked).and_then(|done| done);
    let mut times = match (called, echoed) {
        // The caller's wait ended because the other thread failed.
        (Err(error), Err(why)) if error.kind() == io::ErrorKind::BrokenPipe => return Err(why),
        (called, echoed) => {
            let times = called?;
            echoed?;
            times
        }
    };
    times.sort_unstable();
    Ok(u64::try_from(times[ROUNDS / 2]).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(60);

    /// Measures on a thread, so that a hang fails the test.
    fn measured(host: &Cpus, io_cpu: Option<u32>) -> io::Result<u64> {
        let (to, from) = channel();
        let host = host.clone();
        std::thread::spawn(move || to.send(measure_wake_ns(&host, io_cpu)));
        from.recv_timeout(LIMIT).expect("it hangs")
    }

    #[test]
    fn it_is_measured_on_every_cpu_that_can_be_used_and_an_error_on_others() {
        let host = Cpus::here();
        for cpu in host.bindable.iter().copied().map(Some).chain([None]) {
            assert!(measured(&host, cpu).unwrap() > 0);
        }
        for absent in [1000, 5000, u32::MAX] {
            let why = measured(&host, Some(absent)).unwrap_err().to_string();
            assert!(why.contains(&format!("CPU {absent}")), "{why}");
        }
    }

    /// The caller can't be bound either.
    #[test]
    fn a_host_that_is_not_as_it_says_is_an_error() {
        let other = |path: &str| match path {
            "/sys/devices/system/cpu/online" => Some("0,1000-1001".to_owned()),
            "/proc/self/status" => Some("Cpus_allowed_list: 1000-1001".to_owned()),
            _ => None,
        };
        let host = Cpus::read(&other);
        for io_cpu in [None, Some(0), Some(1000)] {
            let why = measured(&host, io_cpu).unwrap_err().to_string();
            assert!(why.starts_with("CPU"), "{why}");
        }
    }

    #[test]
    fn both_threads_are_on_cpus_of_one_kind_where_that_is_possible() {
        let host = |affinity: &'static str| {
            Cpus::read(&|path| match path {
                "/sys/devices/system/cpu/online" => Some("0-3".to_owned()),
                "/sys/devices/cpu_core/cpus" => Some("0-1".to_owned()),
                "/sys/devices/cpu_atom/cpus" => Some("2-3".to_owned()),
                "/proc/self/status" => Some(format!("Cpus_allowed_list: {affinity}")),
                _ => None,
            })
        };
        let both = |affinity, io_cpu| cpus(&host(affinity), io_cpu);
        assert_eq!(both("0-3", None), Some(([1].into(), [0].into())));
        assert_eq!(both("0-3", Some(3)), Some(([3].into(), [0, 1].into())));
        assert_eq!(both("1-2", None), Some(([2].into(), [1].into())));
        assert_eq!(both("1", Some(1)), None);
    }
}
