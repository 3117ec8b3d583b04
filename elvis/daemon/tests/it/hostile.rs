//! Hostile front-ends. Other devices must still be served.

use crate::client::{
    Client, assert_sleeps_on, image, memfd, serve, serve_on, socket, split_cpus, until,
};
use crate::raw::{RING_PACKED, Raw, SIZE};
use elvis::serve::Server;
use elvis_policy::simulation::Mode;
use proptest::prelude::*;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use vhost::vhost_user::VhostUserFrontend;
use vhost::vhost_user::message::VhostUserInflight;
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};
use vmm_sys_util::eventfd::EventFd;

/// Waits for a device's queue to fail, and returns why.
fn fault(server: &Server, device: &str) -> String {
    until("a device's fault", || {
        let stats = server.stats().unwrap();
        let queue = stats.devices[device].first()?;
        queue.fault.clone()
    })
}

/// A server with an attacker and a victim on the same I/O thread.
fn pair(dir: &Path) -> (Server, Raw, Client) {
    let server = serve(dir, Mode::Elvis, &["a=ram:1M", "b=ram:1M"]);
    let mut attacker = Raw::connect(&socket(dir, "a"));
    attacker.start(0);
    let victim = Client::connect(&socket(dir, "b"), 1, 64, 1 << 20);
    (server, attacker, victim)
}

/// The I/O thread does not wait for a full eventfd: it serves even the device whose eventfd it is.
#[test]
fn a_full_call_eventfd_stops_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let (server, mut attacker, mut victim) = pair(dir.path());
    attacker.call.write(u64::MAX - 1).unwrap();
    for number in 0..100 {
        attacker.driver.want_calls(true);
        attacker.submit_write(number, 0, 1);
        attacker.kick();
        attacker.reply();
        assert_eq!((attacker.status(number), victim.write(0, 3)), (0, 0));
        // A driver that asks for its next call before the thread has looked gets none for this request.
        until("the call for the request", || {
            let stats = server.stats().unwrap();
            let queue = &stats.devices["a"][0];
            assert_eq!(queue.fault, None);
            (queue.calls == number + 1).then_some(())
        });
    }
}

/// A broken ring is started again and again with full eventfds for calls and errors.
#[test]
fn full_eventfds_stop_nobody_again_and_again() {
    let dir = tempfile::tempdir().unwrap();
    let (server, mut attacker, mut victim) = pair(dir.path());
    let err = EventFd::new(0).unwrap();
    for full in [&attacker.call, &err] {
        full.write(u64::MAX - 1).unwrap();
    }
    attacker.frontend.set_vring_err(0, &err).unwrap();
    for _ in 0..10 {
        attacker.driver.want_calls(true);
        attacker.driver.offer(SIZE);
        attacker.kick.write(1).unwrap();
        let why = fault(&server, "a");
        assert!(why.contains("names descriptor 64"), "{why}");
        assert_eq!(victim.write(0, 3), 0);
        let base = attacker.frontend.get_vring_base(0).unwrap();
        attacker.start(base as u16);
        attacker.frontend.set_vring_err(0, &err).unwrap();
    }
}

#[test]
fn a_call_descriptor_that_is_no_eventfd_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, attacker, mut victim) = pair(dir.path());
    let (_reader, writer) = rustix::pipe::pipe().unwrap();
    let descriptor = writer.into_raw_fd();
    // SAFETY: the descriptor was just released by its owner.
    let pipe = unsafe { EventFd::from_raw_fd(descriptor) };
    assert!(attacker.frontend.set_vring_call(0, &pipe).is_err());
    assert_eq!(victim.write(0, 3), 0);
}

#[test]
fn memory_that_is_shortened_ends_its_device_only() {
    let dir = tempfile::tempdir().unwrap();
    let (server, mut attacker, mut victim) = pair(dir.path());
    attacker.submit_write(0, 0, 1);
    attacker.kick();
    attacker.reply();
    attacker.memory.set_len(0).unwrap();
    attacker.kick.write(1).unwrap();
    let why = fault(&server, "a");
    assert!(why.contains("truncated"), "{why}");
    assert_eq!(victim.write(0, 3), 0);
    assert_eq!(victim.read(0), (0, vec![3; 4096]));
    // Nor can its front-end do so again and again.
    drop(attacker);
    let start = Instant::now();
    let mut next = Raw::connect(&socket(dir.path(), "a"));
    next.start(0);
    assert!(start.elapsed() > Duration::from_millis(500));
    next.submit_write(0, 0, 1);
    next.kick();
    next.reply();
    assert_eq!(next.status(0), 0);
}

/// An access to such memory could block on a disk or a network host.
#[test]
fn memory_that_is_a_file_of_a_disk_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, mut attacker, mut victim) = pair(dir.path());
    let file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let kind = rustix::fs::fstatfs(&file).unwrap().f_type as i64;
    assert_ne!(kind, libc::TMPFS_MAGIC, "CARGO_TARGET_DIR is a tmpfs");
    file.set_len(attacker.memory.metadata().unwrap().len())
        .unwrap();
    attacker.memory = file;
    assert!(attacker.try_start(0).is_err());
    assert_eq!(victim.write(0, 3), 0);
}

