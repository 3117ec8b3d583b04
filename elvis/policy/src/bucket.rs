//! Rate limits of a device, as token buckets.

use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

const NS_PER_S: u128 = 1_000_000_000;

/// The limits of a device; default: none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimit {
    /// Requests per second.
    pub requests_per_s: Option<u64>,
    /// Bytes per second, of data and of ranges that are discarded or zeroed.
    pub bytes_per_s: Option<u64>,
    /// Size of the bucket, as the time in which it fills, in ns: how much a device that was idle
    /// may use at once. 0: 10 ms.
    pub burst_ns: u64,
}

impl RateLimit {
    /// The size of a bucket if `burst_ns` is 0, in ns.
    pub const DEFAULT_BURST_NS: u64 = 10_000_000;

    fn burst_ns(&self) -> u64 {
        if self.burst_ns == 0 {
            Self::DEFAULT_BURST_NS
        } else {
            self.burst_ns
        }
    }
}

/// Token bucket. A request may overdraw it, and the next one waits until the debt is paid. So a request larger than the
/// bucket is served too, and the long-run rate holds.
#[derive(Debug, Clone)]
struct Bucket {
    per_s: u64,
    full: i128,
    /// Tokens times 10^9.
    level: i128,
    filled_at_ns: u64,
}

impl Bucket {
    fn new(per_s: u64, burst_ns: u64) -> Self {
        let full = i128::from(per_s.max(1)) * i128::from(burst_ns);
        // A bucket smaller than one token would never have one.
        let full = full.max(NS_PER_S as i128);
        Self {
            per_s: per_s.max(1),
            full,
            level: full,
            filled_at_ns: 0,
        }
    }

