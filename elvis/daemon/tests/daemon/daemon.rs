//! An elvis daemon in its own process.

use crate::client::{LIMIT, until};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// A running daemon. It is killed on drop; if the test fails, its messages are printed.
pub struct Daemon {
    child: Child,
    said: File,
}

impl Daemon {
    /// Starts `elvis serve` with these words, and waits until it listens at this socket.
    pub fn start<W: AsRef<OsStr>>(words: &[W], socket: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_elvis"));
        command.arg("serve").args(words);
        Self::listening(command, socket)
    }

    /// Starts one by a command, and waits until it listens at this socket.
    pub fn listening(command: Command, socket: &Path) -> Self {
        let mut daemon = Self::of(command);
        let end = Instant::now() + LIMIT;
        while UnixStream::connect(socket).is_err() {
            let ended = daemon.child.try_wait().unwrap();
            assert_eq!(ended, None, "the daemon exited");
            assert!(Instant::now() < end, "waited {LIMIT:?} for {socket:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        daemon
    }

    /// Starts one by a command, and does not wait.
    pub fn of(command: Command) -> Self {
        Self::writing(command, tempfile::tempfile().unwrap())
    }

    /// Starts one whose messages go to this file.
    pub fn writing(mut command: Command, said: File) -> Self {
        command.stderr(said.try_clone().unwrap());
        let child = command.spawn().unwrap();
        Self { child, said }
    }

    /// How it ended, if it has.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Private resident memory in bytes, without memory shared with front-ends and files.
    pub fn own_bytes(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = text.lines().find(|line| line.starts_with("RssAnon:"));
        let kib = line.map_or("0", |line| line.split_whitespace().nth(1).unwrap());
        kib.parse::<u64>().unwrap() * 1024
    }

    /// Its messages so far.
    pub fn said(&self) -> String {
        // With an offset: the daemon shares the file position, and writes there.
        let mut text = vec![0; self.said.metadata().unwrap().len() as usize];
        let bytes = self.said.read_at(&mut text, 0).unwrap();
        String::from_utf8_lossy(&text[..bytes]).into_owned()
    }

    /// Waits until it exits by itself.
    pub fn ended(&mut self) -> ExitStatus {
        until("the daemon's end", || self.child.try_wait().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("messages of the daemon: {}", self.said());
        }
    }
}

/// Reads the metrics at a socket, which must have these lines.
pub fn metrics_have(socket: &str, lines: &[&str]) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    for line in lines {
        assert!(
            text.lines().any(|other| other == *line),
            "no {line} in\n{text}"
        );
    }
}
