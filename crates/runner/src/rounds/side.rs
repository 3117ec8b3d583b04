//! Machines that count instructions run side by side, because load does not change their counts: machines of several
//! platforms, and several boots of a platform.

use super::job::{Common, Job};
use super::{pace, quick};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use ws_terminal::Progress;

/// State that the threads share.
struct Crew<'a> {
    quick: bool,
    common: &'a Common,
    progress: &'a Progress,
    threads: u32,
    /// Whether no other platforms follow, whose time nobody knows.
    is_last: bool,
    jobs: Mutex<Vec<&'a mut Job>>,
    /// Signal that a boot has ended.
    ended: Condvar,
}

type Jobs<'lock, 'jobs> = MutexGuard<'lock, Vec<&'jobs mut Job>>;

/// Next step of a thread.
enum Next {
    /// Boots the job of this index.
    Boot(usize),
    /// Waits for the end of a boot.
    Wait,
    /// Nothing is left to begin.
    Nothing,
}

/// Makes all boots of the platforms that count instructions, as many at once as this host has CPUs; in a
/// quick run, those that fit. Machines that can have no twin are left out.
pub fn by_side(quick: bool, common: &Common, jobs: &mut [Job], progress: &Progress) {
    let (jobs, later): (Vec<&mut Job>, Vec<&mut Job>) = jobs
        .iter_mut()
        .partition(|job| job.is_exact() && job.instance.twin().is_some());
    let boots: usize = jobs.iter().map(|job| job.boots_left() as usize).sum();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(boots);
    let crew = Crew {
        quick,
        common,
        progress,
        threads: u32::try_from(threads).unwrap_or(1),
        is_last: later.iter().all(|job| job.boots_left() == 0),
        jobs: Mutex::new(jobs),
        ended: Condvar::new(),
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| crew.work());
        }
    });
}

impl<'a> Crew<'a> {
    /// Works until nothing is left to begin, as each thread does.
    fn work(&self) {
        let mut jobs = self.lock();
        loop {
            match self.next(&mut jobs) {
                Next::Nothing => return,
                Next::Wait => {
                    jobs = self
                        .ended
                        .wait(jobs)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                Next::Boot(index) => {
                    self.boot(jobs, index);
                    jobs = self.lock();
                    self.ended.notify_all();
                }
            }
        }
    }

    /// Makes the next boot of a job, on a machine of its own.
    fn boot(&self, mut jobs: Jobs<'_, 'a>, index: usize) {
        let others = jobs.iter().enumerate().filter(|(at, _)| *at != index);
        let others = pace::all(others.map(|(_, job)| (job.known_boot(), job.boots_left())));
        let Some(job) = jobs.get_mut(index) else {
            return;
        };
        let Some(mut twin) = job.instance.twin() else {
            return;
        };
        let others = others.filter(|_| self.is_last);
        let mut one = job.begin(self.common, others, self.threads);
        drop(jobs);
        one.run(&mut twin, self.common, self.progress);
        if let Some(job) = self.lock().get_mut(index) {
            job.instance.take(twin);
            job.end(self.common, one);
        }
    }

    /// Chooses among the jobs with the fewest boots so far. The last of these is taken, because the slowest machines
    /// are listed last.
    fn next(&self, jobs: &mut [&mut Job]) -> Next {
        let may_leave_out = |job: &Job| self.quick && job.begun >= quick::always(job.perturbed);
        // The first boot tells how long a boot takes, which decides what is left out.
        let waits = |job: &Job| may_leave_out(job) && job.took.is_empty();
        loop {
            let left = jobs.iter_mut().enumerate().rev();
            let left = left.filter(|(_, job)| job.boots_left() > 0 && !waits(job));
            let Some((index, job)) = left.min_by_key(|(_, job)| job.begun) else {
                break;
            };
            let end = self.progress.elapsed() + job.estimate();
            if self.common.stop.requested() {
                job.cut = true;
            } else if may_leave_out(job) && !quick::fits(end, !self.is_last) {
                job.enough();
            } else {
                return Next::Boot(index);
            }
        }
        match jobs.iter().any(|job| job.boots_left() > 0) {
            true => Next::Wait,
            false => Next::Nothing,
        }
    }

    /// A poisoned lock is used as it is: the panic goes on when the threads are joined.
    fn lock(&self) -> Jobs<'_, 'a> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use proptest::prelude::*;
    use std::time::Duration;

    /// Counts the boots that a run makes of a platform, plain and perturbed ones, if each takes so long.
    fn made(quick: bool, wanted: [u32; 2], each: Duration) -> [u32; 2] {
        let common = fake::common();
        let machine = Box::new(fake::qemu(None));
        let selection = std::sync::Arc::default();
        let mut job = Job::new("lab:a".into(), machine, selection, Some(wanted[0]), &common);
        job.perturbed = wanted[1];
        if quick {
            job.perturb_early();
        }
        let crew = Crew {
            quick,
            common: &common,
            progress: &Progress::new(false),
            threads: 2,
            is_last: false,
            jobs: Mutex::default(),
            ended: Condvar::new(),
        };
        let mut numbers = Vec::new();
        while let Next::Boot(_) = crew.next(&mut [&mut job]) {
            job.begun += 1;
            job.took.push(each);
            numbers.push(job.begun);
        }
        let is_perturbed = |number: &&u32| job.perturbed_index(**number).is_some();
        let perturbed = numbers.iter().filter(is_perturbed).count();
        [numbers.len() - perturbed, perturbed].map(|boots| boots as u32)
    }

    proptest! {
        /// However slow the machine is, a quick run's results can be compared.
        #[test]
        fn a_quick_run_always_has_a_perturbed_boot(
            plain in 1..5u32, perturbed in 0..4u32, seconds in 0..1000u64,
        ) {
            let each = Duration::from_secs(seconds);
            let made = made(true, [plain, perturbed], each);
            prop_assert!(made[0] >= 1 && made[1] >= perturbed.min(1), "{:?}", made);
            prop_assert!(made[0] <= plain && made[1] <= perturbed);
            if seconds > 60 {
                prop_assert_eq!(made, [1, perturbed.min(1)]);
            }
            if seconds == 0 {
                prop_assert_eq!(made, [plain, perturbed]);
            }
        }
    }

    #[test]
    fn another_run_makes_all_boots() {
        assert_eq!(made(false, [2, 1], Duration::from_secs(1000)), [2, 1]);
    }
}
