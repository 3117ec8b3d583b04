//! The switch of a queue between polling and notifications (section 3.4 of the paper).

use crate::Params;

/// The polling state of one queue.
#[derive(Debug, Clone)]
pub struct Polling {
    polled: bool,
    /// Whether polling never ends, as the driver can't kick.
    always: bool,
    /// Kicks in the current row; when the row started; requests since then.
    kicks: u32,
    row_from_ns: u64,
    row_requests: u32,
    last_kick_ns: u64,
    /// Time until which the queue's requests have earned it polling.
    earned_until_ns: u64,
    /// Requests since polling started.
    requests: u32,
    /// Time of the last review of the queue's requests, and the requests since then.
    reviewed_ns: Option<u64>,
    since_review: u32,
    /// Whether the queue made so many requests when it was last polled that one kick restarts polling.
    trusted: bool,
    /// Whether each request, and not each kick, allows a gap: all requests of a batch wait for the thread to wake up.
    by_requests: bool,
    /// Whether storage has requests of the queue.
    in_flight: bool,
    /// Time of the last request, or reply of storage.
    news_ns: u64,
    /// Whether polling has paused, as storage took long.
    paused: bool,
}

impl Polling {
    pub fn new() -> Self {
        Self {
            polled: false,
            always: false,
            kicks: 0,
            row_from_ns: 0,
            row_requests: 0,
            last_kick_ns: 0,
            earned_until_ns: 0,
            requests: 0,
            reviewed_ns: None,
            since_review: 0,
            trusted: false,
            by_requests: false,
            in_flight: false,
            news_ns: 0,
            paused: false,
        }
    }

    pub fn polled(&self) -> bool {
        self.polled
    }

    /// Notes a kick, or requests left over by a visit, which count as one. True: polling starts now.
    pub fn active(&mut self, params: &Params, now_ns: u64) -> bool {
        if !params.polling || self.polled {
            return false;
        }
        let row_ns = self.row_ns(params);
        // A row ends with one long pause, or when it takes too long as a whole.
        let pause_ns = now_ns.saturating_sub(self.last_kick_ns);
        if self.kicks == 0
            || pause_ns > params.poll_off_idle_ns
            || now_ns.saturating_sub(self.row_from_ns) > row_ns
        {
            self.kicks = 0;
            self.row_from_ns = now_ns;
            self.row_requests = 0;
        }
        self.kicks += 1;
        self.last_kick_ns = now_ns;
        // Only once: if polling does not pay this time, the next start takes a whole row.
        let again = std::mem::take(&mut self.trusted) | std::mem::take(&mut self.paused);
        self.polled = again || self.kicks >= params.poll_on_kicks;
        self.requests = 0;
        self.polled
    }

    /// Returns the longest time of a row. Each kick allows a gap. In a queue whose requests go to storage, or are
    /// frames to send, each request allows one, as each waits for the thread to wake up; up to four gaps for a kick.
    fn row_ns(&self, params: &Params) -> u64 {
        let kicks = u64::from(params.poll_on_kicks);
        let gaps = match self.by_requests {
            true => {
                u64::from(self.row_requests).clamp(kicks, kicks.saturating_mul(Params::MEAN_GAPS))
            }
            false => kicks,
        };
        params.poll_on_gap_ns.saturating_mul(gaps)
    }

    /// Notes how many of the queue's requests storage has, at their start or after a reply, and whether a pause may
    /// end. True: polling goes on now, after a pause.
    pub fn stored(&mut self, params: &Params, in_flight: u32, goes_on: bool, now_ns: u64) -> bool {
        (self.by_requests, self.in_flight, self.news_ns) = (true, in_flight > 0, now_ns);
        if !goes_on || !std::mem::take(&mut self.paused) || self.polled {
            return false;
        }
        self.polled = true;
        let least_ns = now_ns.saturating_add(params.poll_off_idle_ns);
        self.earned_until_ns = self.earned_until_ns.max(least_ns);
        true
    }

