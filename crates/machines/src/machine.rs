//! The machine interface: what the runner may ask of any platform's machine.
//!
//! In order: `prepare` once, then for each launch `launch`, `console` until it says that the
//! machine ended, `kill` at any time. `identity` answers at any time after `prepare`.
//! Dropping a machine kills it.

use crate::child::Child;
use crate::earshot::Chunk;
use std::path::PathBuf;
use std::time::Duration;
use ws_lab::sets::Architecture;
use ws_results::Identity;

/// The console of one launch may not be longer than this: 16 MiB. The longest honest console,
/// all samples of a whole suite, stays under 2 MiB.
pub const CONSOLE_LIMIT_BYTES: u64 = 16 << 20;

/// So long [`Machine::wait`] waits at most.
pub const WAIT: Duration = Duration::from_millis(5);

/// What the runner asks of one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchRequest {
    /// How many vCPUs the machine has.
    pub vcpus: u32,
    /// The guest's command line.
    pub command_line: String,
    /// Another size of the guest's memory than the platform's. Only of machines that have a digest.
    pub memory_mib: Option<u64>,
    /// The host takes the time of all that the console says, and [`Machine::heard`] has it. Only
    /// of platforms that [`crate::platforms::external`] allows it.
    pub timed: bool,
}

/// What [`Machine::console`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Console {
    /// New bytes were added to the buffer.
    Data,
    /// Nothing new; the machine runs.
    Quiet,
    /// The machine ended, and everything that it wrote has been handed out.
    Ended(String),
}

/// Who chooses what is booted, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The runner launches the machine, as often as it needs, with a command line of its own.
    Launched,
    /// Somebody else boots; the runner listens. More boots may come.
    Listened,
    /// Somebody else booted, long ago; the record ends.
    Replayed,
}

/// What carries out the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A program that translates them.
    Emulator,
    /// A KVM without VMX or SVM below it: ring 0 is emulated, one instruction after another.
    SoftwareKvm,
    /// KVM on the processor's own virtualization; in the lab, on that of an emulated processor.
    HardwareKvm,
    /// Xen, likewise.
    Xen,
    /// The project's own for ARM, neve, likewise.
    Neve,
    /// Somebody else's machine.
    Unknown,
}

/// What shows that the guest powered its machine off, and did not end in a fault or a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witness {
    /// Whoever runs the guest says `bye` with the status `ok`. The line has the hellos of so many.
    Bye { speakers: u64 },
    /// This is among what the machine's program complains about.
    Complaint(&'static str),
    /// This is on the console.
    Console(&'static str),
}

/// How much to measure where a whole measurement would take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Operations in a batch.
    pub iters: u64,
    /// Samples of each benchmark.
    pub samples: u64,
    pub boots: u32,
}

/// Why a machine could not do what was asked. The message says what to do about it where that
/// is known.
///
/// The text has its cause in it, so the cause is no `source`: whoever shows a chain of errors would
/// say it twice.
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

/// A platform's machine. Machines whose digits no other load can change run side by side, each in
/// a thread.
pub trait Machine: Send {
    /// Who boots it.
    fn control(&self) -> Control;

    /// The unit that the guest should count in (`insns` or `tsc_ticks`), where the platform
    /// decides it; where it does not, the guest's `hello` says it.
    fn unit(&self) -> Option<&'static str>;

    /// What carries out the guest's instructions.
    fn engine(&self) -> Engine;

    /// How much to measure where the user leaves it open and the guest's own choice would take
    /// too long; nothing where that will do.
    fn sizes(&self) -> Option<Sizes> {
        None
    }

    /// From a machine's start to its guest's first record, where that may take longer than on
    /// most; as long again it may be silent later.
    fn boot_limit(&self) -> Option<Duration> {
        None
    }

    /// The guest's memory, where a launch may have another.
    fn memory_mib(&self) -> Option<u64> {
        None
    }

    /// What the whole machine is, as SHA-256 in hexadecimal, where its digits depend on nothing
    /// else: a machine of the same digest that is launched alike gives the same digits.
    fn digest(&self) -> Option<&str> {
        None
    }

    /// The architecture of its guest.
    fn architecture(&self) -> Architecture {
        Architecture::X86_64
    }

    /// The port, on aarch64 the address, at which its monitor waits for the guest's word that a
    /// benchmark begins or ends.
    fn doorbell(&self) -> Option<u64> {
        None
    }

    /// Words for the guest's command line that every launch has: which ports are free for it.
    fn words(&self) -> &'static [&'static str] {
        &[]
    }

    /// The process of the last launch, where machines are processes.
    fn child(&mut self) -> Option<&mut Child> {
        None
    }

    /// Checks and opens what every launch needs.
    ///
    /// # Errors
    /// What is missing, and the cure.
    fn prepare(&mut self) -> Result<(), MachineError>;

    /// Starts the machine anew. An earlier launch is killed first.
    ///
    /// # Errors
    /// The machine could not be started at all.
    fn launch(&mut self, request: &LaunchRequest) -> Result<(), MachineError>;

    /// Adds what the console wrote since the last call to `buffer`, at most 64 KiB a call, and
    /// does not wait.
    ///
    /// # Errors
    /// The console can't be read.
    fn console(&mut self, buffer: &mut Vec<u8>) -> Result<Console, MachineError>;

    /// Adds when the host heard the bytes that the calls of [`Machine::console`] since the last
    /// one of this added: the chunks in which they came, in order. Nothing where the launch did
    /// not ask for it.
    fn heard(&mut self, chunks: &mut Vec<Chunk>) {
        if let Some(child) = self.child() {
            child.heard(chunks);
        }
    }

    /// What this platform's numbers depend on, as far as the platform knows it.
    fn identity(&self) -> Identity;

    /// Ends the machine and waits until it is gone. Nothing happens where none runs.
    fn kill(&mut self) {
        if let Some(child) = self.child() {
            child.kill();
        }
    }

    /// What the machine's own program complained about in this launch, at most 4 KiB.
    fn complaints(&mut self) -> String {
        self.child().map(|child| child.stderr()).unwrap_or_default()
    }

    /// What shows that a kernel of the user's powered the machine off; nothing of other machines, whose
    /// guest says itself how it went.
    fn witness(&self) -> Option<Witness> {
        None
    }

    /// After the machine's end: how KVM met an instruction that it could not emulate, if it did.
    fn could_not_emulate(&self) -> Option<String> {
        None
    }

    /// The host CPU of each vCPU's thread; empty where they are not pinned.
    fn pins(&self) -> &[u32] {
        &[]
    }

    /// vCPU threads that are not where they were pinned at this moment, in words.
    fn strayed(&self) -> Vec<String> {
        Vec::new()
    }

    /// How long the machine was ready to run and got no processor: no time limit of a guest counts that.
    fn waited(&mut self) -> Duration {
        self.child().map_or(Duration::ZERO, |child| child.waited())
    }

    /// The command line of the last launch as a shell takes it, for the user to read.
    fn command_line(&mut self) -> Option<String> {
        self.child().map(|child| child.command_line().to_owned())
    }

    /// Waits after [`Console::Quiet`] until there may be more, a few milliseconds at most, so
    /// that its caller sees time pass.
    fn wait(&self) {
        std::thread::sleep(WAIT);
    }
}
