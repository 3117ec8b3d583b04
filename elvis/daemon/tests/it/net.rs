//! Network devices: frames between devices of a switch.

use crate::client::{exchange, memfd, pause, serve, serve_by, serve_on, socket, split_cpus, until};
use crate::nic::{Nic, OFFLOADS, RECEIVED, SENT, SIZE, datagrams, frame};
use elvis::config::Config;
use elvis::net::{Header, feature};
use elvis::serve::Server;
use elvis::server::FrameCounts;
use elvis_policy::simulation::Mode;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Connected devices, whose queues are served.
fn nics(server: &Server, dir: &Path, names: &[&str]) -> Vec<Nic> {
    let nics = names
        .iter()
        .map(|name| Nic::connect(&socket(dir, name), 0))
        .collect();
    served(server);
    nics
}

/// Waits until all queues that were started are served: the I/O threads answer in order.
fn served(server: &Server) {
    server.stats().unwrap();
}

/// Frame counters of a queue.
fn counts(server: &Server, device: &str, queue: u16) -> FrameCounts {
    let stats = server.stats().unwrap();
    let queues = &stats.devices[device];
    let found = queues.iter().find(|stats| stats.queue == queue);
    found
        .and_then(|stats| stats.net.clone())
        .unwrap_or_default()
}

#[test]
fn frames_go_to_all_ports_until_the_address_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let devices = ["a=switch:s", "b=switch:s", "c=switch:s", "d=switch:other"];
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let mut nics = nics(&server, dir.path(), &["a", "b", "c", "d"]);
    let [a, b, c, d] = &mut nics[..] else {
        unreachable!()
    };
    for bytes in [60, 61, 1514, 14] {
        let broadcast = frame(0xff, 1, bytes);
        a.send_plain(&broadcast);
        assert_eq!(b.receive(), (Header::default(), broadcast.clone()));
        assert_eq!(c.receive().1, broadcast);
    }
    // Nobody has sent from 2 yet.
    a.send_plain(&frame(2, 1, 100));
    assert_eq!((b.receive().1.len(), c.receive().1.len()), (100, 100));
    b.send_plain(&frame(1, 2, 200));
    assert_eq!(a.receive().1, frame(1, 2, 200));
    a.send_plain(&frame(2, 1, 300));
    assert_eq!(b.receive().1, frame(2, 1, 300));
    // 2 moves to the third port.
    c.send_plain(&frame(0xff, 2, 64));
    assert_eq!((a.receive().1.len(), b.receive().1.len()), (64, 64));
    a.send_plain(&frame(2, 1, 400));
    assert_eq!(c.receive().1, frame(2, 1, 400));
    // To itself: nowhere.
    a.send_plain(&frame(1, 1, 500));
    assert!(
        [a, b, c, d]
            .into_iter()
            .all(|nic| nic.try_receive().is_none())
    );
    let sent = counts(&server, "a", 1);
    assert_eq!((sent.frames, sent.flooded, sent.malformed), (8, 5, 0));
    assert_eq!(counts(&server, "b", 0).frames, 7);
}

#[test]
fn datagrams_are_passed_on_together_or_apart() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(
        dir.path(),
        Mode::Elvis,
        &["a=switch:s", "b=switch:s", "c=switch:s"],
    );
    let mut nics = nics(&server, dir.path(), &["a", "b"]);
    let mut c = Nic::connect(&socket(dir.path(), "c"), OFFLOADS);
    served(&server);
    let (header, together) = datagrams();
    nics[0].send(&header, &together);
    let mut apart = Vec::new();
    for length in [1000, 1000, 500] {
        let (header, datagram) = c.receive();
        assert_eq!(header, Header::default());
        assert_eq!(datagram[38..40], (8u16 + length).to_be_bytes());
        apart.extend_from_slice(&datagram[42..]);
    }
    assert_eq!(apart, together[42..]);
    assert_eq!(nics[1].receive(), (header, together));
}