/// One front-end can't take the address space that all need, neither with memory nor with its other areas.
#[test]
fn more_address_space_than_a_device_may_have_is_refused() {
    const TIB: u64 = 1 << 40;
    let dir = tempfile::tempdir().unwrap();
    let (_server, attacker, mut victim) = pair(dir.path());
    let region = |bytes, guest_phys_addr, mmap_offset, file: &File| VhostUserMemoryRegionInfo {
        guest_phys_addr,
        memory_size: bytes,
        userspace_addr: guest_phys_addr,
        mmap_offset,
        mmap_handle: file.as_raw_fd(),
    };
    let huge = memfd(32 * TIB);
    drop(attacker);
    for (tables, accepted) in [
        (vec![region(4 * TIB, 0, 0, &huge)], true),
        (vec![region(4 * TIB + 4096, 0, 0, &huge)], false),
        (vec![region(4096, 0, 31 * TIB, &huge)], false),
        (
            vec![
                region(2 * TIB, 0, 0, &huge),
                region(3 * TIB, 8 * TIB, 0, &huge),
            ],
            false,
        ),
    ] {
        let attacker = Raw::connect(&socket(dir.path(), "a"));
        let table = attacker.frontend.set_mem_table(&tables);
        assert_eq!(table.is_ok(), accepted);
    }
    let mut attacker = Raw::connect(&socket(dir.path(), "a"));
    let area = VhostUserInflight::new(1 << 20, TIB, 1, SIZE);
    let area = attacker.frontend.set_inflight_fd(&area, huge.as_raw_fd());
    assert!(area.is_err());
    let mut attacker = Raw::connect(&socket(dir.path(), "a"));
    for (number, accepted) in [(0, true), (1, true), (2, false)] {
        let more = region(2 * TIB, number * 2 * TIB, 0, &huge);
        assert_eq!(attacker.frontend.add_mem_region(&more).is_ok(), accepted);
    }
    assert_eq!(victim.write(0, 3), 0);
}

#[test]
fn a_broken_ring_ends_until_it_is_reset() {
    let dir = tempfile::tempdir().unwrap();
    let (server, mut attacker, mut victim) = pair(dir.path());
    attacker.driver.offer(SIZE);
    attacker.kick();
    let why = fault(&server, "a");
    assert_eq!(
        why,
        "the available ring names descriptor 64, in a table of 64"
    );
    assert_eq!(victim.write(0, 3), 0);
    // The front-end resets the device and starts again.
    assert!(attacker.frontend.get_vring_base(0).is_ok());
    drop(attacker);
    let mut good = Client::connect(&socket(dir.path(), "a"), 1, 64, 1 << 20);
    assert_eq!(good.write(0, 9), 0);
}

#[test]
fn indirect_descriptors_must_be_negotiated() {
    const INDIRECT_DESC: u64 = 1 << 28;
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=ram:1M"]);
    let mut attacker = Raw::connect(&socket(dir.path(), "a"));
    let features = attacker.frontend.get_features().unwrap();
    let without = features & !(INDIRECT_DESC | RING_PACKED);
    attacker.frontend.set_features(without).unwrap();
    attacker.start(0);
    attacker.driver.submit_indirect(0x4_0000, 16).unwrap();
    attacker.kick();
    let why = fault(&server, "a");
    assert!(why.contains("without the feature INDIRECT_DESC"), "{why}");
}

#[test]
fn a_broken_packed_ring_ends_until_it_is_reset() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=ram:1M", "b=ram:1M"]);
    let mut attacker = Raw::of(&socket(dir.path(), "a"), true);
    attacker.start_at(None);
    let mut victim = Client::connect(&socket(dir.path(), "b"), 1, 64, 1 << 20);
    // An empty buffer.
    attacker.driver.describe(0, 0, 0, 0, 0);
    attacker.driver.offer(0);
    attacker.kick();
    let why = fault(&server, "a");
    assert_eq!(why, "a buffer of 0 bytes, at guest address 0x0");
    assert_eq!(victim.write(0, 3), 0);
    assert_eq!(attacker.frontend.get_vring_base(0).unwrap(), 0x8000_8000);
    // Another front-end, which wants to continue beyond the end.
    drop(attacker);
    let mut wrong = Raw::of(&socket(dir.path(), "a"), true);
    assert!(wrong.try_start(SIZE).is_err());
    drop(wrong);
    let mut good = Raw::of(&socket(dir.path(), "a"), true);
    good.start_at(None);
    good.submit_write(0, 0, 9).unwrap();
    good.kick();
    good.reply();
    assert_eq!((good.status(0), victim.write(0, 4)), (0, 0));
}

