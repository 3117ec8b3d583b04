//! QEMU's pool of threads, as one thread.

use super::world::Item;
use std::collections::VecDeque;

/// QEMU's pool of threads. It shares a core with the thread that it belongs to, its owner, as Linux' scheduler (EEVDF)
/// has it. The woken one takes the core at once if the other ran for longer, of the time in which both wanted to run.
#[derive(Default)]
pub struct Pool {
    pub waiting: VecDeque<Item>,
    /// Whether the pool has the core.
    pub runs: bool,
    alone: bool,
    /// Ticks that the pool ran less than its owner.
    behind: i64,
}

impl Pool {
    /// Notes that the owner ran. A pool that sleeps makes up for the ticks that it ran more (DELAY_DEQUEUE), and gains
    /// nothing.
    pub fn owner_ran(&mut self, ticks: u64) {
        self.alone = false;
        self.behind = self.behind.saturating_add_unsigned(ticks);
        if self.waiting.is_empty() {
            self.behind = self.behind.min(0);
        }
    }

    /// Takes a request from the owner, which spent `ticks` on it and woke a thread of the pool.
    pub fn given(&mut self, item: Item, ticks: u64) {
        self.owner_ran(ticks);
        self.waiting.push_back(item);
        self.runs = self.behind > 0;
    }

    /// Notes that the owner sleeps. True if the pool has nothing to do either.
    pub fn left_alone(&mut self) -> bool {
        let sleeps = self.waiting.is_empty();
        (self.runs, self.alone) = (!sleeps, true);
        if sleeps {
            self.behind = 0;
        }
        sleeps
    }

    /// Whether the owner sleeps until the pool has done all.
    pub fn runs_alone(&self) -> bool {
        self.runs && self.alone
    }

    /// Notes that the pool did a request in `ticks`, and returns the request.
    pub fn did(&mut self, ticks: u64) -> Option<Item> {
        if !self.alone {
            self.behind = self.behind.saturating_sub_unsigned(ticks);
        }
        let item = self.waiting.pop_front();
        self.runs = !self.waiting.is_empty();
        self.alone &= self.runs;
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::machine::lab::{COMMON, DISKS};
    use crate::simulation::machine::prices::value;

    /// Returns how many of `count` requests the pool has done when all are submitted: QEMU's thread completes these
    /// first.
    fn done_of(count: usize) -> usize {
        let submit = value(DISKS[1].own(), "out_each");
        let read = value(&COMMON, "read");
        let (mut pool, mut done) = (Pool::default(), 0);
        // A batch before, whose last part was done while the owner slept, changes nothing.
        pool.given(Item::Out { last_of: None }, submit);
        assert!(pool.did(read).is_some() && pool.left_alone());
        for _ in 0..count {
            pool.given(Item::Out { last_of: None }, submit);
            while pool.runs {
                done += usize::from(pool.did(read).is_some());
            }
        }
        assert_eq!(pool.waiting.len(), count - done);
        done
    }

    /// If the lab's traces show only a part of 8 or 16 requests done, it is most often 5, and 10 or 11
    /// (docs/notebook/elvis-model.md).
    #[test]
    fn a_part_of_a_batch_is_completed_first() {
        assert_eq!([1, 2, 8, 16].map(done_of), [0, 2, 5, 11]);
    }
}
