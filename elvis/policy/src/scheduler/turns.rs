//! The order in which queues are polled.

use super::Scheduler;

/// Number of polls after which two polled queues change places, on average.
const CHANGE_EVERY: u32 = 64;

impl Scheduler {
    /// Returns the polled queue to visit next: mostly the first one. Now and then the second one changes places with
    /// it.
    ///
    /// In an order that never changes, a driver that sends again at once may find each time that its queue has just
    /// been visited, or will be soon. It then gets half of another one's visits.
    pub(super) fn polled_next(&mut self, first: u32) -> u32 {
        // Numerical Recipes' generator, whose upper bits are random enough.
        self.dice = self
            .dice
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        if (self.dice >> 16) % CHANGE_EVERY > 0 {
            return first;
        }
        self.detours = self.detours.saturating_add(1);
        self.poll.after(first).unwrap_or(first)
    }
}
