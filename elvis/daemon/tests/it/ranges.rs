//! Discard and write-zeroes: their ranges count as work and against limits, as data do.

use crate::client::{Client, image, limited, memfd, serve, serve_by, socket, until, until_asleep};
use crate::raw::Raw;
use elvis::config::Config;
use elvis_policy::Params;
use elvis_policy::simulation::Mode;
use elvis_ring::driver::Driver;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use vhost::VhostBackend;
use vmm_sys_util::eventfd::EventFd;

const SECTOR: u64 = 512;
/// Request types (VIRTIO 1.2, section 5.2.6).
const WRITE: u64 = 1;
const WRITE_ZEROES: u64 = 13;

#[test]
fn a_limit_holds_for_what_is_discarded_or_zeroed() {
    const REQUESTS: u64 = 4;
    const EACH: u64 = 1 << 20;
    let dir = tempfile::tempdir().unwrap();
    let file = image(dir.path(), REQUESTS * EACH).display().to_string();
    for (name, disk, discard) in [
        ("zeroes", "ram:4M", false),
        ("discards", "ram:4M", true),
        ("of-a-file", file.as_str(), true),
    ] {
        let device = format!("{name}={disk},bytes_per_s={}", 8 << 20);
        let server = serve(dir.path(), Mode::Elvis, &[&device]);
        let mut client = Client::connect(&socket(dir.path(), name), 1, 64, 1 << 20);
        // As in the test of `requests_per_s`: the I/O thread must see all requests at once.
        until_asleep(&server);
        for slot in 0..REQUESTS {
            let queue = &mut client.queues[0];
            if discard {
                queue.discard(slot * EACH, EACH, slot as usize).unwrap();
            } else {
                let (offset, context) = (slot * EACH, slot as usize);
                queue.write_zeroes(offset, EACH, false, context).unwrap();
            }
        }
        let start = Instant::now();
        client.kick(0);
        for _ in 0..REQUESTS {
            assert_eq!(client.reply(0).1, 0, "{name}");
        }
        // At 8 MiB/s for all but the last request, which may overdraw, minus the burst of 10 ms.
        let elapsed = start.elapsed();
        assert!(elapsed >= Duration::from_millis(360), "{name}: {elapsed:?}");
        let policy = server.stats().unwrap().devices[name][0].policy;
        assert_eq!((policy.requests, policy.bytes), (REQUESTS, REQUESTS * EACH));
    }
}

#[test]
fn a_device_that_zeroes_gets_its_share_and_others_are_served_meanwhile() {
    others_are_served_meanwhile(Long::Zero, "ram:2M");
}

#[test]
fn a_device_that_makes_long_reads_gets_its_share_and_others_are_served_meanwhile() {
    others_are_served_meanwhile(Long::Read, "ram:2M");
}

#[test]
fn a_device_that_makes_long_writes_to_a_tmpfs_gets_its_share_and_others_are_served_meanwhile() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let image = image(dir.path(), 2 << 20);
    others_are_served_meanwhile(Long::Write, &image.display().to_string());
}

/// A request that takes long.
#[derive(Clone, Copy, PartialEq)]
enum Long {
    Read = 0,
    Write = 1,
    Zero = WRITE_ZEROES as isize,
}

