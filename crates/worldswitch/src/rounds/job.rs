//! One platform in a run: its machine, and what it has given so far.

use crate::launch::follow::{Order, follow};
use crate::launch::limits::Limits;
use crate::launch::state::{LaunchReport, LaunchState};
use crate::outcome::digits::{Digits, Key};
use crate::outcome::gather::{Gathered, UNKNOWN};
use crate::outcome::row::RowReport;
use crate::outcome::{exits, identity};
use crate::rounds::boot::BootState;
use crate::rounds::plan::{self, Asked, Parameters, Planned};
use crate::rounds::{nonce, perturb};
use crate::terminal::{Progress, Stop};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ws_machines::hypercall;
use ws_machines::image::BenchmarkRow;
use ws_machines::machine::{Control, Engine, Machine, MachineError};
use ws_records::Hello;
use ws_results::{Boot, Identity, Launch, LaunchEnd, Perturbation, Row, Status};

/// Units in which a guest may count.
const UNITS: [&str; 4] = ["insns", "tsc_ticks", "cntvct_ticks", "ns"];

/// What a benchmark takes before anything was measured, for the time left.
const GUESS_A_ROW: Duration = Duration::from_millis(100);

/// What is measured on the platforms of one architecture.
#[derive(Debug, Default)]
pub struct Selection {
    /// The benchmarks that were selected, in the image's order. Empty without an image.
    pub rows: Vec<BenchmarkRow>,
    /// How many benchmarks the image has, before any selection.
    pub image_rows: usize,
    pub image_sha256: Option<String>,
}

/// What all platforms of a run have in common.
#[derive(Debug)]
pub struct Common {
    /// Which benchmarks of a listened platform to keep.
    pub bench: Option<regex::Regex>,
    pub parameters: Parameters,
    pub smp: Option<u32>,
    /// Of the first boot of platforms that measure time; each boot has the next one. 0: none has any.
    pub seed: u64,
    /// Boots beside the others, of platforms that count instructions, in which something differs
    /// that should not matter.
    pub perturbed_boots: u32,
    /// Digits of exact machines that were seen before.
    pub digits: Option<Digits>,
    pub bench_limit: Duration,
    pub stop: Stop,
}

/// One platform.
pub struct Job {
    /// Canonical.
    pub name: String,
    pub(crate) machine: Box<dyn Machine>,
    /// What is measured on it.
    pub selection: Arc<Selection>,
    /// How many boots it should have; for a log, none says that all will do.
    pub wanted: Option<u32>,
    /// How many perturbed ones follow.
    perturbed: u32,
    pub gathered: Gathered,
    hello: Option<Hello>,
    /// How long each boot took.
    pub took: Vec<Duration>,
    /// Why it gives no more.
    pub failed: Option<String>,
    /// A boot was stopped before its end.
    pub cut: bool,
    /// What the user should know in the end.
    pub remarks: Vec<String>,
    /// Digits that this very machine once gave otherwise, in words.
    pub broken: Vec<String>,
}

