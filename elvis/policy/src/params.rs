//! The constants of the policy: meaning, defaults and allowed values.

use serde::{Deserialize, Serialize};

/// Every constant of the policy. Work is counted in units: a request is one unit per started
/// `unit_bytes` of data, at least one. Shares are of time: each unit is `unit_ns` of it.
///
/// See `docs/elvis-config.md`, "Policy", for the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Most units of one visit to a queue (section 3.2, "a certain maximum amount of work"), and of
    /// `unit_ns` that it takes. Also the quantum per round of the device of greatest weight.
    pub max_work: u32,
    /// Fewest units before a visit may end early for a stuck queue (section 3.2).
    pub min_work: u32,
    /// Whether a visit ends early when another queue is stuck.
    pub stuck_rule: bool,
    /// A queue with requests is stuck when it got no new one for this long, in ns.
    pub stuck_ns: u64,
    /// Most requests that a stuck queue may hold. Not in the paper. Without this bound a driver that keeps a fixed
    /// number of requests outstanding would count as stuck however many they are. Busy queues would then cut each
    /// other's visits short.
    pub stuck_pending: u16,
    /// Number of other queues that are checked per request served, to find a stuck one.
    pub peeks: u32,
    /// Data per unit of work, in bytes.
    pub unit_bytes: u32,
    /// Time of a unit of work, in ns. A device's share is charged a unit for each `unit_ns` that it takes. 0: the share
    /// is charged by the units of its requests, whatever time they take.
    pub unit_ns: u64,
    /// Whether queues are polled at all; if not, each queue keeps its notifications.
    pub polling: bool,
    /// Kicks in a row, close together, that start polling.
    pub poll_on_kicks: u32,
    /// Number of requests that a queue must make while polled, so that one kick restarts polling, once. Under load,
    /// polling ends when the host stops the driver. Without this rule most kicks would come from the row that each such
    /// stop requires.
    pub poll_again_requests: u32,
    /// Greatest mean gap between kicks in a row that starts polling, in ns: the inverse of the paper's "predefined
    /// notification rate" (section 3.4).
    pub poll_on_gap_ns: u64,
    /// A polled queue whose requests are this far apart or farther gets its notifications back, in
    /// ns. At least `poll_on_gap_ns`: the difference is the hysteresis.
    pub poll_off_idle_ns: u64,
    /// Each request adds `poll_off_idle_ns` of polling time to its queue. This is the most that a
    /// queue can save up in a burst, in ns.
    pub poll_keep_ns: u64,
    /// Time of polling after which a queue's requests are counted, in ns. If they were on average more than
    /// [`Params::MEAN_GAPS`] times `poll_on_gap_ns` apart, polling ends: it costs more than notifications.
    pub poll_review_ns: u64,
    /// While storage has requests of a queue, its polling pauses when nothing has come for this long, in ns: no reply
    /// of storage, and no new request.
    pub poll_in_flight_ns: u64,
    /// Longest time without a step of a polling thread, in ns, after which the host is taken to have stopped it. Such
    /// time is not charged as polling time: the thread used no CPU, and the driver may have been stopped too. Much
    /// longer than a look at a queue, and much shorter than a time slice of the host's scheduler.
    pub stopped_ns: u64,
    /// Replies closer together than this share a call, which is delayed by at most this time, in ns;
    /// 0: one call per reply.
    pub call_delay_ns: u64,
    /// Delay of a network driver's call for frames that it sent, in ns. There is no call if the driver has seen
    /// meanwhile that they were sent: it waits for answers, and looks when one comes. 0: as for any other queue.
    pub sent_call_delay_ns: u64,
    /// Number of queued requests to a file at which they are started; they are also started at the end of the visit.
    /// The file's device works on them while the visit goes on.
    pub start_requests: u32,
    /// Longest time between two checks for kicks and completions while queues are polled or
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
            unit_ns: 4_000,
            polling: true,
            poll_on_kicks: 8,
            poll_again_requests: 64,
            poll_on_gap_ns: 160_000,
            poll_off_idle_ns: 3_200_000,
            poll_keep_ns: 100_000_000,
            poll_review_ns: 250_000_000,
            poll_in_flight_ns: 200_000,
            stopped_ns: 100_000,
            call_delay_ns: 8_000,
            sent_call_delay_ns: 50_000,
            start_requests: 4,
            events_ns: 20_000,
        }
    }
}

/// A parameter has an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {value}, and must be {must}")]
pub struct ParamsError {
    /// The parameter's name in [`Params`] or [`crate::PlacementParams`].
    pub key: &'static str,
    /// Value of the parameter.
    pub value: String,
    /// The allowed values.
    pub must: String,
}

impl Params {
    /// `poll_on_gap_ns` as a multiple of the wake-up cost. With kicks closer together than that, the
    /// thread hardly ever sleeps between them anyway.
    pub const ON_GAP_WAKES: u64 = 20;
    /// `poll_off_idle_ns` as a multiple of `poll_on_gap_ns`.
    pub const HYSTERESIS: u64 = 20;
    /// Greatest mean gap of a whole review as a multiple of `poll_on_gap_ns`; also that of kicks which bring many
    /// requests to storage.
    pub const MEAN_GAPS: u64 = 4;

    /// Multiple of `min_work` before which a visit to a network device's queue does not end for the other queue of its
    /// pair.
    pub const PAIR_WORK: u32 = 4;

    /// Multiple of the time for which the host stopped the thread. For so long the thread afterwards sleeps rather than
    /// polls for storage.
    pub const CALM: u64 = 16;

    /// Lower bound on the wake-up cost, in ns. Two threads on the same CPU wake each other faster,
    /// which is no measure of waking an idle CPU.
    pub const LEAST_WAKE_NS: u64 = 5_000;

    /// Sets the polling window for a measured wake-up cost. A window shorter than that cost is worse
    /// than always or never polling: the thread pays for the polling and for the wake-up.
    #[must_use]
    pub fn with_wake_cost(mut self, wake_ns: u64) -> Self {
        let wake_ns = wake_ns.clamp(Self::LEAST_WAKE_NS, 1_000_000);
        self.poll_on_gap_ns = wake_ns * Self::ON_GAP_WAKES;
        self.poll_off_idle_ns = self.poll_on_gap_ns * Self::HYSTERESIS;
        self
    }

    /// Returns the units of work of a request with this much data.
    #[must_use]
    pub fn units(&self, bytes: u64) -> u32 {
        let units = bytes.div_ceil(u64::from(self.unit_bytes)).max(1);
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    /// Returns the longest time of a visit while other queues wait, in ns. A visit ends after the request, or part of
    /// one, that exceeds it.
    #[must_use]
    pub fn visit_ns(&self) -> u64 {
        u64::from(self.max_work).saturating_mul(self.unit_ns)
    }

    /// Returns the greatest mean gap of requests in a review, in ns.
    #[must_use]
    pub fn poll_mean_gap_ns(&self) -> u64 {
        self.poll_on_gap_ns.saturating_mul(Self::MEAN_GAPS)
    }

    /// Checks the values, also against each other.
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
        least("poll_review_ns", self.poll_review_ns, 1)?;
        least("poll_in_flight_ns", self.poll_in_flight_ns, 1)?;
        least("start_requests", self.start_requests.into(), 1)?;
        least("stopped_ns", self.stopped_ns, 1)?;
        least("events_ns", self.events_ns, 1)?;
        if self.unit_ns > 1_000_000 {
            return Err(ParamsError {
                key: "unit_ns",
                value: self.unit_ns.to_string(),
                must: "at most 1000000".to_owned(),
            });
        }
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
