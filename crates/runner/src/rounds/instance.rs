//! A machine of a platform, and the `hello` of its guests. A platform has several machines if its boots run side by
//! side.

use crate::launch::state::LaunchReport;
use crate::rounds::plan::Apic;
use ws_machines::machine::Machine;
use ws_records::Hello;
use ws_results::{CLOCK_UNITS, EXITS_UNIT, Launch, LaunchEnd};
use ws_terminal::Progress;

/// Units in which a guest may count, besides [`CLOCK_UNITS`].
const UNITS: [&str; 2] = ["insns", "ns"];

/// Machine of a platform.
pub struct Instance {
    /// Canonical name of the platform.
    pub name: String,
    pub machine: Box<dyn Machine>,
    /// First `hello` of a guest.
    pub hello: Option<Hello>,
    /// Remarks for the user at the end of the run.
    pub remarks: Vec<String>,
}

impl Instance {
    /// A machine that was not launched yet.
    pub fn new(name: String, machine: Box<dyn Machine>) -> Self {
        Self {
            name,
            machine,
            hello: None,
            remarks: Vec::new(),
        }
    }

    /// Makes another machine of the same parts, where it may run beside this one.
    pub fn twin(&self) -> Option<Self> {
        Some(Self::new(self.name.clone(), self.machine.twin()?))
    }

    /// Takes the `hello` and the remarks of another machine.
    pub fn take(&mut self, other: Self) {
        if self.hello.is_none() {
            self.hello = other.hello;
        }
        for remark in other.remarks {
            self.remark(remark);
        }
    }

    /// Whether the machine's counts should be the same in each boot.
    pub fn is_exact(&self) -> bool {
        self.machine.description().unit == Some("insns")
    }

    /// Unit of the machine's figures.
    pub fn unit(&self) -> &str {
        let machine = self.machine.description();
        if machine.counts_only_exits {
            return EXITS_UNIT;
        }
        let said = self.hello.as_ref().map(|hello| hello.unit.as_str());
        said.or(machine.unit).unwrap_or("unknown")
    }

    /// Notes a remark, once.
    pub fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Prints details of a launch during the run, and notes remarks.
    pub fn tell(&mut self, progress: &Progress, report: &LaunchReport, launch: &Launch) {
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
        if !matches!(report.end, LaunchEnd::Bye | LaunchEnd::Interrupted) {
            progress.say(&format!("{name}: a launch ended early: {}", report.detail));
        }
        if let Some(left_out) = &report.left_out {
            self.remark(format!("{}: {left_out}", self.name));
        }
    }

    /// Keeps the first `hello`. Fails if its unit is not known or was not asked for, or if its interrupt controller is
    /// not the one of `--apic`. Words of the command line that the guest did not know become a remark.
    pub fn heed_hello(&mut self, report: &LaunchReport, apic: Option<Apic>) -> Result<(), String> {
        let Some(hello) = &report.hello else {
            return Ok(());
        };
        let unit = hello.unit.as_str();
        if !UNITS.iter().chain(&CLOCK_UNITS).any(|known| *known == unit) {
            return Err(format!(
                "the guest counts in \"{unit}\", a unit that this program does not know"
            ));
        }
        let asked = self.machine.description().unit;
        if let Some(asked) = asked.filter(|asked| *asked != unit) {
            return Err(format!(
                "the guest counts in {unit}, but was asked to count in {asked}"
            ));
        }
        if !hello.unknown.is_empty() {
            self.remark(format!(
                "{}: its guest did not recognize {}: are the image and this program of the same version?",
                self.name,
                hello.unknown.join(" ")
            ));
        }
        let used = hello.apic.as_deref().unwrap_or("none");
        if let Some(asked) = apic.map(Apic::word).filter(|asked| *asked != used) {
            return Err(format!(
                "the guest's CPU or firmware does not allow --apic {asked}, so the guest uses {used}: leave it out"
            ));
        }
        self.hello.get_or_insert_with(|| hello.clone());
        Ok(())
    }
}