#[test]
fn a_large_segment_is_passed_on_whole_or_split() {
    let dir = tempfile::tempdir().unwrap();
    let devices = ["a=switch:s", "b=switch:s", "c=switch:s", "d=switch:s"];
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let mut nics = nics(&server, dir.path(), &["a", "b"]);
    nics.push(Nic::connect(&socket(dir.path(), "c"), OFFLOADS));
    // No buffer of this one has room for it; segments have.
    nics.push(Nic::connect(
        &socket(dir.path(), "d"),
        OFFLOADS | feature::MRG_RXBUF | 1 << 32,
    ));
    served(&server);
    let [a, b, c, d] = &mut nics[..] else {
        unreachable!()
    };
    let data: Vec<u8> = (0..60_000).map(|at| (at * 31 + at / 253) as u8).collect();
    let mut large = frame(0xff, 1, 14);
    large[12..].copy_from_slice(&[8, 0]);
    large.extend([
        0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ]);
    large.extend([
        1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0,
    ]);
    large.extend(&data);
    let header = Header {
        flags: 1,
        gso_type: 1,
        hdr_len: 54,
        gso_size: 1448,
        csum_start: 34,
        csum_offset: 16,
    };
    a.send(&header, &large);
    assert_eq!(b.receive(), (header, large));
    for nic in [c, d] {
        let mut whole: Vec<u8> = Vec::new();
        while whole.len() < data.len() {
            let (header, segment) = nic.receive();
            assert_eq!(header, Header::default());
            assert!(segment.len() <= 54 + 1448);
            let number = u32::from_be_bytes(segment[38..42].try_into().unwrap());
            assert_eq!(number as usize, whole.len());
            whole.extend(&segment[54..]);
        }
        assert_eq!(whole, data);
    }
    assert_eq!(counts(&server, "d", 0).no_buffers, 0);
}

#[test]
fn a_frame_that_fits_no_buffer_is_dropped_alone() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=switch:s", "b=switch:s"]);
    let mut a = Nic::connect(&socket(dir.path(), "a"), 0);
    let mut b = Nic::connect(&socket(dir.path(), "b"), feature::MRG_RXBUF);
    served(&server);
    a.send_plain(&frame(0xff, 1, 2048 - 12 + 1));
    a.send_plain(&frame(0xff, 1, 2048 - 12));
    assert_eq!(b.receive().1, frame(0xff, 1, 2048 - 12));
    assert_eq!(counts(&server, "b", 0).too_long, 1);
}

#[test]
fn frames_wait_for_buffers_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=switch:s", "b=switch:s"]);
    let mut a = Nic::connect(&socket(dir.path(), "a"), 0);
    let mut b = Nic::idle(&socket(dir.path(), "b"), 0);
    b.start(0);
    b.offer_some(2);
    served(&server);
    for number in 0..100usize {
        a.send_plain(&frame(0xff, 1, 100 + number));
    }
    b.offer_buffers();
    for number in 0..100 {
        assert_eq!(b.receive().1, frame(0xff, 1, 100 + number));
    }
    // More than may wait: the rest is dropped, and what comes later arrives.
    drop(b);
    until("the end of the connection", || {
        (!server.list()[1].connected).then_some(())
    });
    let mut c = Nic::idle(&socket(dir.path(), "b"), 0);
    c.start(0);
    served(&server);
    for _ in 0..1500 {
        a.send_plain(&frame(0xff, 1, 1000));
    }
    let dropped = counts(&server, "b", 0).full;
    assert!((1..1500).contains(&dropped), "{dropped}");
    c.offer_buffers();
    for _ in dropped..1500 {
        assert_eq!(c.receive().1.len(), 1000);
    }
    a.send_plain(&frame(0xff, 1, 60));
    assert_eq!(c.receive().1.len(), 60);
}

/// How often a queue was visited.
fn visits(server: &Server, device: &str, queue: u16) -> u64 {
    let stats = server.stats().unwrap();
    let found = stats.devices[device]
        .iter()
        .find(|stats| stats.queue == queue);
    found.map_or(0, |stats| stats.policy.visits)
}

#[test]
fn a_frame_that_waits_for_more_buffers_gets_them() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=switch:s", "b=switch:s"]);
    let mut a = Nic::connect(&socket(dir.path(), "a"), 0);
    let mut b = Nic::idle(&socket(dir.path(), "b"), 0);
    b.start(0);
    b.offer_some(2);
    served(&server);
    let large = frame(0xff, 1, 9000);
    a.send_plain(&large);
    // After a visit in vain the device asks for a kick, which must come although it has two buffers left.
    until("a visit", || (visits(&server, "b", 0) > 0).then_some(()));
    b.offer_some(6);
    assert_eq!(b.receive().1, large);
}

