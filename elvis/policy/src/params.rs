//! The constants of the policy: their meaning, their defaults, and what they may be.

use serde::{Deserialize, Serialize};

/// Every constant of the policy. Work is counted in units: a request is as many units as it has
/// started `unit_bytes` of data, and at least one.
///
/// `docs/elvis.md` says which command measured the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Most units on one queue before the next is looked at (section 3.2, "a certain maximum
    /// amount of work"). It is also what the device of greatest weight may use in one round.
    pub max_work: u32,
    /// Fewest units before a queue is left for one that is stuck (section 3.2).
    pub min_work: u32,
    /// Whether a queue is left early for one that is stuck.
    pub stuck_rule: bool,
    /// A queue with requests is stuck when it has got no new one for this long, in ns.
    pub stuck_ns: u64,
    /// Most requests that a stuck queue may hold. The paper has no such bound; without one, a
    /// driver that keeps a fixed number of requests outstanding counts as stuck however many they
    /// are, and busy queues cut each other's visits short.
    pub stuck_pending: u16,
    /// How many other queues are looked at for each request served, to find one that is stuck.
    pub peeks: u32,
    /// Data that makes a request one unit of work, in bytes.
    pub unit_bytes: u32,
    /// Whether queues are polled at all; without it each queue keeps its notifications.
    pub polling: bool,
    /// How many kicks in a row must come close together before their queue is polled.
    pub poll_on_kicks: u32,
    /// Requests that a queue must have made while it was polled for one kick to start that again, once. What
    /// ends polling in the middle of a load is a host that stops the driver, and a row of kicks after
    /// each such stop would be most of all kicks.
    pub poll_again_requests: u32,
    /// How close: the mean time from one of these kicks to the next, in ns. It is the inverse of
    /// the paper's "predefined notification rate" (section 3.4).
    pub poll_on_gap_ns: u64,
    /// A polled queue whose requests come this far apart, or farther, gets its notifications back, in
    /// ns. Never below `poll_on_gap_ns`: the distance between the two is the hysteresis.
    pub poll_off_idle_ns: u64,
    /// Each request earns a queue `poll_off_idle_ns` of being polled. This is how much of it a queue
    /// that made a burst may keep for the pause behind, in ns.
    pub poll_keep_ns: u64,
    /// A thread that polls and is not heard of for this long was not run by its host, in ns. Such time is
    /// not charged to what it polls: it costs nobody anything, and the driver may have been stopped too.
    /// Far longer than any look takes, and far shorter than a scheduler's slice.
    pub stopped_ns: u64,
    /// Longest time that a driver whose requests come closer together than this waits to be called for
    /// a reply, in ns; 0 calls for each.
    pub call_delay_ns: u64,
    /// Longest time between two looks for kicks and completions while queues are polled or
    /// served, in ns.
    pub events_ns: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            max_work: 64,
            min_work: 4,
            stuck_rule: true,
            stuck_ns: 4_000,
            stuck_pending: 8,
            peeks: 2,
            unit_bytes: 4096,
            polling: true,
            poll_on_kicks: 8,
            poll_again_requests: 64,
            poll_on_gap_ns: 160_000,
            poll_off_idle_ns: 3_200_000,
            poll_keep_ns: 100_000_000,
            stopped_ns: 100_000,
            call_delay_ns: 8_000,
            events_ns: 20_000,
        }
    }
}

/// Why a set of parameters can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {value}, and must be {must}")]
pub struct ParamsError {
    /// The parameter, by its name in [`Params`] or [`crate::PlacementParams`].
    pub key: &'static str,
    /// What it was set to.
    pub value: String,
    /// What it must be.
    pub must: String,
}

impl Params {
    /// Mean gap between kicks below which polling starts, in times the cost of sleeping and
    /// waking: closer together, the thread hardly ever sleeps between them in any case.
    pub const ON_GAP_WAKES: u64 = 20;
    /// How much longer than that gap a polled queue must be idle before polling stops.
    pub const HYSTERESIS: u64 = 20;

    /// Least cost of sleeping and waking that is believed, in ns. Two threads on one CPU wake each
    /// other sooner, and say nothing of a CPU that was idle.
    pub const LEAST_WAKE_NS: u64 = 5_000;

    /// The polling window that fits a measured cost of sleeping and waking. A window shorter than
    /// that cost is worse than either extreme: the thread pays for polling, and for the wake.
    #[must_use]
    pub fn with_wake_cost(mut self, wake_ns: u64) -> Self {
        let wake_ns = wake_ns.clamp(Self::LEAST_WAKE_NS, 1_000_000);
        self.poll_on_gap_ns = wake_ns * Self::ON_GAP_WAKES;
        self.poll_off_idle_ns = self.poll_on_gap_ns * Self::HYSTERESIS;
        self
    }

    /// Units of work in a request with this much data.
    #[must_use]
    pub fn units(&self, bytes: u64) -> u32 {
        let units = bytes.div_ceil(u64::from(self.unit_bytes)).max(1);
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    /// Says whether these values can be used together.
    ///
    /// # Errors
    ///
    /// The first value that can't, by name.
    pub fn check(&self) -> Result<(), ParamsError> {
        let least = |key, value: u64, least: u64| {
            if value >= least {
                return Ok(());
            }
            Err(ParamsError {
                key,
                value: value.to_string(),
                must: format!("at least {least}"),
            })
        };
        least("min_work", self.min_work.into(), 1)?;
        least("max_work", self.max_work.into(), self.min_work.into())?;
        least("stuck_pending", self.stuck_pending.into(), 1)?;
        least("unit_bytes", self.unit_bytes.into(), 512)?;
        least("poll_on_kicks", self.poll_on_kicks.into(), 1)?;
        least("poll_again_requests", self.poll_again_requests.into(), 1)?;
        least("poll_on_gap_ns", self.poll_on_gap_ns, 1)?;
        least(
            "poll_off_idle_ns",
            self.poll_off_idle_ns,
            self.poll_on_gap_ns,
        )?;
        least("stopped_ns", self.stopped_ns, 1)?;
        least("events_ns", self.events_ns, 1)?;
        if self.max_work > 1 << 20 {
            return Err(ParamsError {
                key: "max_work",
                value: self.max_work.to_string(),
                must: format!("at most {}", 1 << 20),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_can_be_used() {
        assert_eq!(Params::default().check(), Ok(()));
        for wake_ns in [0, 700, 9_000, u64::MAX] {
            assert_eq!(Params::default().with_wake_cost(wake_ns).check(), Ok(()));
        }
    }

    #[test]
    fn a_bad_value_is_named() {
        let bad = Params {
            min_work: 9,
            max_work: 8,
            ..Params::default()
        };
        assert_eq!(
            bad.check().unwrap_err().to_string(),
            "max_work is 8, and must be at least 9"
        );
    }

    #[test]
    fn a_request_is_one_unit_for_each_started_piece() {
        let params = Params::default();
        assert_eq!(
            [0, 1, 4096, 4097, 1 << 20].map(|b| params.units(b)),
            [1, 1, 1, 2, 256]
        );
        assert_eq!(params.units(u64::MAX), u32::MAX);
    }
}
