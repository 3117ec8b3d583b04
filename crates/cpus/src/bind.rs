//! The affinity of threads, as the kernel has it.

use crate::list::Set;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Returns the CPUs on which a thread may run; without `thread`, the calling thread. Isolated CPUs are among them only
/// if the thread is bound to them.
pub fn allowed(thread: Option<Pid>) -> io::Result<Set> {
    let set = sched_getaffinity(thread)?;
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    Ok(cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// Lets a thread run on exactly these CPUs, and checks that the kernel accepted all; without `thread`, the calling
/// thread.
///
/// # Errors
/// The thread does not exist, or can't run on one of the CPUs.
pub fn bind(thread: Option<Pid>, cpus: &Set) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        let cpu = cpu as usize;
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("there is no CPU {cpu}")));
        }
        set.set(cpu);
    }
    sched_setaffinity(thread, &set)?;
    match allowed(thread)? {
        now if now == *cpus => Ok(()),
        now => Err(io::Error::other(format!(
            "the kernel lets the thread run on {}",
            crate::named(&now)
        ))),
    }
}

/// Tests, on a new thread, whether a thread of this process can be bound to a CPU. The affinity mask of this process is
/// no answer: it leaves out isolated CPUs.
///
/// # Errors
/// The CPU does not exist or is offline, or a control group forbids it.
pub fn may_use(cpu: u32) -> io::Result<()> {
    on_a_thread(move || bind(None, &[cpu].into()))
}

/// Returns all CPUs to which a thread of this process can be bound.
pub(crate) fn bindable() -> io::Result<Set> {
    on_a_thread(|| {
        let mut set = CpuSet::new();
        (0..CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
        // The kernel leaves out what is offline or not in the cpuset.
        sched_setaffinity(None, &set)?;
        allowed(None)
    })
}

fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let thread = std::thread::Builder::new().name("cpus".to_owned());
    let done = thread.spawn(work)?.join();
    done.unwrap_or_else(|_| Err(io::Error::other("the thread that tries CPUs panicked")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        let ours = allowed(None).unwrap();
        for absent in [1000, 5000, u32::MAX] {
            assert!(may_use(absent).is_err());
        }
        assert!(ours.iter().all(|cpu| may_use(*cpu).is_ok()));
        assert!(ours.is_subset(&bindable().unwrap()));
        assert_eq!(allowed(None).unwrap(), ours);
        let first: Set = ours.iter().take(1).copied().collect();
        let bound = on_a_thread(move || bind(None, &first).and_then(|()| allowed(None)));
        assert_eq!(bound.unwrap().len(), 1);
        // The kernel takes what it can of a list: that is not enough.
        let mut more = ours.clone();
        more.insert(1000);
        assert!(on_a_thread(move || bind(None, &more)).is_err());
    }
}
