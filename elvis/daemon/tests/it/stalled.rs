//! A disk that completes no request until told to: only operations that wait for its requests are delayed.

use crate::client::{Client, LIMIT, add_disk, limited, serve_on, socket, split_cpus, until};
use crate::raw::Raw;
use elvis::config::{device_argument, device_from_json};
use elvis::control::{ask, listen, run};
use elvis::metrics;
use elvis::serve::Server;
use elvis::storage::{Blocks, Disk};
use elvis_policy::simulation::Mode;
use serde_json::json;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Instant;
use vhost::VhostBackend;

const SECTOR: usize = 512;
const HEADER: u64 = 0x4_0000;
const DATA: u64 = 0x5_0000;

/// A server with two I/O threads and the devices "told", which has a read in flight, and "other". A
/// sector written to the descriptor completes the read. None without io_uring.
fn stalled(dir: &Path) -> Option<(Arc<Server>, Raw, OwnedFd)> {
    let cpu = split_cpus();
    let server = serve_on(dir, Mode::Elvis, &["other=ram:1M"], &[cpu, cpu]);
    if server.stats().unwrap().cores[0].engine != "io_uring" {
        // The thread pool reads with an offset, which a pipe does not support.
        println!("skipped: this process may not use io_uring");
        return None;
    }
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let disk = Disk::given(File::from(reader), 1 << 20, Blocks::SECTORS, false).unwrap();
    add_disk(&server, &socket(dir, "told"), disk);
    let mut raw = Raw::connect(&socket(dir, "told"));
    raw.start(0);
    let buffers = [
        (HEADER, 16, false),
        (DATA, SECTOR as u32, true),
        (HEADER + 16, 1, true),
    ];
    raw.driver.submit(&buffers).unwrap();
    raw.kick();
    until("a request in flight", || {
        let stats = server.stats().unwrap();
        (stats.devices["told"].first()?.policy.requests == 1).then_some(())
    });
    Some((Arc::new(server), raw, writer))
}

/// Starts a thread that does this work, and returns when it blocks in it.
fn waits<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let (said, number) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        said.send(rustix::thread::gettid().as_raw_nonzero())
            .unwrap();
        work()
    });
    let stat = format!("/proc/self/task/{}/stat", number.recv().unwrap());
    // Require many looks that see it asleep, as a short wait does not count.
    let end = Instant::now() + LIMIT;
    let mut asleep = 0;
    while asleep < 50 {
        assert!(!thread.is_finished(), "the thread did not block");
        assert!(
            Instant::now() < end,
            "waited {LIMIT:?} for a thread that blocks"
        );
        let stat = std::fs::read_to_string(&stat).unwrap();
        let (_, state) = stat.rsplit_once(") ").unwrap();
        asleep = if state.starts_with('S') {
            asleep + 1
        } else {
            0
        };
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    thread
}

/// Asserts that other requests to the server are answered.
fn assert_served(server: &Server, dir: &Path) {
    limited("the list of devices", || {
        assert_eq!(server.list().len(), 2);
    });
    let stats = limited("counters", || server.stats().unwrap());
    assert!(metrics::text(&stats).unwrap().contains("device=\"told\""));
    let mut other = Client::connect(&socket(dir, "other"), 1, 16, 1 << 20);
    assert_eq!(other.write(0, 1), 0);
}

fn tell(mut raw: Raw, disk: &OwnedFd) {
    rustix::io::write(disk, &[7; SECTOR]).unwrap();
    raw.reply();
    let data = raw.driver.memory().span(DATA, SECTOR as u64).unwrap();
    assert!((0..SECTOR).all(|at| data.load_u8(at, Ordering::Relaxed) == 7));
}

#[test]
fn a_device_that_is_moved_delays_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let Some((server, raw, disk)) = stalled(dir.path()) else {
        return;
    };
    let thread = server
        .list()
        .iter()
        .find(|it| it.name == "told")
        .unwrap()
        .thread;
    let moving = Arc::clone(&server);
    let moved = waits(move || moving.move_device("told", 1 - thread.unwrap()));
    assert_served(&server, dir.path());
    tell(raw, &disk);
    moved.join().unwrap().unwrap();
}

#[test]
fn a_front_end_that_stops_its_queue_delays_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let Some((server, raw, disk)) = stalled(dir.path()) else {
        return;
    };
    let frontend = raw.frontend.clone();
    let stopped = waits(move || frontend.get_vring_base(0));
    assert_served(&server, dir.path());
    tell(raw, &disk);
    assert_eq!(stopped.join().unwrap().unwrap(), 1);
}

#[test]
fn a_device_that_is_removed_delays_no_other_client_of_the_control_socket() {
    let dir = tempfile::tempdir().unwrap();
    let Some((server, raw, disk)) = stalled(dir.path()) else {
        return;
    };
    let path = dir.path().join("control");
    let listener = listen(&path).unwrap();
    let serving = Arc::clone(&server);
    // This thread ends with the program.
    std::thread::spawn(move || run(&listener, &serving, || ()));
    let to = path.clone();
    let removed = waits(move || ask(&to, &json!({ "do": "remove", "name": "told" })));
    let list = limited("the list of devices", || {
        ask(&path, &json!({ "do": "list" }))
    });
    assert_eq!(list.unwrap()["devices"].as_array().unwrap().len(), 2);
    let again =
        json!({ "do": "add", "device": { "name": "told", "socket": "x", "image": "null:1M" } });
    let again = ask(&path, &again).unwrap();
    assert!(
        again["error"].as_str().unwrap().contains("already"),
        "{again}"
    );
    assert_served(&server, dir.path());
    tell(raw, &disk);
    assert_eq!(removed.join().unwrap().unwrap()["ok"], true);
    assert_eq!(server.list().len(), 1);
}

/// While a device's disk is opened, its name is in use, and nothing else is blocked.
#[test]
fn a_disk_that_is_long_to_open_delays_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let server = Arc::new(serve_on(dir.path(), Mode::Elvis, &["other=ram:1M"], &[]));
    let argument = format!("{}=null:1M", dir.path().join("late").display());
    let spec = device_from_json(device_argument(&argument).unwrap()).unwrap();
    let (opened, told) = std::sync::mpsc::channel();
    let (adding, late) = (Arc::clone(&server), spec.clone());
    let added = waits(move || {
        adding.add_with(late, |_| {
            told.recv().unwrap();
            Err(std::io::Error::other("no such luck"))
        })
    });
    limited("the list of devices", || assert_eq!(server.list().len(), 1));
    let error = server.add(spec.clone()).unwrap_err().to_string();
    assert!(error.contains("already"), "{error}");
    opened.send(()).unwrap();
    let error = added.join().unwrap().unwrap_err().to_string();
    assert_eq!(error, "late: no such luck");
    server.add(spec).unwrap();
}
