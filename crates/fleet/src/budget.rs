//! Time of tasks, and the choice of tasks that fit into the budget.

use crate::campaign::Budget;
use crate::run::Run;
use crate::task::Task;
use std::collections::BTreeMap;

/// Guessed seconds of one processor, until a like task was measured. A boot of Linux in the lab's emulator takes 3
/// (ARM) to 25 s (x86 on Bochs), one on hardware much less; a workload about a minute.
const GUESS_A_BOOT: f64 = 15.0;
const GUESS_A_WORKLOAD: f64 = 60.0;
/// Guessed seconds to build the lab's small kernel, with all objects new (`docs/lab.md#bisecting`).
const GUESS_A_BUILD: f64 = 226.0;

/// Estimates of tasks' time, from earlier runs of like tasks.
#[derive(Clone, Debug, Default)]
pub struct Estimates {
    /// Sum of the seconds of a boot, and the number of runs in it, by machine without kernel and by number of rows.
    seen: BTreeMap<(String, usize), (f64, f64)>,
    cell_minutes: Option<f64>,
}

impl Estimates {
    /// Learns from earlier runs, each with its platform.
    pub fn of<'a>(budget: &Budget, runs: impl Iterator<Item = (&'a str, &'a Run)>) -> Self {
        let mut seen: BTreeMap<(String, usize), (f64, f64)> = BTreeMap::new();
        for (platform, run) in runs.filter(|(_, run)| run.boots > 0) {
            let key = (machine(platform), run.rows as usize);
            let sum = seen.entry(key).or_default();
            sum.0 += run.seconds / f64::from(run.boots);
            sum.1 += 1.0;
        }
        Self {
            seen,
            cell_minutes: budget.cell_minutes,
        }
    }

    /// Estimates a task's hours of one processor. True: they come from earlier runs.
    pub fn hours(&self, task: &Task) -> (f64, bool) {
        let boots = f64::from(task.boots_of_all_kinds());
        let key = (machine(&task.platform), task.rows.len());
        if let Some((sum, count)) = self.seen.get(&key) {
            return (sum / count * boots / 3600.0, true);
        }
        let guess = match (self.cell_minutes, task.apps) {
            (Some(minutes), _) => minutes * 60.0,
            (None, true) => GUESS_A_WORKLOAD * task.rows.len() as f64 * boots,
            (None, false) => GUESS_A_BOOT * boots,
        };
        (guess / 3600.0, false)
    }

    /// Hours of one processor to build a kernel.
    pub fn build_hours() -> f64 {
        GUESS_A_BUILD / 3600.0
    }
}

/// A platform without its kernel.
fn machine(platform: &str) -> String {
    let (base, variant) = platform.split_once('@').unwrap_or((platform, ""));
    let options = variant.split_once('+').map_or("", |(_, options)| options);
    format!("{base}+{options}")
}

/// Counts the hours that fit into the budget, in order. The first that do not fit end the count, so that small tasks do
/// not overtake large ones.
pub fn fitting(budget: &Budget, spent: f64, hours: impl Iterator<Item = f64>) -> usize {
    let Some(limit) = budget.core_hours else {
        return hours.count();
    };
    let mut sum = spent;
    hours
        .take_while(|hours| {
            sum += hours;
            sum <= limit
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(platform: &str, rows: usize) -> Task {
        Task {
            platform: platform.into(),
            kernel: None,
            host: None,
            apps: false,
            rows: (0..rows).map(|row| row.to_string()).collect(),
            boots: 2,
            perturb: 1,
            samples: None,
        }
    }

    fn run(seconds: f64, rows: u32) -> Run {
        Run {
            schema: crate::run::SCHEMA.into(),
            campaign: "x".into(),
            node: "n1".into(),
            job: "1".into(),
            at: String::new(),
            seconds,
            boots: 2,
            rows,
            without_figure: Vec::new(),
            digits: None,
            result: String::new(),
        }
    }

    #[test]
    fn what_a_like_cell_took_is_the_estimate() {
        let (one, other) = (run(20.0, 4), run(40.0, 4));
        let runs = [("lab:kvm@6.1", &one), ("lab:kvm@/k", &other)];
        let seen = Estimates::of(&Budget::default(), runs.into_iter());
        // A boot took 10 and 20 s; three boots.
        assert_eq!(seen.hours(&task("lab:kvm@6.12", 4)), (45.0 / 3600.0, true));
        assert_eq!(seen.hours(&task("lab:kvm@6.12", 5)), (45.0 / 3600.0, false));
        assert!(!seen.hours(&task("lab:kvm-shadow@6.12", 4)).1);
        assert!(!seen.hours(&task("lab:kvm@6.12+cpu=max", 4)).1);
    }

    #[test]
    fn a_user_s_guess_goes_before_ours() {
        let budget = Budget {
            core_hours: None,
            cell_minutes: Some(6.0),
        };
        let seen = Estimates::of(&budget, [].into_iter());
        assert_eq!(seen.hours(&task("lab:kvm", 4)), (0.1, false));
    }

    #[test]
    fn what_does_not_fit_is_left() {
        let budget = |core_hours| Budget {
            core_hours,
            cell_minutes: None,
        };
        let hours = || [1.0, 1.0, 5.0, 0.1].into_iter();
        assert_eq!(fitting(&budget(None), 100.0, hours()), 4);
        assert_eq!(fitting(&budget(Some(2.0)), 0.0, hours()), 2);
        assert_eq!(fitting(&budget(Some(2.0)), 0.5, hours()), 1);
        assert_eq!(fitting(&budget(Some(2.0)), 3.0, hours()), 0);
    }

    proptest! {
        #[test]
        fn the_budget_is_never_exceeded(
            hours in prop::collection::vec(0.0f64..3.0, 0..10),
            spent in 0.0f64..5.0,
            limit in 0.1f64..10.0,
        ) {
            let budget = Budget { core_hours: Some(limit), cell_minutes: None };
            let count = fitting(&budget, spent, hours.iter().copied());
            prop_assert!(count == 0 || spent + hours[..count].iter().sum::<f64>() <= limit + 1e-9);
        }
    }
}
