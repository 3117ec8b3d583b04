//! The daemon with a client that nobody here wrote.

#![allow(clippy::unwrap_used)]

mod client;

use client::{Client, image, serve, serve_by, serve_on, socket, split_cpus, verify};
use elvis::config::Config;
use elvis_policy::Params;
use elvis_sim::Mode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use virtio_driver::VirtioFeatureFlags;

#[test]
fn every_request_of_a_ram_disk() {
    let dir = tempfile::tempdir().unwrap();
    let _server = serve(dir.path(), Mode::Elvis, &["a=ram:1M"]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    let config = client.transport.get_config().unwrap();
    assert_eq!(u64::from(config.capacity), 2048);
    assert_eq!(client.write(8192, 7), 0);
    assert_eq!(client.read(8192), (0, vec![7; 4096]));
    assert_eq!(client.flush(), 0);
    client.queues[0].write_zeroes(8192, 512, false, 0).unwrap();
    client.kick(0);
    assert_eq!(client.reply(0).1, 0);
    let mut half = vec![7; 4096];
    half[..512].fill(0);
    assert_eq!(client.read(8192), (0, half));
    client.queues[0].discard(0, 1 << 20, 0).unwrap();
    client.kick(0);
    assert_eq!(client.reply(0).1, 0);
    assert_eq!(client.read(8192), (0, vec![0; 4096]));
    assert_ne!(client.write((1 << 20) - 512, 1), 0, "behind the end");
}

#[test]
fn a_file_by_io_uring_and_by_threads() {
    for threads_only in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let image = image(dir.path(), 4 << 20);
        let config = Config {
            threads_only,
            ..Config::default()
        };
        let server = serve_by(dir.path(), config, &[&format!("a={}", image.display())]);
        let mut client = Client::connect(&socket(dir.path(), "a"), 1, 128, 1 << 20);
        verify(&mut client, 0, 1024, 5_000, 32, 42);
        assert_eq!(client.write(4096, 9), 0);
        assert_eq!(client.flush(), 0);
        assert_eq!(std::fs::read(&image).unwrap()[4096..8192], [9; 4096]);
        let engine = server.stats().unwrap().cores[0].engine;
        assert!(engine == "threads" || !threads_only, "{engine}");
        // Discard and write zeroes reach the file, where its file system can.
        client.queues[0].write_zeroes(4096, 4096, true, 0).unwrap();
        client.kick(0);
        let result = client.reply(0).1;
        assert!(result == 0 || result == -libc::ENOTSUP, "{result}");
        if result == 0 {
            assert_eq!(client.read(4096), (0, vec![0; 4096]));
        }
        // A file that is shortened: an error, and the device goes on.
        std::fs::OpenOptions::new()
            .write(true)
            .open(&image)
            .unwrap()
            .set_len(8192)
            .unwrap();
        assert_ne!(client.read(1 << 20).0, 0);
        assert_eq!(client.read(0).0, 0);
    }
}

#[test]
fn all_modes_serve_many_devices_with_right_data() {
    const DEVICES: usize = 6;
    for mode in Mode::ALL {
        let dir = tempfile::tempdir().unwrap();
        let devices: Vec<String> = (0..DEVICES)
            .map(|n| format!("d{n}=ram:4M,queues=2"))
            .collect();
        let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
        let server = serve(dir.path(), mode, &devices);
        std::thread::scope(|scope| {
            for number in 0..DEVICES {
                let path = socket(dir.path(), &format!("d{number}"));
                scope.spawn(move || {
                    let mut client = Client::connect(&path, 2, 256, 1 << 20);
                    verify(
                        &mut client,
                        number % 2,
                        1024,
                        3_000,
                        1 + 5 * number,
                        number as u64 + 1,
                    );
                });
            }
        });
        let stats = server.stats().unwrap();
        let requests: u64 = stats
            .devices
            .values()
            .flatten()
            .map(|queue| queue.policy.requests)
            .sum();
        // Clients are gone, and with them their queues; those whose end was not yet seen are left.
        assert!(requests <= 3_000 * DEVICES as u64);
        assert_eq!(server.list().len(), DEVICES);
    }
}

#[test]
fn polling_ends_kicks_and_the_other_modes_keep_them() {
    let dir = tempfile::tempdir().unwrap();
    let io_core = split_cpus();
    for (mode, name) in [(Mode::Elvis, "e"), (Mode::FineGrained, "f")] {
        let config = Config {
            mode,
            io_cores: vec![io_core],
            // Longer than a busy host's scheduler stops the client.
            derive_window: false,
            params: Params {
                poll_on_gap_ns: 1_000_000_000,
                poll_off_idle_ns: 10_000_000_000,
                poll_keep_ns: 100_000_000_000,
                ..Params::default()
            },
            ..Config::default()
        };
        let server = serve_by(dir.path(), config, &[&format!("{name}=null:1G")]);
        let mut client = Client::connect(&socket(dir.path(), name), 1, 16, 1 << 20);
        let (rounds, requests) = (4, 2_000);
        let mut kicks = Vec::new();
        for round in 1..=rounds {
            for _ in 0..requests {
                client.submit_read(0, 0, 0);
                assert_eq!(client.reply(0).1, 0);
            }
            let stats = server.stats().unwrap();
            let policy = &stats.devices[name][0].policy;
            assert_eq!(policy.requests, round * requests);
            kicks.push(policy.kicks - kicks.iter().sum::<u64>());
        }
        if mode == Mode::Elvis {
            let first = kicks.remove(0);
            assert!(first < 20, "{first} kicks before polling");
            assert!(kicks.iter().all(|n| *n == 0), "kicks by round: {kicks:?}");
        } else {
            assert!(kicks.iter().all(|n| *n > requests / 2), "{kicks:?}");
        }
    }
}

