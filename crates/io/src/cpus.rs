//! CPU affinity. Children inherit it, so a server or client is spawned while the spawning thread is
//! bound to the child's CPUs.

use std::io;
use ws_cpus::list::Set;
use ws_cpus::{allowed, bind, named};

/// Calls `what` with this thread bound to these CPUs, then restores the thread's CPUs, also after a failure.
pub fn on<T>(cpus: &[u32], what: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let before = allowed(None)?;
    let cpus: Set = cpus.iter().copied().collect();
    let bound = bind(None, &cpus)
        .map_err(|e| io::Error::other(format!("can't run on {}: {e}", named(&cpus))));
    let done = bound.and_then(|()| what());
    bind(None, &before)?;
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_for_a_moment() {
        let all = allowed(None).unwrap();
        let first = *all.first().unwrap();
        assert_eq!(on(&[first], || allowed(None)).unwrap(), [first].into());
        assert_eq!(allowed(None).unwrap(), all);
        // Of a list with a CPU that is not there the kernel would take the others.
        for cpus in [&[1 << 20][..], &[first, 1000]] {
            assert!(on(cpus, || allowed(None)).is_err());
            assert_eq!(allowed(None).unwrap(), all);
        }
    }
}
