//! The machine of a lab platform.

mod made;
mod qemu;

pub(super) use made::Made;

use super::bochs::{self, Bochs};
use super::disc::Boot;
use super::facts;
use super::payload::Payload;
use super::resume::{Conductor, LaunchPoint, Saved, States};
use super::whole::Whole;
use crate::child::Child;
use crate::debugger::Keeper;
use crate::emulator::{self, Emulator};
use crate::image::BenchmarkRow;
use crate::kernel_file::{self, Kind};
use crate::machine::{
    CONSOLE_LIMIT_BYTES, Console, Control, Description, Engine, LaunchRequest, Machine,
    MachineError, Witness,
};
use crate::recording::Recorder;
use std::path::PathBuf;
use std::time::Duration;
use ws_lab::recipe::{Hypervisor, Monitor, Recipe};
use ws_results::Identity;

/// Requirement of rows of Hyper-V's interfaces, and the reason why a machine lacks it.
const HYPERV: &str = "Hyper-V's interface";
const NO_HYPERV: &str = "the machine does not offer Hyper-V's interface; lab:kvm+hyperv=1 does";

/// Reason why rows of several CPUs are skipped on Bochs.
const ONE_CPU: &str = "Bochs' clock counts instructions on one CPU only; lab:native, lab:kvm and lab:xen have this row, and lab:kvm-intel-smp counts its exits";

/// Reason why workloads are skipped on a machine that counts exits only.
const REQUESTS: &str = "the machine counts exits of requests to devices only (worldswitch run io); lab:kvm-linux has this workload";

/// Time limit and size limit of a trace.
const RECORDING_LIMIT: Duration = Duration::from_secs(60);
const TRACE_LIMIT_BYTES: u64 = 2 << 30;

/// Everything that a lab machine is made of, found and checked.
#[derive(Clone, Debug)]
pub struct Settings {
    pub recipe: Recipe,
    pub emulator: Emulator,
    /// Bochs' files, if it is the emulator.
    pub bochs: Option<Bochs>,
    pub payload: Payload,
    pub guest: PathBuf,
    /// Whether the guest is the project's own, which reports how it ended; a user's kernel does not.
    pub is_own: bool,
    /// The guest's initramfs, if it has one.
    pub initrd: Option<PathBuf>,
    /// The guest's memory.
    pub memory_mib: u64,
    /// SHA-256, in hexadecimal, of everything that the machine is made of.
    pub digest: String,
    /// The point where the machine stops once it has booted, if it does.
    pub launch_point: Option<LaunchPoint>,
    /// The saved states of machines that stopped; none with a user's emulator.
    pub states: Option<States>,
    /// The library that sets the timers of a machine that resumes, if that is needed: preloaded into its emulator.
    pub timers: Option<PathBuf>,
    /// The recorder of executed instructions, if any; it changes nothing else.
    pub recorder: Option<Recorder>,
    /// The parts, for the identity: kernel, packages and so on.
    pub parts: Vec<(String, serde_json::Value)>,
}

impl Settings {
    /// The guest's memory in a launch.
    fn guest_memory_mib(&self, request: &LaunchRequest) -> u64 {
        request.memory_mib.unwrap_or(self.memory_mib)
    }

    /// The machine's memory in a launch: the guest's, and the memory beside it for the software that runs the guest.
    fn machine_memory_mib(&self, request: &LaunchRequest) -> u64 {
        self.guest_memory_mib(request) + self.recipe.emulator.memory_beside_mib
    }

    /// The machine's facts.
    fn description(&self) -> Description {
        let (recipe, payload) = (&self.recipe, &self.payload);
        let engine = match recipe.hypervisor {
            Hypervisor::None => Engine::Emulator,
            // The guest's hypervisor is the inner one.
            Hypervisor::Kvm if recipe.nested_xen().is_some() => Engine::Xen,
            Hypervisor::Kvm => Engine::HardwareKvm,
            Hypervisor::Xen { .. } => Engine::Xen,
            Hypervisor::Neve(_) => Engine::Neve,
        };
        let (whole, properties) = (payload.whole(), payload.properties());
        let of_monitor = match &recipe.monitor {
            // Xen does not give its domain the doorbell.
            Monitor::Vmm { .. } if recipe.nested_xen().is_some() => None,
            Monitor::Vmm { .. } => Some(recipe.architecture.facts().doorbell),
            Monitor::None | Monitor::Qemu { .. } | Monitor::Xl { .. } => None,
        };
        let witness = match properties.witness {
            Witness::Complaint(_) if self.bochs.is_some() => Witness::Complaint(bochs::POWERED_OFF),
            witness => witness,
        };
        Description {
            // QEMU's CPUs take turns on one clock, so its counts are the guest's.
            counts_only_exits: self.bochs.is_some() && recipe.emulator.cpus > 1,
            architecture: recipe.architecture,
            boot_limit: Some(properties.boot_limit),
            memory_mib: Some(self.memory_mib),
            digest: Some(self.digest.clone()),
            guest_image: recipe.guest_image.clone(),
            workloads: whole.map(Whole::rows),
            // Workloads change the system for the next one; resuming makes launches cheap.
            launches_rows_apart: whole.is_some() && self.launch_point.is_some(),
            doorbell: properties.doorbell.or(of_monitor),
            words: properties.words,
            witness: (!self.is_own).then_some(witness),
            ..Description::new(Control::Launched, Some("insns"), engine)
        }
    }
}

