//! When one queue is polled and when it keeps its notifications (section 3.4 of the paper).

use crate::Params;

/// What is known of one queue's activity.
#[derive(Debug, Clone)]
pub struct Polling {
    polled: bool,
    /// Kicks in the row that is being counted, and when it started.
    kicks: u32,
    row_from_ns: u64,
    last_kick_ns: u64,
}

impl Polling {
    pub fn new() -> Self {
        Self {
            polled: false,
            kicks: 0,
            row_from_ns: 0,
            last_kick_ns: 0,
        }
    }

    pub fn polled(&self) -> bool {
        self.polled
    }

    /// Notes a kick, or what stands for one, and says whether the queue is to be polled from now
    /// on.
    pub fn active(&mut self, params: &Params, now_ns: u64) -> bool {
        if !params.polling || self.polled {
            return false;
        }
        let row_ns = params
            .poll_on_gap_ns
            .saturating_mul(u64::from(params.poll_on_kicks));
        // One long pause ends a row; so does a row that took too long as a whole.
        let pause_ns = now_ns.saturating_sub(self.last_kick_ns);
        if self.kicks == 0
            || pause_ns > params.poll_off_idle_ns
            || now_ns.saturating_sub(self.row_from_ns) > row_ns
        {
            self.kicks = 0;
            self.row_from_ns = now_ns;
        }
        self.kicks += 1;
        self.last_kick_ns = now_ns;
        self.polled = self.kicks >= params.poll_on_kicks;
        self.polled
    }

    /// Says whether polling ends, for a queue that was found empty and got its last request at
    /// `last_new_ns`.
    pub fn found_empty(&mut self, params: &Params, last_new_ns: u64, now_ns: u64) -> bool {
        if !self.polled || now_ns.saturating_sub(last_new_ns) < params.poll_off_idle_ns {
            return false;
        }
        *self = Self::new();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: fn() -> Params = || Params {
        poll_on_kicks: 4,
        poll_on_gap_ns: 100,
        poll_off_idle_ns: 400,
        ..Params::default()
    };

    fn kicks(gap_ns: u64, count: u64) -> bool {
        let mut polling = Polling::new();
        (0..count).any(|kick| polling.active(&PARAMS(), 1000 + kick * gap_ns))
    }

    #[test]
    fn polling_starts_above_the_rate_only() {
        assert!(kicks(100, 4));
        assert!(!kicks(100, 3));
        assert!(!kicks(135, 1000));
        assert!(!kicks(401, 1000));
    }

    #[test]
    fn polling_ends_when_requests_stop_and_not_before() {
        let mut polling = Polling::new();
        assert!((0..4).any(|kick| polling.active(&PARAMS(), kick)));
        assert!(!polling.found_empty(&PARAMS(), 10, 409));
        assert!(polling.found_empty(&PARAMS(), 10, 410));
        assert!(!polling.polled());
        assert!(
            !polling.active(&PARAMS(), 420),
            "a single kick does not bring it back"
        );
    }

    #[test]
    fn without_polling_nothing_is_polled() {
        let params = Params {
            polling: false,
            ..PARAMS()
        };
        let mut polling = Polling::new();
        assert!(!(0..1000).any(|now| polling.active(&params, now)));
    }
}
