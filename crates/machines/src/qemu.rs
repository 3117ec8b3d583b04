//! QEMU: the one place that knows its command line.
//!
//! Two platforms use it. `lab:native` counts instructions: one tick of the guest's clock is one
//! executed instruction, every source of host time is off, and the same image gives the same
//! digits on every host. `qemu-tcg` is the same emulator in the host's time.

use crate::console::{Found, ProcessConsole};
use crate::earshot::Chunk;
use crate::host::Host;
use crate::machine::{CONSOLE_LIMIT_BYTES, Console, Control, LaunchRequest, Machine, MachineError};
use crate::process::{Process, describe};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use ws_results::Identity;

/// The program, as it is called in the search path.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// PVH images are loaded from this major version on.
const MAJOR_MIN: u32 = 4;

const MEMORY_MIB: u64 = 512;

/// Whose time the guest sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// One tick an executed instruction.
    Instructions,
    /// The host's time.
    Host,
}

/// An installed QEMU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    /// Where it lies.
    pub program: PathBuf,
    /// Its version, as `7.2.22`.
    pub version: String,
    /// All that it says about its version, as `QEMU emulator version 7.2.22 (Debian ...)`.
    pub build: String,
}

impl Emulator {
    /// The emulator at `program`, or the one in the search path.
    ///
    /// # Errors
    /// There is none, or it does not work; with the cure.
    pub fn find(program: Option<&Path>) -> Result<Self, MachineError> {
        let program = match program {
            Some(path) => path.to_owned(),
            None => in_search_path().ok_or_else(|| {
                MachineError::Other(format!(
                    "{PROGRAM} is not installed: run tools/setup, or apt-get install qemu-system-x86"
                ))
            })?,
        };
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .map_err(|e| MachineError::io("start", &program, e))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let build = text.lines().next().unwrap_or_default().trim().to_owned();
        let version = parse_version(&build).filter(|_| output.status.success());
        let Some((version, major)) = version else {
            return Err(MachineError::Other(format!(
                "{} --version does not answer as QEMU does: name another program with --qemu PATH",
                program.display()
            )));
        };
        if major < MAJOR_MIN {
            return Err(MachineError::Other(format!(
                "{} is QEMU {version}, and {MAJOR_MIN}.0 or newer is needed: install a newer one, or name it with --qemu PATH",
                program.display()
            )));
        }
        Ok(Self {
            program,
            version,
            build,
        })
    }
}

fn in_search_path() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths)
        .map(|folder| folder.join(PROGRAM))
        .find(|path| path.is_file())
}

/// (version, its first number) from QEMU's first line.
fn parse_version(line: &str) -> Option<(String, u32)> {
    let rest = line.strip_prefix("QEMU emulator version ")?;
    let version = rest.split([' ', '(']).next()?.to_owned();
    let major = version.split('.').next()?.parse().ok()?;
    Some((version, major))
}

/// What a QEMU machine is made of.
#[derive(Clone, Debug)]
pub struct Settings {
    pub emulator: Emulator,
    pub guest: PathBuf,
    pub clock: Clock,
    /// Another CPU model than `max`.
    pub cpu: Option<String>,
    /// Another memory size than 512 MiB.
    pub memory_mib: Option<u64>,
}

impl Settings {
    fn cpu(&self) -> String {
        let model = self.cpu.as_deref().unwrap_or("max");
        match self.clock {
            // Random numbers come from the host.
            Clock::Instructions => format!("{model},-rdrand,-rdseed"),
            Clock::Host => model.to_owned(),
        }
    }

    fn memory_mib(&self) -> u64 {
        self.memory_mib.unwrap_or(MEMORY_MIB)
    }

    /// QEMU's arguments for one launch.
    ///
    /// The console goes to QEMU's standard output by name, not by `-serial stdio`: that one
    /// would read standard input and change the terminal. Its second serial port is where the
    /// guest's Print goes, and nobody listens.
    fn arguments(&self, request: &LaunchRequest) -> Vec<String> {
        let mut arguments: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
        add(&["-no-user-config", "-nodefaults", "-machine", "pc"]);
        match self.clock {
            Clock::Instructions => add(&[
                "-accel",
                "tcg,thread=single",
                "-icount",
                "shift=0,sleep=off",
                "-seed",
                "1",
                "-rtc",
                "base=2024-01-01T00:00:00,clock=vm",
            ]),
            Clock::Host => add(&["-accel", "tcg"]),
        }
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
    settings: Settings,
    running: Option<Running>,
    last_command: Option<String>,
}

#[derive(Debug)]
struct Running {
    process: Process,
    console: ProcessConsole,
    /// When the console said what, until somebody asks.
    chunks: Vec<Chunk>,
}

impl Qemu {
    /// A machine; nothing is started.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            running: None,
            last_command: None,
        }
    }
}

