//! vmm, the project's own KVM monitor: the only file that knows its command line. Platform `kvm` runs the guest in it.
//! vmm's probe examines this host's /dev/kvm for every platform that uses KVM.

use crate::child::Child;
use crate::host::Host;
use crate::machine::{
    CONSOLE_LIMIT_BYTES, Console, Control, Description, Engine, LaunchRequest, Machine,
    MachineError, Sizes,
};
use crate::pin;
use crate::process::{Process, describe, unnamed_file};
use serde::Deserialize;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};
use ws_lab::sets::Architecture;
use ws_results::Identity;

const MEMORY_MIB: u64 = 512;

/// The time limit of a probe. The probe itself stops after 10 s; this limit is for a monitor that hangs.
const PROBE_LIMIT: Duration = Duration::from_secs(20);

/// The most modules that the monitor loads (vmm/options.h).
pub const MODULES_MAX: usize = 8;

/// On a software KVM, a batch has as many operations as exits fit into this time, so that a boot takes seconds. Few
/// exits fit, but the result only measures an emulator.
const SOFTWARE_BATCH_NS: u64 = 200_000;
const SOFTWARE_ITERS: std::ops::RangeInclusive<u64> = 5..=100;
const SOFTWARE_SAMPLES: u64 = 5;
const SOFTWARE_BOOTS: u32 = 3;
/// The time limit of a boot on a software KVM. QEMU's firmware is emulated too: it takes 8 s on an idle host, far more
/// on a loaded one.
const SOFTWARE_BOOT_LIMIT: Duration = Duration::from_secs(90);

/// Parameters of KVM's modules that affect world switches; not every kernel has all of them.
const PARAMETERS: [(&str, &str); 8] = [
    ("kvm", "halt_poll_ns"),
    ("kvm_intel", "ept"),
    ("kvm_intel", "enable_apicv"),
    ("kvm_intel", "enable_ipiv"),
    ("kvm_intel", "ple_window"),
    ("kvm_amd", "npt"),
    ("kvm_amd", "avic"),
    ("kvm_amd", "nested"),
];

/// Result of the probe of this host's KVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kvm {
    pub engine: Engine,
    /// The time of an exit to the monitor and back.
    pub exit_ns: u64,
    /// The monitor that probed KVM.
    pub monitor: PathBuf,
    /// The monitor's version, as `vmm 0.1.0`.
    pub monitor_version: String,
}

/// The probe's output.
#[derive(Debug, Deserialize)]
struct Answer {
    usable: bool,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    exit_ns: u64,
    /// Whether KVM is a software KVM. True if the probe does not report it, so that no instruction is executed that
    /// hangs such a KVM.
    #[serde(default = "yes")]
    software: bool,
}

fn yes() -> bool {
    true
}

impl Kvm {
    /// Runs the monitor's probe, which executes a few instructions in a virtual machine. Opening
    /// /dev/kvm alone would prove nothing.
    pub fn probe(monitor: &Path) -> Result<Self, MachineError> {
        let answer = ask(monitor, "--probe")?;
        let answer: Answer = serde_json::from_str(&answer).map_err(|_| {
            MachineError::Other(format!(
                "{} --probe did not print the output of vmm: run make build, or name vmm with --vmm FILE",
                monitor.display()
            ))
        })?;
        if !answer.usable {
            let reason = answer.reason.unwrap_or_default();
            return Err(MachineError::Other(match reason.as_str() {
                "" => "/dev/kvm can't be used, and the monitor gave no reason".into(),
                reason => reason.to_owned(),
            }));
        }
        let engine = match answer.software {
            true => Engine::SoftwareKvm,
            false => Engine::HardwareKvm,
        };
        Ok(Self {
            engine,
            exit_ns: answer.exit_ns,
            monitor: monitor.to_owned(),
            monitor_version: version(monitor)?,
        })
    }

    /// Numbers to measure on a software KVM; none on another.
    pub fn sizes(&self) -> Option<Sizes> {
        (self.engine == Engine::SoftwareKvm).then(|| Sizes {
            iters: (SOFTWARE_BATCH_NS / self.exit_ns.max(1))
                .clamp(*SOFTWARE_ITERS.start(), *SOFTWARE_ITERS.end()),
            samples: SOFTWARE_SAMPLES,
            boots: SOFTWARE_BOOTS,
        })
    }

    /// Time limit of a guest until its first record, where the usual limit is too short.
    pub fn boot_limit(&self) -> Option<Duration> {
        (self.engine == Engine::SoftwareKvm).then_some(SOFTWARE_BOOT_LIMIT)
    }

    /// Adds the settings of the host that affect world switches.
    pub fn describe(&self, identity: &mut Identity) {
        let mut subject = |key: &str, value: String| {
            identity.subject.insert(key.into(), value.into());
        };
        let word = match self.engine {
            Engine::SoftwareKvm => "software",
            _ => "hardware",
        };
        subject("kvm", word.into());
        for (module, name) in PARAMETERS {
            let path = format!("/sys/module/{module}/parameters/{name}");
            if let Ok(value) = fs::read_to_string(path) {
                subject(&format!("{module}.{name}"), value.trim().to_owned());
            }
        }
        if let Ok(text) = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled") {
            let chosen = text.split(['[', ']']).nth(1).unwrap_or_default();
            subject("host_thp", chosen.to_owned());
        }
    }
}

/// The monitor's version, as `vmm 0.1.0`.
pub fn version(monitor: &Path) -> Result<String, MachineError> {
    Ok(ask(monitor, "--version")?.trim().to_owned())
}

