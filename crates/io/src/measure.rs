//! Measurement of a server under a load: starts both, and collects the clients' counts.

use crate::client::{Counted, Driven, DrivenDisk, Task};
use crate::cpus;
use crate::load::{Group, Load, Work};
use crate::pair::DrivenPair;
use crate::server::{Place, Server, Testpmd};
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The settings common to all measurements of a run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The elvis to be measured.
    pub elvis: PathBuf,
    /// Words that start the qemu-storage-daemon to be measured.
    pub storage_daemon: Vec<OsString>,
    /// The testpmd to be measured, if there is one.
    pub testpmd: Option<Testpmd>,
    /// Folder for sockets, disks and logs; on a tmpfs if a load has such disks.
    pub folder: PathBuf,
    /// Folder for disks that are files of a block device.
    pub files: PathBuf,
    /// Program of a client, and its arguments; the task is appended to them.
    pub client: (PathBuf, Vec<String>),
    /// The CPU of servers.
    pub io_cpu: u32,
    /// The CPUs of clients.
    pub client_cpus: Vec<u32>,
    /// Time before counting starts.
    pub warmup: Duration,
    /// Time that is counted.
    pub measure: Duration,
}

impl Setting {
    /// The CPUs of a server, and those of its clients.
    pub fn cpus(&self, server: &Server) -> (Vec<u32>, Vec<u32>) {
        if server.shares_cpus() {
            let mut all = self.client_cpus.clone();
            all.push(self.io_cpu);
            all.sort_unstable();
            (all.clone(), all)
        } else {
            (vec![self.io_cpu], self.client_cpus.clone())
        }
    }
}

/// The counts of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The counts of each device.
    pub devices: Vec<Counted>,
    /// CPU time of the server per request (of all groups together), in ns; None for a peer.
    pub server_ns: Option<u64>,
}

struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: ChildStderr,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    fn start(setting: &Setting, cpus: &[u32], task: &Task) -> anyhow::Result<Self> {
        let (program, words) = &setting.client;
        let mut command = Command::new(program);
        command.args(words).arg(serde_json::to_string(task)?);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = cpus::on(cpus, || command.spawn())
            .with_context(|| format!("can't start a client, {}", program.display()))?;
        let ends = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = ends else {
            bail!("a client without pipes");
        };
        Ok(Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
            stderr,
        })
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            let mut why = String::new();
            self.stderr.read_to_string(&mut why)?;
            let why = why.trim_end();
            bail!(
                "a client ended: {}",
                why.strip_prefix("error: ").unwrap_or(why)
            );
        }
        Ok(line)
    }
}

/// Measures one server under one load. Returns one outcome per group, in the load's order.
pub fn measure(setting: &Setting, server: &Server, load: &Load) -> anyhow::Result<Vec<Outcome>> {
    let (cpus, client_cpus) = setting.cpus(server);
    let mut running = server.start(&Place {
        elvis: &setting.elvis,
        storage_daemon: &setting.storage_daemon,
        testpmd: setting.testpmd.as_ref(),
        folder: &setting.folder,
        files: &setting.files,
        cpus: &cpus,
        disk: load.disk,
        devices: &load.served(),
        splits: load.splits(),
    })?;
    let tasks = tasks(setting, load, &running.sockets);
    let counted = drive(setting, &client_cpus, &tasks, || running.cpu_ns());
    // A client only sees that the server is gone. The server's exit status and log say why.
    let (counted, cpu_ns) = counted.with_context(|| {
        let how = running
            .ended()
            .map_or(String::new(), |how| format!(" ended ({how})"));
        match running.said() {
            said if said.is_empty() => format!("{server}{how}"),
            said => format!("{server}{how}; its last lines: {said}"),
        }
    })?;
    let requests: u64 = counted.iter().map(|device| device.requests).sum();
    let server_ns = cpu_ns.map(|ns| ns / requests.max(1));
    let mut counted = counted.into_iter();
    let outcome = |group: &Group| Outcome {
        devices: counted.by_ref().take(group.devices).collect(),
        server_ns,
    };
    Ok(load.groups.iter().map(outcome).collect())
}

/// The tasks of all clients. Their devices are in the order of the groups.
fn tasks(setting: &Setting, load: &Load, sockets: &[PathBuf]) -> Vec<Task> {
    let groups = load.groups.iter();
    let groups = groups.flat_map(|group| std::iter::repeat_n(group, group.devices));
    let mut sockets = sockets.iter().cloned();
    let driven = groups.map_while(|group| {
        let think_ns = group.think.as_nanos() as u64;
        let depth = group.depth;
        Some(match group.work {
            Work::Disk(writes) => Driven::Disk(DrivenDisk {
                socket: sockets.next()?,
                depth,
                writes,
                think_ns,
            }),
            Work::Pair(traffic, frame_bytes) => Driven::Pair(DrivenPair {
                sockets: [sockets.next()?, sockets.next()?],
                traffic,
                frame_bytes,
                depth,
                think_ns,
            }),
        })
    });
    let driven: Vec<Driven> = driven.collect();
    let each = if load.one_client { driven.len() } else { 1 };
    let clients = driven.chunks(each.max(1));
    let task = |(seed, devices): (u64, &[Driven])| Task {
        devices: devices.to_vec(),
        replies: load.replies,
        verify: load.verify,
        warmup_ms: setting.warmup.as_millis() as u64,
        measure_ms: setting.measure.as_millis() as u64,
        seed,
    };
    (1..).zip(clients).map(task).collect()
}

fn drive(
    setting: &Setting,
    cpus: &[u32],
    tasks: &[Task],
    cpu_ns: impl Fn() -> Option<u64>,
) -> anyhow::Result<(Vec<Counted>, Option<u64>)> {
    let clients = tasks.iter().map(|task| Client::start(setting, cpus, task));
    let mut clients = clients.collect::<anyhow::Result<Vec<_>>>()?;
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
            serde_json::from_str(&line).with_context(|| format!("a client sent {line:?}"))?;
        counted.extend(devices);
    }
    Ok((counted, used))
}
