//! The order in which queues are polled.

use super::Scheduler;

/// Two polled queues change places after so many polls on average.
const CHANGE_EVERY: u32 = 64;

impl Scheduler {
    /// The polled queue to visit next: the first one but now and then, when it changes places with the second.
    ///
    /// In an order that never changes, a driver that sends again at once may find that its queue has just been visited,
    /// or will be soon, each time; it then gets half of what another one gets.
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
