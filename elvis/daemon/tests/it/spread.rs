//! Devices whose queues are spread over several I/O threads.

use crate::client::{
    Client, config, image, serve_by, serve_on, socket, split_cpus, until, until_disconnected,
    verify, verify_while,
};
use crate::nic::{Nic, frame};
use crate::raw::{Raw, SIZE};
use elvis::config::Config;
use elvis::serve::Server;
use elvis_policy::PlacementParams;
use elvis_policy::simulation::Mode;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A server with this device and two I/O threads, which may share a CPU.
fn two_threads(dir: &Path, devices: &[&str]) -> Server {
    let cpu = split_cpus();
    serve_on(dir, Mode::Elvis, devices, &[cpu, cpu])
}

/// Requests of each queue of a device, by queue.
fn requests(server: &Server, device: &str) -> Vec<u64> {
    let stats = server.stats().unwrap();
    let queues = stats.devices[device].iter();
    queues.map(|queue| queue.policy.requests).collect()
}

/// Time that each I/O thread spent on requests.
fn serving_ns(server: &Server) -> Vec<u64> {
    let stats = server.stats().unwrap();
    stats.cores.iter().map(|core| core.serving_ns).collect()
}

#[test]
fn queues_go_round_the_threads() {
    let dir = tempfile::tempdir().unwrap();
    let server = two_threads(
        dir.path(),
        &["a=ram:4M,queues=3,spread", "b=ram:4M,queues=2"],
    );
    let list = server.list();
    assert_eq!((list[0].spread, list[0].thread), (true, Some(0)));
    assert!(!list[1].spread);
    let mut client = Client::connect(&socket(dir.path(), "a"), 3, 64, 1 << 20);
    for (queue, thread) in [(0, 0), (1, 1), (2, 0)] {
        let before = (requests(&server, "a"), serving_ns(&server));
        verify(&mut client, queue, 256, 500, 8, 3);
        // For the next queue.
        for block in 0..256 {
            client.write(block * 4096, 0);
        }
        let (made, spent) = (requests(&server, "a"), serving_ns(&server));
        assert!(made[queue] >= before.0[queue] + 500);
        assert!(spent[thread] > before.1[thread], "queue {queue}");
    }
    // The first queue goes to the second thread, the second one to the first.
    server.move_device("a", 1).unwrap();
    assert_eq!(server.list()[0].thread, Some(1));
    let before = serving_ns(&server);
    verify(&mut client, 1, 256, 500, 8, 4);
    let after = serving_ns(&server);
    assert!(after[0] > before[0] && after[1] == before[1]);
    server.remove("a").unwrap();
    assert!(!server.stats().unwrap().devices.contains_key("a"));
}

#[test]
fn no_request_is_lost_or_run_twice_while_it_moves() {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path(), 4 << 20);
    let words = format!("a={},queues=2,spread", image.display());
    let server = two_threads(dir.path(), &[&words]);
    let path = socket(dir.path(), "a");
    let mut client = Client::connect(&path, 2, 128, 1 << 20);
    for queue in [0, 1] {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..30 {
                    server.move_device("a", round % 2).unwrap();
                    std::thread::sleep(Duration::from_millis(2));
                }
                done.store(true, Ordering::Relaxed);
            });
            let more = || !done.load(Ordering::Relaxed);
            verify_while(&mut client, queue, 256, 500, 16, 5, &more);
        });
        for block in 0..256 {
            client.write(block * 4096, 0);
        }
        assert_eq!(client.flush(), 0);
    }
    // A new connection, with other memory.
    drop(client);
    until_disconnected(&server, "a");
    let mut client = Client::connect(&path, 2, 128, 1 << 20);
    verify(&mut client, 1, 256, 500, 16, 6);
    server.drain();
    assert!(server.list().is_empty());
}

/// A flush is answered when those that overlap with it have ended, also those of another thread, of which no event tells.
#[test]
fn flushes_of_two_threads_wait_for_each_other_and_for_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    // On a disk a flush takes a while.
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let image = image(disk.path(), 4 << 20);
    let words = format!("a={},queues=2,spread", image.display());
    let server = two_threads(dir.path(), &[&words]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 2, 64, 1 << 20);
    for round in 0..100 {
        assert_eq!(client.write(round * 4096, 1), 0);
        for queue in [0, 1] {
            client.queues[queue].flush(0).unwrap();
            client.kick(queue);
        }
        for queue in [0, 1] {
            assert_eq!(client.reply(queue).1, 0);
        }
    }
    assert!(requests(&server, "a")[1] >= 100);
}

/// Both queues are always full, each on its own thread: together they get what the device may have.
#[test]
fn a_limit_is_the_device_s() {
    const PER_S: u64 = 2000;
    let dir = tempfile::tempdir().unwrap();
    let words = format!("a=ram:4M,queues=2,spread,requests_per_s={PER_S}");
    let server = two_threads(dir.path(), &[&words]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 2, 64, 1 << 20);
    let start = Instant::now();
    for slot in 0..32 {
        client.submit_read(slot % 2, 0, slot);
    }
    let mut keep_full = || {
        for queue in [0, 1] {
            let ended: Vec<_> = client.queues[queue].completions().collect();
            for completion in ended {
                client.submit_read(queue, 0, completion.context);
            }
        }
        std::thread::yield_now();
    };
    // The host may stop a thread for all of the first time. Asking takes long on a busy host, and nothing waits while
    // nobody submits.
    until("both queues were served, and waited", || {
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_millis(300) {
            keep_full();
        }
        let stats = server.stats().unwrap();
        let waits = |queue: usize| stats.devices["a"][queue].policy.waits_for_rate;
        let made = requests(&server, "a");
        (made.iter().all(|&made| made > 0) && waits(0) > 0 && waits(1) > 0).then_some(())
    });
    let made = requests(&server, "a");
    let passed = start.elapsed().as_secs_f64();
    // What the bucket had at first, and one request too many of each thread.
    let most = (PER_S as f64 * passed) as u64 + PER_S / 100 + 2;
    assert!(made.iter().sum::<u64>() <= most, "{made:?} of {most}");
}