impl Job {
    /// A platform of which nothing was measured yet.
    pub fn new(
        name: String,
        machine: Box<dyn Machine>,
        selection: Arc<Selection>,
        wanted: Option<u32>,
        common: &Common,
    ) -> Self {
        let is_exact = machine.control() == Control::Launched && machine.unit() == Some("insns");
        let gathered = match machine.control() {
            Control::Launched => Gathered::of_image(&selection.rows),
            // Its rows are named by its own records.
            Control::Listened | Control::Replayed => Gathered::default(),
        };
        Self {
            name,
            machine,
            selection,
            wanted,
            perturbed: if is_exact { common.perturbed_boots } else { 0 },
            gathered,
            hello: None,
            took: Vec::new(),
            failed: None,
            cut: false,
            remarks: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// Who boots it.
    pub fn control(&self) -> Control {
        self.machine.control()
    }

    /// Whether its digits should be the same in each boot.
    pub fn is_exact(&self) -> bool {
        self.machine.unit() == Some("insns")
    }

    /// Checks what its machine needs.
    ///
    /// # Errors
    /// What is missing, and the cure.
    pub fn prepare(&mut self) -> anyhow::Result<()> {
        Ok(self.machine.prepare()?)
    }

    /// What to ask of the guest: what the user asked, and the machine's own sizes for the rest.
    fn parameters(&self, common: &Common) -> Parameters {
        let mut parameters = common.parameters.clone();
        if let Some(sizes) = self.machine.sizes() {
            parameters.iters.get_or_insert(sizes.iters);
            parameters.samples.get_or_insert(sizes.samples);
        }
        parameters
    }

    /// The seed of a boot, the same on all platforms of a run. Where instructions are counted there is
    /// none: digits would move.
    fn seed(&self, common: &Common, boot: u32) -> Option<NonZeroU64> {
        let first = NonZeroU64::new(common.seed).filter(|_| !self.is_exact())?;
        first.checked_add(u64::from(boot - 1))
    }

    /// What the user should know of the platform before it runs.
    pub fn label(&self) -> Option<String> {
        if self.machine.engine() != Engine::SoftwareKvm {
            return None;
        }
        let sizes = self.machine.sizes()?;
        Some(format!(
            "{}: a software KVM, without VMX or SVM: its figures and counts say nothing about hardware. \
             Ring 0 is emulated there, so batches are of {} operations, {} samples and {} boots where --iters, \
             --samples and --boots do not say otherwise; no hypercall is executed",
            self.name, sizes.iters, sizes.samples, sizes.boots
        ))
    }

    /// More bytes than its result file will take: samples of both loops, as text, and what is said beside them.
    pub fn bytes_at_most(&self, common: &Common) -> u64 {
        const BASE: u64 = 64 << 10;
        const A_SAMPLE: u64 = 64;
        let boots = self.wanted.unwrap_or(1) + self.perturbed;
        let samples = common.parameters.samples.map_or(64, u64::from).max(64);
        let rows = self.selection.rows.len() as u64;
        BASE + rows * u64::from(boots) * samples * A_SAMPLE
    }

    /// Whether its vCPU threads are pinned.
    pub fn is_pinned(&self) -> bool {
        !self.machine.pins().is_empty()
    }

    /// Boots yet to come.
    pub fn boots_left(&self) -> u32 {
        match (&self.failed, self.cut) {
            (None, false) => {
                (self.wanted.unwrap_or(1) + self.perturbed).saturating_sub(self.boots_done())
            }
            _ => 0,
        }
    }

    /// Boots so far.
    pub fn boots_done(&self) -> u32 {
        u32::try_from(self.gathered.boots.len()).unwrap_or(u32::MAX)
    }

    /// No more boots are wanted than there were.
    pub fn enough(&mut self) {
        let plain = self.wanted.unwrap_or(1).min(self.boots_done());
        self.wanted = Some(plain);
        self.perturbed = self.boots_done() - plain;
    }

    /// Whether the boot that comes next is a perturbed one.
    pub fn is_next_perturbed(&self) -> bool {
        self.boots_left() > 0 && self.boots_left() <= self.perturbed
    }

    /// What a boot takes, measured or guessed.
    pub fn estimate(&self) -> Duration {
        match u32::try_from(self.took.len()) {
            Ok(count @ 1..) => self.took.iter().sum::<Duration>() / count,
            _ => GUESS_A_ROW * u32::try_from(self.selection.rows.len()).unwrap_or(1),
        }
    }

    /// Boots the machine once. `left_after` is what the run takes after this boot.
    pub fn boot(&mut self, common: &Common, progress: &Progress, left_after: Duration) {
        let started = Instant::now();
        let number = u32::try_from(self.gathered.boots.len())
            .unwrap_or(u32::MAX)
            .saturating_add(1);
        let forbidden = hypercall::forbidden(self.machine.engine());
        let selection = Arc::clone(&self.selection);
        let (barred, rows): (Vec<&BenchmarkRow>, Vec<&BenchmarkRow>) = selection
            .rows
            .iter()
            .partition(|row| forbidden.is_some() && row.has_hypercall);
        let mut planned = plan::launches(&rows, common.smp);
        let seed = self.seed(common, number);
        if let Some(seed) = seed {
            plan::shuffle(&mut planned, seed);
        }
        let mut state = BootState::new(planned);
        let perturbed = number
            .checked_sub(self.wanted.unwrap_or(1) + 1)
            .map(|index| perturb::perturbation(index, self.machine.memory_mib()));
        let (mut launches, mut keys) = (Vec::new(), Vec::new());
        while let Some(planned) = state.next() {
            let place = Place {
                boot: number,
                done: state.rows_done(),
                started,
                left_after,
            };
            let mut parameters = self.parameters(common);
            parameters.seed = seed;
            let order = self.order(common, parameters, &planned, launches.len(), perturbed);
            if let Some(digest) = self.machine.digest() {
                keys.push(Key::of(
                    digest,
                    order.vcpus,
                    order.memory_mib,
                    &order.command_line,
                ));
            }
            let (report, launch) = match self.launch(common, progress, &order, &place) {
                Ok(done) => done,
                Err(error) => {
                    // The other platforms go on, and without its load.
                    self.machine.kill();
                    self.failed = Some(error.to_string());
                    break;
                }
            };
            self.tell(progress, &report, &launch);
            launches.push(launch);
            let silent = state.take(planned, &report).is_err();
            if let Err(why) = self.heed_hello(&report) {
                self.failed = Some(why);
                break;
            }
            if silent {
                self.failed = Some(never_spoke(&launches));
                break;
            }
        }
        let boot = Boot {
            boot: number,
            launches,
            perturbed,
        };
        let interrupted = common.stop.requested() && state.rows_done() < rows.len();
        let cut = match &self.failed {
            Some(why) => Some(why.clone()),
            None => interrupted.then(|| "the run was stopped".to_owned()),
        };
        self.cut |= interrupted;
        let mut settled = state.finish();
        for one in &mut settled {
            let machine = &self.machine;
            exits::judge(
                one,
                machine.engine(),
                machine.architecture(),
                machine.pins(),
            );
        }
        settled.extend(
            barred.into_iter().map(|row| {
                RowReport::without(&row.name, Status::Skip, forbidden.unwrap_or_default())
            }),
        );
        self.keep(boot, settled, cut.as_deref());
        self.watch_digits(common, &keys, number);
        if cut.is_none() {
            self.took.push(started.elapsed());
        }
    }

    /// Compares a boot's digits with those of the same launches in the past.
    fn watch_digits(&mut self, common: &Common, keys: &[Key], boot: u32) {
        let Some(digits) = &common.digits else { return };
        match digits.watch(keys, boot, &self.gathered.rows()) {
            Ok(broken) => self.broken.extend(broken),
            Err(error) => self.remarks.push(format!(
                "{}: its digits can't be compared with those of the past: {error}",
                self.name
            )),
        }
    }

    /// Keeps a boot. One that was cut short counts only if it is all there is: its rows would
    /// otherwise look as if they could not be measured.
    fn keep(&mut self, boot: Boot, settled: Vec<RowReport>, cut: Option<&str>) {
        if cut.is_some() && !self.gathered.boots.is_empty() {
            return;
        }
        let unit = self.unit().to_owned();
        self.gathered.add(boot, settled, &unit, cut);
    }

    pub(crate) fn unit(&self) -> &str {
        let said = self.hello.as_ref().map(|hello| hello.unit.as_str());
        said.or(self.machine.unit()).unwrap_or("unknown")
    }

    /// What the launch with this index in its boot is to do.
    fn order<'a>(
        &self,
        common: &Common,
        mut parameters: Parameters,
        planned: &'a Planned,
        index: usize,
        perturbed: Option<Perturbation>,
    ) -> Order<'a> {
        let asked = Asked::by(self.machine.as_ref());
        let perturbed = perturbed.unwrap_or_default();
        parameters.pad = perturbed.pad.or(parameters.pad);
        let nonce = if self.is_exact() {
            nonce::fixed(&self.name, index, planned)
        } else {
            nonce::random()
        };
        let mut limits = Limits::launched(common.bench_limit);
        if let Some(limit) = self.machine.boot_limit() {
            (limits.boot, limits.between) = (Some(limit), Some(limit));
        }
        Order {
            vcpus: planned.vcpus,
            rows: &planned.rows,
            command_line: plan::command_line(planned, &parameters, asked, &nonce.to_string()),
            memory_mib: perturbed.memory_mib,
            nonce,
            limits,
            timed: common.parameters.external,
        }
    }

