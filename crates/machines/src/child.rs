//! A machine that is a child process, with its console: the common part of the QEMU and vmm
//! machines.

use crate::console::{Found, ProcessConsole};
use crate::earshot::Chunk;
use crate::machine::{Console, MachineError};
use crate::process::{Handed, Process, shell_words};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// A machine's process. Dropping it kills it.
#[derive(Debug)]
pub struct Child {
    program: PathBuf,
    command_line: String,
    process: Process,
    console: ProcessConsole,
    /// The timestamped chunks of console output that [`Child::heard`] has not returned yet.
    chunks: Vec<Chunk>,
}

/// The result of [`Child::look`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// New bytes.
    Data,
    /// Nothing new.
    Nothing,
    /// The process has ended, and all its output was read.
    Over(ExitStatus),
}

impl Child {
    /// Starts `command` with its console on its standard output. `timed`: the host timestamps the
    /// output. No file that the process writes grows beyond `limit_bytes`. The process inherits
    /// `inherited` besides its standard files.
    pub fn start(
        command: Command,
        timed: bool,
        limit_bytes: u64,
        inherited: Vec<Handed>,
    ) -> Result<Self, MachineError> {
        let (console, stdout) = ProcessConsole::open(timed)?;
        Self::spawned(command, console, stdout, limit_bytes, inherited)
    }

    /// Starts a program that opens its console as a file. `command` gets the file's path, and returns the program's
    /// command and the files to inherit besides the console. The program's standard output goes to `output`, or is
    /// dropped.
    pub fn start_with_file(
        limit_bytes: u64,
        output: Option<File>,
        command: impl FnOnce(&str) -> Result<(Command, Vec<Handed>), MachineError>,
    ) -> Result<Self, MachineError> {
        let (console, file) = ProcessConsole::open(false)?;
        let file = OwnedFd::from(file);
        let (command, mut inherited) = command(&format!("/dev/fd/{}", file.as_raw_fd()))?;
        inherited.push(file.into());
        let nowhere = || File::options().write(true).open("/dev/null");
        let output = output.map_or_else(nowhere, Ok);
        let output = output.map_err(|e| MachineError::io("open", "/dev/null", e))?;
        Self::spawned(command, console, output, limit_bytes, inherited)
    }

    fn spawned(
        command: Command,
        console: ProcessConsole,
        stdout: File,
        limit_bytes: u64,
        inherited: Vec<Handed>,
    ) -> Result<Self, MachineError> {
        Ok(Self {
            program: PathBuf::from(command.get_program()),
            command_line: shell_words(&command),
            process: Process::spawn_with(command, stdout, limit_bytes, inherited)?,
            console,
            chunks: Vec::new(),
        })
    }

    /// Appends what the process wrote since the last call to `buffer`. Does not wait.
    pub fn look(&mut self, buffer: &mut Vec<u8>) -> Result<Look, MachineError> {
        // Checked before the console is read: an ended process has then written all its output.
        let ended = self
            .process
            .ended()
            .map_err(|e| MachineError::io("get the state of", &self.program, e))?;
        let found = self
            .console
            .read(buffer, &mut self.chunks, ended.is_some())
            .map_err(|e| MachineError::io("read the console of", &self.program, e))?;
        Ok(match (found, ended) {
            (Found::Data, _) => Look::Data,
            (Found::End, Some(status)) => Look::Over(status),
            _ => Look::Nothing,
        })
    }

    /// Returns the result of `Machine::console` for the process of a machine, if it has one. `how` describes how the
    /// process ended.
    pub fn console(
        running: Option<&mut Self>,
        buffer: &mut Vec<u8>,
        how: impl FnOnce(&Self, ExitStatus) -> String,
    ) -> Result<Console, MachineError> {
        let Some(running) = running else {
            return Ok(Console::Ended("it was not running".into()));
        };
        Ok(match running.look(buffer)? {
            Look::Data => Console::Data,
            Look::Nothing => Console::Quiet,
            Look::Over(status) => Console::Ended(how(running, status)),
        })
    }

    /// Moves the timestamped chunks of console output since the last call to `chunks`.
    pub fn heard(&mut self, chunks: &mut Vec<Chunk>) {
        chunks.append(&mut self.chunks);
    }

    /// The command line in shell syntax.
    pub fn command_line(&self) -> &str {
        &self.command_line
    }

    /// The last 4 KiB of the process's standard error.
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// How long the process was runnable without getting a CPU.
    pub fn waited(&self) -> Duration {
        self.process.waited()
    }

    /// Asks the process to end, and kills it if it has not ended within `limit`.
    pub fn end(&mut self, limit: Duration) {
        self.process.end(limit);
    }

    /// Kills the process and waits for it.
    pub fn kill(&mut self) {
        self.process.kill();
    }
}