#[test]
fn a_queue_that_fails_harms_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let server = two_threads(
        dir.path(),
        &["a=ram:1M,queues=2,spread", "b=ram:1M,queues=2,spread"],
    );
    let mut other = Client::connect(&socket(dir.path(), "b"), 2, 64, 1 << 20);
    let mut bad = Raw::of(&socket(dir.path(), "a"), false);
    bad.start_at(None);
    bad.driver.offer(SIZE + 1);
    bad.kick.write(1).unwrap();
    until("a queue that failed", || {
        let stats = server.stats().unwrap();
        stats.devices["a"][0].fault.clone()
    });
    for queue in [0, 1] {
        verify(&mut other, queue, 128, 300, 8, 9);
        for block in 0..128 {
            other.write(block * 4096, 0);
        }
    }
}

/// Ports of a switch: frames between threads are tested in `net`; here the pair of queues is on another thread
/// than its device's first one.
#[test]
fn a_network_device_is_spread_by_pairs() {
    let dir = tempfile::tempdir().unwrap();
    let server = two_threads(
        dir.path(),
        &["a=switch:s,queues=2,spread", "b=switch:s,queues=2,spread"],
    );
    let mut a = Nic::connect(&socket(dir.path(), "a"), 0);
    let mut b = Nic::connect(&socket(dir.path(), "b"), 0);
    server.stats().unwrap();
    for round in 0..20 {
        server.move_device("b", round % 2).unwrap();
        // The threads answer after they have taken the queues.
        server.stats().unwrap();
        a.send_plain(&frame(0xff, 1, 60 + round));
        assert_eq!(b.receive().1, frame(0xff, 1, 60 + round));
        b.send_plain(&frame(1, 2, 90 + round));
        assert_eq!(a.receive().1, frame(1, 2, 90 + round));
    }
}

#[test]
fn it_is_refused_where_it_can_t_be() {
    let dir = tempfile::tempdir().unwrap();
    let cpu = split_cpus();
    let argument = format!("{}=ram:1M,spread", socket(dir.path(), "a").display());
    let spec = || {
        let device = elvis::config::device_argument(&argument).unwrap();
        elvis::config::device_from_json(device).unwrap()
    };
    let server = serve_on(dir.path(), Mode::PerDevice, &[], &[cpu]);
    let error = server.add(spec()).unwrap_err().to_string();
    assert!(
        error.starts_with("a: spread: in mode per-device"),
        "{error}"
    );
    let config = Config {
        io_cores: vec![cpu; 2],
        placement: PlacementParams {
            automatic: true,
            ..PlacementParams::default()
        },
        ..config()
    };
    let server = serve_by(dir.path(), config, &[]);
    let error = server.add(spec()).unwrap_err().to_string();
    assert!(
        error.starts_with("a: spread: not with automatic"),
        "{error}"
    );
    // One I/O thread serves it, too.
    drop(server);
    let server = serve_on(dir.path(), Mode::Elvis, &[], &[]);
    server.add(spec()).unwrap();
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    assert_eq!(client.write(4096, 7), 0);
}

/// Requests per second of a device with two full queues, in a time that is at least this long, and long enough for
/// each I/O thread to serve.
fn requests_per_s(io_cores: &[usize], words: &str, least: Duration) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let device = format!("a=null:1M,queues=2,service_ns=20000{words}");
    // The derived polling window, as users have it.
    let config = Config {
        io_cores: io_cores.to_vec(),
        ..Config::default()
    };
    let server = serve_by(dir.path(), config, &[&device]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 2, 64, 1 << 20);
    for slot in 0..32 {
        client.submit_read(slot % 2, 0, slot);
    }
    let start = Instant::now();
    let mut ended = 0u32;
    let mut more = || {
        for queue in [0, 1] {
            while let Some(completion) = client.queues[queue].completions().next() {
                client.submit_read(queue, 0, completion.context);
                ended += 1;
            }
        }
        // A polling client would take the CPU of an I/O thread.
        std::thread::sleep(Duration::from_micros(100));
    };
    while start.elapsed() < least {
        more();
    }
    until("requests that each I/O thread served", || {
        more();
        serving_ns(&server).iter().all(|&ns| ns > 0).then_some(())
    });
    f64::from(ended) / start.elapsed().as_secs_f64()
}

/// Each thread serves. With PAIRS as many figures for docs/notebook/elvis-results.md, which take time.
#[test]
fn two_queues_on_one_and_on_two_threads() {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let all = sched_getaffinity(None).unwrap();
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| all.is_set(cpu))
        .collect();
    let both = [cpus[0], cpus[cpus.len() - 1]];
    let figures = std::env::var("PAIRS").map(|pairs| pairs.parse().unwrap());
    let least = Duration::from_millis(if figures.is_ok() { 300 } else { 0 });
    for _ in 0..figures.unwrap_or(1) {
        let one = requests_per_s(&both[1..], "", least);
        let two = requests_per_s(&both, ",spread", least);
        println!("one I/O thread {one:.0}/s, two {two:.0}/s");
    }
}