    fn launch(
        &mut self,
        common: &Common,
        progress: &Progress,
        order: &Order<'_>,
        place: &Place,
    ) -> Result<(LaunchReport, Launch), MachineError> {
        let (name, rows) = (&self.name, self.selection.rows.len());
        let wanted = self.wanted.unwrap_or(1) + self.perturbed;
        let estimate = (!self.took.is_empty()).then(|| self.estimate());
        let mut watch = |state: &LaunchState| {
            let done = place.done + state.rows_done();
            let left = place.left(done, rows, estimate);
            let what = || {
                let running = state.running().unwrap_or("starting");
                format!(" boot {}/{wanted}: {running} ({done}/{rows})", place.boot)
            };
            progress.show(name, what, Some(left));
        };
        follow(self.machine.as_mut(), order, &common.stop, &mut watch)
    }

    /// Tells what the user may want to know of a launch while the run goes on.
    pub(crate) fn tell(&mut self, progress: &Progress, report: &LaunchReport, launch: &Launch) {
        let name = &self.name;
        if let Some(command) = self.machine.command_line() {
            progress.detail(|| format!("{name}: {command}"));
        }
        if let Some(first) = launch.first_record_ms {
            progress.detail(|| format!("{name}: first record after {first} ms"));
        }
        for row in &report.rows {
            match &row.result {
                Some(result) => progress.detail(|| {
                    format!(
                        "{name}: {} took {} samples of {} operations",
                        row.bench,
                        result.run.len(),
                        result.iterations
                    )
                }),
                None => progress.detail(|| {
                    let reason = row.reason.as_deref().unwrap_or("no reason given");
                    format!("{name}: {}: {reason}", row.bench)
                }),
            }
        }
        if let Some(left_out) = &report.left_out {
            self.remarks.push(format!("{name}: {left_out}"));
        }
        if !matches!(report.end, LaunchEnd::Bye | LaunchEnd::Interrupted) {
            progress.say(&format!("{name}: a launch ended early: {}", report.detail));
        }
    }

