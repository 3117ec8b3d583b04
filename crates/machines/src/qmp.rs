//! QEMU's control channel (QMP; docs/interop/qmp-spec in QEMU). It pins vCPU threads before the guest starts, saves and
//! resumes states, and notices that QEMU stopped the machine but did not exit.
//!
//! The channel is a socket pair of which QEMU inherits one end, so no socket appears in the file system.

use crate::machine::MachineError;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::Pid;
use serde_json::{Value, json};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The time limit of an answer: QEMU creates its machine first, and the host may be busy.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The most bytes of a line; QEMU's lines are far shorter.
const LINE_BYTES_MAX: usize = 1 << 20;

/// The channel to one QEMU.
#[derive(Debug)]
pub struct Qmp {
    socket: UnixStream,
    /// Input that is not yet a whole line.
    rest: Vec<u8>,
    /// [`ANSWER_LIMIT`].
    patience: Duration,
}

/// Reason why a request failed.
#[derive(Debug)]
pub enum Trouble {
    /// QEMU closed its end: it has exited, and its process has the reason.
    Closed,
    Other(MachineError),
}

impl Trouble {
    fn other(what: impl Into<String>) -> Self {
        Trouble::Other(MachineError::Other(what.into()))
    }
}

impl Qmp {
    /// Makes a channel, and the end that QEMU inherits.
    pub fn pair() -> Result<(Self, OwnedFd), MachineError> {
        let error = |e| MachineError::io("make a socket for", "QMP", e);
        let (ours, its) = UnixStream::pair().map_err(error)?;
        let channel = Self {
            socket: ours,
            rest: Vec::new(),
            patience: ANSWER_LIMIT,
        };
        Ok((channel, its.into()))
    }

    /// QEMU's arguments for its end of the channel, descriptor `fd` in QEMU.
    pub fn arguments(fd: i32) -> [String; 4] {
        [
            "-chardev".into(),
            format!("socket,id=qmp,fd={fd}"),
            "-mon".into(),
            "chardev=qmp,mode=control".into(),
        ]
    }

    /// Waits for QEMU's greeting and enters command mode.
    ///
    /// # Errors
    /// QEMU closed the channel, did not answer in time, or sent something that is not QMP.
    pub fn greet(&mut self) -> Result<(), Trouble> {
        let deadline = Instant::now() + self.patience;
        loop {
            let message = self.message(deadline)?;
            if message.get("QMP").is_some() {
                break;
            }
        }
        self.ask("qmp_capabilities").map(|_| ())
    }

    /// Asks for the thread of each vCPU, in the order of vCPUs.
    pub fn vcpu_threads(&mut self) -> Result<Vec<Pid>, Trouble> {
        let answer = self.ask("query-cpus-fast")?;
        let mut vcpus = Vec::new();
        for one in answer.as_array().into_iter().flatten() {
            let number = |key: &str| one.get(key).and_then(Value::as_i64);
            let thread = number("thread-id").and_then(|id| i32::try_from(id).ok());
            match (number("cpu-index"), thread.and_then(Pid::from_raw)) {
                (Some(index), Some(thread)) => vcpus.push((index, thread)),
                _ => return Err(Trouble::other("QEMU reported a vCPU without a thread")),
            }
        }
        vcpus.sort_by_key(|(index, _)| *index);
        Ok(vcpus.into_iter().map(|(_, thread)| thread).collect())
    }

    /// Starts a machine that was launched stopped.
    pub fn go_on(&mut self) -> Result<(), Trouble> {
        self.ask("cont").map(|_| ())
    }

    /// Asks for the state of the machine, as `running` or `paused`.
    pub fn state(&mut self) -> Result<String, Trouble> {
        let answer = self.ask("query-status")?;
        let state = answer.get("status").and_then(Value::as_str);
        Ok(state.unwrap_or_default().to_owned())
    }

    /// The machine's state, if QEMU stopped the machine for good: where KVM can't continue the guest, QEMU stops it but
    /// does not exit. Waits only if the machine has stopped.
    pub fn stopped(&mut self) -> Option<String> {
        let _ = self.socket.set_nonblocking(true);
        while matches!(self.receive(), Ok(1..)) {}
        let mut stop = false;
        while let Some(line) = self.take_line() {
            stop |= serde_json::from_slice(&line).is_ok_and(|message| is_stop(&message));
        }
        if !stop {
            return None;
        }
        let state = self.state().ok()?;
        (!["running", "shutdown"].contains(&&*state))
            .then(|| format!("QEMU stopped the machine ({state})"))
    }