#[test]
fn a_frame_that_fits_no_buffers_is_dropped_from_a_full_inbox() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=switch:s", "b=switch:s"]);
    let mut a = Nic::connect(&socket(dir.path(), "a"), 0);
    let mut b = Nic::idle(&socket(dir.path(), "b"), 0);
    b.start(0);
    b.offer_some(2);
    served(&server);
    a.send_plain(&frame(0xff, 1, 9000));
    while counts(&server, "b", 0).full == 0 {
        a.send_plain(&frame(0xff, 1, 1000));
    }
    std::thread::sleep(Duration::from_millis(150));
    a.send_plain(&frame(0xff, 1, 1000));
    assert_eq!(b.receive().1.len(), 1000);
}

/// One frame, of 480 KB to all its receivers, takes several visits: other queues have their turns in between.
#[test]
fn a_frame_for_many_receivers_is_sent_part_by_part() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let devices = names.map(|name| format!("{name}=switch:s"));
    let devices = devices.each_ref().map(String::as_str);
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let mut nics = nics(&server, dir.path(), &names);
    let (a, others) = nics.split_first_mut().unwrap();
    let flooded = frame(0xff, 1, 60_000);
    a.send_plain(&flooded);
    for other in others {
        assert!(other.receive().1 == flooded);
        assert!(other.try_receive().is_none());
    }
    let sent = counts(&server, "a", 1);
    assert_eq!((sent.frames, sent.flooded), (1, 1));
    assert!(visits(&server, "a", 1) > 1);
}

#[test]
fn isolated_ports_and_pinned_addresses() {
    let dir = tempfile::tempdir().unwrap();
    let devices = [
        "a=switch:s,isolated,mac=02:02:02:02:02:01",
        "b=switch:s,isolated",
        "c=switch:s",
    ];
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let mut nics = nics(&server, dir.path(), &["a", "b", "c"]);
    let [a, b, c] = &mut nics[..] else {
        unreachable!()
    };
    a.send_plain(&frame(0xff, 1, 60));
    assert_eq!(c.receive().1.len(), 60);
    c.send_plain(&frame(0xff, 3, 70));
    assert_eq!((a.receive().1.len(), b.receive().1.len()), (70, 70));
    // Neither does the port of another get its frames, nor may this one send as another.
    b.send_plain(&frame(0xff, 1, 80));
    a.send_plain(&frame(0xff, 9, 80));
    let mut from_group = frame(0xff, 1, 80);
    from_group[6] = 1;
    c.send_plain(&from_group);
    for (device, foreign) in [("a", 1), ("b", 1), ("c", 1)] {
        assert_eq!(counts(&server, device, 1).foreign, foreign, "{device}");
    }
    c.send_plain(&frame(1, 3, 90));
    assert_eq!(a.receive().1.len(), 90);
    assert!([a, b, c].into_iter().all(|nic| nic.try_receive().is_none()));
}

/// Its frames go to all ports that may have taken its address, but to none that has another.
#[test]
fn frames_for_a_guest_that_has_left() {
    let dir = tempfile::tempdir().unwrap();
    let devices = [
        "a=switch:s",
        "b=switch:s,mac=02:02:02:02:02:02",
        "c=switch:s,mac=02:02:02:02:02:03",
        "d=switch:s",
    ];
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let mut nics = nics(&server, dir.path(), &["a", "b", "c", "d"]);
    let [a, b, c, d] = &mut nics[..] else {
        unreachable!()
    };
    a.send_plain(&frame(2, 1, 60));
    assert_eq!(b.receive().1.len(), 60);
    server.remove("b").unwrap();
    a.send_plain(&frame(2, 1, 70));
    a.send_plain(&frame(3, 1, 80));
    a.send_plain(&frame(0xff, 1, 90));
    let lengths = |nic: &mut Nic, count| -> Vec<usize> {
        (0..count).map(|_| nic.receive().1.len()).collect()
    };
    assert_eq!((lengths(c, 2), lengths(d, 2)), (vec![80, 90], vec![70, 90]));
    assert!(c.try_receive().is_none() && d.try_receive().is_none());
}