#[test]
fn a_driver_without_event_idx_or_indirect_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    let _server = serve(dir.path(), Mode::Elvis, &["a=ram:1M"]);
    let plain = VirtioFeatureFlags::VERSION_1.bits();
    let mut client = Client::with_features(&socket(dir.path(), "a"), 1, 16, 1 << 20, plain);
    verify(&mut client, 0, 256, 2_000, 4, 5);
}

#[test]
fn replies_are_told_by_the_eventfd() {
    let dir = tempfile::tempdir().unwrap();
    let _server = serve(dir.path(), Mode::Elvis, &["a=ram:1M"]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    let told = client.transport.get_completion_fd(0);
    for _ in 0..1000 {
        client.queues[0].set_used_notif_enabled(true);
        client.submit_read(0, 0, 0);
        while !client.queues[0].completions().has_next() {
            told.read().unwrap();
        }
        assert_eq!(client.reply(0).1, 0);
    }
}

#[test]
fn devices_come_and_go_and_clients_too() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=ram:1M", "b=ram:1M"]);
    let mut other = Client::connect(&socket(dir.path(), "b"), 1, 16, 1 << 20);
    for round in 0..5u8 {
        let mut client = Client::connect(&socket(dir.path(), "a"), 1, 64, 1 << 20);
        assert_eq!(client.write(0, round), 0);
        assert_eq!(client.read(0), (0, vec![round; 4096]));
        // It vanishes with requests in flight.
        for slot in 0..8 {
            client.submit_write(0, 4096, slot);
        }
    }
    assert_eq!(other.write(0, 1), 0);
    server.remove("a").unwrap();
    assert!(server.remove("a").is_err());
    assert!(!socket(dir.path(), "a").exists());
    assert_eq!(other.read(0), (0, vec![1; 4096]));
}

#[test]
fn a_device_is_moved_between_threads_at_work() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path(), 4 << 20);
    // Two I/O threads; that they share a CPU does not matter here.
    let cpu = split_cpus();
    let disks = [&format!("a={}", image.display()), "b=ram:4M"];
    let server = serve_on(dir.path(), Mode::Elvis, &disks, &[cpu, cpu]);
    let (working, moves) = (AtomicU64::new(2), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for name in ["a", "b"] {
            let (path, working) = (socket(dir.path(), name), &working);
            scope.spawn(move || {
                // Whatever becomes of it, the moves end.
                let done = std::panic::catch_unwind(|| {
                    let mut client = Client::connect(&path, 1, 128, 1 << 20);
                    verify(&mut client, 0, 1024, 500, 8, 42);
                });
                working.fetch_sub(1, Ordering::Relaxed);
                done.unwrap();
            });
        }
        for thread in [1, 0].into_iter().cycle() {
            for name in ["a", "b"] {
                server.move_device(name, thread).unwrap();
                moves.fetch_add(1, Ordering::Relaxed);
            }
            // Most of the time they are served.
            std::thread::sleep(Duration::from_millis(5));
            if thread == 0 && working.load(Ordering::Relaxed) == 0 {
                break;
            }
        }
    });
    assert!(moves.load(Ordering::Relaxed) >= 4);
    assert!(server.move_device("a", 2).is_err() && server.move_device("c", 0).is_err());
    assert_eq!(server.list()[0].thread, Some(0));
}

#[test]
fn a_read_only_disk_and_a_locked_one() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path(), 1 << 20);
    let disk = image.display();
    let server = serve(dir.path(), Mode::Elvis, &[&format!("a={disk},readonly")]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    assert_eq!(client.read(0), (0, vec![0; 4096]));
    assert_ne!(client.write(0, 1), 0);
    let source = elvis::storage::Source::File {
        path: image.clone(),
        direct: false,
        migratable: false,
        registered_buffers: false,
    };
    assert!(
        elvis::storage::Disk::open(&source, true).is_ok(),
        "readers share it"
    );
    let start = Instant::now();
    let error = elvis::storage::Disk::open(&source, false)
        .unwrap_err()
        .to_string();
    assert!(error.contains("another process has locked it"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30));
    drop(server);
    assert!(elvis::storage::Disk::open(&source, false).is_ok());
}

#[test]
fn a_migratable_disk_is_locked_while_a_queue_runs() {
    let dir = tempfile::tempdir().unwrap();
    let disk = format!("{},migratable", image(dir.path(), 1 << 20).display());
    let (a, b) = (format!("a={disk}"), format!("b={disk}"));
    let _server = serve(dir.path(), Mode::Elvis, &[&a, &b]);
    let source = elvis::storage::Source::File {
        path: dir.path().join("image"),
        direct: false,
        migratable: true,
        registered_buffers: false,
    };
    let other = elvis::storage::Disk::open(&source, false).unwrap();
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
    let error = other.begin().unwrap_err().to_string();
    assert!(error.contains("another process has locked it"), "{error}");
    drop(client);
    // The next has it, when the last is gone.
    let mut client = Client::connect(&socket(dir.path(), "b"), 1, 16, 1 << 20);
    assert_eq!(client.read(0), (0, vec![1; 4096]));
    drop(client);
    other.begin().unwrap();
    other.end().unwrap();
}

#[test]
fn a_rate_limit_holds() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=null:1G,requests_per_s=200"]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 512, 1 << 20);
    let requests = 100;
    let start = Instant::now();
    for slot in 0..requests {
        client.submit_read(0, 0, slot);
    }
    for _ in 0..requests {
        client.reply(0);
    }
    // 100 requests at 200/s, less the burst of 10 ms.
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(480), "{elapsed:?}");
    // All are there at once, so that the limit is met however busy this host is.
    let policy = server.stats().unwrap().devices["a"][0].policy;
    assert!(policy.waits_for_rate > 0);
}
