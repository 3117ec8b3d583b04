//! The rounds of a run: the launches of each boot, and the order in which platforms are booted.

mod barred;
mod boot;
mod instance;
pub mod job;
mod listen;
pub mod nonce;
mod pace;
mod perturb;
pub mod plan;
mod queue;
mod quick;
pub mod rows;
mod side;
pub mod turns;

use crate::rounds::job::{Common, Job};
use std::time::Duration;
use ws_machines::machine::Control;
use ws_terminal::{Progress, time};

/// Default time limit of a benchmark.
const BENCH_LIMIT: Duration = Duration::from_secs(30);

/// Boots all platforms. Platforms that count instructions are first and run in parallel, because load does not change
/// their counts. Platforms that measure time follow, one machine at a time. Returns a quick run's omissions, in words.
pub fn all(
    quick: bool,
    common: &mut Common,
    jobs: &mut [Job],
    progress: &Progress,
) -> Option<String> {
    let samples = common.parameters.samples;
    let wanted: Vec<[u32; 2]> = jobs.iter().map(Job::boots_by_kind).collect();
    if quick {
        progress.end_by(quick::BUDGET);
        jobs.iter_mut().for_each(Job::perturb_early);
    }
    side::by_side(quick, common, jobs, progress);
    in_turn(quick, common, jobs, progress);
    // A platform that stopped early reports that by itself.
    let is_over = |job: &Job| job.control() == Control::Launched && job.failed.is_none();
    let platforms = jobs.iter().zip(wanted).filter(|(job, _)| is_over(job));
    let platforms = platforms.map(|(job, wanted)| quick::Boots {
        platform: &job.name,
        is_exact: job.is_exact(),
        wanted,
        made: job.boots_made(),
    });
    let platforms: Vec<quick::Boots> = platforms.collect();
    let fewer = common.parameters.samples.filter(|_| samples.is_none());
    let is_whole = quick && !common.stop.requested();
    is_whole
        .then(|| quick::left_out(&platforms, fewer))
        .flatten()
}

/// Boots all platforms in rounds, every second round in reverse order, so that drift on the host
/// affects all platforms alike.
fn in_turn(quick: bool, common: &mut Common, jobs: &mut [Job], progress: &Progress) {
    for round in 0u32.. {
        if round == 1 && quick {
            choose_quick(common, jobs, progress);
        }
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        let mut any = false;
        for index in order {
            let others = jobs.iter().enumerate().filter(|(at, _)| *at != index);
            let others = others.map(|(_, job)| (job.known_boot(), job.boots_left()));
            let others = pace::all(others);
            let Some(job) = jobs.get_mut(index) else {
                continue;
            };
            if common.stop.requested() {
                job.cut |= job.boots_left() > 0;
                continue;
            }
            match job.control() {
                Control::Launched if job.boots_left() > 0 => {
                    let end = progress.elapsed() + job.estimate();
                    let may_leave_out = quick && job.begun >= quick::always(job.perturbed);
                    if may_leave_out && !quick::fits(end, false) {
                        job.enough();
                        continue;
                    }
                    job.boot(common, progress, others);
                    any = true;
                }
                Control::Listened | Control::Replayed if round == 0 => job.listen(common, progress),
                _ => {}
            }
        }
        if !any {
            break;
        }
    }
}

/// Chooses boots and samples that fit into the rest of the budget, and prints them. The first round of the platforms
/// that measure time is over.
fn choose_quick(common: &mut Common, jobs: &mut [Job], progress: &Progress) {
    let spent = progress.elapsed();
    let timed = |job: &Job| job.boots_left() > 0 && !job.is_exact();
    let round: Duration = jobs
        .iter()
        .filter(|job| timed(job))
        .map(Job::estimate)
        .sum();
    let left = jobs.iter().filter(|job| timed(job)).map(Job::boots_left);
    let most = left.max().unwrap_or(0);
    if most == 0 {
        return;
    }
    if quick::cut_samples(spent, round, most) {
        common.parameters.samples = Some(quick::FEW_SAMPLES);
    }
    let fit = quick::boots_that_fit(spent, round, most);
    let mut chosen = Vec::new();
    for job in jobs.iter_mut().filter(|job| timed(job)) {
        // The first round has made one boot already.
        let boots = 1 + job.boots_left().min(fit);
        job.wanted = Some(boots);
        chosen.push(format!(
            "{boots} x {} ({} each)",
            job.name,
            time::short(job.estimate())
        ));
    }
    let samples = match common.parameters.samples {
        Some(samples) => format!("{samples} samples per benchmark from the second boot on"),
        None => "samples as the guest chooses".to_owned(),
    };
    progress.say(&format!(
        "quick: boots {}, {samples}, to fit {}",
        chosen.join(", "),
        time::short(quick::BUDGET)
    ));
}
