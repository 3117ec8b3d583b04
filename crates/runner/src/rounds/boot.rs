//! A boot of a platform that this program boots.

use super::BENCH_LIMIT;
use super::barred::barred;
use super::instance::Instance;
use super::job::{Common, Job, Selection};
use super::pace::{After, Pace};
use super::plan::{self, Asked, Parameters, Planned};
use super::queue::LaunchQueue;
use super::{nonce, perturb};
use crate::launch::follow::{Order, follow};
use crate::launch::limits::Limits;
use crate::launch::state::{LaunchReport, LaunchState};
use crate::outcome::digits::Key;
use crate::outcome::exits;
use crate::outcome::row::RowReport;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ws_cpus::Cpus;
use ws_machines::machine::{Machine, MachineError};
use ws_records::Hello;
use ws_results::{Boot, Launch, Perturbation, Status};
use ws_terminal::{Progress, Why, time};

/// A boot, in progress or over.
pub struct OneBoot {
    /// Number of the boot, from 1.
    number: u32,
    /// Number of boots in all.
    of: u32,
    started: Instant,
    pace: Pace,
    after: After,
    seed: Option<NonZeroU64>,
    perturbed: Option<Perturbation>,
    selection: Arc<Selection>,
    launches: Vec<Launch>,
    /// `hello` of the first launch that sent one.
    hello: Option<Hello>,
    /// Key of each launch; only of an exact machine.
    keys: Vec<Key>,
    /// Rows of the boot, once it is over.
    reports: Vec<RowReport>,
    /// Duration of the boot.
    took: Duration,
    /// Reason why the boot was stopped before its end.
    stopped: Option<Why>,
    /// Reason why the platform can't continue.
    failed: Option<String>,
}

/// Default time limit of a workload of a whole Linux, which has far more work than a benchmark.
const WORKLOAD_LIMIT: Duration = Duration::from_secs(600);

impl Job {
    /// Boots the machine once. `others` is the time that other platforms take after this boot, if it is known.
    pub fn boot(&mut self, common: &Common, progress: &Progress, others: Option<Duration>) {
        let mut one = self.begin(common, others, 1);
        one.run(&mut self.instance, common, progress);
        self.end(common, one);
    }

    /// Begins the next boot, for this job's machine or a twin of it; as many `machines` run at a time.
    pub(super) fn begin(
        &mut self,
        common: &Common,
        others: Option<Duration>,
        machines: u32,
    ) -> OneBoot {
        self.begun = self.begun.saturating_add(1);
        let number = self.begun;
        let perturbed = self.perturbed_index(number);
        let memory_mib = self.instance.machine.memory_mib();
        OneBoot {
            number,
            of: self.boots_wanted(),
            started: Instant::now(),
            pace: Pace::default(),
            after: After {
                known: self.known_boot(),
                boots: self.boots_left(),
                others,
                machines,
            },
            seed: self.seed(common, number),
            perturbed: perturbed.map(|index| perturb::perturbation(index, memory_mib)),
            selection: Arc::clone(&self.selection),
            launches: Vec::new(),
            hello: None,
            keys: Vec::new(),
            reports: Vec::new(),
            took: Duration::ZERO,
            stopped: None,
            failed: None,
        }
    }

    /// Seed of a boot, the same on all platforms of a run. None if instructions are counted: a seed would change the
    /// counts.
    fn seed(&self, common: &Common, boot: u32) -> Option<NonZeroU64> {
        let first = NonZeroU64::new(common.seed).filter(|_| !self.is_exact())?;
        first.checked_add(u64::from(boot - 1))
    }

    /// Takes a boot that is over. Boots are kept in the order of their numbers.
    pub(super) fn end(&mut self, common: &Common, one: OneBoot) {
        self.ahead.insert(one.number, one);
        while let Some(first) = self.ahead.first_entry() {
            if *first.key() != self.kept + 1 {
                break;
            }
            self.kept += 1;
            let one = first.remove();
            self.keep(common, one);
        }
    }

    /// Keeps a boot. A boot that was cut short is kept only if it is the first: the missing rows of a later one would
    /// look like failures. A boot in which the time was used up is kept: the rows that it did not reach have a boot
    /// less.
    fn keep(&mut self, common: &Common, one: OneBoot) {
        if self.failed.is_some() {
            return;
        }
        self.failed = one.failed;
        self.cut |= one.stopped.is_some();
        let cut = match &self.failed {
            Some(why) => Some(why.clone()),
            None => one.stopped.map(|why| why.words().to_owned()),
        };
        let is_first = self.gathered.boots.is_empty();
        let is_kept = cut.is_none() || is_first || one.stopped == Some(Why::TimeIsUp);
        if is_kept {
            if self.hello.is_none() && one.perturbed.is_none() {
                self.hello = one.hello;
            }
            let boot = Boot {
                boot: one.number,
                launches: one.launches,
                perturbed: one.perturbed,
            };
            let unit = self.instance.unit().to_owned();
            let cut = cut.as_deref().filter(|_| is_first);
            self.gathered.add(boot, one.reports, &unit, cut);
        }
        self.watch_digits(common, &one.keys, one.number);
        if cut.is_none() {
            self.took.push(one.took);
        }
    }

