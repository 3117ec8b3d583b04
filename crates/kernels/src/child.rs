//! Runs git and builds. These programs never outlive this one, and the user's signals stop them.

use anyhow::Context;
use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;
use ws_machines::process::{Process, unnamed_file};
use ws_terminal::{Stop, Stopped};

/// Time for a program to undo what it has begun: git removes its locks, make a file that is half written.
const END: Duration = Duration::from_secs(5);
/// Polling interval of a running program.
const LOOK: Duration = Duration::from_millis(20);

/// Result of a program that ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// The program's standard output; empty if it went to a file.
    pub stdout: String,
    /// The end of the program's standard error.
    pub stderr: String,
}

/// Runs a program to its end, or until `stop`.
///
/// # Errors
/// [`Stopped`] if the user stopped it; otherwise the program can't be started.
pub fn run(command: Command, stop: Option<&Stop>) -> anyhow::Result<Ended> {
    let mut out = unnamed_file(0)?;
    let mut ended = run_into(command, out.try_clone()?, stop, &mut || {})?;
    out.rewind()?;
    let mut bytes = Vec::new();
    out.read_to_end(&mut bytes)?;
    ended.stdout = String::from_utf8_lossy(&bytes).into_owned();
    Ok(ended)
}

/// Runs a program as [`run`] does. Standard output goes to a file, and `watch` is called from time to time.
pub fn run_into(
    command: Command,
    out: File,
    stop: Option<&Stop>,
    watch: &mut dyn FnMut(),
) -> anyhow::Result<Ended> {
    let mut process = Process::spawn(command, out, u64::MAX)?;
    let status = loop {
        let ended = process.ended().context("can't wait for a program")?;
        if let Some(status) = ended {
            break status;
        }
        if stop.is_some_and(Stop::requested) {
            process.end(END);
            return Err(Stopped.into());
        }
        watch();
        thread::sleep(LOOK);
    };
    Ok(Ended {
        status,
        stdout: String::new(),
        stderr: process.stderr(),
    })
}
