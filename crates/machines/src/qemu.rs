//! QEMU in real time: the only file that knows its command line there (`lab` has that of machines
//! that count instructions).
//!
//! Two platforms use it: `qemu-tcg` runs the guest in QEMU's emulator, `qemu-kvm` in QEMU with KVM.

use crate::child::{Child, Look};
use crate::emulator::{self, Emulator};
use crate::host::Host;
use crate::machine::{
    CONSOLE_LIMIT_BYTES, Console, Control, Description, Engine, LaunchRequest, Machine,
    MachineError,
};
use crate::pin::{self, Pinned};
use crate::qmp::{Qmp, Trouble};
use crate::vmm::Kvm;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;
use ws_results::Identity;

const MEMORY_MIB: u64 = 512;

/// The parts and settings of a QEMU machine.
#[derive(Clone, Debug)]
pub struct Settings {
    pub emulator: Emulator,
    pub guest: PathBuf,
    /// The CPU model, where it is not the default (`max`, with KVM `host`).
    pub cpu: Option<String>,
    /// The memory size, where it is not 512 MiB.
    pub memory_mib: Option<u64>,
    /// KVM of this host, if it runs the guest instead of the emulator.
    pub kvm: Option<Kvm>,
    /// The host CPU of each vCPU's thread; empty if threads are not pinned.
    pub pins: Vec<u32>,
}

impl Settings {
    fn cpu(&self) -> String {
        let default = if self.kvm.is_some() { "host" } else { "max" };
        let model = self.cpu.as_deref().unwrap_or(default);
        match self.engine() {
            // A software KVM offers the register of this feature (MSR 0x10a) but then refuses
            // writes of it, and QEMU aborts.
            Engine::SoftwareKvm => format!("{model},-arch-capabilities"),
            _ => model.to_owned(),
        }
    }

    fn engine(&self) -> Engine {
        self.kvm.as_ref().map_or(Engine::Emulator, |kvm| kvm.engine)
    }

    /// Whether QEMU gets a control channel: to pin threads, or to report that KVM stopped the
    /// guest, after which QEMU would otherwise wait forever.
    fn is_controlled(&self) -> bool {
        self.kvm.is_some() || !self.pins.is_empty()
    }

    fn memory_mib(&self) -> u64 {
        self.memory_mib.unwrap_or(MEMORY_MIB)
    }

    /// QEMU's arguments for one launch.
    ///
    /// The console goes to QEMU's standard output by file name, not by `-serial stdio`, which would
    /// read standard input and change the terminal. The guest's Print goes to the second serial
    /// port, whose output is dropped.
    fn arguments(&self, request: &LaunchRequest) -> Vec<String> {
        let mut arguments: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
        add(&["-no-user-config", "-nodefaults", "-machine", "pc"]);
        let accelerator = if self.kvm.is_some() { "kvm" } else { "tcg" };
        add(&["-accel", accelerator]);
        add(&["-cpu", &self.cpu()]);
        add(&["-smp", &request.vcpus.to_string()]);
        add(&["-m", &self.memory_mib().to_string()]);
        add(&["-display", "none", "-monitor", "none", "-no-reboot"]);
        add(&["-serial", "file:/dev/stdout", "-serial", "null"]);
        add(&["-kernel", &self.guest.to_string_lossy()]);
        add(&["-append", &request.command_line]);
        arguments
    }
}

/// A machine of QEMU's.
#[derive(Debug)]
pub struct Qemu {
    description: Description,
    settings: Settings,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    control: Option<Qmp>,
    pinned: Vec<Pinned>,
    /// Reason why QEMU stopped the machine.
    stopped: Option<String>,
}

impl Qemu {
    /// Makes a machine, and starts nothing.
    pub fn new(settings: Settings) -> Self {
        let kvm = settings.kvm.as_ref();
        let description = Description {
            sizes: kvm.and_then(Kvm::sizes),
            boot_limit: kvm.and_then(Kvm::boot_limit),
            pins: settings.pins.clone(),
            ..Description::new(Control::Launched, Some("tsc_ticks"), settings.engine())
        };
        Self {
            description,
            settings,
            running: None,
        }
    }

    /// Pins the vCPU threads of a machine that was started stopped, and lets it run.
    fn pin_and_go(qmp: &mut Qmp, pins: &[u32]) -> Result<Vec<Pinned>, Trouble> {
        qmp.greet()?;
        let mut pinned = Vec::new();
        if pins.is_empty() {
            return Ok(pinned);
        }
        let threads = qmp.vcpu_threads()?;
        for ((vcpu, thread), cpu) in (0..).zip(threads).zip(pins) {
            pin::pin(thread, *cpu).map_err(|e| {
                Trouble::Other(MachineError::Other(format!(
                    "can't pin vCPU {vcpu} to CPU {cpu}: {e}"
                )))
            })?;
            pinned.push(Pinned {
                vcpu,
                thread,
                cpu: *cpu,
            });
        }
        qmp.go_on()?;
        Ok(pinned)
    }
}

