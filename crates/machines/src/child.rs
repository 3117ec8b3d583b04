//! A machine that is a process of ours, with its console: what QEMU and the monitor have in common.

use crate::console::{Found, ProcessConsole};
use crate::earshot::Chunk;
use crate::machine::MachineError;
use crate::process::{Process, shell_words};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// A machine's process. Dropped, it is killed.
#[derive(Debug)]
pub struct Child {
    program: PathBuf,
    command_line: String,
    process: Process,
    console: ProcessConsole,
    /// When the console said what, until somebody asks.
    chunks: Vec<Chunk>,
}

/// What a look at the console of a process found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// New bytes.
    Data,
    /// Nothing new.
    Nothing,
    /// The process has ended, and all that it wrote was read.
    Over(ExitStatus),
}

impl Child {
    /// Starts `command` with its console on its standard output. `timed`: the host takes the time
    /// of what it hears. No file of the process grows longer than `limit_bytes`. It gets
    /// `inherited` beside its standard files.
    ///
    /// # Errors
    /// The program can't be started, or there is no room for its console.
    pub fn start(
        command: Command,
        timed: bool,
        limit_bytes: u64,
        inherited: Option<OwnedFd>,
    ) -> Result<Self, MachineError> {
        let program = PathBuf::from(command.get_program());
        let command_line = shell_words(&command);
        let (console, stdout) = ProcessConsole::open(timed)?;
        let process = Process::spawn_with(command, stdout, limit_bytes, inherited)?;
        Ok(Self {
            program,
            command_line,
            process,
            console,
            chunks: Vec::new(),
        })
    }

    /// Adds what the process wrote since the last call to `buffer`. Does not wait.
    ///
    /// # Errors
    /// The system can't read the console, or does not know the process.
    pub fn look(&mut self, buffer: &mut Vec<u8>) -> Result<Look, MachineError> {
        // Asked before the console is read: what an ended process wrote is then all there.
        let ended = self
            .process
            .ended()
            .map_err(|e| MachineError::io("look after", &self.program, e))?;
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

    /// Moves what is known of when the console said what, since the last call, to `chunks`.
    pub fn heard(&mut self, chunks: &mut Vec<Chunk>) {
        chunks.append(&mut self.chunks);
    }

    /// Its command line as a shell takes it.
    pub fn command_line(&self) -> &str {
        &self.command_line
    }

    /// The last that the process wrote to its standard error.
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// How long it was ready to run and got no processor.
    pub fn waited(&self) -> Duration {
        self.process.waited()
    }

    /// Kills the process and waits for it.
    pub fn kill(&mut self) {
        self.process.kill();
    }
}