    /// Compares a boot's counts with those of the same launches in earlier runs.
    fn watch_digits(&mut self, common: &Common, keys: &[Key], boot: u32) {
        let Some(digits) = &common.digits else { return };
        match digits.watch(keys, boot, &self.gathered.rows()) {
            Ok(broken) => self.broken.extend(broken),
            Err(error) => self.remark(format!(
                "{}: its counts can't be compared with earlier ones: {error}",
                self.name
            )),
        }
    }
}

impl OneBoot {
    /// Makes the boot on a machine.
    pub fn run(&mut self, instance: &mut Instance, common: &Common, progress: &Progress) {
        let engine = instance.machine.engine();
        let selection = Arc::clone(&self.selection);
        let (barred, rows) = barred(instance.machine.as_ref(), &selection.rows, &Cpus::here());
        let mut planned =
            common
                .turns
                .launches(&rows, common.smp, instance.machine.launches_rows_apart());
        if let Some(seed) = self.seed {
            common.turns.shuffle(&mut planned, seed);
        }
        let mut queue = LaunchQueue::new(planned);
        while let Some(planned) = queue.next() {
            if let Err(why) = self.next_launch(instance, common, progress, &mut queue, planned) {
                self.failed = Some(why);
                break;
            }
        }
        progress.done(&self.title(&instance.name));
        let is_cut = queue.rows_done() < rows.len();
        self.stopped = common.stop.why().filter(|_| is_cut);
        self.reports = queue.finish();
        let machine = &instance.machine;
        for report in &mut self.reports {
            exits::judge(report, engine, machine.architecture(), machine.pins());
        }
        let skipped = barred
            .into_iter()
            .map(|(row, why)| RowReport::without(&row.name, Status::Skip, why));
        self.reports.extend(skipped);
        self.took = self.started.elapsed();
    }

    /// Makes a launch, and puts its unfinished rows back into the queue. An error is the reason why this platform can't
    /// continue; other platforms do.
    fn next_launch(
        &mut self,
        instance: &mut Instance,
        common: &Common,
        progress: &Progress,
        queue: &mut LaunchQueue,
        planned: Planned,
    ) -> Result<(), String> {
        let order = self.order(instance, common, &planned);
        if let Some(machine) = instance.machine.digest() {
            let cpus = nonce::cpus_text(order.vcpus, order.host_cpus);
            let line = format!("{}{}", order.command_line, workloads(instance));
            self.keys
                .push(Key::of(machine, &cpus, order.memory_mib, &line));
        }
        let done = self.launch(instance, common, progress, &order, queue.rows_done());
        let (report, launch) = done.map_err(|error| {
            // The machine's load must not disturb the other platforms.
            instance.machine.kill();
            error.to_string()
        })?;
        instance.tell(progress, &report, &launch);
        self.launches.push(launch);
        if self.hello.is_none() {
            self.hello.clone_from(&report.hello);
        }
        let silent = queue.take(planned, &report).is_err();
        instance.heed_hello(&report, common.parameters.apic)?;
        match silent {
            true => Err(never_spoke(&self.launches)),
            false => Ok(()),
        }
    }

    /// Makes the order for the next launch of a boot.
    fn order<'a>(&self, instance: &Instance, common: &Common, planned: &'a Planned) -> Order<'a> {
        let machine = instance.machine.as_ref();
        let asked = Asked::by(machine);
        let perturbed = self.perturbed.unwrap_or_default();
        let mut parameters = parameters(machine, common);
        parameters.seed = self.seed;
        parameters.pad = perturbed.pad.or(parameters.pad);
        let nonce = if instance.is_exact() {
            // A row in a launch of its own has the same nonce whatever else was selected.
            let launch = match machine.launches_rows_apart() {
                true => 0,
                false => self.launches.len(),
            };
            nonce::fixed(&instance.name, launch, planned)
        } else {
            nonce::random()
        };
        let usual = match machine.workloads() {
            // A machine that boots for long also runs workloads for long.
            Some(_) => WORKLOAD_LIMIT.max(machine.boot_limit().unwrap_or_default()),
            None => BENCH_LIMIT,
        };
        let mut limits = Limits::launched(common.bench_limit.unwrap_or(usual));
        if let Some(limit) = machine.boot_limit() {
            (limits.boot, limits.between) = (Some(limit), Some(limit));
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

    /// Title of the boot in messages about progress.
    fn title(&self, platform: &str) -> String {
        format!("{platform} boot {}/{}", self.number, self.of)
    }

    /// Launches the machine and shows progress.
    fn launch(
        &mut self,
        instance: &mut Instance,
        common: &Common,
        progress: &Progress,
        order: &Order<'_>,
        rows_before: usize,
    ) -> Result<(LaunchReport, Launch), MachineError> {
        let (title, rows) = (self.title(&instance.name), self.selection.rows.len());
        let mut step = Step::default();
        let mut watch = |state: &LaunchState| {
            let done = rows_before + state.rows_done();
            let spent = self.started.elapsed();
            self.pace.note(done, spent);
            let what = match (state.running(), state.hello()) {
                (Some(benchmark), _) => benchmark,
                (None, Some(_)) => "between benchmarks",
                (None, None) => "booting",
            };
            let lasting = step.lasting(what, done, spent);
            let what = || format!(": {what}{lasting} ({done}/{rows})");
            progress.show(&title, what, self.after.left(self.pace, rows, spent));
        };
        follow(instance.machine.as_mut(), order, &common.stop, &mut watch)
    }
}

