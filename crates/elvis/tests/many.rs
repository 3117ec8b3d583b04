//! A thousand attached devices that do nothing.

#![allow(clippy::unwrap_used)]

mod client;

use client::{Client, serve_on, socket, split_cpus};
use elvis_sim::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::time::{Duration, Instant};

const DEVICES: usize = 1000;

/// Memory of this process, in bytes: what is resident.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 1024
}

#[test]
fn a_thousand_idle_devices_sleep_and_wake() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    )
    .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let io_core = split_cpus();
    let names: Vec<String> = (0..DEVICES).map(|n| format!("d{n}=null:1G")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let before = resident();
    let server = serve_on(dir.path(), Mode::Elvis, &names, &[io_core]);
    let served = resident();
    let mut clients: Vec<Client> = (0..DEVICES)
        .map(|n| Client::connect(&socket(dir.path(), &format!("d{n}")), 1, 64, 4096))
        .collect();
    let attached = resident();
    for client in &mut clients {
        assert_eq!(client.read(0).0, 0);
    }
    std::thread::sleep(Duration::from_millis(200));
    let core = |server: &elvis::serve::Server| server.stats().unwrap().cores[0].clone();
    let first = core(&server);
    std::thread::sleep(Duration::from_millis(500));
    let second = core(&server);
    let awake_ns = second.polling_ns + second.serving_ns - first.polling_ns - first.serving_ns;
    let start = Instant::now();
    assert_eq!(clients[777].read(0).0, 0);
    println!(
        "{} KiB a device listening, {} KiB more attached (client and device in one process); \
         {awake_ns} ns awake in 500 ms; first request after {:?}",
        (served - before) / DEVICES as u64 / 1024,
        (attached - served) / DEVICES as u64 / 1024,
        start.elapsed(),
    );
    // The aim is 1 %; this host may have been busy with others.
    assert!(awake_ns < 50_000_000, "{awake_ns} ns awake in 500 ms");
}
