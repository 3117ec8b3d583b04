//! `--quick`: how many boots and samples fit into a short run.
//!
//! Pure. The first boot of each platform is always made. The time left then decides how many more
//! follow, and is checked again before each.

use std::time::Duration;

/// Time limit of a quick run.
pub const BUDGET: Duration = Duration::from_secs(60);

/// Samples of a benchmark if time is short: enough to show a spread.
pub const FEW_SAMPLES: u64 = 10;

/// Least number of boots: if fewer fit, samples are reduced so that more fit, because statistics compare boots.
const BOOTS_WANTED: u32 = 3;

/// Number of a platform's boots that are always made: the first, and of `perturbed` ones the first. Without that,
/// `compare` could not tell a change from another code layout.
pub fn always(perturbed: u32) -> u32 {
    1 + perturbed.min(1)
}

/// Whether one more boot of a platform fits, if it would end at `end`. If platforms that measure time follow, they have
/// half of the budget.
pub fn fits(end: Duration, others_follow: bool) -> bool {
    end <= if others_follow { BUDGET / 2 } else { BUDGET }
}

/// Counts the further boots of every platform that fit, at most `most`. `round` is the time of one boot of each.
pub fn boots_that_fit(spent: Duration, round: Duration, most: u32) -> u32 {
    let left = BUDGET.saturating_sub(spent);
    if round.is_zero() {
        return most;
    }
    let fit = left.as_secs_f64() / round.as_secs_f64();
    // The comparison is of floats: with a round of nanoseconds the quotient may exceed u32.
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

/// Boots of a platform, plain and perturbed ones.
#[derive(Clone, Copy, Debug)]
pub struct Boots<'a> {
    pub platform: &'a str,
    /// Whether the platform's counts should be the same in each boot.
    pub is_exact: bool,
    /// Numbers of boots in a run without `--quick`.
    pub wanted: [u32; 2],
    /// Numbers of boots that were made.
    pub made: [u32; 2],
}

/// Describes the boots and samples that a quick run left out; None if there are none. `samples`: number of samples, if
/// they were reduced.
pub fn left_out(platforms: &[Boots<'_>], samples: Option<u64>) -> Option<String> {
    let mut parts = Vec::new();
    let mut part = |is_so: &dyn Fn(&Boots) -> bool, text: &dyn Fn(&Boots, &str) -> String| {
        let mut rest: Vec<&Boots> = platforms.iter().filter(|boots| is_so(boots)).collect();
        // Platforms with the same numbers of boots share a phrase.
        while let Some(&first) = rest.first() {
            let is_like = |boots: &&Boots| (boots.wanted, boots.made) == (first.wanted, first.made);
            let (like, others): (Vec<&Boots>, Vec<&Boots>) = rest.into_iter().partition(is_like);
            rest = others;
            let names: Vec<&str> = like.iter().map(|boots| boots.platform).collect();
            parts.push(text(first, &ws_text::and(&names)));
        }
    };
    part(
        &|boots| boots.is_exact && boots.made[1] < boots.wanted[1].min(1),
        &|_, names| format!("the perturbed boot of {names} (compare gives no verdict without one)"),
    );
    let missing = |boots: &Boots| boots.wanted[0].saturating_sub(boots.made[0]);
    part(
        &|boots| boots.is_exact && missing(boots) > 0,
        &|boots, names| {
            let (left, all) = (missing(boots), boots.wanted[0]);
            format!("{left} of {all} boots of {names} (a second one shows that counts repeat)")
        },
    );
    part(
        &|boots| !boots.is_exact && missing(boots) > 0,
        &|boots, names| format!("{} of {} boots of {names}", missing(boots), boots.wanted[0]),
    );
    let is_reduced = |boots: &Boots| !boots.is_exact && boots.made[0] > 1;
    if platforms.iter().any(is_reduced) {
        parts.extend(samples.map(|samples| {
            format!("all but {samples} samples of a benchmark in each boot after the first")
        }));
    }
    (!parts.is_empty()).then(|| format!("--quick left out {}", parts.join("; ")))
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
    fn half_of_the_budget_is_for_platforms_that_follow() {
        assert!(fits(s(30), true) && !fits(s(31), true));
        assert!(fits(s(60), false) && !fits(s(61), false));
    }

    #[test]
    fn a_perturbed_boot_is_always_made_unless_none_is_wanted() {
        assert_eq!([0, 1, 5].map(always), [1, 2, 2]);
    }

    #[test]
    fn what_is_left_out_is_said_once_for_all_platforms_that_are_alike() {
        let lab = |platform, made| Boots {
            platform,
            is_exact: true,
            wanted: [2, 1],
            made,
        };
        let timed = |boots| Boots {
            platform: "qemu-tcg",
            is_exact: false,
            wanted: [16, 0],
            made: [boots, 0],
        };
        assert_eq!(
            left_out(&[lab("lab:native", [2, 1]), timed(16)], None),
            None
        );
        let all = [
            lab("lab:amd-native", [2, 1]),
            lab("lab:native", [1, 1]),
            lab("lab:kvm", [1, 1]),
            lab("lab:kvm-shadow", [1, 1]),
        ];
        let labs = "--quick left out 1 of 2 boots of lab:native, lab:kvm and lab:kvm-shadow (a second one shows \
                    that counts repeat); ";
        for (boots, rest) in [
            (1, "15 of 16 boots of qemu-tcg"),
            (
                9,
                "7 of 16 boots of qemu-tcg; all but 10 samples of a benchmark in each boot after the first",
            ),
        ] {
            let all: Vec<Boots> = all.into_iter().chain([timed(boots)]).collect();
            assert_eq!(left_out(&all, Some(10)), Some(format!("{labs}{rest}")));
        }
        assert_eq!(
            left_out(&[lab("lab:kvm", [2, 0])], None).as_deref(),
            Some(
                "--quick left out the perturbed boot of lab:kvm (compare gives no verdict without one)"
            )
        );
    }

    #[test]
    fn one_more_boot_is_all_that_an_exact_platform_wants() {
        assert_eq!(boots_that_fit(s(10), s(10), 1), 1);
        assert!(!cut_samples(s(10), s(10), 1));
        assert!(cut_samples(s(55), s(10), 1));
    }
}
