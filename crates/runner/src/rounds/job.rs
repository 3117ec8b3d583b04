//! A platform in a run: its machine and its results so far.

use crate::outcome::digits::Digits;
use crate::outcome::folder::bytes_at_most;
use crate::outcome::gather::{Gathered, UNKNOWN};
use crate::outcome::identity;
use crate::rounds::boot::OneBoot;
use crate::rounds::instance::Instance;
use crate::rounds::plan::Parameters;
use crate::rounds::turns::Turns;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use ws_machines::host;
use ws_machines::image::BenchmarkRow;
use ws_machines::machine::{Control, Engine, Machine};
use ws_records::Hello;
use ws_results::{Identity, Row};
use ws_terminal::Stop;

/// Guessed time of a benchmark before any was measured, for what fits into a quick run.
const GUESS_A_ROW: Duration = Duration::from_millis(100);

/// The benchmarks that are measured on the platforms of one architecture.
#[derive(Debug, Default)]
pub struct Selection {
    /// Selected benchmarks, in the image's order. Empty without an image.
    pub rows: Vec<BenchmarkRow>,
    /// Number of benchmarks in the image, before any selection.
    pub image_rows: usize,
    pub image_sha256: Option<String>,
}

/// Settings that all platforms of a run share.
#[derive(Debug)]
pub struct Common {
    /// Benchmarks to keep of a platform that somebody else boots.
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
    /// Time limit of one benchmark, if the user gave one.
    pub bench_limit: Option<Duration>,
    pub stop: Stop,
    pub turns: Turns,
}

/// Platform in a run.
pub struct Job {
    /// Canonical name of the platform.
    pub name: String,
    pub(super) instance: Instance,
    /// Benchmarks that are measured on the platform.
    pub selection: Arc<Selection>,
    /// Number of boots that are wanted; None for a log, of which all boots are read.
    pub wanted: Option<u32>,
    /// Number of perturbed boots.
    pub(super) perturbed: u32,
    /// Number of boots before the perturbed ones; the others follow them.
    pub(super) plain_first: u32,
    /// Number of boots that were begun.
    pub(super) begun: u32,
    /// Number of boots that ended, together with all before them.
    pub(super) kept: u32,
    /// Boots that ended before an earlier one did, by number.
    pub(super) ahead: BTreeMap<u32, OneBoot>,
    pub gathered: Gathered,
    /// `hello` of the first boot that was kept and is not perturbed.
    pub(super) hello: Option<Hello>,
    /// Duration of each boot.
    pub took: Vec<Duration>,
    /// Reason why the platform can't continue.
    pub failed: Option<String>,
    /// Whether a boot was stopped before its end.
    pub cut: bool,
    /// Counts that differ from earlier ones of the same machine, in words.
    pub broken: Vec<String>,
}

