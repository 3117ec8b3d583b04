//! What a guest asks for never takes the memory that the daemon has, nor ends it again and again.

use super::daemon::Daemon;
use crate::client::{Client, memfd, socket, until};
use crate::raw::{RING_PACKED, Raw};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::sync::atomic::Ordering;
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};
use vmm_sys_util::eventfd::EventFd;

const MIB: u64 = 1 << 20;
/// Feature bits of disks: `size_max` and `seg_max`.
const BOUNDS: u64 = 1 << 1 | 1 << 2;

/// Memory that it could write to and does not share, in bytes.
fn private(daemon: &Daemon) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", daemon.id())).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmData:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() << 10
}

/// Lets a daemon have so much more memory than now; None: any.
fn allow(daemon: &Daemon, more: Option<u64>) {
    let pid = Pid::from_raw(daemon.id() as i32);
    let current = more.map(|more| private(daemon) + more);
    let limit = Rlimit {
        current,
        maximum: None,
    };
    prlimit(pid, Resource::Data, limit).unwrap();
}

/// Where requests have their headers, and their status beside it.
const HEADERS: u64 = 0x10_0000;
/// An address of data that O_DIRECT does not take.
const CROOKED: u64 = 2 * MIB + 1;

/// Submits reads of a disk's start, each of so many buffers of 1 MiB that are the same memory.
fn submit(raw: &mut Raw, reads: u64, buffers: usize) {
    let headers = raw.driver.memory().span(HEADERS, reads * 32).unwrap();
    for read in 0..reads {
        let header = HEADERS + read * 32;
        headers.store_u8(read as usize * 32 + 16, 0xff, Ordering::Relaxed);
        let data = vec![(CROOKED, MIB as u32, true); buffers];
        let all = [&[(header, 16, false)], &data[..], &[(header + 16, 1, true)]];
        raw.driver.submit(&all.concat()).unwrap();
    }
    raw.kick();
}

/// The statuses of so many reads when they have ended.
fn statuses(raw: &mut Raw, reads: u64) -> Vec<u8> {
    (0..reads).for_each(|_| assert!(raw.reply() < 1024));
    let headers = raw.driver.memory().span(HEADERS, reads * 32).unwrap();
    let status = |read| headers.load_u8(read as usize * 32 + 16, Ordering::Relaxed);
    (0..reads).map(status).collect()
}

/// A direct disk and another one. Reads when there is no memory; then, with 64 MiB, one read of 200 MiB, and 300 reads
/// of 1 MiB at a time, into buffers that need private memory.
#[test]
fn reads_of_more_than_all_memory_harm_nobody() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let image = dir.path().join("image");
    let file = File::create(&image).unwrap();
    file.set_len(200 * MIB).unwrap();
    file.write_all_at(&[7; 1 << 20], 199 * MIB).unwrap();
    let [a, b] = ["a", "b"].map(|name| socket(dir.path(), name));
    let devices = [
        format!("{}={},direct", a.display(), image.display()),
        format!("{}=ram:1M", b.display()),
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_elvis"));
    command.args(["serve", "--blk", &devices[0], "--blk", &devices[1]]);
    // The allocator keeps nothing of this size that was freed: what it has then is what the kernel gives.
    command.env("MALLOC_MMAP_THRESHOLD_", "65536");
    let daemon = Daemon::listening(command, &b);
    let kick = EventFd::new(0).unwrap();
    let mut raw = Raw::in_memory(&a, memfd(4 * MIB), 0, 1024, kick);
    // A driver that agreed to no bounds.
    let features = raw.frontend.get_features().unwrap() & !RING_PACKED & !BOUNDS;
    raw.frontend.set_features(features).unwrap();
    raw.start(0);
    let mut neighbour = Client::connect(&b, 1, 64, MIB);
    assert_eq!(neighbour.write(0, 3), 0);

    // When the limit is set, it may have memory that it is about to free.
    let is_short = |_| {
        allow(&daemon, Some(MIB / 2));
        submit(&mut raw, 20, 1);
        statuses(&mut raw, 20).contains(&1)
    };
    assert!((0..50).any(is_short), "reads of 1 MiB find memory");
    assert_eq!(neighbour.write(0, 3), 0);
    let said = daemon.said();
    assert!(
        said.contains("a read of 1048576 bytes at offset 0 failed: no memory for it"),
        "{said}"
    );

    allow(&daemon, Some(64 * MIB));
    submit(&mut raw, 1, 200);
    assert_eq!(statuses(&mut raw, 1), [0]);
    let data = raw.driver.memory().span(CROOKED, MIB).unwrap();
    assert!((0..1 << 20).all(|at| data.load_u8(at, Ordering::Relaxed) == 7));
    submit(&mut raw, 300, 1);
    assert_eq!(statuses(&mut raw, 300), [0; 300]);
    assert_eq!(neighbour.write(0, 3), 0);
}

