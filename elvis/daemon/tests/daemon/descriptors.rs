//! A daemon without free descriptors: connections wait, and no thread spins on them.

use super::daemon::Daemon;
use crate::client::{Client, until};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// The threads that accept connections.
const THREADS: [&str; 3] = ["elvis-control", "elvis-ctl", "elvis-metrics"];

/// For each of them, whether it sleeps, and how often it went to sleep. None before all have started.
fn threads(daemon: &Daemon) -> Option<[(bool, u64); 3]> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap();
    // The threads that measure the wake-up cost may end meanwhile.
    let read = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("status")).ok()
    };
    let all: Vec<String> = tasks.filter_map(read).collect();
    let of = |name: &str| {
        let name = format!("Name:\t{name}\n");
        let status = all.iter().find(|status| status.starts_with(&name))?;
        let value = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap().trim().to_owned()
        };
        let asleep = value("State:").starts_with('S');
        let sleeps = value("voluntary_ctxt_switches:").parse().unwrap();
        Some((asleep, sleeps))
    };
    let [device, control, metrics] = THREADS.map(of);
    Some([device?, control?, metrics?])
}

#[test]
fn connections_wait_where_descriptors_have_run_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let device = format!("{}=ram:1M", path("a.sock").display());
    let (control, metrics) = (path("control"), path("metrics"));
    let words = ["--blk", &device, "--control", control.to_str().unwrap()];
    let words = [&words[..], &["--metrics", metrics.to_str().unwrap()]].concat();
    let daemon = Daemon::start(&words, &metrics);
    until("all threads", || threads(&daemon));
    let pid = Pid::from_raw(daemon.id().try_into().unwrap());
    // The daemon has raised its limit to the maximum, which it inherited from this process.
    let maximum = getrlimit(Resource::Nofile).maximum;
    let none = Rlimit {
        current: Some(3),
        maximum,
    };
    let before = prlimit(pid, Resource::Nofile, none).unwrap();
    let mut asked = UnixStream::connect(&control).unwrap();
    writeln!(asked, "{{\"do\":\"list\"}}").unwrap();
    let mut counters = UnixStream::connect(&metrics).unwrap();
    write!(counters, "GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let front_end = UnixStream::connect(path("a.sock")).unwrap();
    // A thread that retries without a pause never sleeps.
    let mut asleep = 0;
    until("threads that sleep", || {
        let all = threads(&daemon).unwrap().iter().all(|thread| thread.0);
        asleep = if all { asleep + 1 } else { 0 };
        (asleep == 20).then_some(())
    });
    let tried = threads(&daemon).unwrap().map(|thread| thread.1);
    until("more tries", || {
        let now = threads(&daemon).unwrap();
        (0..3).all(|at| now[at].1 >= tried[at] + 3).then_some(())
    });
    let said = daemon.said();
    for who in ["a", "the control socket", "the metrics"] {
        let line =
            format!("elvis: {who}: can't accept a connection, it waits: Too many open files");
        assert_eq!(said.matches(&line).count(), 1, "{who}: {said}");
    }
    // They are served once there are descriptors again.
    prlimit(pid, Resource::Nofile, before).unwrap();
    let mut reply = String::new();
    asked.read_to_string(&mut reply).unwrap();
    assert!(reply.contains("\"name\":\"a\""), "{reply}");
    reply.clear();
    counters.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    drop(front_end);
    let mut client = Client::connect(&path("a.sock"), 1, 16, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
}
