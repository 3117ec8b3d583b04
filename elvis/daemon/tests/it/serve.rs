//! A server with libblkio's client.

use crate::client::{
    Client, LIMIT, config, image, serve, serve_by, serve_on, socket, split_cpus, until,
    until_asleep, until_disconnected, verify, verify_while,
};
use elvis::config::Config;
use elvis_policy::Params;
use elvis_policy::simulation::Mode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    assert_ne!(client.write((1 << 20) - 512, 1), 0, "beyond the end");
}

#[test]
fn a_file_by_io_uring_and_by_threads() {
    for threads_only in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let image = image(dir.path(), 4 << 20);
        let config = Config {
            threads_only,
            ..config()
        };
        let server = serve_by(dir.path(), config, &[&format!("a={}", image.display())]);
        let mut client = Client::connect(&socket(dir.path(), "a"), 1, 128, 1 << 20);
        verify(&mut client, 0, 1024, 5_000, 32, 42);
        assert_eq!(client.write(4096, 9), 0);
        assert_eq!(client.flush(), 0);
        assert_eq!(std::fs::read(&image).unwrap()[4096..8192], [9; 4096]);
        let engine = server.stats().unwrap().cores[0].engine;
        assert!(engine == "threads" || !threads_only, "{engine}");
        // Write zeroes reaches the file, if its file system supports that.
        client.queues[0].write_zeroes(4096, 4096, true, 0).unwrap();
        client.kick(0);
        let result = client.reply(0).1;
        assert!(result == 0 || result == -libc::ENOTSUP, "{result}");
        if result == 0 {
            assert_eq!(client.read(4096), (0, vec![0; 4096]));
        }
        // A truncated file: an error, and the device is still served.
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
        let mut clients: Vec<Client> = (0..DEVICES)
            .map(|n| Client::connect(&socket(dir.path(), &format!("d{n}")), 2, 256, 1 << 20))
            .collect();
        std::thread::scope(|scope| {
            for (number, client) in clients.iter_mut().enumerate() {
                scope.spawn(move || {
                    verify(
                        client,
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
        // Requests are counted at the end of their visit, so before the stats were requested.
        assert_eq!(requests, 3_000 * DEVICES as u64);
        assert_eq!(server.list().len(), DEVICES);
    }
}

#[test]
fn polling_ends_kicks_and_the_other_modes_keep_them() {
    let dir = tempfile::tempdir().unwrap();
    for (mode, name) in [(Mode::Elvis, "e"), (Mode::FineGrained, "f")] {
        let params = Params {
            // Longer than any test, so that stops by the host do not matter.
            poll_on_gap_ns: 1 << 50,
            poll_off_idle_ns: 1 << 51,
            poll_keep_ns: 1 << 52,
            poll_review_ns: 1 << 52,
            ..Params::default()
        };
        let config = Config {
            mode,
            derive_window: false,
            params,
            ..Config::default()
        };
        let server = serve_by(dir.path(), config, &[&format!("{name}=null:1G")]);
        let mut client = Client::connect(&socket(dir.path(), name), 1, 16, 1 << 20);
        let counted = || server.stats().unwrap().devices[name][0].clone();
        let (rounds, requests) = (4, 50);
        let mut kicks = Vec::new();
        for round in 1..=rounds {
            for _ in 0..requests {
                // A sleeping thread must be kicked; one that is still awake may find the request by itself.
                if !counted().polled {
                    until_asleep(&server);
                }
                client.submit_read(0, 0, 0);
                assert_eq!(client.reply(0).1, 0);
            }
            let policy = counted().policy;
            assert_eq!(policy.requests, round * requests);
            kicks.push(policy.kicks - kicks.iter().sum::<u64>());
        }
        if mode == Mode::Elvis {
            assert_eq!(kicks, [params.poll_on_kicks.into(), 0, 0, 0]);
        } else {
            assert_eq!(kicks, [requests; 4]);
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
            let limit = Timespec::try_from(LIMIT).unwrap();
            let mut fds = [PollFd::new(&*told, PollFlags::IN)];
            let ready = poll(&mut fds, Some(&limit)).unwrap();
            assert_eq!(ready, 1, "waited {LIMIT:?} for a call");
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
        // It disconnects with requests in flight.
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

/// Number of moves under load, both devices together.
const MOVES: u64 = 40;

#[test]
fn a_device_is_moved_between_threads_at_work() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path(), 4 << 20);
    // Two I/O threads; they may share a CPU here.
    let cpu = split_cpus();
    let disks = [&format!("a={}", image.display()), "b=ram:4M"];
    let server = serve_on(dir.path(), Mode::Elvis, &disks, &[cpu, cpu]);
    let moves = AtomicU64::new(0);
    let ended = [("a", AtomicBool::new(false)), ("b", AtomicBool::new(false))];
    let requests = |name: &str| {
        let stats = server.stats().unwrap();
        stats.devices[name].first().map(|it| it.policy.requests)
    };
    std::thread::scope(|scope| {
        for (name, ended) in &ended {
            let (path, moves) = (socket(dir.path(), name), &moves);
            scope.spawn(move || {
                // Even if this fails, the moves must end.
                let done = std::panic::catch_unwind(|| {
                    let mut client = Client::connect(&path, 1, 128, 1 << 20);
                    let more = || moves.load(Ordering::Relaxed) < MOVES;
                    verify_while(&mut client, 0, 1024, 500, 8, 42, &more);
                });
                ended.store(true, Ordering::Relaxed);
                done.unwrap();
            });
        }
        for thread in [1, 0].into_iter().cycle() {
            for (name, ended) in &ended {
                // Wait for a request since the last move, so that each move happens under load.
                let ended = || ended.load(Ordering::Relaxed);
                let before = requests(name);
                until("a request of a device that was moved", || {
                    (ended() || requests(name) > before).then_some(())
                });
                server.move_device(name, thread).unwrap();
                moves.fetch_add(1, Ordering::Relaxed);
            }
            if thread == 0 && ended.iter().all(|(_, it)| it.load(Ordering::Relaxed)) {
                break;
            }
        }
    });
    assert!(moves.load(Ordering::Relaxed) >= MOVES);
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
    let soon = Duration::from_millis(300);
    let error = elvis::storage::Disk::open_within(&source, false, soon)
        .unwrap_err()
        .to_string();
    assert!(error.contains("another process has locked it"), "{error}");
    drop(server);
    assert!(elvis::storage::Disk::open(&source, false).is_ok());
}

#[test]
fn a_migratable_disk_is_locked_while_a_queue_runs() {
    let dir = tempfile::tempdir().unwrap();
    let disk = format!("{},migratable", image(dir.path(), 1 << 20).display());
    let (a, b) = (format!("a={disk}"), format!("b={disk}"));
    let server = serve(dir.path(), Mode::Elvis, &[&a, &b]);
    let source = elvis::storage::Source::File {
        path: dir.path().join("image"),
        direct: false,
        migratable: true,
        registered_buffers: false,
    };
    let soon = Duration::from_millis(300);
    let other = elvis::storage::Disk::open_within(&source, false, soon).unwrap();
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    assert_eq!(client.write(0, 1), 0);
    let error = other.begin().unwrap_err().to_string();
    assert!(error.contains("another process has locked it"), "{error}");
    drop(client);
    // The next device can lock it when the last one has released it.
    until_disconnected(&server, "a");
    let mut client = Client::connect(&socket(dir.path(), "b"), 1, 16, 1 << 20);
    assert_eq!(client.read(0), (0, vec![1; 4096]));
    drop(client);
    until_disconnected(&server, "b");
    other.begin().unwrap();
    other.end().unwrap();
}

#[test]
fn a_rate_limit_holds() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=null:1G,requests_per_s=200"]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 512, 1 << 20);
    let requests = 100;
    // After its first look at the ring the thread sleeps: it must see all requests at once, to reach the
    // limit.
    until_asleep(&server);
    let place = client.buffer(0).as_mut_ptr();
    for slot in 0..requests {
        // SAFETY: the buffer is in the client's mapping, and a null disk does not write to it.
        unsafe { client.queues[0].read_raw(0, place, 4096, slot) }.unwrap();
    }
    let start = Instant::now();
    client.kick(0);
    for _ in 0..requests {
        client.reply(0);
    }
    // 100 requests at 200/s, minus the burst of 10 ms. A busy host only makes it longer.
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(480), "{elapsed:?}");
    let policy = server.stats().unwrap().devices["a"][0].policy;
    assert!(policy.waits_for_rate > 0);
}