    /// Makes each request, and not each kick, allow a gap from now on.
    pub fn counts_requests(&mut self) {
        self.by_requests = true;
    }

    /// Starts polling that never ends, whether or not polling is off.
    pub fn never_end(&mut self) {
        (self.polled, self.always) = (true, true);
    }

    /// Starts polling without kicks, for a queue that was polled on another core. False if polling is
    /// off.
    pub fn start(&mut self, params: &Params, now_ns: u64) -> bool {
        self.polled = params.polling;
        self.requests = 0;
        self.earn(params, 1, now_ns);
        self.polled
    }

    /// Notes new requests. Each earns `poll_off_idle_ns` of polling. The time that a burst earns is kept for the pause
    /// after it, up to `poll_keep_ns`.
    pub fn earn(&mut self, params: &Params, requests: u16, now_ns: u64) {
        self.requests = self.requests.saturating_add(requests.into());
        self.since_review = self.since_review.saturating_add(requests.into());
        self.row_requests = self.row_requests.saturating_add(requests.into());
        self.news_ns = now_ns;
        let earned_ns = params.poll_off_idle_ns.saturating_mul(u64::from(requests));
        let until_ns = self.earned_until_ns.max(now_ns).saturating_add(earned_ns);
        let most_ns = params.poll_keep_ns.max(params.poll_off_idle_ns);
        self.earned_until_ns = until_ns.min(now_ns.saturating_add(most_ns));
    }

    /// Notes that the queue was found empty. True: polling ends now, or pauses.
    pub fn found_empty(&mut self, params: &Params, now_ns: u64) -> bool {
        if !self.polled || self.always {
            return false;
        }
        let pauses = now_ns >= self.earned_until_ns;
        if !pauses && !self.too_rare(params, now_ns) {
            let silent_ns = now_ns.saturating_sub(self.news_ns);
            return silent_ns >= params.poll_in_flight_ns && self.pause();
        }
        *self = Self {
            trusted: pauses && self.requests >= params.poll_again_requests,
            by_requests: self.by_requests,
            in_flight: self.in_flight,
            news_ns: self.news_ns,
            ..Self::new()
        };
        true
    }

    /// Pauses polling, if storage has requests of the queue. True: polling pauses now. It goes on at the next reply of
    /// storage, or at a kick.
    pub fn pause(&mut self) -> bool {
        if !self.polled || self.always || !self.in_flight {
            return false;
        }
        (self.polled, self.paused) = (false, true);
        true
    }

