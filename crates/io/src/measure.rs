//! One measurement: a server, its clients at work together, and what they counted.

use crate::client::{Counted, Replies, Task};
use crate::cpus;
use crate::server::{Disk, Place, Server};
use anyhow::{Context, bail};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Devices that are driven alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What it is called in results.
    pub name: String,
    /// How many.
    pub devices: usize,
    /// Whether one client drives them all, instead of each its own.
    pub together: bool,
    /// Requests outstanding on each.
    pub depth: u16,
    /// How clients learn of replies.
    pub replies: Replies,
}

/// What is the same for all measurements of a run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Where servers are started.
    pub place: Place,
    /// What disks are made of.
    pub disk: Disk,
    /// The program and words that make a client; its task is one word more.
    pub client: (PathBuf, Vec<String>),
    /// The CPUs of clients.
    pub client_cpus: Vec<usize>,
    /// Mean pause between a reply and the next request.
    pub think: Duration,
    /// Of 100 requests, those that write.
    pub write_percent: u8,
    /// Time before anything is counted.
    pub warmup: Duration,
    /// Time that is counted.
    pub measure: Duration,
}

/// What one group's clients counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Of each device.
    pub devices: Vec<Counted>,
    /// CPU time of the server for one request, whatever group's, in ns; None of somebody else's.
    pub server_ns: Option<u64>,
}

struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    fn start(setting: &Setting, task: &Task) -> anyhow::Result<Self> {
        let (program, words) = &setting.client;
        let mut command = Command::new(program);
        command.args(words).arg(serde_json::to_string(task)?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = cpus::on(&setting.client_cpus, || command.spawn())
            .with_context(|| format!("can't start a client, {}", program.display()))?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = ends.ok_or_else(|| io::Error::other("a client without pipes"))?;
        Ok(Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        })
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            // It has said why on standard error.
            bail!("a client ended before it was done");
        }
        Ok(line)
    }
}

/// Measures one server under one load. The outcome has the order of `groups`.
///
/// # Errors
/// The server or a client can't be started or does not do its work.
pub fn measure(
    setting: &Setting,
    server: &Server,
    groups: &[Group],
) -> anyhow::Result<Vec<Outcome>> {
    let devices = groups.iter().map(|group| group.devices).sum();
    let running = server.start(&setting.place, devices, setting.disk)?;
    let counted = drive(setting, &running.sockets, groups, || running.cpu_ns());
    let (counted, cpu_ns) = counted.with_context(|| match running.said() {
        said if said.is_empty() => server.to_string(),
        said => format!("{server}, which said last: {said}"),
    })?;
    let requests: u64 = counted.iter().map(|device| device.requests).sum();
    let server_ns = cpu_ns.map(|ns| ns / requests.max(1));
    let mut counted = counted.into_iter();
    let outcome = |group: &Group| Outcome {
        devices: counted.by_ref().take(group.devices).collect(),
        server_ns,
    };
    Ok(groups.iter().map(outcome).collect())
}

fn drive(
    setting: &Setting,
    sockets: &[PathBuf],
    groups: &[Group],
    cpu_ns: impl Fn() -> Option<u64>,
) -> anyhow::Result<(Vec<Counted>, Option<u64>)> {
    let mut clients = Vec::new();
    let mut sockets = sockets;
    for group in groups {
        let (theirs, others) = sockets.split_at(group.devices);
        sockets = others;
        for theirs in theirs.chunks(if group.together { group.devices } else { 1 }) {
            let task = Task {
                sockets: theirs.to_vec(),
                depth: group.depth,
                replies: group.replies,
                think_ns: setting.think.as_nanos() as u64,
                write_percent: setting.write_percent,
                warmup_ms: setting.warmup.as_millis() as u64,
                measure_ms: setting.measure.as_millis() as u64,
                seed: clients.len() as u64 + 1,
            };
            clients.push(Client::start(setting, &task)?);
        }
    }
    for client in &mut clients {
        client.line()?;
    }
    for client in &mut clients {
        writeln!(client.stdin, "go")?;
    }
    std::thread::sleep(setting.warmup);
    let before = cpu_ns();
    std::thread::sleep(setting.measure);
    let used = before.zip(cpu_ns()).map(|(before, after)| after - before);
    let mut counted = Vec::new();
    for client in &mut clients {
        let line = client.line()?;
        let devices: Vec<Counted> =
            serde_json::from_str(&line).with_context(|| format!("a client said {line:?}"))?;
        counted.extend(devices);
    }
    Ok((counted, used))
}