/// Runs the monitor with one option, and returns its output. The exit status is ignored: the output has the result.
fn ask(monitor: &Path, switch: &str) -> Result<String, MachineError> {
    let out = unnamed_file(0)?;
    let stdout = out
        .try_clone()
        .map_err(|e| MachineError::io("duplicate the output of", monitor, e))?;
    let mut command = Command::new(monitor);
    command.arg(switch);
    let mut process = Process::spawn(command, stdout, 1 << 20)?;
    let started = Instant::now();
    loop {
        let ended = process
            .ended()
            .map_err(|e| MachineError::io("get the state of", monitor, e))?;
        if ended.is_some() {
            break;
        }
        if started.elapsed() > PROBE_LIMIT {
            return Err(MachineError::Other(format!(
                "{} {switch} did not exit within {} s",
                monitor.display(),
                PROBE_LIMIT.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut answer = [0u8; 4096];
    let count = out
        .read_at(&mut answer, 0)
        .map_err(|e| MachineError::io("read the output of", monitor, e))?;
    Ok(String::from_utf8_lossy(answer.get(..count).unwrap_or_default()).into_owned())
}

/// The parts and settings of a machine of the monitor.
#[derive(Clone, Debug)]
pub struct Settings {
    pub kvm: Kvm,
    pub guest: PathBuf,
    /// The memory size, where it is not 512 MiB.
    pub memory_mib: Option<u64>,
    /// The host CPU of each vCPU's thread; empty if threads are not pinned.
    pub pins: Vec<u32>,
}

impl Settings {
    fn memory_mib(&self) -> u64 {
        self.memory_mib.unwrap_or(MEMORY_MIB)
    }

    /// The monitor's arguments for one launch. The console is the monitor's standard output.
    fn arguments(&self, request: &LaunchRequest) -> Vec<String> {
        let mut arguments = vec![
            "--kernel".into(),
            self.guest.to_string_lossy().into_owned(),
            "--cpus".into(),
            request.vcpus.to_string(),
            "--memory".into(),
            self.memory_mib().to_string(),
            // The limit is above the runner's own, so that the runner stops a flood first.
            "--console-max".into(),
            (CONSOLE_LIMIT_BYTES + (1 << 20)).to_string(),
        ];
        let pins = self.pins.get(..request.vcpus as usize).unwrap_or_default();
        if !pins.is_empty() {
            arguments.extend(["--pin".into(), pin::list(pins)]);
        }
        arguments.extend(["--append".into(), request.command_line.clone()]);
        arguments
    }
}

/// A machine of the monitor.
#[derive(Debug)]
pub struct Vmm {
    description: Description,
    settings: Settings,
    running: Option<Child>,
}

impl Vmm {
    /// Makes a machine, and starts nothing.
    pub fn new(settings: Settings) -> Self {
        let kvm = &settings.kvm;
        let description = Description {
            sizes: kvm.sizes(),
            boot_limit: kvm.boot_limit(),
            doorbell: Some(Architecture::X86_64.facts().doorbell),
            pins: settings.pins.clone(),
            ..Description::new(Control::Launched, Some("tsc_ticks"), kvm.engine)
        };
        Self {
            description,
            settings,
            running: None,
        }
    }
}

impl Machine for Vmm {
    fn description(&self) -> &Description {
        &self.description
    }

    fn child(&mut self) -> Option<&mut Child> {
        self.running.as_mut()
    }

    fn prepare(&mut self) -> Result<(), MachineError> {
        let guest = &self.settings.guest;
        File::open(guest).map_err(|e| MachineError::io("read the guest image", guest, e))?;
        Ok(())
    }

    fn launch(&mut self, request: &LaunchRequest) -> Result<(), MachineError> {
        self.kill();
        let program = &self.settings.kvm.monitor;
        let arguments = self.settings.arguments(request);
        let mut command = Command::new(program);
        command.args(&arguments);
        let limit = CONSOLE_LIMIT_BYTES + (2 << 20);
        self.running = Some(Child::start(command, request.timed, limit, Vec::new())?);
        Ok(())
    }

    fn console(&mut self, buffer: &mut Vec<u8>) -> Result<Console, MachineError> {
        Child::console(self.running.as_mut(), buffer, |_, status| how(status))
    }

    fn identity(&self) -> Identity {
        let mut identity = Identity::default();
        let settings = &self.settings;
        let mut subject = |key: &str, value: String| {
            identity.subject.insert(key.into(), value.into());
        };
        subject("monitor", settings.kvm.monitor_version.clone());
        subject("monitor_path", settings.kvm.monitor.display().to_string());
        settings.kvm.describe(&mut identity);
        let mut condition = |key: &str, value: serde_json::Value| {
            identity.conditions.insert(key.into(), value);
        };
        condition("memory_mib", settings.memory_mib().into());
        condition("pinning", pin::condition(&settings.pins).into());
        Host::read().describe(&mut identity);
        identity
    }

    fn could_not_emulate(&self) -> Option<String> {
        let text = self.running.as_ref()?.stderr();
        let said = |line: &&str| line.contains("an instruction that KVM can't emulate");
        let line = text.lines().find(said)?;
        Some(line.strip_prefix("vmm: ").unwrap_or(line).to_owned())
    }
}

/// The meaning of the monitor's exit status (docs/vmm.md).
fn how(status: ExitStatus) -> String {
    let words = match status.code() {
        Some(0) => "the machine powered itself off",
        Some(10) => "the machine reset itself, as after a triple fault",
        Some(11) => "KVM could not run the guest any further",
        Some(12) => "its console output exceeded the monitor's limit",
        Some(14) => "/dev/kvm could no longer be used",
        _ => return describe(status),
    };
    words.into()
}

#[cfg(test)]
#[path = "vmm_tests.rs"]
mod tests;