impl Machine for Qemu {
    fn description(&self) -> &Description {
        &self.description
    }

    fn child(&mut self) -> Option<&mut Child> {
        Some(&mut self.running.as_mut()?.child)
    }

    fn prepare(&mut self) -> Result<(), MachineError> {
        emulator::check_guest(&self.settings.guest)
    }

    fn launch(&mut self, request: &LaunchRequest) -> Result<(), MachineError> {
        self.kill();
        let mut arguments = self.settings.arguments(request);
        let mut control = None;
        let mut inherited = Vec::new();
        if self.settings.is_controlled() {
            let (qmp, end) = Qmp::pair()?;
            arguments.extend(Qmp::arguments(end.as_raw_fd()));
            if !self.settings.pins.is_empty() {
                arguments.push("-S".into());
            }
            (control, inherited) = (Some(qmp), vec![end.into()]);
        }
        let arguments = self.settings.emulator.with_leading(arguments);
        let mut command = Command::new(&self.settings.emulator.program);
        command.args(&arguments);
        // The runner stops a flood at the limit when it next reads; this leaves room until then.
        let limit = CONSOLE_LIMIT_BYTES + (1 << 20);
        let child = Child::start(command, request.timed, limit, inherited)?;
        let pinned = match &mut control {
            None => Vec::new(),
            Some(qmp) => match Self::pin_and_go(qmp, &self.settings.pins) {
                Ok(pinned) => pinned,
                // The next read of the console finds that QEMU exited, and why.
                Err(Trouble::Closed) => {
                    control = None;
                    Vec::new()
                }
                Err(Trouble::Other(error)) => return Err(error),
            },
        };
        self.running = Some(Running {
            child,
            control,
            pinned,
            stopped: None,
        });
        Ok(())
    }

    fn console(&mut self, buffer: &mut Vec<u8>) -> Result<Console, MachineError> {
        let Some(running) = &mut self.running else {
            return Ok(Console::Ended("it was not running".into()));
        };
        if running.stopped.is_none() {
            running.stopped = running.control.as_mut().and_then(Qmp::stopped);
        }
        Ok(match running.child.look(buffer)? {
            Look::Data => Console::Data,
            Look::Nothing => running
                .stopped
                .clone()
                .map_or(Console::Quiet, Console::Ended),
            Look::Over(status) => Console::Ended(emulator::how(status)),
        })
    }

    fn identity(&self) -> Identity {
        let settings = &self.settings;
        let mut identity = Identity::default();
        let mut subject = |key: &str, value: String| {
            identity.subject.insert(key.into(), value.into());
        };
        subject(
            "emulator_path",
            settings.emulator.program.display().to_string(),
        );
        subject("emulator_build", settings.emulator.build.clone());
        let mut condition = |key: &str, value: serde_json::Value| {
            identity.conditions.insert(key.into(), value);
        };
        let version = format!("qemu {}", settings.emulator.version);
        if let Some(kvm) = &settings.kvm {
            // No emulator executes the guest, so QEMU is a subject: it may be compared with another
            // monitor.
            subject("monitor", version);
            subject("monitor_cpu", settings.cpu());
            kvm.describe(&mut identity);
        } else {
            condition("emulator", version.into());
            condition("emulator_machine", "pc".into());
            condition("emulator_cpu", settings.cpu().into());
        }
        let mut condition = |key: &str, value: serde_json::Value| {
            identity.conditions.insert(key.into(), value);
        };
        condition("memory_mib", settings.memory_mib().into());
        condition("pinning", pin::condition(&settings.pins).into());
        Host::read().describe(&mut identity);
        identity
    }

    fn could_not_emulate(&self) -> Option<String> {
        // Suberror 1 is KVM_INTERNAL_ERROR_EMULATION (include/uapi/linux/kvm.h).
        let text = self.running.as_ref()?.child.stderr();
        let said = |line: &&str| line.starts_with("KVM internal error. Suberror: 1");
        text.lines().find(said).map(str::to_owned)
    }

    fn strayed(&self) -> Vec<String> {
        let pinned = self.running.iter().flat_map(|running| &running.pinned);
        pinned.filter_map(Pinned::strayed).collect()
    }
}

#[cfg(test)]
#[path = "qemu_tests.rs"]
mod tests;
