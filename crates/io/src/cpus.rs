//! CPU affinity. Children inherit it, so a server or client is spawned while the spawning thread is
//! bound to the child's CPUs.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// The CPUs that this thread may use, in order.
///
/// # Errors
/// The system call failed.
pub fn usable() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect())
}

/// Calls `what` with this thread bound to these CPUs, then restores the thread's CPUs.
///
/// # Errors
/// The thread can't be bound to them, or `what` failed.
pub fn on<T>(cpus: &[usize], what: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let before = sched_getaffinity(None)?;
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("there is no CPU {cpu}")));
        }
        set.set(cpu);
    }
    sched_setaffinity(None, &set)
        .map_err(|e| io::Error::other(format!("can't run on CPUs {cpus:?}: {e}")))?;
    let done = what();
    sched_setaffinity(None, &before)?;
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_for_a_moment() {
        let all = usable().unwrap();
        assert_eq!(on(&all[..1], usable).unwrap(), all[..1]);
        assert_eq!(usable().unwrap(), all);
        assert!(on(&[1 << 20], usable).is_err());
        assert_eq!(usable().unwrap(), all);
    }
}