/// Current step of a launch, and its start.
#[derive(Debug, Default)]
struct Step {
    what: String,
    done: usize,
    since: Duration,
}

/// Shortest step whose duration is shown.
const LONG: Duration = Duration::from_secs(5);

impl Step {
    /// Describes how long the step has lasted, if that is long. `now`: time since the boot began.
    fn lasting(&mut self, what: &str, done: usize, now: Duration) -> String {
        if (self.what.as_str(), self.done) != (what, done) {
            *self = Self {
                what: what.to_owned(),
                done,
                since: now,
            };
        }
        let lasts = now.saturating_sub(self.since);
        match lasts >= LONG {
            true => format!(" for {}", time::short(lasts)),
            false => String::new(),
        }
    }
}

/// Parameters of the guest: the user's, and for the rest the machine's defaults.
fn parameters(machine: &dyn Machine, common: &Common) -> Parameters {
    let mut parameters = common.parameters.clone();
    if let Some(sizes) = machine.sizes() {
        parameters.iters.get_or_insert(sizes.iters);
        parameters.samples.get_or_insert(sizes.samples);
    }
    parameters
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

/// Digests of a machine's workloads: all are in the machine's files, and move each other's counts.
fn workloads(instance: &Instance) -> String {
    let rows = instance.machine.workloads().unwrap_or_default();
    rows.iter().map(|row| format!(" {}", row.digest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use ws_machines::image::BenchmarkRow;
    use ws_terminal::Stop;

    /// A boot that measured one of two rows, and was stopped.
    fn stopped(job: &mut Job, common: &Common, why: Why) -> OneBoot {
        OneBoot {
            stopped: Some(why),
            reports: vec![RowReport::without("a", Status::Skip, "not here")],
            ..job.begin(common, None, 1)
        }
    }

    #[test]
    fn what_was_measured_when_the_time_was_up_is_kept_though_the_user_stops_the_run_then() {
        let common = Common {
            stop: Stop::asked(),
            ..fake::common()
        };
        let row = |name: &str| BenchmarkRow {
            name: name.into(),
            ..BenchmarkRow::default()
        };
        let selection = Arc::new(Selection {
            rows: vec![row("a"), row("b")],
            ..Selection::default()
        });
        let machine = Box::new(fake::qemu(None));
        let mut job = Job::new("qemu-tcg".into(), machine, selection, Some(4), &common);
        let first = job.begin(&common, None, 1);
        job.end(&common, first);
        for (why, kept) in [(Why::Asked, 1), (Why::TimeIsUp, 2)] {
            let one = stopped(&mut job, &common, why);
            job.end(&common, one);
            assert_eq!(job.gathered.boots.len(), kept, "{why:?}");
        }
        assert!(job.cut);
    }

    #[test]
    fn the_first_boot_that_is_not_perturbed_says_what_was_measured() {
        let common = Common {
            perturbed_boots: 1,
            ..fake::common()
        };
        let machine = Box::new(fake::qemu(None));
        let selection = Arc::new(Selection::default());
        let mut job = Job::new("qemu-tcg".into(), machine, selection, Some(2), &common);
        (job.perturbed, job.plain_first) = (1, 0);
        let mut boots: Vec<OneBoot> = (0..3)
            .map(|pad| OneBoot {
                hello: Some(Hello {
                    pad: Some(pad),
                    ..Hello::default()
                }),
                ..job.begin(&common, None, 1)
            })
            .collect();
        assert!(boots[0].perturbed.is_some() && boots[1].perturbed.is_none());
        // The last one ends first.
        while let Some(one) = boots.pop() {
            job.end(&common, one);
        }
        assert_eq!(job.identity().conditions["pad"], 1);
    }
}
