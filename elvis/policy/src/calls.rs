//! The time at which a driver is called for its replies. Section 3.5 of the paper makes calls exitless, but they are
//! not free: a call is a system call of the I/O thread, and a wake-up of the driver.
//!
//! A driver whose replies are close together is called once for several of them: after a pause, or when the first of
//! them is `call_delay_ns` old. A network driver waits for answers, not for its own frames to be sent. For sent frames
//! it is called late: by then it has mostly seen them.

use crate::Params;

/// Longer gaps count as this in the mean, so that a burst after a pause is soon recognized.
const LONGEST_GAP_NS: u64 = 1_000_000;

/// The calls of one queue.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    /// Mean time from one reply to the next.
    gap_ns: u64,
    last_ns: u64,
    /// Time at which the first reply was published for which a call is still owed.
    owed_since_ns: Option<u64>,
    /// Whether replies only say that a frame was sent.
    sent: bool,
}

impl Calls {
    /// Returns the calls of a queue without replies yet: for its first replies the driver is called at once.
    #[must_use]
    pub fn new() -> Self {
        Self {
            gap_ns: LONGEST_GAP_NS,
            ..Self::default()
        }
    }

    /// Returns the calls of a network device's queue in which the driver sends: no call is made at once.
    #[must_use]
    pub fn of_sent_frames() -> Self {
        Self {
            sent: true,
            ..Self::new()
        }
    }

    /// Returns the delay of all calls of this queue, if they are delayed.
    fn sent_delay_ns(&self, params: &Params) -> Option<u64> {
        let delay_ns = params.sent_call_delay_ns;
        (self.sent && delay_ns > 0).then_some(delay_ns)
    }

    /// Notes that replies were published, and whether the driver wants a call for them. True: call it
    /// now. Otherwise, while [`Calls::owed`], ask [`Calls::due`].
    pub fn published(&mut self, params: &Params, replies: u64, wanted: bool, now_ns: u64) -> bool {
        let gap_ns = now_ns.saturating_sub(self.last_ns) / replies.max(1);
        self.gap_ns = (3 * self.gap_ns + gap_ns.min(LONGEST_GAP_NS)) / 4;
        self.last_ns = now_ns;
        if self.owed() || !wanted {
            return false;
        }
        if self.sent_delay_ns(params).is_some() || self.gap_ns < params.call_delay_ns {
            self.owed_since_ns = Some(now_ns);
            return false;
        }
        true
    }

    /// Whether the driver must still be called for replies.
    #[must_use]
    pub fn owed(&self) -> bool {
        self.owed_since_ns.is_some()
    }

    /// Whether the owed call is due now. If so, it is no longer owed: the caller makes it.
    pub fn due(&mut self, params: &Params, now_ns: u64) -> bool {
        let Some(since_ns) = self.owed_since_ns else {
            return false;
        };
        let age_ns = now_ns.saturating_sub(since_ns);
        let due = match self.sent_delay_ns(params) {
            Some(delay_ns) => age_ns >= delay_ns,
            None => {
                let pause_ns = now_ns.saturating_sub(self.last_ns);
                age_ns >= params.call_delay_ns || pause_ns >= params.call_delay_ns / 8
            }
        };
        if due {
            self.owed_since_ns = None;
        }
        due
    }

    /// Clears the owed call, as the driver is called for another reason. True if one was owed.
    pub fn settle(&mut self) -> bool {
        self.owed_since_ns.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: fn() -> Params = || Params {
        call_delay_ns: 8_000,
        ..Params::default()
    };

    /// Returns the calls made for replies this far apart, all of which want a call, and the longest delay of a call in
    /// ns; `due` is checked every 100 ns.
    fn calls(gap_ns: u64, replies: u64) -> (u64, u64) {
        let (mut calls, mut made, mut oldest_ns, mut owed_ns) = (Calls::new(), 0, 0, None);
        for now_ns in (0..replies * gap_ns).step_by(100) {
            if now_ns % gap_ns == 0 {
                if calls.published(&PARAMS(), 1, true, now_ns) {
                    made += 1;
                } else {
                    owed_ns = owed_ns.or(Some(now_ns));
                }
            }
            if calls.due(&PARAMS(), now_ns) {
                made += 1;
                oldest_ns = oldest_ns.max(now_ns - owed_ns.take().unwrap());
            }
        }
        (made, oldest_ns)
    }

    #[test]
    fn replies_far_apart_are_called_for_at_once() {
        assert_eq!(calls(9_000, 1000), (1000, 0));
    }

    #[test]
    fn replies_close_together_share_a_call_within_the_delay() {
        let (made, oldest_ns) = calls(500, 10_000);
        assert!(made < 10_000 / 10, "{made} calls");
        assert!(oldest_ns <= PARAMS().call_delay_ns, "{oldest_ns} ns");
        assert!(made > 0);
    }

    #[test]
    fn a_driver_that_pauses_is_called_at_its_pause() {
        let mut calls = Calls::new();
        let mut now_ns = 0;
        for _ in 0..100 {
            now_ns += 200;
            calls.published(&PARAMS(), 1, true, now_ns);
            calls.due(&PARAMS(), now_ns);
        }
        calls.published(&PARAMS(), 1, true, now_ns);
        assert!(calls.owed());
        assert!(!calls.due(&PARAMS(), now_ns + 900));
        assert!(calls.due(&PARAMS(), now_ns + 1_000));
        assert!(!calls.owed() && !calls.due(&PARAMS(), now_ns + 9_000));
    }

    #[test]
    fn a_driver_is_called_late_for_frames_that_it_sent() {
        let params = Params {
            sent_call_delay_ns: 50_000,
            ..PARAMS()
        };
        let mut calls = Calls::of_sent_frames();
        assert!(!calls.published(&params, 1, true, 1_000_000));
        assert!(!calls.published(&params, 1, true, 1_040_000));
        assert!(!calls.due(&params, 1_049_999));
        assert!(calls.due(&params, 1_050_000), "the first is as old");
        assert!(!calls.published(&params, 1, false, 2_000_000) && !calls.owed());
        let off = Params {
            sent_call_delay_ns: 0,
            ..params
        };
        assert!(calls.published(&off, 1, true, 9_000_000));
    }
}
