//! I/O threads that are used as the load takes, and devices that are moved between them at work.

#![allow(clippy::unwrap_used)]

mod client;

use client::{Client, image, serve_by, socket, split_cpus, verify};
use elvis::config::Config;
use elvis::numa::Topology;
use elvis::serve::Server;
use elvis_policy::PlacementParams;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

const DEVICES: usize = 4;
const REQUESTS: u64 = 4_000;

/// Bounds that a machine of two CPUs reaches with any load, and times that a test can wait for.
const EAGER: PlacementParams = PlacementParams {
    automatic: true,
    window_ns: 5_000_000,
    smoothing: 0.5,
    high: 0.1,
    fill: 0.1,
    rise_windows: 1,
    fall_windows: 3,
    dwell_ns: 10_000_000,
    least_gain: 0.01,
    remote_load: 0.05,
};

fn until(server: &Server, what: &str, wanted: impl Fn(&elvis::placer::PlacementView) -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let view = server.stats().unwrap().placement.unwrap();
        if wanted(&view) {
            return;
        }
        assert!(Instant::now() < end, "not {what}: {view:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn no_request_is_lost_or_run_twice_while_devices_are_moved() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path(), 4 << 20);
    let cpu = split_cpus();
    let config = Config {
        // That they share a CPU does not matter here.
        io_cores: vec![cpu; 3],
        placement: EAGER,
        ..Config::default()
    };
    let file = format!("d0={}", image.display());
    let devices = [&file, "d1=ram:4M,queues=2", "d2=ram:4M", "d3=ram:4M"];
    let server = serve_by(dir.path(), config, &devices);
    let rounds = 3;
    let (start, end) = (Barrier::new(DEVICES + 1), Barrier::new(DEVICES + 1));
    std::thread::scope(|scope| {
        for number in 0..DEVICES {
            let path = socket(dir.path(), &format!("d{number}"));
            let (start, end) = (&start, &end);
            scope.spawn(move || {
                let queues = 1 + usize::from(number == 1);
                let mut client = Client::connect(&path, queues, 128, 1 << 20);
                for round in 0..rounds {
                    start.wait();
                    // Blocks of its own for each round: what they hold is known.
                    let queue = round as usize % queues;
                    client.replies = 0;
                    verify(&mut client, queue, 1024, REQUESTS, 8, 7);
                    assert_eq!(client.replies, REQUESTS);
                    // All zeros again for the next.
                    for block in 0..1024 {
                        client.write(block * 4096, 0);
                    }
                    end.wait();
                }
                // Stays connected until all was counted.
                end.wait();
            });
        }
        let mut before = server.stats().unwrap().placement.unwrap();
        for round in 1..=rounds {
            start.wait();
            end.wait();
            let view = server.stats().unwrap().placement.unwrap();
            assert!(view.opened > before.opened, "{view:?} after {before:?}");
            assert!(view.moves > before.moves, "{view:?} after {before:?}");
            // When they pause, one thread is enough for them.
            until(&server, "released", |view| {
                view.open.iter().filter(|open| **open).count() == 1
            });
            before = server.stats().unwrap().placement.unwrap();
            let stats = server.stats().unwrap();
            for (name, queues) in &stats.devices {
                let requests: u64 = queues.iter().map(|queue| queue.policy.requests).sum();
                assert_eq!(requests, round * (REQUESTS + 1024), "{name}");
                assert!(
                    queues
                        .iter()
                        .all(|queue| queue.errors == 0 && queue.fault.is_none())
                );
            }
            let threads: Vec<_> = server.list().iter().map(|device| device.thread).collect();
            assert!(
                threads.iter().all(|thread| *thread == threads[0]),
                "{threads:?}"
            );
        }
        assert!(before.released >= rounds);
        end.wait();
    });
}

#[test]
fn a_quiet_server_uses_one_thread_and_the_others_sleep() {
    let dir = tempfile::tempdir().unwrap();
    let cpu = split_cpus();
    let config = Config {
        io_cores: vec![cpu; 3],
        placement: EAGER,
        ..Config::default()
    };
    let server = serve_by(dir.path(), config, &["a=ram:1M", "b=ram:1M"]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
    std::thread::sleep(Duration::from_millis(100));
    let stats = server.stats().unwrap();
    let view = stats.placement.unwrap();
    assert_eq!((view.open, view.moves), (vec![true, false, false], 0));
    for core in &stats.cores[1..] {
        assert!(core.polling_ns + core.serving_ns < 20_000_000, "{core:?}");
    }
    assert!(server.list().iter().all(|device| device.thread == Some(0)));
}

#[test]
fn the_node_of_a_driver_s_memory_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve_by(dir.path(), Config::default(), &["a=ram:1M"]);
    let topology = Topology::read(Path::new(Topology::SYSFS)).unwrap();
    assert_eq!(server.list()[0].node, None, "there is no driver");
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
    // A kernel without nodes says nothing of any page, and the CPUs are all on one.
    let found = server.list()[0].node;
    match topology.nodes() {
        1 => assert_eq!(found, topology.node_of(0)),
        _ => assert!(found.is_none_or(|node| (node as usize) < 1024)),
    }
}
