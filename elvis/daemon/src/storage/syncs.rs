//! The syncs of a disk: those that run, and whether one has failed. Pure, but for its lock.
//!
//! Linux reports a failed write-back once per open file and then takes the pages as written, so the next sync succeeds
//! without them (fsync(2); `errseq_t` in the kernel's documentation). Two things follow:
//! - After a sync that failed, none succeeds until the file is opened anew. QEMU does the same
//!   (`page_cache_inconsistent` in block/file-posix.c). It leaves out O_DIRECT, but there is no page cache only where the
//!   file system keeps to it, and a device that failed to flush may have dropped data too.
//! - Of two syncs that overlap, one may get the other's error. So one that ended well has succeeded only when those that
//!   ran at its end have ended well too. QEMU runs one flush of a disk at a time.

use std::sync::{Mutex, PoisonError};

/// Syncs of a disk.
#[derive(Debug, Default)]
pub struct Syncs(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Number of the next sync.
    next: u64,
    running: Vec<u64>,
    failed: bool,
}

impl Syncs {
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins a sync. Returns its number.
    pub fn begin(&self) -> u64 {
        self.with(|state| {
            let number = state.next;
            state.next += 1;
            state.running.push(number);
            number
        })
    }

    /// Ends a sync. Returns a limit for [`Syncs::outcome`].
    pub fn end(&self, number: u64, good: bool) -> u64 {
        self.with(|state| {
            state.running.retain(|&other| other != number);
            state.failed |= !good;
            state.next
        })
    }

    /// Whether a sync that ended well, with this limit, has succeeded. None: that is not known yet, as a sync that
    /// overlapped with it still runs.
    pub fn outcome(&self, limit: u64) -> Option<bool> {
        self.with(|state| {
            let overlaps = state.running.iter().any(|&number| number < limit);
            if state.failed {
                Some(false)
            } else {
                (!overlaps).then_some(true)
            }
        })
    }

    /// Notes that a sync that ran alone has failed.
    pub fn fail(&self) {
        self.with(|state| state.failed = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_failed_is_the_last_that_could_succeed() {
        let syncs = Syncs::default();
        for (good, wanted) in [(true, true), (false, false), (true, false)] {
            let limit = syncs.end(syncs.begin(), good);
            assert_eq!(syncs.outcome(limit), Some(wanted));
        }
    }

    #[test]
    fn one_waits_for_those_that_overlap_and_for_no_others() {
        for good in [true, false] {
            let syncs = Syncs::default();
            let (before, own, within) = (syncs.begin(), syncs.begin(), syncs.begin());
            let limit = syncs.end(own, true);
            let later = syncs.begin();
            assert_eq!(syncs.outcome(limit), None);
            syncs.end(within, true);
            assert_eq!(syncs.outcome(limit), None);
            syncs.end(before, good);
            assert_eq!(syncs.outcome(limit), Some(good));
            syncs.end(later, true);
        }
    }

    #[test]
    fn an_error_is_known_at_once() {
        let syncs = Syncs::default();
        let (_first, own) = (syncs.begin(), syncs.begin());
        let limit = syncs.end(own, true);
        syncs.fail();
        assert_eq!(syncs.outcome(limit), Some(false));
    }
}
