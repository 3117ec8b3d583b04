//! The amount of a disk's requests that goes to storage in one step. No other queue is served within a step.
//!
//! The time of a step depends on memory more than on its bytes: a page that a guest has never touched is made and
//! zeroed first. 256 KiB were seen to take 30 us, or 830 us if the host had to find the memory. So each queue finds its
//! own size.

/// The pace of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    bytes: u64,
}

impl Pace {
    /// Fewest bytes of a step: even if each page has to be made, they take less time than a visit.
    pub const LEAST: u64 = 64 << 10;
    /// Most bytes of a step.
    pub const MOST: u64 = 1 << 20;

    /// The pace of a new queue.
    #[must_use]
    pub fn new() -> Self {
        Self { bytes: Self::LEAST }
    }

    /// Most bytes of the next step: a power of two.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes that a step with `bytes` bytes took `ns`. A step should take no longer than a visit, which has `visit_ns`
    /// (0: any time).
    pub fn took(&mut self, visit_ns: u64, bytes: u64, ns: u64) {
        let most_ns = match visit_ns {
            0 => u64::MAX,
            _ => visit_ns,
        };
        if ns > most_ns {
            self.bytes = (self.bytes / 2).max(Self::LEAST);
        } else if bytes >= self.bytes && ns <= most_ns / 4 {
            self.bytes = (self.bytes * 2).min(Self::MOST);
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VISIT_NS: u64 = 256_000;

    /// Makes steps of memory that costs `page_ns` for each page of 4 KiB. Returns the bytes of the last step.
    fn settled(pace: &mut Pace, page_ns: u64) -> u64 {
        for _ in 0..16 {
            let bytes = pace.bytes();
            pace.took(VISIT_NS, bytes, bytes / 4096 * page_ns);
        }
        pace.bytes()
    }

    #[test]
    fn a_step_is_as_long_as_its_time_allows() {
        let mut pace = Pace::new();
        for (page_ns, bytes) in [
            (100, Pace::MOST),
            (3_000, 4 * Pace::LEAST),
            (13_000, Pace::LEAST),
            (100_000, Pace::LEAST),
            (0, Pace::MOST),
        ] {
            assert_eq!(settled(&mut pace, page_ns), bytes, "{page_ns} ns a page");
            assert!(bytes == Pace::LEAST || bytes / 4096 * page_ns <= VISIT_NS);
        }
    }

    #[test]
    fn a_short_step_says_nothing_of_a_long_one() {
        let mut pace = Pace::new();
        pace.took(VISIT_NS, Pace::LEAST - 1, 0);
        assert_eq!(pace.bytes(), Pace::LEAST);
    }

    #[test]
    fn where_visits_have_no_time_steps_have_none() {
        let mut pace = Pace::new();
        for _ in 0..4 {
            let bytes = pace.bytes();
            pace.took(0, bytes, u64::MAX / 4);
        }
        assert_eq!(pace.bytes(), Pace::MOST);
    }
}