/// Sends numbered frames until `more` returns false, and checks that they arrive in order. Frames that find the
/// inbox full may be lost. Returns how many were sent and how many arrived.
fn stream(a: &mut Nic, b: &mut Nic, more: impl Fn() -> bool) -> (u64, u64) {
    let (mut sent, mut got, mut last) = (0u64, 0u64, None);
    let mut take = |b: &mut Nic| {
        while let Some((_, bytes)) = b.try_receive() {
            let number = u64::from_le_bytes(bytes[14..22].try_into().unwrap());
            assert!(last < Some(number), "{last:?} then {number}");
            assert!(bytes[22..] == vec![number as u8; bytes.len() - 22]);
            (last, got) = (Some(number), got + 1);
        }
        (last, got)
    };
    while more() {
        let bytes = if sent % 7 == 0 {
            9000
        } else {
            60 + (sent % 900) as usize
        };
        let mut numbered = frame(2, 1, bytes);
        numbered[14..22].copy_from_slice(&sent.to_le_bytes());
        numbered[22..].fill(sent as u8);
        if a.try_send(&Header::default(), &numbered, 4000) {
            sent += 1;
        }
        take(b);
    }
    let begun = Instant::now();
    loop {
        let (last, got) = take(b);
        if last == Some(sent - 1) || begun.elapsed() > Duration::from_secs(1) {
            return (sent, got);
        }
        pause(begun);
    }
}

#[test]
fn devices_of_a_switch_may_be_on_different_threads_and_move() {
    let dir = tempfile::tempdir().unwrap();
    let cpu = split_cpus();
    let server = serve_on(
        dir.path(),
        Mode::Elvis,
        &["a=switch:s", "b=switch:s"],
        &[cpu, cpu],
    );
    let mut nics = nics(&server, dir.path(), &["a", "b"]);
    let [a, b] = &mut nics[..] else {
        unreachable!()
    };
    b.send_plain(&frame(0xff, 2, 60));
    a.receive();
    assert_ne!(server.list()[0].thread, server.list()[1].thread);
    let done = AtomicBool::new(false);
    let (sent, got) = std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..40 {
                let (device, thread) = [("b", 0), ("a", 1), ("b", 1), ("a", 0)][round % 4];
                server.move_device(device, thread).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
            done.store(true, Ordering::Relaxed);
        });
        stream(a, b, || !done.load(Ordering::Relaxed))
    });
    // While a queue is moved it is served nowhere, and frames for it are dropped.
    assert!(got > 100, "{got} of {sent}");
    let counted = counts(&server, "b", 0);
    assert_eq!(counted.frames, got);
}

#[test]
fn each_mode_forwards() {
    for mode in [Mode::FineGrained, Mode::PerDevice, Mode::PerDevicePinned] {
        let dir = tempfile::tempdir().unwrap();
        let server = serve(dir.path(), mode, &["a=switch:s", "b=switch:s"]);
        let mut nics = nics(&server, dir.path(), &["a", "b"]);
        let [a, b] = &mut nics[..] else {
            unreachable!()
        };
        for round in 0..50 {
            a.send_plain(&frame(0xff, 1, 60 + round));
            assert_eq!(b.receive().1, frame(0xff, 1, 60 + round), "{mode:?}");
            b.send_plain(&frame(1, 2, 70 + round));
            assert_eq!(a.receive().1, frame(1, 2, 70 + round));
        }
    }
}

/// With the polling window of a slow driver a stream of frames needs no kicks, on either side.
#[test]
fn a_busy_network_needs_no_kicks() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config {
        io_cores: vec![split_cpus()],
        derive_window: false,
        ..Config::default()
    };
    config.params.poll_on_gap_ns = 1_000_000_000;
    config.params.poll_off_idle_ns = 20_000_000_000;
    config.params.poll_keep_ns = 60_000_000_000;
    config.params.poll_review_ns = 60_000_000_000;
    let server = serve_by(dir.path(), config, &["a=switch:s", "b=switch:s"]);
    let mut nics = nics(&server, dir.path(), &["a", "b"]);
    let [a, b] = &mut nics[..] else {
        unreachable!()
    };
    b.send_plain(&frame(0xff, 2, 60));
    a.receive();
    let mut round = |count: usize| {
        for _ in 0..count {
            a.send_plain(&frame(2, 1, 60));
            b.receive();
            b.send_plain(&frame(1, 2, 60));
            a.receive();
        }
        (a.kicked, b.kicked)
    };
    let before = round(50);
    assert_eq!(round(100), before, "kicks of 100 round trips");
    let stats = server.stats().unwrap();
    assert!(
        stats.devices["a"]
            .iter()
            .any(|queue| queue.queue == 1 && queue.polled)
    );
}