    /// Keeps the first `hello`, and checks that the guest does what it was asked.
    pub(crate) fn heed_hello(&mut self, report: &LaunchReport) -> Result<(), String> {
        let Some(hello) = &report.hello else {
            return Ok(());
        };
        let unit = hello.unit.as_str();
        if !UNITS.contains(&unit) {
            return Err(format!(
                "the guest counts in \"{unit}\", which is no unit that is known here"
            ));
        }
        if let Some(asked) = self.machine.unit().filter(|asked| *asked != unit) {
            return Err(format!(
                "the guest counts in {unit}, though it was asked for {asked}"
            ));
        }
        if !hello.unknown.is_empty() {
            let remark = format!(
                "{}: its guest did not understand {}: is the image as old as this program?",
                self.name,
                hello.unknown.join(" ")
            );
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
        self.hello.get_or_insert_with(|| hello.clone());
        Ok(())
    }

    /// What its numbers depend on.
    pub fn identity(&self) -> Identity {
        let image = match self.control() {
            Control::Launched => self.selection.image_sha256.as_deref(),
            Control::Listened | Control::Replayed => None,
        };
        identity::complete(
            self.machine.identity(),
            &self.name,
            image,
            self.hello.as_ref(),
        )
    }

    /// The rows as they stand; categories that the records do not tell come from the image.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = self.gathered.rows();
        for row in rows.iter_mut().filter(|row| row.category == UNKNOWN) {
            if let Some(known) = self
                .selection
                .rows
                .iter()
                .find(|known| known.name == row.benchmark)
            {
                row.category.clone_from(&known.category);
            }
        }
        rows
    }
}

/// Where in the run a launch stands.
struct Place {
    boot: u32,
    /// Rows settled before this launch.
    done: usize,
    /// Of the boot.
    started: Instant,
    left_after: Duration,
}

impl Place {
    /// What the run takes yet: this boot by the boots before it, else by its rows so far.
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
    let mut why = "its guest sent no record in two launches running".to_owned();
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