/// A lab machine.
#[derive(Debug)]
pub struct LabMachine {
    description: Description,
    settings: Settings,
    running: Option<Child>,
    /// The conductor of a launch that stops once the machine has booted.
    led: Option<LedLaunch>,
    /// The begin of the next launch, where it is known.
    begin: Option<Begin>,
    /// The copier of the debugger's output. It is declared after the child, so that the child is dropped first: the
    /// copier reads until the child's end.
    keeper: Option<Keeper>,
}

/// A launch that a conductor leads.
#[derive(Debug)]
struct LedLaunch {
    conductor: Conductor,
    request: LaunchRequest,
    /// Whether the launch resumes a state that was made for it.
    has_booted: bool,
}

/// The begin of a launch.
#[derive(Debug)]
enum Begin {
    /// Resume this state, which was made for the launch.
    Resume(Saved),
    /// Boot, even if a state is found.
    Boot,
}

impl LabMachine {
    /// Makes a machine, and starts nothing.
    pub fn new(settings: Settings) -> Self {
        Self {
            description: settings.description(),
            settings,
            running: None,
            led: None,
            begin: None,
            keeper: None,
        }
    }

    /// Starts the machine with the file that was made for the launch: an initramfs or a device tree.
    pub(super) fn start(
        &mut self,
        request: &LaunchRequest,
        made: Made,
    ) -> Result<(), MachineError> {
        self.led = None;
        // The runner stops a flood at the limit when it next reads; this leaves room until then.
        let limit = match &self.settings.recorder {
            Some(Recorder::Plugin(_)) => TRACE_LIMIT_BYTES,
            _ => CONSOLE_LIMIT_BYTES + (1 << 20),
        };
        let (child, keeper) = match &self.settings.bochs {
            Some(bochs) => self.start_bochs(bochs, request, made.file.as_deref(), limit)?,
            None => {
                let has_booted = matches!(self.begin, Some(Begin::Resume(_)));
                let (child, conductor) = self.start_qemu(request, made, limit)?;
                self.led = conductor.map(|conductor| LedLaunch {
                    conductor,
                    request: request.clone(),
                    has_booted,
                });
                (child, None)
            }
        };
        (self.running, self.keeper) = (Some(child), keeper);
        Ok(())
    }

    fn start_bochs(
        &self,
        bochs: &Bochs,
        request: &LaunchRequest,
        initramfs: Option<&[u8]>,
        limit: u64,
    ) -> Result<(Child, Option<Keeper>), MachineError> {
        let settings = &self.settings;
        let kept = match &settings.recorder {
            Some(Recorder::Debugger(file)) => Some(Keeper::start(file)?),
            _ => None,
        };
        let (keeper, words) = kept.unzip();
        let is_recorded = words.is_some();
        let disc = self.disc(bochs, request, initramfs)?;
        let memory_mib = settings.machine_memory_mib(request);
        let child = Child::start_with_file(limit, words, |console| {
            let launch = bochs::Launch {
                memory_mib,
                disc: &disc,
                root: settings.payload.whole().map(|whole| &*whole.root),
                console,
                is_recorded,
            };
            bochs.command(&settings.emulator, &settings.recipe, &launch)
        });
        Ok((child?, keeper))
    }

    /// The CD of a launch. The guest alone is a multiboot kernel; a user's may also be a Linux.
    fn disc(
        &self,
        bochs: &Bochs,
        request: &LaunchRequest,
        initramfs: Option<&[u8]>,
    ) -> Result<Vec<u8>, MachineError> {
        let settings = &self.settings;
        let (kernel, command_line) = (&*settings.guest, &*request.command_line);
        if let Some(linux) = settings.payload.properties().linux {
            return bochs.discs.image(Boot::Linux {
                kernel: linux.kernel,
                initramfs,
                command_line: linux.parameters,
            });
        }
        if settings.is_own || kernel_file::kind(kernel)? != Kind::BzImage {
            return bochs.discs.image(Boot::Multiboot {
                kernel,
                command_line,
            });
        }
        let initrd = settings.initrd.as_deref().map(|path| {
            std::fs::read(path).map_err(|e| MachineError::io("read the initramfs", path, e))
        });
        bochs.discs.image(Boot::Linux {
            kernel,
            initramfs: initrd.transpose()?.as_deref(),
            command_line,
        })
    }
}

