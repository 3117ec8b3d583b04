//! `--quick`: how many boots and samples fit into a short run.
//!
//! Pure. The first boot of each platform is always made. The time left then decides how many more
//! follow, and is checked again before each.

use std::time::Duration;

/// Time limit of a quick run.
pub const BUDGET: Duration = Duration::from_secs(60);

/// Samples of a benchmark if time is short: enough to show a spread.
pub const FEW_SAMPLES: u64 = 10;

/// If fewer boots than this fit, samples are reduced so that more fit: statistics compare boots.
const BOOTS_WANTED: u32 = 3;

/// Whether one more boot of a platform fits, if it would end at `end`. Perturbed boots leave half of
/// the budget to platforms that measure time.
pub fn fits(end: Duration, perturbed: bool) -> bool {
    end <= if perturbed { BUDGET / 2 } else { BUDGET }
}

/// How many more boots of every platform fit, at most `most`. `round` is the time of one boot of each.
pub fn boots_that_fit(spent: Duration, round: Duration, most: u32) -> u32 {
    let left = BUDGET.saturating_sub(spent);
    if round.is_zero() {
        return most;
    }
    let fit = left.as_secs_f64() / round.as_secs_f64();
    // Compared as floats: with a round of nanoseconds the quotient may exceed u32.
    if fit >= f64::from(most) {
        most
    } else {
        fit as u32
    }
}

/// Whether samples should be reduced from the second boot on.
pub fn cut_samples(spent: Duration, round: Duration, most: u32) -> bool {
    boots_that_fit(spent, round, most) < most.min(BOOTS_WANTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn all_boots_fit_into_a_short_round() {
        assert_eq!(boots_that_fit(s(5), s(5), 4), 4);
        assert!(!cut_samples(s(5), s(5), 4));
        assert_eq!(boots_that_fit(s(0), s(0), 4), 4);
    }

    #[test]
    fn only_some_fit_into_a_long_one() {
        assert_eq!(boots_that_fit(s(20), s(20), 4), 2);
        assert!(cut_samples(s(20), s(20), 4));
        assert_eq!(boots_that_fit(s(50), s(50), 4), 0);
        assert_eq!(boots_that_fit(s(500), s(100), 4), 0);
    }

    #[test]
    fn perturbed_boots_leave_half_of_the_budget() {
        assert!(fits(s(30), true) && !fits(s(31), true));
        assert!(fits(s(60), false) && !fits(s(61), false));
    }

    #[test]
    fn one_more_boot_is_all_that_an_exact_platform_wants() {
        assert_eq!(boots_that_fit(s(10), s(10), 1), 1);
        assert!(!cut_samples(s(10), s(10), 1));
        assert!(cut_samples(s(55), s(10), 1));
    }
}
