//! A thousand idle devices attached to a daemon: none of its threads runs for them, and after a request
//! to one of them the I/O thread visits only that one. CPU time, memory and the latency of the request
//! are printed (`--nocapture`) but not checked, as they depend on the host.

use super::daemon::Daemon;
use crate::client::{Client, LIMIT, WAKES_OF_LOOKS, socket, split_cpus, until};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

const DEVICES: usize = 1000;
/// Each of these devices makes a request after the idle time.
const WOKEN: std::ops::Range<usize> = 300..600;

/// The kernel's counters of a thread of the daemon.
#[derive(Debug, Clone, PartialEq)]
struct Thread {
    name: String,
    asleep: bool,
    /// CPU time so far, in ns.
    cpu_ns: u64,
    /// How often it was put on a CPU.
    runs: u64,
}

fn threads(daemon: &Daemon) -> BTreeMap<String, Thread> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap();
    let of = |task: std::io::Result<std::fs::DirEntry>| {
        let task = task.unwrap();
        let read = |file: &str| std::fs::read_to_string(task.path().join(file)).unwrap();
        let numbers = read("schedstat");
        let mut numbers = numbers.split_whitespace().map(|n| n.parse().unwrap());
        let status = read("status");
        let state = status.lines().find(|line| line.starts_with("State:"));
        let thread = Thread {
            name: read("comm").trim().to_owned(),
            asleep: state.unwrap().contains("S (sleeping)"),
            cpu_ns: numbers.next().unwrap(),
            runs: numbers.nth(1).unwrap(),
        };
        (task.file_name().into_string().unwrap(), thread)
    };
    tasks.map(of).collect()
}

fn cpu_ns(daemon: &Daemon) -> u64 {
    threads(daemon).values().map(|thread| thread.cpu_ns).sum()
}

fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

#[test]
fn a_thousand_idle_devices_cost_little_and_wake_at_once() {
    raise_descriptor_limit();
    let dir = tempfile::tempdir().unwrap();
    let io_core = split_cpus();
    let wake_ns =
        elvis::server::measure_wake_ns(&ws_cpus::Cpus::here(), u32::try_from(io_core).ok())
            .unwrap();
    let control = dir.path().join("control");
    let mut words = ["--io-cores", &io_core.to_string(), "--control"]
        .map(str::to_owned)
        .to_vec();
    words.push(control.display().to_string());
    for number in 0..DEVICES {
        let device = format!("{}/d{number}=null:1G", dir.path().display());
        words.extend(["--blk".to_owned(), device]);
    }
    let last = socket(dir.path(), &format!("d{}", DEVICES - 1));
    let daemon = Daemon::start(&words, &last);
    let listening = daemon.own_bytes();
    let connect = |n| Client::connect(&socket(dir.path(), &format!("d{n}")), 1, 64, 4096);
    let mut clients: Vec<Client> = (0..DEVICES).map(connect).collect();
    for client in &mut clients {
        assert_eq!(client.read(0).0, 0);
    }
    let attached = daemon.own_bytes();
    // Wait until all threads rest: each is asleep in two looks, and did not run in between.
    let mut before = threads(&daemon);
    until("threads that rest", || {
        let seen = std::mem::replace(&mut before, threads(&daemon));
        let rest = before == seen && seen.values().all(|thread| thread.asleep);
        rest.then_some(())
    });
    let (start, before_ns) = (Instant::now(), cpu_ns(&daemon));
    std::thread::sleep(Duration::from_secs(2));
    let (idle_ns, seconds) = (cpu_ns(&daemon) - before_ns, start.elapsed().as_secs_f64());
    for (id, thread) in threads(&daemon) {
        assert_eq!(Some(&thread), before.get(&id), "it ran for idle devices");
    }
    let stats = |control: &Path| {
        let stats = elvis::control::ask(control, &json!({ "do": "stats" })).unwrap();
        stats["stats"].clone()
    };
    let idle = stats(&control);
    let mut firsts: Vec<u64> = clients[WOKEN].iter_mut().map(first_request).collect();
    firsts.sort_unstable();
    println!(
        "{:.0} us of CPU time per second; first reply after {} ns (median; 10th percentile {} ns), wake-up \
         cost {wake_ns} ns; {} KiB per attached device, {} KiB per listening one",
        idle_ns as f64 / 1e3 / seconds,
        firsts[firsts.len() / 2],
        firsts[firsts.len() / 10],
        (attached.saturating_sub(listening)) / DEVICES as u64 / 1024,
        listening / DEVICES as u64 / 1024,
    );
    assert_woken_only(&idle, &stats(&control));
}

/// Makes a request to an idle device, and polls for the reply. Returns the latency in ns.
fn first_request(client: &mut Client) -> u64 {
    // By then the I/O thread mostly sleeps.
    std::thread::sleep(Duration::from_millis(2));
    let start = Instant::now();
    client.submit_read(0, 0, 0);
    while client.queues[0].completions().next().is_none() {
        assert!(start.elapsed() < LIMIT, "waited {LIMIT:?} for a reply");
        std::hint::spin_loop();
    }
    start.elapsed().as_nanos() as u64
}

/// Each of the devices in [`WOKEN`] made one request: one kick, one visit. No other queue was visited.
fn assert_woken_only(before: &Value, after: &Value) {
    let grown =
        |of: &dyn Fn(&Value) -> &Value| of(after).as_u64().unwrap() - of(before).as_u64().unwrap();
    for number in 0..DEVICES {
        let name = format!("d{number}");
        let woken = u64::from(WOKEN.contains(&number));
        let wanted = [
            ("requests", woken),
            ("kicks", woken),
            ("visits", woken),
            ("empty_polls", 0),
        ];
        for (counter, count) in wanted {
            let of = grown(&|stats| &stats["devices"][&name][0][counter]);
            assert_eq!(of, count, "{counter} of {name}");
        }
    }
    let sleeps = grown(&|stats| &stats["cores"][0]["sleeps"]);
    assert!(
        sleeps <= WOKEN.len() as u64 + WAKES_OF_LOOKS,
        "{sleeps} sleeps"
    );
}
