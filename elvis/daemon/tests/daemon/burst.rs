//! A device with few requests a second, before a burst and after it. The daemon must not go on to poll it: its CPU time is
//! printed (`--nocapture`), as it depends on the host, and its counters are checked.

use super::daemon::Daemon;
use crate::client::{Client, LIMIT, socket, split_cpus};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two of the few requests: 370 a second.
const PAUSE: Duration = Duration::from_micros(2_700);
/// How long each phase lasts.
const SECOND: Duration = Duration::from_secs(1);

/// What the daemon did in a while.
#[derive(Debug, Clone, Copy)]
struct Seen {
    requests: u64,
    kicks: u64,
    empty_polls: u64,
    /// CPU time of the process.
    cpu_ns: u64,
}

impl Seen {
    fn now(daemon: &Daemon, control: &Path) -> Self {
        let stats = elvis::control::ask(control, &json!({ "do": "stats" })).unwrap();
        let of = |name: &str| stats["stats"]["devices"]["disk"][0][name].as_u64().unwrap();
        let schedstat = |task: std::fs::DirEntry| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap();
            let cpu_ns = text.split_whitespace().next().unwrap();
            cpu_ns.parse::<u64>().unwrap()
        };
        let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap();
        Self {
            requests: of("requests"),
            kicks: of("kicks"),
            empty_polls: of("empty_polls"),
            cpu_ns: tasks.map(|task| schedstat(task.unwrap())).sum(),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            requests: self.requests - before.requests,
            kicks: self.kicks - before.kicks,
            empty_polls: self.empty_polls - before.empty_polls,
            cpu_ns: self.cpu_ns - before.cpu_ns,
        }
    }
}

/// Makes a request, and waits for the reply.
fn request(client: &mut Client) {
    let start = Instant::now();
    client.submit_read(0, 0, 0);
    while client.queues[0].completions().next().is_none() {
        assert!(start.elapsed() < LIMIT, "waited {LIMIT:?} for a reply");
        std::hint::spin_loop();
    }
}

/// The policy's times are those of a quick host: a busy one measures longer ones at the start, by which the few requests
/// might be polled.
#[test]
fn after_a_burst_a_device_is_idle_again_within_a_second() {
    let dir = tempfile::tempdir().unwrap();
    idle_again(dir.path(), "null:1G");
}

/// Its requests are in flight in io_uring, or in the file threads, which the I/O thread polls for too.
#[test]
fn after_a_burst_a_file_is_idle_again_within_a_second() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    std::fs::write(&image, vec![0xa5; 1 << 20]).unwrap();
    idle_again(dir.path(), image.to_str().unwrap());
}

fn idle_again(dir: &Path, image: &str) {
    let at = |name: &str| dir.join(name).display().to_string();
    let policy = "[policy]\npoll_on_gap_ns = 320000\npoll_off_idle_ns = 6400000\n";
    std::fs::write(dir.join("elvis.toml"), policy).unwrap();
    let words = [
        "--config".to_owned(),
        at("elvis.toml"),
        "--io-cores".to_owned(),
        split_cpus().to_string(),
        "--control".to_owned(),
        at("control"),
        "--blk".to_owned(),
        at("disk") + "=" + image,
    ];
    let daemon = Daemon::start(&words, &socket(dir, "disk"));
    let control = dir.join("control");
    let mut client = Client::connect(&socket(dir, "disk"), 1, 64, 4096);
    let few = |what: &str, client: &mut Client| {
        let (start, before) = (Instant::now(), Seen::now(&daemon, &control));
        while start.elapsed() < SECOND {
            request(client);
            std::thread::sleep(PAUSE);
        }
        let seen = Seen::now(&daemon, &control).since(before);
        let part = seen.cpu_ns as f64 / start.elapsed().as_nanos() as f64 * 100.0;
        println!("{what}: {part:.1} % of a CPU, {seen:?}");
        seen
    };
    let before = few("before the burst", &mut client);
    let (start, burst) = (Instant::now(), Seen::now(&daemon, &control));
    while start.elapsed() < SECOND {
        request(&mut client);
    }
    let burst = Seen::now(&daemon, &control).since(burst);
    println!("the burst: {burst:?}");
    assert!(burst.kicks < burst.requests, "the burst was not polled");
    few("the second after it", &mut client);
    let after = few("the next second", &mut client);
    // A kick for each request: the queue is not polled.
    for seen in [before, after] {
        assert_eq!(seen.kicks, seen.requests, "{seen:?}");
    }
}