    /// Whether the queue's requests were too far apart on average since the last review, if the next one is due.
    /// Without reviews, a burst would start polling that requests far below its rate keep up.
    fn too_rare(&mut self, params: &Params, now_ns: u64) -> bool {
        let passed_ns = now_ns.saturating_sub(*self.reviewed_ns.get_or_insert(now_ns));
        if passed_ns < params.poll_review_ns {
            return false;
        }
        self.reviewed_ns = Some(now_ns);
        let requests = std::mem::take(&mut self.since_review);
        passed_ns > params.poll_mean_gap_ns().saturating_mul(requests.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: fn() -> Params = || Params {
        poll_on_kicks: 4,
        poll_on_gap_ns: 100,
        poll_off_idle_ns: 400,
        poll_keep_ns: 4000,
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
        polling.earn(&PARAMS(), 1, 10);
        assert!(!polling.found_empty(&PARAMS(), 409));
        assert!(polling.found_empty(&PARAMS(), 410));
        assert!(!polling.polled());
        assert!(
            !polling.active(&PARAMS(), 420),
            "a single kick does not restart polling"
        );
    }

    #[test]
    fn a_burst_pays_for_the_pause_behind_it() {
        let mut polling = Polling::new();
        assert!((0..4).any(|kick| polling.active(&PARAMS(), kick)));
        polling.earn(&PARAMS(), 3, 100);
        assert!(!polling.found_empty(&PARAMS(), 100 + 3 * 400 - 1));
        polling.earn(&PARAMS(), 1, 1000);
        assert!(!polling.found_empty(&PARAMS(), 1300 + 400 - 1));
        polling.earn(&PARAMS(), u16::MAX, 1500);
        assert!(
            !polling.found_empty(&PARAMS(), 1500 + 4000 - 1),
            "as much as a queue may keep"
        );
        assert!(polling.found_empty(&PARAMS(), 1500 + 4000), "and no more");
    }

    #[test]
    fn a_rate_below_that_of_the_end_ends_polling_whatever_the_bursts() {
        // Ten requests every 10 * 400 ns and a little more: what a burst earns is spent before the next.
        let mut polling = Polling::new();
        for burst in 0..5 {
            let now_ns = burst * 4100;
            assert!((0..4).any(|kick| polling.active(&PARAMS(), now_ns + kick)));
            polling.earn(&PARAMS(), 10, now_ns);
            assert!(!polling.found_empty(&PARAMS(), now_ns + 3999));
            assert!(polling.found_empty(&PARAMS(), now_ns + 4099));
        }
    }

    /// Makes requests this far apart after a burst that started polling. Returns when polling ended, within three
    /// reviews.
    fn after_burst(params: &Params, gap_ns: u64) -> Option<u64> {
        let mut polling = Polling::new();
        assert!((0..4).any(|kick| polling.active(params, kick)));
        polling.earn(params, 1000, 4);
        (0..3 * params.poll_review_ns).find(|now_ns| {
            if now_ns % gap_ns == 0 {
                polling.earn(params, 1, *now_ns);
            }
            let ends = polling.found_empty(params, *now_ns);
            assert!(!ends || !polling.active(params, *now_ns), "it is trusted");
            ends
        })
    }

    #[test]
    fn requests_too_rare_to_start_polling_do_not_keep_it_up_after_a_burst() {
        let params = Params {
            poll_review_ns: 100_000,
            ..PARAMS()
        };
        // Each request earns 400 ns.
        assert_eq!(after_burst(&params, 399), None);
        let slower = Params {
            poll_off_idle_ns: 2000,
            ..params
        };
        assert_eq!(after_burst(&slower, 399), None);
        // The first review is that of the burst.
        assert_eq!(after_burst(&slower, 401), Some(200_000));
    }

    /// Makes kicks this far apart, each with `requests` requests to storage. Returns whether polling starts.
    fn batches(params: &Params, gap_ns: u64, requests: u16) -> bool {
        let mut polling = Polling::new();
        (0..100).any(|kick| {
            let now_ns = 1000 + kick * gap_ns;
            let starts = polling.active(params, now_ns);
            polling.earn(params, requests, now_ns);
            assert!(!polling.stored(params, requests.into(), true, now_ns));
            polling.stored(params, 0, true, now_ns + gap_ns / 2);
            starts
        })
    }

    #[test]
    fn each_request_to_storage_allows_a_gap_up_to_four_for_a_kick() {
        let params = PARAMS();
        assert!(batches(&params, 100, 1));
        assert!(!batches(&params, 135, 1));
        assert!(batches(&params, 200, 3));
        assert!(!batches(&params, 380, 2));
        assert!(batches(&params, 380, 32));
        assert!(!batches(&params, 401, 10_000));
        // In a queue whose requests do not go to storage only the kicks count.
        let mut polling = Polling::new();
        assert!(!(0..100).any(|kick| {
            let starts = polling.active(&params, 1000 + kick * 200);
            polling.earn(&params, 32, 1000 + kick * 200);
            starts
        }));
    }

    /// Returns a polled queue with `requests` requests in flight, which earned all that it may keep at time 0.
    fn in_flight(params: &Params, requests: u32) -> Polling {
        let mut polling = Polling::new();
        assert!(polling.start(params, 0));
        polling.earn(params, 1000, 0);
        assert!(!polling.stored(params, requests, true, 0));
        polling
    }

    #[test]
    fn polling_pauses_while_storage_is_silent_and_goes_on_at_its_reply() {
        let params = Params {
            poll_in_flight_ns: 150,
            ..PARAMS()
        };
        let mut polling = in_flight(&params, 2);
        assert!(!polling.found_empty(&params, 149));
        // A request, or a reply, is news.
        polling.earn(&params, 1, 149);
        assert!(!polling.found_empty(&params, 298));
        assert!(!polling.stored(&params, 2, true, 298));
        assert!(!polling.found_empty(&params, 447));
        assert!(polling.found_empty(&params, 448));
        assert!(!polling.polled());
        assert!(polling.stored(&params, 1, true, 9000), "it goes on");
        assert!(!polling.stored(&params, 1, true, 9000), "once");
        assert!(!polling.found_empty(&params, 9149));
        assert!(polling.found_empty(&params, 9150));
        assert!(polling.active(&params, 9200), "a kick is as good");
        assert!(!polling.active(&params, 9201));
    }

    #[test]
    fn polling_does_not_pause_if_storage_has_nothing_or_if_it_never_ends() {
        let params = Params {
            poll_in_flight_ns: 1,
            ..PARAMS()
        };
        let mut none = in_flight(&params, 1);
        none.stored(&params, 0, true, 1);
        assert!(!none.found_empty(&params, 3999));
        assert!(none.found_empty(&params, 4000), "it ends");
        assert!(!none.stored(&params, 1, true, 4001), "for good");
        let mut always = in_flight(&params, 1);
        always.never_end();
        assert!(!always.found_empty(&params, 1_000_000) && !always.pause());
    }

    /// A slow disk: after a burst a request at a time, each in flight for as long as the pause between two.
    #[test]
    fn a_slow_disk_with_rare_requests_is_not_polled_for_long() {
        let params = Params::default();
        let gap_ns = 2_700_000;
        let mut polling = in_flight(&params, 32);
        let (mut polled_ns, mut last_ns) = (0, 0);
        for now_ns in (0..4 * params.poll_review_ns).step_by(10_000) {
            if now_ns % gap_ns == 0 {
                polling.active(&params, now_ns);
                polling.earn(&params, 1, now_ns);
                polling.stored(&params, 1, true, now_ns);
            } else if now_ns % gap_ns == gap_ns / 2 {
                polling.stored(&params, 0, true, now_ns);
            }
            if polling.polled() {
                (polled_ns, last_ns) = (polled_ns + 10_000, now_ns);
                polling.found_empty(&params, now_ns);
            }
        }
        // The first review is that of the burst. The device is idle again within a second.
        assert!(polled_ns < 2 * params.poll_review_ns, "{polled_ns} ns");
        assert!(
            last_ns <= 2 * params.poll_review_ns + gap_ns,
            "until {last_ns} ns"
        );
    }

    #[test]
    fn polling_that_paid_starts_again_at_one_kick_and_only_once() {
        let params = PARAMS();
        let served = |requests: u16| {
            let mut polling = Polling::new();
            assert!((0..4).any(|kick| polling.active(&params, kick)));
            polling.earn(&params, requests, 4);
            assert!(polling.found_empty(&params, 1_000_000));
            polling
        };
        let many = params.poll_again_requests as u16;
        assert!(!served(many - 1).active(&params, 2_000_000));
        let mut polling = served(many);
        assert!(polling.active(&params, 2_000_000));
        polling.earn(&params, 1, 2_000_000);
        assert!(polling.found_empty(&params, 3_000_000));
        assert!(!polling.active(&params, 4_000_000), "it did not pay");
    }

    #[test]
    fn a_queue_that_was_polled_elsewhere_has_what_one_request_earns() {
        let mut polling = Polling::new();
        assert!(polling.start(&PARAMS(), 1000));
        assert!(!polling.found_empty(&PARAMS(), 1399));
        assert!(polling.found_empty(&PARAMS(), 1400));
    }

    #[test]
    fn without_polling_nothing_is_polled() {
        let params = Params {
            polling: false,
            ..PARAMS()
        };
        let mut polling = Polling::new();
        assert!(!(0..1000).any(|now| polling.active(&params, now)));
        assert!(!polling.start(&params, 1000));
    }
}
