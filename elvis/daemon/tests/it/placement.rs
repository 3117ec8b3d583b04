//! I/O threads that are opened and released with load, and devices that move between them under load.

use crate::client::{
    Client, LIMIT, WAKES_OF_LOOKS, config, image, serve_by, socket, split_cpus, until, verify,
};
use elvis::config::Config;
use elvis::numa::Topology;
use elvis::placer::PlacementView;
use elvis::serve::Server;
use elvis_policy::PlacementParams;
use std::path::Path;
use std::time::{Duration, Instant};

const DEVICES: usize = 4;
const REQUESTS: u64 = 4_000;
/// Number of blocks over which the requests are spread.
const BLOCKS: u64 = 256;

/// Bounds that any load reaches on a machine with two CPUs, and times short enough for a test.
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

/// Disks with a fixed service time per request. They load the I/O threads reliably, even if the host gives
/// clients little CPU time.
const HEAVY: [&str; 2] = ["h0", "h1"];
const HEAVY_DEPTH: usize = 64;

/// Keeps the ring of a heavy disk full.
fn fill(client: &mut Client, in_flight: &mut usize) {
    while client.queues[0].completions().next().is_some() {
        *in_flight -= 1;
    }
    while *in_flight < HEAVY_DEPTH {
        client.submit_read(0, 0, 0);
        *in_flight += 1;
    }
}

/// Takes all replies of a heavy disk.
fn empty(client: &mut Client, in_flight: &mut usize) {
    while *in_flight > 0 {
        client.reply(0);
        *in_flight -= 1;
    }
}

/// Waits until one thread is in use and serves all devices, and returns the changes until then.
fn until_one_is_enough(server: &Server) -> PlacementView {
    until("one thread that serves all devices", || {
        let view = server.stats().unwrap().placement.unwrap();
        let threads: Vec<_> = server.list().iter().map(|device| device.thread).collect();
        let open = view.open.iter().filter(|open| **open).count();
        (open == 1 && threads.iter().all(|thread| *thread == threads[0])).then_some(view)
    })
}

#[test]
fn no_request_is_lost_or_run_twice_while_devices_are_moved() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path(), 4 << 20);
    let cpu = split_cpus();
    let config = Config {
        // The threads may share a CPU here.
        io_cores: vec![cpu; 3],
        placement: EAGER,
        ..config()
    };
    let mut devices = vec![
        format!("d0={}", image.display()),
        "d1=ram:4M,queues=2".to_owned(),
        "d2=ram:4M".to_owned(),
        "d3=ram:4M".to_owned(),
    ];
    devices.extend(HEAVY.map(|name| format!("{name}=null:1M,service_ns=100000")));
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let server = serve_by(dir.path(), config, &devices);
    let mut clients: Vec<Client> = (0..DEVICES)
        .map(|number| {
            let path = socket(dir.path(), &format!("d{number}"));
            Client::connect(&path, 1 + usize::from(number == 1), 128, 1 << 20)
        })
        .collect();
    let mut heavy: Vec<(Client, usize)> = HEAVY
        .iter()
        .map(|name| (Client::connect(&socket(dir.path(), name), 1, 256, 4096), 0))
        .collect();
    let placement = || server.stats().unwrap().placement.unwrap();
    let mut before = placement();
    for round in 1..=3 {
        std::thread::scope(|scope| {
            let working: Vec<_> = clients
                .iter_mut()
                .map(|client| {
                    scope.spawn(move || {
                        let queue = round as usize % client.queues.len();
                        client.replies = 0;
                        verify(client, queue, BLOCKS, REQUESTS, 8, 7);
                        assert_eq!(client.replies, REQUESTS);
                        // Zero all blocks for the next round.
                        for block in 0..BLOCKS {
                            client.write(block * 4096, 0);
                        }
                    })
                })
                .collect();
            let end = Instant::now() + LIMIT;
            loop {
                for (client, in_flight) in &mut heavy {
                    fill(client, in_flight);
                }
                let view = placement();
                let placed = view.opened > before.opened && view.moves > before.moves;
                if placed && working.iter().all(|thread| thread.is_finished()) {
                    break;
                }
                assert!(
                    Instant::now() < end,
                    "waited {LIMIT:?} for a move: {view:?} after {before:?}"
                );
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        // Without load one thread is enough.
        for (client, in_flight) in &mut heavy {
            empty(client, in_flight);
        }
        before = until_one_is_enough(&server);
        let stats = server.stats().unwrap();
        for number in 0..DEVICES {
            let queues = &stats.devices[&format!("d{number}")];
            let requests: u64 = queues.iter().map(|queue| queue.policy.requests).sum();
            assert_eq!(requests, round * (REQUESTS + BLOCKS), "d{number}");
        }
        let mut all = stats.devices.values().flatten();
        assert!(all.all(|queue| queue.errors == 0 && queue.fault.is_none()));
    }
    assert!(before.released >= 3, "{before:?}");
}

#[test]
fn a_quiet_server_uses_one_thread_and_the_others_sleep() {
    let dir = tempfile::tempdir().unwrap();
    let cpu = split_cpus();
    let config = Config {
        io_cores: vec![cpu; 3],
        placement: EAGER,
        ..config()
    };
    let server = serve_by(dir.path(), config, &["a=ram:1M", "b=ram:1M"]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    let sleeps = || -> Vec<u64> {
        let stats = server.stats().unwrap();
        stats.cores.iter().map(|it| it.policy.sleeps).collect()
    };
    sleeps();
    let before = sleeps();
    // Wait for some windows. There are no requests, so there is no load however the host schedules threads.
    std::thread::sleep(Duration::from_millis(100));
    // The idle threads were woken only by these looks.
    for (before, after) in before.iter().zip(sleeps()).skip(1) {
        assert!(
            after - before <= WAKES_OF_LOOKS,
            "{before} to {after} sleeps"
        );
    }
    let view = server.stats().unwrap().placement.unwrap();
    assert_eq!((view.open, view.moves), (vec![true, false, false], 0));
    assert!(server.list().iter().all(|device| device.thread == Some(0)));
    assert_eq!(client.write(0, 1), 0);
}

#[test]
fn the_node_of_a_driver_s_memory_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve_by(dir.path(), config(), &["a=ram:1M"]);
    let topology = Topology::read(Path::new(Topology::SYSFS)).unwrap();
    assert_eq!(server.list()[0].node, None, "there is no driver");
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
    // A kernel without NUMA support reports no page's node, and all CPUs are on one node.
    let found = server.list()[0].node;
    match topology.nodes() {
        1 => assert_eq!(found, topology.node_of(0)),
        _ => assert!(found.is_none_or(|node| (node as usize) < 1024)),
    }
}