#[test]
fn an_inflight_area_for_a_smaller_ring_than_the_guest_takes() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=ram:1M"]);
    // QEMU requests an area for its queue size, and lets the guest use a larger ring.
    let mut asked = Raw::connect(&socket(dir.path(), "a"));
    let wanted = VhostUserInflight::new(0, 0, 1, SIZE / 4);
    asked.inflight = Some(asked.frontend.get_inflight_fd(&wanted).unwrap());
    asked.start(0);
    for number in 0..u64::from(SIZE) {
        asked.submit_write(number, number % 8, 1);
        asked.kick();
        asked.reply();
    }
    drop(asked);
    // An area that is too small is refused, and nothing is written beyond its end.
    let mut small = Raw::connect(&socket(dir.path(), "a"));
    let bytes = elvis_ring::inflight::region_bytes(SIZE / 4, false);
    let area = VhostUserInflight::new(bytes, 0, 1, SIZE / 4);
    small.inflight = Some((area, memfd(bytes)));
    assert!(small.try_start(0).is_err());
    drop(small);
    let mut good = Client::connect(&socket(dir.path(), "a"), 1, 64, 1 << 20);
    assert_eq!(good.read(0), (0, vec![1; 4096]));
    drop(server);
}

#[test]
fn a_connection_closed_in_a_message() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=ram:1M"]);
    for cut in 0..20 {
        let mut stream = UnixStream::connect(socket(dir.path(), "a")).unwrap();
        let message = [
            &2u32.to_ne_bytes()[..],
            &1u32.to_ne_bytes(),
            &8u32.to_ne_bytes(),
            &[0; 8],
        ];
        stream.write_all(&message.concat()[..cut]).unwrap();
    }
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 64, 1 << 20);
    assert_eq!(client.write(0, 9), 0);
    drop(server);
}

#[test]
fn a_ring_is_drained_and_goes_on_where_it_was() {
    for packed in [false, true] {
        drained(packed);
    }
}

fn drained(packed: bool) {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path(), 1 << 20);
    let device = format!("a={}", image.display());
    let _server = serve(dir.path(), Mode::Elvis, &[&device]);
    let mut client = Raw::of(&socket(dir.path(), "a"), packed);
    client.start_at(None);
    let mut sent = 0u16;
    for round in 0..20u64 {
        for number in 0..8 {
            client
                .submit_write(number, number, round as u8 + 1)
                .unwrap();
            sent += 1;
        }
        client.kick();
        let base = client.frontend.get_vring_base(0).unwrap();
        // Every request taken was replied to; the rest are in the ring.
        let mut replies = 0;
        while client.driver.reply().is_some() {
            replies += 1;
        }
        let taken = sent - 8 + replies;
        let place = match packed {
            false => u32::from(taken),
            // A request has three descriptors. The wrap counter starts as 1.
            true => {
                let (rounds, slot) = (taken * 3 / SIZE, taken * 3 % SIZE);
                u32::from(slot | (rounds + 1) % 2 << 15) * 0x1_0001
            }
        };
        assert_eq!(base, place);
        client.start_at(Some(base));
        for _ in replies..8 {
            client.reply();
        }
    }
    assert_eq!(std::fs::read(&image).unwrap()[..8 * 4096], [20; 8 * 4096]);
}

#[test]
fn an_idle_device_is_asleep_and_wakes() {
    let dir = tempfile::tempdir().unwrap();
    let io_core = split_cpus();
    let server = serve_on(dir.path(), Mode::Elvis, &["a=ram:1M"], &[io_core]);
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 64, 1 << 20);
    for value in 0..200 {
        client.write(0, value);
    }
    // Until the polling time that its requests earned is used up.
    until("a device that is no longer polled", || {
        (!server.stats().unwrap().devices["a"][0].polled).then_some(())
    });
    assert_sleeps_on(&server);
    assert_eq!(client.read(0), (0, vec![199; 4096]));
}

/// Each case starts a server, so there are fewer cases than for other properties.
fn message_cases() -> u32 {
    (ProptestConfig::default().cases / 4).min(25_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: message_cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// After any messages the connection may be closed, but the server still serves.
    #[test]
    fn any_messages(messages in prop::collection::vec((0u32..45, any::<bool>(), prop::collection::vec(any::<u8>(), 0..80)), 1..12)) {
        let dir = tempfile::tempdir().unwrap();
        let server = serve(dir.path(), Mode::Elvis, &["a=null:1M"]);
        let mut stream = UnixStream::connect(socket(dir.path(), "a")).unwrap();
        for (code, ack, body) in messages {
            let flags = 1 | u32::from(ack) << 3;
            let head = [code.to_ne_bytes(), flags.to_ne_bytes(), (body.len() as u32).to_ne_bytes()];
            if stream.write_all(&[&head.concat()[..], &body].concat()).is_err() {
                break;
            }
        }
        drop(stream);
        let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
        prop_assert_eq!(client.write(0, 1), 0);
        drop(server);
    }
}

#[test]
fn features_that_were_not_offered_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _server = serve(dir.path(), Mode::Elvis, &["a=null:1M"]);
    let mut raw = Raw::connect(&socket(dir.path(), "a"));
    assert_eq!(raw.frontend.get_queue_num().unwrap(), 1);
    assert!(raw.frontend.set_features(1 << 60).is_err());
}
