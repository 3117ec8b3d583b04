//! One platform in a run: its machine and its results so far.

use crate::launch::state::LaunchReport;
use crate::outcome::digits::Digits;
use crate::outcome::gather::{Gathered, UNKNOWN};
use crate::outcome::identity;
use crate::rounds::plan::Parameters;
use crate::terminal::{Progress, Stop};
use std::sync::Arc;
use std::time::Duration;
use ws_machines::image::BenchmarkRow;
use ws_machines::machine::{Control, Engine, Machine};
use ws_records::Hello;
use ws_results::{Identity, Launch, LaunchEnd, Row};

/// Units in which a guest may count.
const UNITS: [&str; 4] = ["insns", "tsc_ticks", "cntvct_ticks", "ns"];

/// Guessed time of a benchmark before any was measured, for the time left.
pub(super) const GUESS_A_ROW: Duration = Duration::from_millis(100);

/// The benchmarks that are measured on the platforms of one architecture.
#[derive(Debug, Default)]
pub struct Selection {
    /// The selected benchmarks, in the image's order. Empty without an image.
    pub rows: Vec<BenchmarkRow>,
    /// How many benchmarks the image has, before any selection.
    pub image_rows: usize,
    pub image_sha256: Option<String>,
}

/// The settings that all platforms of a run have in common.
#[derive(Debug)]
pub struct Common {
    /// Which benchmarks to keep of a platform that somebody else boots.
    pub bench: Option<regex::Regex>,
    pub parameters: Parameters,
    pub smp: Option<u32>,
    /// Seed of the first boot of platforms that measure time; the next boots have the next numbers. 0:
    /// no seeds.
    pub seed: u64,
    /// Extra boots, of platforms that count instructions, that vary what should not matter.
    pub perturbed_boots: u32,
    /// Counts of exact machines in earlier runs.
    pub digits: Option<Digits>,
    pub bench_limit: Duration,
    pub stop: Stop,
}

/// One platform.
pub struct Job {
    /// The platform's canonical name.
    pub name: String,
    pub(super) machine: Box<dyn Machine>,
    /// The benchmarks that are measured on it.
    pub selection: Arc<Selection>,
    /// How many boots are wanted; none for a log: all that it contains.
    pub wanted: Option<u32>,
    /// How many perturbed boots follow.
    pub(super) perturbed: u32,
    pub gathered: Gathered,
    hello: Option<Hello>,
    /// How long each boot took.
    pub took: Vec<Duration>,
    /// Why it can't continue.
    pub failed: Option<String>,
    /// A boot was stopped before its end.
    pub cut: bool,
    /// Remarks for the user at the end of the run.
    pub remarks: Vec<String>,
    /// Counts that differ from earlier ones of the same machine, in words.
    pub broken: Vec<String>,
}

impl Job {
    /// A platform without results.
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
            // Its records name its rows.
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

    /// Who boots it: this program or somebody else.
    pub fn control(&self) -> Control {
        self.machine.control()
    }

    /// Whether its counts should be the same in each boot.
    pub fn is_exact(&self) -> bool {
        self.machine.unit() == Some("insns")
    }

    /// Checks that everything its machine needs is there.
    ///
    /// # Errors
    /// What is missing and how to get it.
    pub fn prepare(&mut self) -> anyhow::Result<()> {
        Ok(self.machine.prepare()?)
    }

    /// A warning about the platform before it runs.
    pub fn label(&self) -> Option<String> {
        if self.machine.engine() != Engine::SoftwareKvm {
            return None;
        }
        let sizes = self.machine.sizes()?;
        Some(format!(
            "{}: a software KVM, without VMX or SVM: its figures and counts say nothing about hardware. \
             Ring 0 is emulated there, so the defaults are {} operations per batch, {} samples and {} boots \
             (--iters, --samples and --boots change them); no hypercall is executed",
            self.name, sizes.iters, sizes.samples, sizes.boots
        ))
    }

    /// An upper bound of the size of its result file: samples of both loops, as text, and the rest.
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

    /// Boots that are left.
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

    /// Ends the job after the boots so far.
    pub fn enough(&mut self) {
        let plain = self.wanted.unwrap_or(1).min(self.boots_done());
        self.wanted = Some(plain);
        self.perturbed = self.boots_done() - plain;
    }

    /// Whether the next boot is a perturbed one.
    pub fn is_next_perturbed(&self) -> bool {
        self.boots_left() > 0 && self.boots_left() <= self.perturbed
    }

    /// The time of a boot, measured or guessed.
    pub fn estimate(&self) -> Duration {
        match u32::try_from(self.took.len()) {
            Ok(count @ 1..) => self.took.iter().sum::<Duration>() / count,
            _ => GUESS_A_ROW * u32::try_from(self.selection.rows.len()).unwrap_or(1),
        }
    }

    pub(super) fn unit(&self) -> &str {
        let said = self.hello.as_ref().map(|hello| hello.unit.as_str());
        said.or(self.machine.unit()).unwrap_or("unknown")
    }

    /// Prints details of a launch during the run, and notes remarks.
    pub(super) fn tell(&mut self, progress: &Progress, report: &LaunchReport, launch: &Launch) {
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

    /// Keeps the first `hello`, and checks its unit and that the guest knew all words of its command
    /// line.
    pub(super) fn heed_hello(&mut self, report: &LaunchReport) -> Result<(), String> {
        let Some(hello) = &report.hello else {
            return Ok(());
        };
        let unit = hello.unit.as_str();
        if !UNITS.contains(&unit) {
            return Err(format!(
                "the guest counts in \"{unit}\", a unit that this program does not know"
            ));
        }
        if let Some(asked) = self.machine.unit().filter(|asked| *asked != unit) {
            return Err(format!(
                "the guest counts in {unit}, but was asked to count in {asked}"
            ));
        }
        if !hello.unknown.is_empty() {
            let remark = format!(
                "{}: its guest did not recognize {}: are the image and this program of the same version?",
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

    /// Everything that its numbers depend on.
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

    /// The rows so far; categories that are not in the records come from the image.
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