    fn fill(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.filled_at_ns);
        self.filled_at_ns = self.filled_at_ns.max(now_ns);
        let gain = i128::from(passed) * i128::from(self.per_s);
        self.level = self.level.saturating_add(gain).min(self.full);
    }

    /// Returns the time at which the next request may be served. 0: at once, also for a core whose time is before that
    /// of the last filling.
    fn ready_at_ns(&self) -> u64 {
        if self.level > 0 {
            return 0;
        }
        let wait = (1 - self.level) as u128;
        let wait = wait.div_ceil(u128::from(self.per_s));
        self.filled_at_ns
            .saturating_add(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    fn take(&mut self, tokens: u64) {
        self.level = self
            .level
            .saturating_sub(i128::from(tokens) * NS_PER_S as i128);
    }
}

/// The buckets of one device.
#[derive(Debug, Clone)]
struct Buckets {
    requests: Option<Bucket>,
    bytes: Option<Bucket>,
}

impl Buckets {
    fn new(limit: &RateLimit) -> Self {
        let bucket = |per_s: Option<u64>| per_s.map(|rate| Bucket::new(rate, limit.burst_ns()));
        Self {
            requests: bucket(limit.requests_per_s),
            bytes: bucket(limit.bytes_per_s),
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Bucket> {
        self.requests.iter_mut().chain(self.bytes.iter_mut())
    }

    fn wait_until(&mut self, now_ns: u64) -> Option<u64> {
        let mut until = 0;
        for bucket in self.all() {
            bucket.fill(now_ns);
            until = until.max(bucket.ready_at_ns());
        }
        (until > now_ns).then_some(until)
    }

    fn take(&mut self, requests: u64, bytes: u64) {
        if let Some(bucket) = &mut self.requests {
            bucket.take(requests);
        }
        if let Some(bucket) = &mut self.bytes {
            bucket.take(bytes);
        }
    }
}

/// The limits of a device on one core.
#[derive(Debug, Clone)]
pub struct Limiter(Place);

/// Owner of a device's buckets.
#[derive(Debug, Clone)]
enum Place {
    Own(Buckets),
    /// Buckets shared with other cores that serve the device. Each core may overdraw them by a request.
    Shared(Arc<Mutex<Buckets>>),
}

impl Limiter {
    /// The limits of a device that one core serves.
    #[must_use]
    pub fn new(limit: &RateLimit) -> Self {
        Self(Place::Own(Buckets::new(limit)))
    }

    /// The limits of a device that several cores serve: each gets a clone. The cores have one clock.
    #[must_use]
    pub fn shared(limit: &RateLimit) -> Self {
        if *limit == RateLimit::default() {
            // Nothing to share.
            return Self::new(limit);
        }
        Self(Place::Shared(Arc::new(Mutex::new(Buckets::new(limit)))))
    }

    fn with<T>(&mut self, work: impl FnOnce(&mut Buckets) -> T) -> T {
        match &mut self.0 {
            Place::Own(buckets) => work(buckets),
            Place::Shared(buckets) => {
                work(&mut buckets.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    /// Returns the time at which the device may be served; None: at once.
    #[inline]
    pub fn wait_until(&mut self, now_ns: u64) -> Option<u64> {
        self.with(|buckets| buckets.wait_until(now_ns))
    }

    /// Whether there are any limits.
    pub fn limits(&self) -> bool {
        !matches!(
            &self.0,
            Place::Own(Buckets {
                requests: None,
                bytes: None
            })
        )
    }

    /// Charges the requests and bytes that were served.
    pub fn take(&mut self, requests: u64, bytes: u64) {
        self.with(|buckets| buckets.take(requests, bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_limit_never_waits() {
        let mut free = Limiter::new(&RateLimit::default());
        free.take(1, u64::MAX);
        assert_eq!(free.wait_until(0), None);
    }

    #[test]
    fn the_wait_is_as_long_as_the_debt() {
        let limit = RateLimit {
            requests_per_s: Some(1000),
            burst_ns: 1,
            ..RateLimit::default()
        };
        let mut limiter = Limiter::new(&limit);
        assert_eq!(limiter.wait_until(0), None);
        limiter.take(1, 512);
        assert_eq!(limiter.wait_until(0), Some(1), "the one token is gone");
        limiter.take(1, 512);
        assert_eq!(limiter.wait_until(1), Some(1_000_001), "one token is owed");
        limiter.take(0, 512);
        assert_eq!(
            limiter.wait_until(1),
            Some(1_000_001),
            "a part does not count as a request"
        );
    }

    #[test]
    fn cores_share_a_device_s_limit() {
        let limit = RateLimit {
            requests_per_s: Some(1000),
            burst_ns: 2_000_000,
            ..RateLimit::default()
        };
        let mut one = Limiter::shared(&limit);
        let mut two = one.clone();
        one.take(1, 512);
        assert_eq!(two.wait_until(0), None);
        two.take(1, 512);
        assert_eq!((one.wait_until(0), two.wait_until(0)), (Some(1), Some(1)));
        // The other core's clock may be read earlier.
        assert_eq!(one.wait_until(5_000_000), None);
        assert_eq!(two.wait_until(4_000_000), None);
    }

    proptest! {
        /// A device that asks before each request exceeds its rate by at most one bucket and one
        /// request.
        #[test]
        fn the_rate_holds(rate in 1u64..1_000_000, bytes in 1u64..1_000_000, burst_ns in 1u64..100_000_000) {
            let limit = RateLimit { bytes_per_s: Some(rate), burst_ns, ..RateLimit::default() };
            let mut limiter = Limiter::new(&limit);
            let (mut now_ns, mut taken) = (0u64, 0u128);
            for _ in 0..200 {
                if let Some(until) = limiter.wait_until(now_ns) {
                    now_ns = until;
                }
                prop_assert_eq!(limiter.wait_until(now_ns), None);
                limiter.take(1, bytes);
                taken += u128::from(bytes);
            }
            let bucket = (u128::from(rate) * u128::from(burst_ns) / NS_PER_S).max(1);
            let most = u128::from(rate) * u128::from(now_ns) / NS_PER_S + bucket + u128::from(bytes) + 1;
            prop_assert!(taken <= most, "{} taken, {} allowed", taken, most);
        }
    }
}