impl Job {
    /// Makes a platform without results.
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
            // The records of such a machine name the rows.
            Control::Listened | Control::Replayed => Gathered::default(),
        };
        Self {
            instance: Instance::new(name.clone(), machine),
            name,
            selection,
            wanted,
            perturbed: if is_exact { common.perturbed_boots } else { 0 },
            plain_first: wanted.unwrap_or(1),
            begun: 0,
            kept: 0,
            ahead: BTreeMap::new(),
            gathered,
            hello: None,
            took: Vec::new(),
            failed: None,
            cut: false,
            broken: Vec::new(),
        }
    }

    /// Tells who boots the machine: this program or somebody else.
    pub fn control(&self) -> Control {
        self.instance.machine.control()
    }

    /// Whether the platform's counts should be the same in each boot.
    pub fn is_exact(&self) -> bool {
        self.instance.is_exact()
    }

    /// Remarks for the user at the end of the run.
    pub fn remarks(&self) -> &[String] {
        &self.instance.remarks
    }

    /// Adds a remark.
    pub fn remark(&mut self, remark: String) {
        self.instance.remark(remark);
    }

    /// Checks that everything that the machine needs is there. An error says how to get what is missing.
    pub fn prepare(&mut self) -> anyhow::Result<()> {
        Ok(self.instance.machine.prepare()?)
    }

    /// A warning about the platform before it runs.
    pub fn label(&self) -> Option<String> {
        if self.instance.machine.engine() != Engine::SoftwareKvm {
            return None;
        }
        let sizes = self.instance.machine.sizes()?;
        Some(format!(
            "{}: a software KVM, without VMX or SVM: its figures and counts say nothing about hardware. \
             Ring 0 is emulated there, so the defaults are {} operations per batch, {} samples and {} boots \
             (--iters, --samples and --boots change them); no hypercall is executed",
            self.name, sizes.iters, sizes.samples, sizes.boots
        ))
    }

    /// Upper bound of the size of the platform's result file.
    pub fn bytes_at_most(&self, common: &Common) -> u64 {
        let samples = common.parameters.samples;
        bytes_at_most(self.selection.rows.len(), self.boots_wanted(), samples)
    }

    /// Whether the machine's vCPU threads are pinned.
    pub fn is_pinned(&self) -> bool {
        !self.instance.machine.pins().is_empty()
    }

    /// Number of boots that are wanted, perturbed ones too.
    pub(super) fn boots_wanted(&self) -> u32 {
        self.wanted.unwrap_or(1) + self.perturbed
    }

    /// Numbers of boots that are wanted: plain and perturbed ones.
    pub(super) fn boots_by_kind(&self) -> [u32; 2] {
        [self.wanted.unwrap_or(1), self.perturbed]
    }

    /// Numbers of boots that were made and kept: plain and perturbed ones.
    pub(super) fn boots_made(&self) -> [u32; 2] {
        let boots = &self.gathered.boots;
        let perturbed = boots.iter().filter(|boot| boot.perturbed.is_some()).count();
        let count = |boots: usize| u32::try_from(boots).unwrap_or(u32::MAX);
        [count(boots.len() - perturbed), count(perturbed)]
    }

    /// Number of boots that were not begun.
    pub fn boots_left(&self) -> u32 {
        match (&self.failed, self.cut) {
            (None, false) => self.boots_wanted().saturating_sub(self.begun),
            _ => 0,
        }
    }

    /// Puts the perturbed boots right after the first: in a short run they tell more than further plain ones.
    pub(super) fn perturb_early(&mut self) {
        self.plain_first = self.plain_first.min(1);
    }

    /// Begins no more boots.
    pub fn enough(&mut self) {
        let past_first = self.begun.saturating_sub(self.plain_first);
        self.perturbed = self.perturbed.min(past_first);
        self.wanted = Some(self.begun - self.perturbed);
    }

    /// Index of the boot of this number among the perturbed ones, from 0; None if it is not perturbed.
    pub(super) fn perturbed_index(&self, number: u32) -> Option<u32> {
        let index = number.checked_sub(self.plain_first + 1)?;
        (index < self.perturbed).then_some(index)
    }

    /// Mean duration of a boot, if there was one.
    pub fn known_boot(&self) -> Option<Duration> {
        let count = u32::try_from(self.took.len()).ok()?;
        self.took.iter().sum::<Duration>().checked_div(count)
    }

    /// Duration of a boot, measured or guessed.
    pub fn estimate(&self) -> Duration {
        let rows = u32::try_from(self.selection.rows.len()).unwrap_or(1);
        self.known_boot().unwrap_or(GUESS_A_ROW * rows)
    }

    /// Identity of the result: everything that its figures depend on.
    pub fn identity(&self) -> Identity {
        let image = match self.control() {
            Control::Launched => self.selection.image_sha256.as_deref(),
            Control::Listened | Control::Replayed => None,
        };
        let hello = self.hello().map(|hello| Hello {
            unit: self.instance.unit().to_owned(),
            ..hello
        });
        let mut identity = self.instance.machine.identity();
        if self.control() == Control::Launched {
            let host = host::name().map(|host| ("host".into(), host.into()));
            identity.subject.extend(host);
        }
        identity::complete(identity, &self.name, image, hello.as_ref())
    }

    /// Finds the `hello` of the first boot that is not perturbed, or else the first to arrive. Boots side by side end
    /// in any order, and a perturbed one has other conditions.
    fn hello(&self) -> Option<Hello> {
        let first = self.hello.as_ref().or(self.instance.hello.as_ref());
        first.cloned()
    }

    /// Rows so far; categories that are not in the records come from the image.
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