impl Machine for LabMachine {
    fn description(&self) -> &Description {
        &self.description
    }

    fn lacks(&self, row: &BenchmarkRow) -> Option<String> {
        let recipe = &self.settings.recipe;
        let skip = recipe.skips.iter().find(|skip| skip.benchmark == row.name);
        let too_many = self.settings.bochs.is_some() && row.cpus > recipe.emulator.cpus;
        let is_workload = self.settings.payload.whole().is_some() && row.host_cpus == 1;
        let offers = matches!(&recipe.monitor, Monitor::Vmm { words } if words.iter().any(|word| word.word == "hyperv"));
        let without = row.requires.contains(HYPERV) && !offers;
        skip.map(|skip| skip.why.clone())
            .or_else(|| without.then(|| NO_HYPERV.to_owned()))
            .or_else(|| too_many.then(|| ONE_CPU.to_owned()))
            .or_else(|| (is_workload && recipe.emulator.cpus > 1).then(|| REQUESTS.to_owned()))
    }

    fn child(&mut self) -> Option<&mut Child> {
        self.running.as_mut()
    }

    fn kill(&mut self) {
        self.led = None;
        let is_recorded = self.settings.recorder.is_some();
        match &mut self.running {
            // The trace is written when the emulator ends by itself.
            Some(running) if is_recorded => running.end(RECORDING_LIMIT),
            Some(running) => running.kill(),
            None => {}
        }
        self.keeper = None;
    }

    /// A twin of the machine; none if it is recorded, as the recording is one file.
    fn twin(&self) -> Option<Box<dyn Machine>> {
        let twin = || Box::new(Self::new(self.settings.clone())) as Box<dyn Machine>;
        self.settings.recorder.is_none().then(twin)
    }

    fn prepare(&mut self) -> Result<(), MachineError> {
        emulator::check_guest(&self.settings.guest)
    }

    fn launch(&mut self, request: &LaunchRequest) -> Result<(), MachineError> {
        self.kill();
        let made = self.made(request)?;
        self.start(request, made)
    }

    fn console(&mut self, buffer: &mut Vec<u8>) -> Result<Console, MachineError> {
        if let Some(console) = self.follow(false)? {
            return Ok(console);
        }
        let is_bochs = self.settings.bochs.is_some();
        let console = Child::console(
            self.running.as_mut(),
            buffer,
            |child, status| match is_bochs {
                true => bochs::how(&child.stderr()),
                false => emulator::how(status),
            },
        )?;
        // A state that makes QEMU end is damaged: the machine boots instead.
        Ok(match console {
            Console::Ended(_) => self.follow(true)?.unwrap_or(console),
            Console::Data | Console::Quiet => console,
        })
    }

    fn identity(&self) -> Identity {
        let settings = &self.settings;
        let mut identity = Identity {
            facts: facts(&settings.recipe),
            ..Identity::default()
        };
        let emulator = &settings.emulator;
        let mut subject = |key: &str, value: serde_json::Value| {
            identity.subject.insert(key.into(), value);
        };
        subject("machine_digest", settings.digest.clone().into());
        subject("recipe", settings.recipe.name.clone().into());
        subject(
            "emulator_path",
            emulator.program.display().to_string().into(),
        );
        subject("emulator_build", emulator.build.clone().into());
        let recipe = &settings.recipe.emulator;
        if recipe.model() != recipe.machine {
            subject("emulator_machine_properties", recipe.machine.clone().into());
        }
        if !recipe.cpu.chosen.is_empty() {
            subject("emulator_cpu_properties", recipe.cpu.to_argument().into());
        }
        if let Some(caveat) = &settings.recipe.caveat {
            subject("caveat", caveat.clone().into());
        }
        for (key, value) in &settings.parts {
            subject(key, value.clone());
        }
        let mut condition = |key: &str, value: serde_json::Value| {
            identity.conditions.insert(key.into(), value);
        };
        let version = format!("{} {}", emulator.name, emulator.version);
        condition("emulator", version.into());
        // The machine's properties are left out: they depend on the hypervisor (EL2 or none).
        condition("emulator_machine", recipe.model().into());
        condition("emulator_cpu", recipe.cpu.shared().into());
        condition("memory_mib", settings.memory_mib.into());
        // Nothing is timed, so it does not matter where threads run.
        condition("pinning", "none".into());
        identity
    }
}
