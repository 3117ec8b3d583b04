//! The counters of the policy, shown to users and checked by tests.

use serde::Serialize;

/// Counters of one queue since it was added to this core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct QueueCounters {
    /// Requests served.
    pub requests: u64,
    /// Bytes of the requests' data, and of the ranges that they discard or zero.
    pub bytes: u64,
    /// Kicks received.
    pub kicks: u64,
    /// Visits that served requests.
    pub visits: u64,
    /// Visits that found no requests.
    pub empty_polls: u64,
    /// Visits that ended early because another queue was stuck.
    pub stuck_exits: u64,
    /// Visits that found requests but no share left in this round.
    pub waits_for_share: u64,
    /// Visits that found requests but a rate limit reached.
    pub waits_for_rate: u64,
    /// Number of times that polling started.
    pub polling_started: u64,
}

impl QueueCounters {
    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            bytes: self.bytes + other.bytes,
            kicks: self.kicks + other.kicks,
            visits: self.visits + other.visits,
            empty_polls: self.empty_polls + other.empty_polls,
            stuck_exits: self.stuck_exits + other.stuck_exits,
            waits_for_share: self.waits_for_share + other.waits_for_share,
            waits_for_rate: self.waits_for_rate + other.waits_for_rate,
            polling_started: self.polling_started + other.polling_started,
        }
    }
}

/// Counters of one core.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CoreCounters {
    /// Rounds; each gives every device its share anew.
    pub rounds: u64,
    /// Looks at other queues while one was served.
    pub peeks: u64,
    /// Number of times that the thread was told to sleep.
    pub sleeps: u64,
    /// Time in which the host did not run the thread while it polled, in ns.
    pub stopped_ns: u64,
}