/// A request that was in flight when three daemons were killed is not run by the fourth; the one behind it is.
#[test]
fn a_request_that_may_be_why_daemons_end_is_given_up() {
    for packed in [false, true] {
        given_up(packed);
    }
}

fn given_up(packed: bool) {
    const RANGE: u64 = 64 * MIB;
    const WRITE_ZEROES: u64 = 13;
    /// Header and range, then the status.
    const REQUEST: u64 = 0x4_8000;
    let dir = tempfile::tempdir().unwrap();
    let path = socket(dir.path(), "a");
    // To zero the range takes a minute.
    let device = format!("{}=ram:64M,bytes_per_s=1000000", path.display());
    let mut daemon = Daemon::start(&["--blk", &device], &path);
    let mut raw = Raw::of(&path, packed);
    raw.track_inflight();
    raw.start_at(None);
    let span = raw.driver.memory().span(REQUEST, 64).unwrap();
    span.store_u64(0, WRITE_ZEROES, Ordering::Relaxed);
    span.store_u64(24, RANGE / 512, Ordering::Relaxed);
    span.store_u8(32, 0xff, Ordering::Relaxed);
    let buffers = [(REQUEST, 32, false), (REQUEST + 32, 1, true)];
    let head = raw.driver.submit(&buffers).unwrap();
    let next = raw.submit_write(0, 0, 5).unwrap();
    raw.kick();
    // The first request's record: whether it is in flight, and how many daemons ended with it.
    let at = if packed {
        32
    } else {
        16 + 16 * u64::from(head)
    };
    for ends in 0..3u8 {
        let (_, area) = raw.inflight.as_ref().unwrap();
        until("a request in flight", || {
            let mut record = [0; 2];
            area.read_exact_at(&mut record, at).unwrap();
            (record == [1, ends]).then_some(())
        });
        assert_eq!(raw.driver.reply(), None);
        drop(daemon);
        daemon = Daemon::start(&["--blk", &device], &path);
        raw.reconnect(&path);
        raw.start_at(None);
    }
    assert_eq!(
        (raw.reply(), span.load_u8(32, Ordering::Relaxed)),
        (head, 1)
    );
    assert_eq!((raw.reply(), raw.status(0)), (next, 0));
    let said = daemon.said();
    assert!(
        said.contains("in flight when each of the last 3 daemons ended"),
        "{said}"
    );
}

/// All front-ends together leave address space for the daemon itself: 16 devices map as much as a device may.
#[test]
fn devices_leave_address_space_for_the_daemon() {
    const EACH: u64 = 4 << 40;
    let dir = tempfile::tempdir().unwrap();
    let path = |number: usize| socket(dir.path(), &format!("d{number}"));
    let words: Vec<String> = (0..17)
        .flat_map(|number| {
            [
                "--blk".to_owned(),
                format!("{}=null:1M", path(number).display()),
            ]
        })
        .collect();
    let daemon = Daemon::start(&words, &path(16));
    let huge = memfd(EACH);
    let map = |number| {
        let raw = Raw::connect(&path(number));
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: EACH,
            userspace_addr: 0,
            mmap_offset: 0,
            mmap_handle: huge.as_raw_fd(),
        };
        let mapped = raw.frontend.set_mem_table(&[region]).is_ok();
        (raw, mapped)
    };
    let mut all: Vec<_> = (0..17).map(map).collect();
    let mapped: Vec<bool> = all.iter().map(|(_, mapped)| *mapped).collect();
    assert_eq!(mapped, [[true; 16].as_slice(), &[false]].concat());
    until("a reason", || {
        daemon.said().contains("no address space").then_some(())
    });
    // What one front-end gives back another one may have.
    all.truncate(16);
    all.remove(0);
    until("address space", || map(16).1.then_some(()));
}
