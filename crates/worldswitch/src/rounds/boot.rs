//! One boot of a platform that this program boots.

use super::job::{Common, GUESS_A_ROW, Job};
use super::plan::{self, Asked, Parameters, Planned};
use super::queue::LaunchQueue;
use super::{nonce, perturb};
use crate::launch::follow::{Order, follow};
use crate::launch::limits::Limits;
use crate::launch::state::{LaunchReport, LaunchState};
use crate::outcome::digits::Key;
use crate::outcome::exits;
use crate::outcome::row::RowReport;
use crate::terminal::Progress;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ws_machines::hypercall;
use ws_machines::image::BenchmarkRow;
use ws_machines::machine::MachineError;
use ws_results::{Boot, Launch, Perturbation, Status};

/// A boot in progress.
struct OneBoot {
    /// From 1.
    number: u32,
    started: Instant,
    /// Time that the run takes after this boot.
    left_after: Duration,
    seed: Option<NonZeroU64>,
    perturbed: Option<Perturbation>,
    launches: Vec<Launch>,
    /// One per launch; only of an exact machine.
    keys: Vec<Key>,
}

/// The least time limit of a workload of a whole Linux, which has far more work than a benchmark.
pub const WORKLOAD_LIMIT: Duration = Duration::from_secs(600);

impl Job {
    /// Boots the machine once. `left_after` is the time that the run takes after this boot.
    pub fn boot(&mut self, common: &Common, progress: &Progress, left_after: Duration) {
        let forbidden = hypercall::forbidden(self.machine.engine());
        let forbidden = |row: &BenchmarkRow| forbidden.filter(|_| row.has_hypercall);
        let bar = |row: &BenchmarkRow| row.missing.clone().or(forbidden(row).map(str::to_owned));
        let selection = Arc::clone(&self.selection);
        let (barred, rows): (Vec<&BenchmarkRow>, Vec<&BenchmarkRow>) =
            selection.rows.iter().partition(|row| bar(row).is_some());
        let mut one = self.begin(common, left_after);
        let mut planned = plan::launches(&rows, common.smp);
        if let Some(seed) = one.seed {
            plan::shuffle(&mut planned, seed);
        }
        let mut queue = LaunchQueue::new(planned);
        while let Some(planned) = queue.next() {
            if let Err(why) = self.next_launch(common, progress, &mut one, &mut queue, planned) {
                self.failed = Some(why);
                break;
            }
        }
        let interrupted = common.stop.requested() && queue.rows_done() < rows.len();
        let mut reports = queue.finish();
        for report in &mut reports {
            let machine = &self.machine;
            let (engine, architecture) = (machine.engine(), machine.architecture());
            exits::judge(report, engine, architecture, machine.pins());
        }
        let skipped = barred
            .into_iter()
            .filter_map(|row| Some(RowReport::without(&row.name, Status::Skip, bar(row)?)));
        reports.extend(skipped);
        self.keep(common, one, reports, interrupted);
    }

    fn begin(&self, common: &Common, left_after: Duration) -> OneBoot {
        let number = self.boots_done().saturating_add(1);
        let perturbed = number.checked_sub(self.wanted.unwrap_or(1) + 1);
        let memory_mib = self.machine.memory_mib();
        OneBoot {
            number,
            started: Instant::now(),
            left_after,
            seed: self.seed(common, number),
            perturbed: perturbed.map(|index| perturb::perturbation(index, memory_mib)),
            launches: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Makes a launch, and puts its unfinished rows back into the queue.
    ///
    /// # Errors
    /// Why the platform can't continue. Other platforms do.
    fn next_launch(
        &mut self,
        common: &Common,
        progress: &Progress,
        one: &mut OneBoot,
        queue: &mut LaunchQueue,
        planned: Planned,
    ) -> Result<(), String> {
        let order = self.order(common, one, &planned);
        if let Some(machine) = self.machine.digest() {
            let cpus = nonce::cpus_text(order.vcpus, order.host_cpus);
            let (memory_mib, line) = (order.memory_mib, &order.command_line);
            one.keys.push(Key::of(machine, &cpus, memory_mib, line));
        }
        let done = self.launch(common, progress, one, &order, queue.rows_done());
        let (report, launch) = done.map_err(|error| {
            // Its load must not disturb the other platforms.
            self.machine.kill();
            error.to_string()
        })?;
        self.tell(progress, &report, &launch);
        one.launches.push(launch);
        let silent = queue.take(planned, &report).is_err();
        self.heed_hello(&report)?;
        match silent {
            true => Err(never_spoke(&one.launches)),
            false => Ok(()),
        }
    }

    /// The order for the next launch of a boot.
    fn order<'a>(&self, common: &Common, one: &OneBoot, planned: &'a Planned) -> Order<'a> {
        let asked = Asked::by(self.machine.as_ref());
        let perturbed = one.perturbed.unwrap_or_default();
        let mut parameters = self.parameters(common);
        parameters.seed = one.seed;
        parameters.pad = perturbed.pad.or(parameters.pad);
        let nonce = if self.is_exact() {
            nonce::fixed(&self.name, one.launches.len(), planned)
        } else {
            nonce::random()
        };
        let mut limits = Limits::launched(common.bench_limit);
        if let Some(limit) = self.machine.boot_limit() {
            (limits.boot, limits.between) = (Some(limit), Some(limit));
        }
        if self.machine.workloads().is_some() {
            limits.bench = limits.bench.max(Some(WORKLOAD_LIMIT));
        }
        Order {
            vcpus: planned.vcpus,
            host_cpus: planned.host_cpus,
            vm: &planned.vm,
            rows: &planned.rows,
            command_line: plan::command_line(planned, &parameters, asked, &nonce.to_string()),
            memory_mib: perturbed.memory_mib,
            nonce,
            limits,
            timed: common.parameters.external,
        }
    }

