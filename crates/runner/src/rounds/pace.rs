//! Time left of a run, from its progress so far. Nothing is guessed: a time that nobody can know yet is not shown.
//!
//! Pure: it reads no clock.

use std::time::Duration;

/// Pace of a boot: its rows that are over, and when the last of them ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    done: u32,
    at: Duration,
}

impl Pace {
    /// Notes how many rows are over, at this time of the boot.
    pub fn note(&mut self, done: usize, spent: Duration) {
        let done = u32::try_from(done).unwrap_or(u32::MAX);
        if done > self.done {
            *self = Self { done, at: spent };
        }
    }

    /// Duration of the boot at this pace; None before a row is over.
    fn whole(self, rows: usize) -> Option<Duration> {
        let each = self.at.checked_div(self.done)?;
        each.checked_mul(u32::try_from(rows).ok()?)
    }
}

/// Work that is left of a run after a boot.
#[derive(Clone, Copy, Debug)]
pub struct After {
    /// Duration of an earlier boot of this platform, if there was one.
    pub known: Option<Duration>,
    /// Number of further boots of the same platform.
    pub boots: u32,
    /// Time of all other platforms; None before each has booted.
    pub others: Option<Duration>,
    /// Number of machines that run at a time.
    pub machines: u32,
}

impl After {
    /// Estimates the time left of the run while this boot is under way. `spent` is its time so far, of `rows` rows. A
    /// boot that takes longer than expected has no known end.
    pub fn left(&self, pace: Pace, rows: usize, spent: Duration) -> Option<Duration> {
        let whole = self.known.or_else(|| pace.whole(rows))?;
        let this = whole.checked_sub(spent)?;
        let more = whole.checked_mul(self.boots)?.checked_add(self.others?)?;
        this.checked_add(more / self.machines.max(1))
    }
}

/// Sums the time of all boots that are left; None if a platform has such boots and was never booted.
pub fn all(platforms: impl Iterator<Item = (Option<Duration>, u32)>) -> Option<Duration> {
    let left = platforms.filter(|(_, boots)| *boots > 0);
    left.map(|(known, boots)| known?.checked_mul(boots)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const LAST: After = After {
        known: None,
        boots: 0,
        others: Some(Duration::ZERO),
        machines: 1,
    };

    #[test]
    fn nothing_is_told_before_a_row_is_over() {
        let mut pace = Pace::default();
        assert_eq!(LAST.left(pace, 55, s(30)), None);
        pace.note(0, s(31));
        assert_eq!(LAST.left(pace, 55, s(31)), None);
        pace.note(5, s(40));
        assert_eq!(LAST.left(pace, 55, s(40)), Some(s(400)));
    }

    #[test]
    fn what_hangs_has_ever_less_time_left_and_then_none() {
        let mut pace = Pace::default();
        pace.note(50, s(100));
        pace.note(50, s(105));
        assert_eq!(LAST.left(pace, 55, s(100)), Some(s(10)));
        assert_eq!(LAST.left(pace, 55, s(108)), Some(s(2)));
        assert_eq!(LAST.left(pace, 55, s(111)), None);
        let known = After {
            known: Some(s(100)),
            ..LAST
        };
        assert_eq!(known.left(Pace::default(), 55, s(30)), Some(s(70)));
        assert_eq!(known.left(pace, 55, s(101)), None);
    }

    #[test]
    fn other_boots_are_counted_once_all_platforms_have_booted() {
        let mut pace = Pace::default();
        pace.note(10, s(10));
        let after = After {
            boots: 2,
            others: Some(s(30)),
            machines: 2,
            ..LAST
        };
        assert_eq!(after.left(pace, 20, s(10)), Some(s(10 + (40 + 30) / 2)));
        let unknown = After {
            others: None,
            ..after
        };
        assert_eq!(unknown.left(pace, 20, s(10)), None);
        assert_eq!(
            all([(Some(s(5)), 2), (None, 0), (Some(s(1)), 1)].into_iter()),
            Some(s(11))
        );
        assert_eq!(all([(Some(s(5)), 2), (None, 1)].into_iter()), None);
    }

    proptest! {
        #[test]
        fn it_never_overflows(done: usize, rows: usize, spent: u64, boots: u32, others: u64, machines: u32) {
            let mut pace = Pace::default();
            pace.note(done, s(spent / 2));
            let after = After { known: None, boots, others: Some(s(others)), machines };
            let _ = after.left(pace, rows, s(spent));
        }
    }
}