#[test]
fn a_new_process_goes_on_after_the_last_reply() {
    let dir = tempfile::tempdir().unwrap();
    let devices = ["a=switch:s", "b=switch:s"];
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let mut nics = nics(&server, dir.path(), &["a", "b"]);
    let [a, b] = &mut nics[..] else {
        unreachable!()
    };
    for _ in 0..300 {
        a.send_plain(&frame(0xff, 1, 60));
        b.receive();
    }
    drop(server);
    // Sent while nobody serves.
    for number in 0..5 {
        assert!(a.try_send(&Header::default(), &frame(0xff, 1, 200 + number), 4000));
    }
    let server = serve(dir.path(), Mode::Elvis, &devices);
    // As if the last process had taken some requests, and died before it replied.
    b.reconnect(&socket(dir.path(), "b"), 350);
    served(&server);
    a.reconnect(&socket(dir.path(), "a"), 303);
    served(&server);
    for number in 0..5 {
        assert_eq!(b.receive().1.len(), 200 + number);
    }
    b.send_plain(&frame(0xff, 2, 60));
    a.receive();
}

#[test]
fn limits_count_both_directions() {
    let dir = tempfile::tempdir().unwrap();
    let devices = [
        "a=switch:s",
        "b=switch:s,packets_per_s=200",
        "c=switch:s,bytes_per_s=200000",
    ];
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let mut nics = nics(&server, dir.path(), &["a", "b", "c"]);
    let [a, b, c] = &mut nics[..] else {
        unreachable!()
    };
    for nic in [&mut *b, &mut *c] {
        nic.send_plain(&frame(0xff, nic.kicked as u8 + 7, 60));
    }
    let start = Instant::now();
    for _ in 0..100 {
        a.send_plain(&frame(0xff, 1, 1000));
    }
    for nic in [&mut *b, &mut *c] {
        while nic.receive().1.len() != 1000 {}
        for _ in 1..100 {
            assert_eq!(nic.receive().1.len(), 1000);
        }
    }
    // 100 packets at 200/s, 100,000 bytes at 200,000/s; the buckets hold 10 ms.
    let took_ms = start.elapsed().as_millis();
    assert!(took_ms >= 470, "{took_ms} ms");
    let start = Instant::now();
    for _ in 0..60 {
        b.send_plain(&frame(0xff, 2, 60));
    }
    let took_ms = start.elapsed().as_millis();
    assert!(took_ms >= 280, "{took_ms} ms");
    let waits = |device: &str| {
        let stats = server.stats().unwrap();
        stats.devices[device]
            .iter()
            .map(|queue| queue.policy.waits_for_rate)
            .sum::<u64>()
    };
    assert!(waits("a") == 0 && waits("b") > 0 && waits("c") > 0);
}

/// Sends a vhost-user message with 8 bytes, and returns whether the device did it.
fn message(nic: &Nic, request: u32, body: [u8; 8]) -> bool {
    exchange(&nic.frontend, request, &body) == [0; 8]
}

const SEND_RARP: u32 = 19;
const NET_SET_MTU: u32 = 20;

#[test]
fn a_guest_that_came_by_migration_is_announced() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=switch:s", "b=switch:s"]);
    let mut nics = nics(&server, dir.path(), &["a", "b"]);
    let [a, b] = &mut nics[..] else {
        unreachable!()
    };
    b.send_plain(&frame(0xff, 1, 60));
    a.receive();
    assert!(message(a, SEND_RARP, [2, 2, 2, 2, 2, 1, 0, 0]));
    let (_, announced) = b.receive();
    assert_eq!(
        (announced.len(), &announced[6..14]),
        (60, &[2, 2, 2, 2, 2, 1, 0x80, 0x35][..])
    );
    assert!(
        !message(a, SEND_RARP, [3, 2, 2, 2, 2, 1, 0, 0]),
        "no station's address"
    );
    // It moved with that: frames for it go there.
    b.send_plain(&frame(1, 2, 70));
    assert_eq!(a.receive().1.len(), 70);
}

