//! The interface to a platform's machine, as the runner uses it.
//!
//! Order of calls: `prepare` once, then for each launch `launch`, and `console` until it returns
//! [`Console::Ended`]. `kill` may be called at any time, `identity` at any time after `prepare`.
//! Dropping a machine kills it.

use crate::child::Child;
use crate::earshot::Chunk;
use crate::image::BenchmarkRow;
use std::path::PathBuf;
use std::time::Duration;
use ws_lab::sets::Architecture;
use ws_results::Identity;

/// The limit on the console output of one launch: 16 MiB. The longest legitimate output, all
/// samples of a whole suite, is under 2 MiB.
pub const CONSOLE_LIMIT_BYTES: u64 = 16 << 20;

/// The longest time that [`Machine::wait`] waits.
pub const WAIT: Duration = Duration::from_millis(5);

/// Request of the runner for one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchRequest {
    /// Number of the guest's vCPUs.
    pub vcpus: u32,
    /// Number of the machine's CPUs, where the guest is a VM of a whole Linux.
    pub host_cpus: u32,
    /// Name of the machine's VM; empty where there is only one.
    pub vm: String,
    /// The guest's command line.
    pub command_line: String,
    /// The guest's memory, where it differs from the platform's. Only for machines that have a
    /// digest.
    pub memory_mib: Option<u64>,
    /// The host timestamps the console output; [`Machine::heard`] returns the timestamps. Only for
    /// platforms that [`crate::platforms::external`] permits.
    pub timed: bool,
}

/// Result of [`Machine::console`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Console {
    /// New bytes were added to the buffer.
    Data,
    /// Nothing new; the machine runs.
    Quiet,
    /// The machine ended, and all its output was returned. The text says how it ended.
    Ended(String),
}

/// Who boots the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The runner launches the machine as often as it needs, each time with its own command line.
    Launched,
    /// The user boots the machine; the runner reads its console. More boots may follow.
    Listened,
    /// A saved console of earlier boots; it has an end.
    Replayed,
}

/// The system that executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// An emulator, which translates the instructions.
    Emulator,
    /// KVM on a host without VMX or SVM: ring 0 is emulated instruction by instruction.
    SoftwareKvm,
    /// KVM on hardware virtualization (in the lab, that of an emulated processor).
    HardwareKvm,
    /// Xen on hardware virtualization.
    Xen,
    /// neve, the project's own hypervisor for ARM, on hardware virtualization.
    Neve,
    /// Not known: a machine that the user boots.
    Unknown,
}

/// The proof that the guest powered its machine off, rather than faulted or reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witness {
    /// The program that runs the guest sends the record `bye` with the status `ok`.
    Bye,
    /// The standard error of the machine's program contains this text.
    Complaint(&'static str),
    /// The console contains this text.
    Console(&'static str),
}

/// Numbers of operations, samples and boots, where a whole measurement would take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Operations in a batch.
    pub iters: u64,
    /// Samples of each benchmark.
    pub samples: u64,
    pub boots: u32,
}

/// Reason why an operation on a machine failed. The message names the cure where it is known.
///
/// The message contains the cause, so the cause is not a `source`: a printed chain of errors would
/// repeat it.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error("can't {what} {path}: {cause}", path = path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error("{0}")]
    Other(String),
}

impl MachineError {
    /// An I/O error with what was tried on which path.
    pub fn io(what: &'static str, path: impl Into<PathBuf>, cause: std::io::Error) -> Self {
        Self::Io {
            what,
            path: path.into(),
            cause,
        }
    }
}