    fn ask(&mut self, command: &str) -> Result<Value, Trouble> {
        self.ask_with(command, &json!({}))
    }

    /// Sends a command with its arguments and waits for the answer.
    pub fn ask_with(&mut self, command: &str, arguments: &Value) -> Result<Value, Trouble> {
        self.ask_passing(command, arguments, &[])
    }

    /// Gives QEMU a file under a name.
    pub fn pass(&mut self, name: &str, file: BorrowedFd<'_>) -> Result<(), Trouble> {
        self.ask_passing("getfd", &json!({ "fdname": name }), &[file])?;
        Ok(())
    }

    fn ask_passing(
        &mut self,
        command: &str,
        arguments: &Value,
        files: &[BorrowedFd<'_>],
    ) -> Result<Value, Trouble> {
        let deadline = Instant::now() + self.patience;
        let mut request = json!({ "execute": command });
        if arguments.as_object().is_some_and(|all| !all.is_empty()) {
            request["arguments"] = arguments.clone();
        }
        let line = format!("{request}\n");
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut with = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !with.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(Trouble::other(
                "only one file can be given to QEMU at a time",
            ));
        }
        let bytes = [IoSlice::new(line.as_bytes())];
        let sent = rustix::net::sendmsg(&self.socket, &bytes, &mut with, SendFlags::NOSIGNAL)
            .map_err(|_| Trouble::Closed)?;
        let rest = line.as_bytes().get(sent..).unwrap_or_default();
        self.socket.write_all(rest).map_err(|_| Trouble::Closed)?;
        loop {
            let mut message = self.message(deadline)?;
            if let Some(answer) = message.get_mut("return") {
                return Ok(answer.take());
            }
            if let Some(error) = message.get("error") {
                return Err(Trouble::other(format!("QEMU refused {command}: {error}")));
            }
            // Other messages are events.
        }
    }

    /// Waits for the next message.
    fn message(&mut self, deadline: Instant) -> Result<Value, Trouble> {
        let _ = self.socket.set_nonblocking(false);
        loop {
            if let Some(line) = self.take_line() {
                return serde_json::from_slice(&line)
                    .map_err(|_| Trouble::other("QEMU sent no JSON on its control channel"));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Trouble::other(format!(
                    "QEMU did not answer on its control channel for {} s",
                    self.patience.as_secs()
                )));
            }
            let _ = self.socket.set_read_timeout(Some(left));
            match self.receive() {
                Ok(1..) => {}
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Ok(0) | Err(_) => return Err(Trouble::Closed),
            }
        }
    }

    /// The next whole line that is not empty.
    fn take_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let end = self.rest.iter().position(|byte| *byte == b'\n')?;
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
    }

    /// Reads once; returns the number of bytes, 0 if the channel is closed.
    fn receive(&mut self) -> std::io::Result<usize> {
        if self.rest.len() > LINE_BYTES_MAX {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut bytes = [0u8; 4096];
        let count = self.socket.read(&mut bytes)?;
        self.rest.extend(bytes.iter().take(count));
        Ok(count)
    }
}