impl Machine for Qemu {
    fn control(&self) -> Control {
        Control::Launched
    }

    fn unit(&self) -> Option<&'static str> {
        Some(match self.settings.clock {
            Clock::Instructions => "insns",
            Clock::Host => "tsc_ticks",
        })
    }

    fn prepare(&mut self) -> Result<(), MachineError> {
        let guest = &self.settings.guest;
        if guest.to_str().is_none() {
            return Err(MachineError::Other(format!(
                "the path of the guest image is not UTF-8: {}",
                guest.display()
            )));
        }
        File::open(guest).map_err(|e| MachineError::io("read the guest image", guest, e))?;
        Ok(())
    }

    fn launch(&mut self, request: &LaunchRequest) -> Result<(), MachineError> {
        self.kill();
        let (console, stdout) = ProcessConsole::open(request.timed)?;
        let arguments = self.settings.arguments(request);
        self.last_command = Some(shell_words(&self.settings.emulator.program, &arguments));
        let mut command = Command::new(&self.settings.emulator.program);
        command.args(&arguments);
        // The runner stops a flood at the limit; this is for the time in which it does not look.
        let process = Process::spawn(command, stdout, CONSOLE_LIMIT_BYTES + (1 << 20))?;
        self.running = Some(Running {
            process,
            console,
            chunks: Vec::new(),
        });
        Ok(())
    }

    fn console(&mut self, buffer: &mut Vec<u8>) -> Result<Console, MachineError> {
        let program = &self.settings.emulator.program;
        let Some(running) = &mut self.running else {
            return Ok(Console::Ended("it was not running".into()));
        };
        // Asked before the console is read: what an ended process wrote is then all there.
        let ended = running
            .process
            .ended()
            .map_err(|e| MachineError::io("look after", program, e))?;
        let found = running
            .console
            .read(buffer, &mut running.chunks, ended.is_some())
            .map_err(|e| MachineError::io("read the console of", program, e))?;
        Ok(match (found, ended) {
            (Found::Data, _) => Console::Data,
            // So -no-reboot answers a reset and a power-off alike.
            (Found::End, Some(status)) if status.success() => Console::Ended(
                "the machine reset itself, as after a triple fault, or powered itself off".into(),
            ),
            (Found::End, Some(status)) => Console::Ended(describe(status)),
            _ => Console::Quiet,
        })
    }

    fn heard(&mut self, chunks: &mut Vec<Chunk>) {
        if let Some(running) = &mut self.running {
            chunks.append(&mut running.chunks);
        }
    }

    fn identity(&self) -> Identity {
        let mut identity = Identity::default();
        let settings = &self.settings;
        let mut subject = |key: &str, value: String| {
            identity.subject.insert(key.into(), value.into());
        };
        subject(
            "emulator_path",
            settings.emulator.program.display().to_string(),
        );
        subject("emulator_build", settings.emulator.build.clone());
        let host = Host::read();
        if settings.clock == Clock::Host {
            subject("host_kernel", host.kernel);
            subject("host_virtualized", host.virtualized.to_string());
        }
        let mut condition = |key: &str, value: serde_json::Value| {
            identity.conditions.insert(key.into(), value);
        };
        condition(
            "emulator",
            format!("qemu {}", settings.emulator.version).into(),
        );
        condition("emulator_machine", "pc".into());
        condition("emulator_cpu", settings.cpu().into());
        condition("memory_mib", settings.memory_mib().into());
        condition("pinning", "none".into());
        if settings.clock == Clock::Host {
            condition("host_cpu", host.cpu.into());
            condition("host_microcode", host.microcode.into());
        }
        identity
    }

    fn kill(&mut self) {
        if let Some(running) = &mut self.running {
            running.process.kill();
        }
    }

    fn complaints(&mut self) -> String {
        self.running
            .as_ref()
            .map(|running| running.process.stderr())
            .unwrap_or_default()
    }

    fn command_line(&self) -> Option<String> {
        self.last_command.clone()
    }
}

/// A command as a shell takes it.
fn shell_words(program: &Path, arguments: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+.,:/@%".contains(c);
    let quote = |word: &str| {
        if !word.is_empty() && word.chars().all(plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let program = quote(&program.to_string_lossy());
    std::iter::once(program)
        .chain(arguments.iter().map(|word| quote(word)))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
#[path = "qemu_tests.rs"]
mod tests;