#[test]
fn an_mtu_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=switch:s", "b=switch:s"]);
    let mut nics = nics(&server, dir.path(), &["a", "b"]);
    let [a, b] = &mut nics[..] else {
        unreachable!()
    };
    assert!(!message(a, NET_SET_MTU, 60u64.to_ne_bytes()));
    assert!(message(a, NET_SET_MTU, 1000u64.to_ne_bytes()));
    a.send_plain(&frame(0xff, 1, 1000 + 19));
    a.send_plain(&frame(0xff, 1, 1000 + 18));
    assert_eq!(b.receive().1.len(), 1018);
    assert_eq!(counts(&server, "a", 1).malformed, 1);
}

/// A queue is enabled before features are negotiated, as by QEMU.
#[test]
fn a_queue_may_be_enabled_first() {
    let dir = tempfile::tempdir().unwrap();
    let _server = serve(dir.path(), Mode::Elvis, &["a=switch:s"]);
    let mut stream = UnixStream::connect(socket(dir.path(), "a")).unwrap();
    let enable = [18u32, 1, 8, 0, 1].map(u32::to_ne_bytes);
    let features = [1u32, 1, 0].map(u32::to_ne_bytes);
    stream.write_all(enable.as_flattened()).unwrap();
    stream.write_all(features.as_flattened()).unwrap();
    let mut reply = [0; 20];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(reply[..4], 1u32.to_ne_bytes());
}

/// A receiver whose ring is broken, or whose buffers are too few for a frame, stops nobody else.
#[test]
fn a_receiver_harms_only_itself() {
    let dir = tempfile::tempdir().unwrap();
    let devices = ["a=switch:s", "b=switch:s", "c=switch:s", "d=switch:s"];
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let mut a = Nic::connect(&socket(dir.path(), "a"), 0);
    let mut d = Nic::connect(&socket(dir.path(), "d"), 0);
    // Without buffers for a whole frame.
    let mut few = Nic::idle(&socket(dir.path(), "b"), 0);
    few.start(0);
    few.offer_some(2);
    let mut broken = Nic::idle(&socket(dir.path(), "c"), 0);
    broken.start(0);
    broken.rings[0].offer(SIZE + 7);
    served(&server);
    for _ in 0..5 {
        a.send_plain(&frame(0xff, 1, 20_000));
        assert_eq!(d.receive().1, frame(0xff, 1, 20_000));
    }
    let fault = until("a device's fault", || {
        let stats = server.stats().unwrap();
        stats.devices["c"]
            .iter()
            .find_map(|queue| queue.fault.clone())
    });
    assert!(fault.contains("in a table of 256"), "{fault}");
    // What waits too long for buffers, 0.1 s each, makes place for what fits.
    until("a small frame", || {
        std::thread::sleep(Duration::from_millis(20));
        a.send_plain(&frame(0xff, 1, 60));
        assert_eq!(d.receive().1.len(), 60);
        few.try_receive().filter(|(_, frame)| frame.len() == 60)
    });
    assert!(counts(&server, "b", 0).too_long > 0);
}

#[test]
fn writes_to_memory_are_logged_for_a_migration() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=switch:s", "b=switch:s"]);
    let mut a = Nic::connect(&socket(dir.path(), "a"), 0);
    let mut b = Nic::idle(&socket(dir.path(), "b"), 0);
    let log = memfd(4096);
    b.start_logged(&log);
    b.offer_buffers();
    served(&server);
    a.send_plain(&frame(0xff, 1, 5000));
    let place = |(_, bytes): (Header, Vec<u8>)| bytes.len();
    assert_eq!(place(b.receive()), 5000);
    let mut bits = [0; 4096];
    log.read_exact_at(&mut bits, 0).unwrap();
    let marked = |guest: u64| bits[(guest / 4096 / 8) as usize] & 1 << (guest / 4096 % 8) != 0;
    // Three buffers of 2048 bytes, and the used ring.
    let used = b.rings[0].addresses().used;
    assert!([RECEIVED, RECEIVED + 4096, used].into_iter().all(marked));
    assert!(!marked(RECEIVED + 3 * 4096) && !marked(SENT));
}