fn is_stop(message: &Value) -> bool {
    message.get("event").and_then(Value::as_str) == Some("STOP")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    /// The peer of these tests always answers or closes its end, so no test waits for the time
    /// limit.
    fn pair() -> (Qmp, OwnedFd) {
        let (mut qmp, end) = Qmp::pair().unwrap();
        qmp.patience = Duration::from_secs(3600);
        (qmp, end)
    }

    /// A QEMU that sends `first`, and then answers each line with the next of `answers`.
    fn peer(end: OwnedFd, first: &str, answers: &[&str]) -> std::thread::JoinHandle<Vec<String>> {
        let first = first.to_owned();
        let answers: Vec<String> = answers.iter().map(|a| (*a).to_owned()).collect();
        std::thread::spawn(move || {
            let mut socket = UnixStream::from(end);
            socket.write_all(first.as_bytes()).unwrap();
            let mut lines = BufReader::new(socket.try_clone().unwrap());
            let mut asked = Vec::new();
            for answer in answers {
                let mut line = String::new();
                lines.read_line(&mut line).unwrap();
                asked.push(line.trim().to_owned());
                socket.write_all(answer.as_bytes()).unwrap();
            }
            asked
        })
    }

    const GREETING: &str = "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n";
    const DONE: &str = "{\"return\": {}}\r\n";

    #[test]
    fn threads_are_asked_for_and_come_in_the_order_of_vcpus() {
        let (mut qmp, end) = pair();
        let vcpus = "{\"timestamp\": {}, \"event\": \"RESUME\"}\r\n{\"return\": [{\"cpu-index\": 1, \"thread-id\": 78}, {\"cpu-index\": 0, \"thread-id\": 77}]}\r\n";
        let peer = peer(end, GREETING, &[DONE, vcpus, DONE]);
        qmp.greet().unwrap();
        let threads = qmp.vcpu_threads().unwrap();
        assert_eq!(threads, [77, 78].map(|id| Pid::from_raw(id).unwrap()));
        qmp.go_on().unwrap();
        assert_eq!(
            peer.join().unwrap(),
            [
                "{\"execute\":\"qmp_capabilities\"}",
                "{\"execute\":\"query-cpus-fast\"}",
                "{\"execute\":\"cont\"}"
            ]
        );
    }

    #[test]
    fn a_machine_that_stops_is_noticed_without_waiting() {
        let (mut qmp, end) = pair();
        let mut its = UnixStream::from(end.try_clone().unwrap());
        assert_eq!(qmp.stopped(), None);
        its.write_all(b"{\"event\": \"RESUME\"}\n{\"event\"")
            .unwrap();
        assert_eq!(qmp.stopped(), None);
        drop(its);
        let state = "{\"return\": {\"status\": \"internal-error\"}}\n";
        let _peer = peer(end, ": \"STOP\"}\n", &[state]);
        let mut told = None;
        let started = Instant::now();
        while told.is_none() && started.elapsed() < Duration::from_secs(60) {
            told = qmp.stopped();
        }
        assert_eq!(
            told.as_deref(),
            Some("QEMU stopped the machine (internal-error)")
        );
    }

    #[test]
    fn a_guest_that_powers_its_machine_off_has_not_been_stopped() {
        let (mut qmp, end) = pair();
        let state = "{\"return\": {\"status\": \"shutdown\"}}\n";
        let peer = peer(end, "{\"event\": \"STOP\"}\n", &[state]);
        let started = Instant::now();
        while !peer.is_finished() && started.elapsed() < Duration::from_secs(60) {
            assert_eq!(qmp.stopped(), None);
        }
        // If the peer was not asked yet, this ends its read.
        drop(qmp);
        assert_eq!(peer.join().unwrap(), ["{\"execute\":\"query-status\"}"]);
    }

    #[test]
    fn a_dead_qemu_is_told_apart_from_one_that_talks_nonsense() {
        let (mut qmp, end) = pair();
        drop(end);
        assert!(matches!(qmp.greet(), Err(Trouble::Closed)));
        let (mut qmp, end) = pair();
        let _peer = peer(end, "hello\n", &[]);
        assert!(matches!(qmp.greet(), Err(Trouble::Other(_))));
        let (mut qmp, end) = pair();
        let refusal = "{\"error\": {\"class\": \"x\", \"desc\": \"no\"}}\n";
        let _peer = peer(end, GREETING, &[refusal]);
        let Err(Trouble::Other(error)) = qmp.greet() else {
            panic!("taken for an answer");
        };
        assert!(error.to_string().contains("qmp_capabilities"), "{error}");
    }

    #[test]
    fn a_vcpu_without_a_thread_is_an_error() {
        let (mut qmp, end) = pair();
        let _peer = peer(
            end,
            GREETING,
            &[DONE, "{\"return\": [{\"cpu-index\": 0}]}\n"],
        );
        qmp.greet().unwrap();
        assert!(matches!(qmp.vcpu_threads(), Err(Trouble::Other(_))));
    }
}
