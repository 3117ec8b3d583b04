//! Which CPUs a process may run on. Children inherit it, so a server and its clients are started from a
//! thread that has taken their place for that moment.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// The CPUs that this thread may use, in order.
///
/// # Errors
/// The system does not say.
pub fn usable() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect())
}

/// Does something with this thread bound to these CPUs, and lets it go where it was before.
///
/// # Errors
/// It can't be bound to them, or what `what` says.
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