    /// Launches the machine and shows progress.
    fn launch(
        &mut self,
        common: &Common,
        progress: &Progress,
        one: &OneBoot,
        order: &Order<'_>,
        rows_before: usize,
    ) -> Result<(LaunchReport, Launch), MachineError> {
        let (name, rows) = (&self.name, self.selection.rows.len());
        let wanted = self.wanted.unwrap_or(1) + self.perturbed;
        let estimate = (!self.took.is_empty()).then(|| self.estimate());
        let mut watch = |state: &LaunchState| {
            let done = rows_before + state.rows_done();
            let left = one.left(done, rows, estimate);
            let what = || {
                let running = state.running().unwrap_or("starting");
                format!(" boot {}/{wanted}: {running} ({done}/{rows})", one.number)
            };
            progress.show(name, what, Some(left));
        };
        follow(self.machine.as_mut(), order, &common.stop, &mut watch)
    }

    /// The guest's parameters: the user's, and for the rest the machine's defaults.
    fn parameters(&self, common: &Common) -> Parameters {
        let mut parameters = common.parameters.clone();
        if let Some(sizes) = self.machine.sizes() {
            parameters.iters.get_or_insert(sizes.iters);
            parameters.samples.get_or_insert(sizes.samples);
        }
        parameters
    }

    /// The seed of a boot, the same on all platforms of a run. None if instructions are counted: it
    /// would change the counts.
    fn seed(&self, common: &Common, boot: u32) -> Option<NonZeroU64> {
        let first = NonZeroU64::new(common.seed).filter(|_| !self.is_exact())?;
        first.checked_add(u64::from(boot - 1))
    }

    /// Keeps a boot. A boot that was cut short is kept only if it is the first: otherwise its missing
    /// rows would look like failures.
    fn keep(&mut self, common: &Common, one: OneBoot, reports: Vec<RowReport>, interrupted: bool) {
        self.cut |= interrupted;
        let cut = match &self.failed {
            Some(why) => Some(why.clone()),
            None => interrupted.then(|| "the run was stopped".to_owned()),
        };
        if cut.is_none() || self.gathered.boots.is_empty() {
            let boot = Boot {
                boot: one.number,
                launches: one.launches,
                perturbed: one.perturbed,
            };
            let unit = self.unit().to_owned();
            self.gathered.add(boot, reports, &unit, cut.as_deref());
        }
        self.watch_digits(common, &one.keys, one.number);
        if cut.is_none() {
            self.took.push(one.started.elapsed());
        }
    }

    /// Compares a boot's counts with those of the same launches in earlier runs.
    fn watch_digits(&mut self, common: &Common, keys: &[Key], boot: u32) {
        let Some(digits) = &common.digits else { return };
        match digits.watch(keys, boot, &self.gathered.rows()) {
            Ok(broken) => self.broken.extend(broken),
            Err(error) => self.remarks.push(format!(
                "{}: its counts can't be compared with earlier ones: {error}",
                self.name
            )),
        }
    }
}

impl OneBoot {
    /// The time left: this boot is estimated from earlier boots, else from its rows so far.
    fn left(&self, done: usize, rows: usize, estimate: Option<Duration>) -> Duration {
        let spent = self.started.elapsed();
        let rest = u32::try_from(rows.saturating_sub(done)).unwrap_or(0);
        let this = match (estimate, u32::try_from(done)) {
            (Some(whole), _) => whole.saturating_sub(spent),
            (None, Ok(done @ 1..)) => spent / done * rest,
            _ => GUESS_A_ROW * rest,
        };
        this + self.left_after
    }
}

fn never_spoke(launches: &[Launch]) -> String {
    let mut why = "its guest sent no record in two launches in a row".to_owned();
    if let Some(last) = launches.last() {
        why = format!("{why}: {}", last.end_detail);
        if last.console_tail.trim().is_empty() {
            why += "; its console is empty";
        } else {
            why = format!(
                "{why}; its console ends with\n{}",
                last.console_tail.trim_end()
            );
        }
    }
    why
}