/// Of two devices of equal weight one writes, and the other makes requests to ranges of its disk in memory. As in
/// `fair` the I/O thread itself records the progress: each write stores the statuses of all ranges on its disk.
fn others_are_served_meanwhile(long: Long, disk: &str) {
    const RANGES: u64 = 8;
    /// Units of work of a range; a write is one unit.
    const EACH: u64 = 512;
    const WRITES: u64 = RANGES * EACH;
    const RING: u16 = 4 * WRITES as u16;
    const STATUSES: u64 = 0x1000;
    const STATUS: u64 = 0x2000;
    const HEADERS: u64 = 0x3000;

    let dir = tempfile::tempdir().unwrap();
    let params = Params {
        // Both queues are polled from their first visit on, so neither changes its list during a round.
        poll_on_kicks: 1,
        unit_ns: 0,
        ..Params::default()
    };
    let config = Config {
        params,
        ..Config::default()
    };
    let range = EACH * u64::from(params.unit_bytes);
    let disks = [
        format!("writes=ram:{}", WRITES * SECTOR),
        format!("long={disk}"),
    ];
    let server = serve_by(dir.path(), config, &[&disks[0], &disks[1]]);
    let ring = Driver::ring_bytes(RING).next_multiple_of(4096);
    let rings = (HEADERS + (WRITES + RANGES) * 32).next_multiple_of(4096);
    let data = rings + 2 * ring;
    let memory = memfd(data + range);
    let kick = EventFd::new(0).unwrap();
    let mut devices = ["writes", "long"].map(|name| {
        let (memory, kick) = (memory.try_clone().unwrap(), kick.try_clone().unwrap());
        let base = rings + if name == "writes" { 0 } else { ring };
        let mut raw = Raw::in_memory(&socket(dir.path(), name), memory, base, RING, kick);
        raw.start(0);
        raw
    });
    until_asleep(&server);

    let [writes, others] = &mut devices;
    let memory = std::sync::Arc::clone(writes.driver.memory());
    let all = memory.span(0, rings).unwrap();
    for number in 0..WRITES {
        let header = HEADERS + number * 32;
        all.store_u64(header as usize, WRITE, Ordering::Relaxed);
        all.store_u64(header as usize + 8, number, Ordering::Relaxed);
        let buffers = [
            (header, 16, false),
            (STATUSES, SECTOR as u32, false),
            (STATUS, 1, true),
        ];
        writes.driver.submit(&buffers).unwrap();
    }
    for number in 0..RANGES {
        let (header, status) = (HEADERS + (WRITES + number) * 32, STATUSES + number);
        all.store_u64(header as usize, long as u64, Ordering::Relaxed);
        all.store_u64(header as usize + 24, range / SECTOR, Ordering::Relaxed);
        all.store_u8(status as usize, 0xff, Ordering::Relaxed);
        let status = (status, 1, true);
        // The longest segments that a driver may have.
        let half = (range / 2) as u32;
        let of_data = |reads| {
            let halves = [data, data + range / 2].map(|at| (at, half, reads));
            [&[(header, 16, false)], &halves[..], &[status]].concat()
        };
        let buffers = match long {
            Long::Read => of_data(true),
            Long::Write => of_data(false),
            Long::Zero => vec![(header, 32, false), status],
        };
        others.driver.submit(&buffers).unwrap();
    }
    kick.write(1).unwrap();
    for (raw, wanted) in devices.iter_mut().zip([WRITES, RANGES]) {
        let mut replies = 0;
        until("all replies", || {
            while raw.driver.reply().is_some() {
                replies += 1;
            }
            (replies == wanted).then_some(())
        });
    }
    drop(devices);

    let bytes = WRITES * SECTOR;
    let mut client = Client::connect(&socket(dir.path(), "writes"), 1, 4096, bytes);
    for slot in 0..bytes / 4096 {
        client.submit_read(0, slot * 4096, slot as usize);
    }
    for _ in 0..bytes / 4096 {
        assert_eq!(client.reply(0).1, 0);
    }
    let slack = 2 * i64::from(params.max_work);
    for (written, sector) in (0..).zip(client.memory.chunks(SECTOR as usize)) {
        let statuses = &sector[..RANGES as usize];
        let zeroed = statuses.iter().filter(|&&status| status == 0).count() as i64;
        let (least, most) = (zeroed * EACH as i64, (zeroed + 1) * EACH as i64);
        assert!(
            least - slack <= written && (zeroed == RANGES as i64 || written < most + slack),
            "{zeroed} requests of {EACH} units were done before write {written}"
        );
    }
}

/// A drain does not wait for a range whose limit makes it take a minute.
#[test]
fn a_range_half_zeroed_is_begun_again_and_delays_no_drain() {
    const RANGE: u64 = 64 << 20;
    const HEADER: u64 = 0x4_0000;
    const STATUS: u64 = HEADER + 64;
    let dir = tempfile::tempdir().unwrap();
    let disks = [
        &*format!("slow=ram:{RANGE},bytes_per_s=1000000"),
        &*format!("fast=ram:{RANGE}"),
    ];
    let server = serve(dir.path(), Mode::Elvis, &disks);
    let mut raw = Raw::connect(&socket(dir.path(), "slow"));
    raw.track_inflight();
    raw.start(0);
    let span = raw.driver.memory().span(HEADER, 128).unwrap();
    let status = || span.load_u8(64, Ordering::Relaxed);
    span.store_u64(0, WRITE_ZEROES, Ordering::Relaxed);
    span.store_u64(24, RANGE / SECTOR, Ordering::Relaxed);
    span.store_u8(64, 0xff, Ordering::Relaxed);
    let buffers = [(HEADER, 32, false), (STATUS, 1, true)];
    let head = raw.driver.submit(&buffers).unwrap();
    raw.kick();
    let policy = |name: &str| Some(server.stats().unwrap().devices[name].first()?.policy);
    until("a range that waits for its limit", || {
        policy("slow").filter(|it| it.requests == 1 && it.waits_for_rate > 0)
    });
    let base = limited("a ring that is drained", || raw.frontend.get_vring_base(0));
    assert_eq!((base.unwrap(), status()), (0, 0xff));
    // The next device runs it exactly once, although it also gets the in-flight record of the last one.
    raw.reconnect(&socket(dir.path(), "fast"));
    raw.start(0);
    assert_eq!((raw.reply(), status()), (head, 0));
    assert!(raw.submit_write(1, 0, 7).is_some());
    raw.kick();
    raw.reply();
    assert_eq!(raw.driver.reply(), None);
    let policy = until("counters", || policy("fast").filter(|it| it.requests >= 2));
    assert_eq!((policy.requests, policy.bytes), (2, RANGE + 4096));
}