/// The facts about a machine that are known before it is launched, and that no launch changes.
#[derive(Clone, Debug)]
pub struct Description {
    /// Who boots the machine.
    pub control: Control,
    /// The unit that the guest counts in (`insns` or `tsc_ticks`) where the platform determines it;
    /// elsewhere the guest's `hello` names it.
    pub unit: Option<&'static str>,
    /// Whether only the monitor's counts of exits are valid, as the machine's clock counts nothing of the guest.
    pub counts_only_exits: bool,
    /// The system that executes the guest's instructions.
    pub engine: Engine,
    /// The architecture of the guest.
    pub architecture: Architecture,
    /// Numbers to measure by default, where the guest's own defaults would take too long; none elsewhere.
    pub sizes: Option<Sizes>,
    /// The time limit from a machine's start to its guest's first record, where the usual limit is
    /// too short. It also limits how long the guest may be silent later.
    pub boot_limit: Option<Duration>,
    /// The guest's default memory, where a launch may override it.
    pub memory_mib: Option<u64>,
    /// SHA-256, in hexadecimal, of everything that the machine is made of, where its results depend on nothing else.
    /// Machines with the same digest and the same launch give the same results.
    pub digest: Option<String>,
    /// The file name of the guest's image, where the machine has another one than its architecture's.
    pub guest_image: Option<String>,
    /// The workloads of a machine whose guest is a whole Linux, as benchmarks. None for other
    /// machines: their benchmarks are those of the guest image.
    pub workloads: Option<Vec<BenchmarkRow>>,
    /// Whether each row gets a launch of its own, so that no row finds the system as another row left it.
    pub launches_rows_apart: bool,
    /// The port (on aarch64 the address) to which the guest writes to tell its monitor that a
    /// benchmark begins or ends.
    pub doorbell: Option<u64>,
    /// Words on the guest's command line in every launch: ports that the guest may use.
    pub words: &'static [&'static str],
    /// The proof that a user's kernel powered the machine off. None for other machines: their guest reports how it
    /// ended.
    pub witness: Option<Witness>,
    /// The host CPU of each vCPU's thread; empty where they are not pinned.
    pub pins: Vec<u32>,
}

impl Description {
    /// A machine for x86_64 of which no more is known.
    pub fn new(control: Control, unit: Option<&'static str>, engine: Engine) -> Self {
        Self {
            control,
            unit,
            counts_only_exits: false,
            engine,
            architecture: Architecture::X86_64,
            sizes: None,
            boot_limit: None,
            memory_mib: None,
            digest: None,
            guest_image: None,
            workloads: None,
            launches_rows_apart: false,
            doorbell: None,
            words: &[],
            witness: None,
            pins: Vec::new(),
        }
    }
}

/// A platform's machine. Machines whose results do not depend on the host's load run in parallel,
/// each in a thread.
pub trait Machine: Send {
    /// The machine's facts, made with it.
    fn description(&self) -> &Description;

    /// Reason why this machine can't run a benchmark of its guest image; none if it can.
    fn lacks(&self, _row: &BenchmarkRow) -> Option<String> {
        None
    }

    /// The process of the last launch, where machines are processes.
    fn child(&mut self) -> Option<&mut Child> {
        None
    }

    /// Another machine of the same parts, ready to launch, where it may run beside this one without changing its
    /// counts.
    fn twin(&self) -> Option<Box<dyn Machine>> {
        None
    }

    /// Checks and opens what every launch needs.
    fn prepare(&mut self) -> Result<(), MachineError>;

    /// Starts the machine; an earlier launch is killed first.
    ///
    /// # Errors
    /// The machine could not be started at all.
    fn launch(&mut self, request: &LaunchRequest) -> Result<(), MachineError>;

    /// Appends the console output since the last call to `buffer`, at most 64 KiB a call. Does not
    /// wait.
    fn console(&mut self, buffer: &mut Vec<u8>) -> Result<Console, MachineError>;

    /// Appends the timestamped chunks of the bytes that [`Machine::console`] returned since the
    /// last call of this, in order. Appends nothing unless the launch was `timed`.
    fn heard(&mut self, chunks: &mut Vec<Chunk>) {
        if let Some(child) = self.child() {
            child.heard(chunks);
        }
    }

    /// The identity of results: all that they depend on, as far as the platform knows it.
    fn identity(&self) -> Identity;

    /// Kills the machine and waits for it. Does nothing if none runs.
    fn kill(&mut self) {
        if let Some(child) = self.child() {
            child.kill();
        }
    }

    /// The standard error of the machine's program in this launch: the last 4 KiB.
    fn complaints(&mut self) -> String {
        self.child().map(|child| child.stderr()).unwrap_or_default()
    }

    /// KVM's error after the machine ended, if KVM could not emulate an instruction.
    fn could_not_emulate(&self) -> Option<String> {
        None
    }

    /// A message for each vCPU thread that is not on the CPU to which it was pinned.
    fn strayed(&self) -> Vec<String> {
        Vec::new()
    }

    /// How long the machine was runnable without getting a CPU. A guest's time limits do not count
    /// this time.
    fn waited(&mut self) -> Duration {
        self.child().map_or(Duration::ZERO, |child| child.waited())
    }

    /// The command line of the last launch in shell syntax, to show to the user.
    fn command_line(&mut self) -> Option<String> {
        self.child().map(|child| child.command_line().to_owned())
    }

    /// Waits a short time, at most [`WAIT`], for more output. Called after [`Console::Quiet`].
    fn wait(&self) {
        std::thread::sleep(WAIT);
    }
}
