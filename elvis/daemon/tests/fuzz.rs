//! Fuzzing of a server by hostile front-ends (see `fuzzing`). Another device on the same I/O thread must still
//! be served.

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

mod client;
#[path = "../../ring/tests/fuzzing/mod.rs"]
mod fuzzing;
mod messages;
mod nic;
mod raw;

use client::{Client, image, serve, serve_on, socket, split_cpus};
use elvis::net::{Header, feature};
use elvis_policy::simulation::Mode;
use fuzzing::fuzz;
use messages::{Passed, message, send, words};
use nic::{Nic, OFFLOADS, RINGS, SENT};
use proptest::prelude::*;
use raw::Raw;
use std::cell::RefCell;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use vhost::VhostBackend;
use vhost::vhost_user::message::VhostUserProtocolFeatures as Protocol;

/// A folder in memory, where devices keep how far packed rings got.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

/// Any messages, with any descriptors, to a disk and to a network device, both spread over two I/O threads. The disk's
/// front-end is told of a change meanwhile, by the channel that it may have given.
#[test]
fn messages() {
    let dir = folder();
    let disk = format!("a={},queues=2,spread", image(dir.path(), 1 << 20).display());
    let devices = [
        &disk,
        "b=ram:1M",
        "n=switch:s,queues=2,spread",
        "m=switch:s",
    ];
    let cpu = split_cpus();
    let server = serve_on(dir.path(), Mode::Elvis, &devices, &[cpu, cpu]);
    let victim = RefCell::new(Client::connect(&socket(dir.path(), "b"), 1, 16, 1 << 20));
    fuzz(
        "messages",
        50,
        (
            prop_oneof!["a", "n"],
            any::<bool>(),
            prop::collection::vec(message(), 1..24),
        ),
        |(device, with_channel, messages)| {
            let stream = UnixStream::connect(socket(dir.path(), &device)).unwrap();
            stream.set_nonblocking(true).unwrap();
            if with_channel {
                // SET_PROTOCOL_FEATURES, then SET_BACKEND_REQ_FD.
                let features = words(vec![(Protocol::BACKEND_REQ | Protocol::CONFIG).bits()]);
                send(&stream, &(16, 1, features, Passed::Nothing, 0));
                send(&stream, &(21, 1, Vec::new(), Passed::Socket, 0));
            }
            for message in &messages {
                if !send(&stream, message) {
                    break;
                }
                server.resize("a").unwrap();
            }
        },
        || {
            assert_eq!(victim.borrow_mut().write(0, 1), 0);
            let mut client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
            assert_eq!(client.write(0, 1), 0);
            let mut nic = Nic::connect(&socket(dir.path(), "n"), 0);
            nic.send_plain(&nic::frame(0xff, 1, 60));
        },
    );
    drop(server);
}

/// A word of guest memory: its place and its value.
fn word() -> impl Strategy<Value = (u32, u64)> {
    let place = prop_oneof![
        3 => 0u32..0x200,
        2 => (0x4_0000u32 / 8)..(0x4_0200 / 8),
        1 => 0u32..0x8_0000,
    ];
    let length = prop_oneof![
        Just(16u32),
        Just(1),
        0u32..64,
        Just(512),
        Just(4096),
        any::<u32>()
    ];
    let word = prop_oneof![
        1 => any::<u64>(),
        2 => (0u64..64).prop_map(|n| 0x4_0000 + n * 16),
        1 => 0u64..0x40_0010,
        // A request's type, and its sector.
        1 => prop_oneof![0u64..14, Just(1 << 32)],
        4 => (length, 0u16..8, 0u16..70)
            .prop_map(|(bytes, flags, next)| u64::from(bytes) | u64::from(flags) << 32 | u64::from(next) << 48),
        // Half of a packed ring's descriptor, mostly available.
        3 => (0u32..64, 0u16..70, 0u16..8, prop_oneof![5 => Just(1u64 << 7), 1 => Just(1 << 15)])
            .prop_map(|(bytes, id, flags, turn)| {
                u64::from(bytes) | u64::from(id) << 32 | (u64::from(flags) | turn) << 48
            }),
        2 => (0u64..5, 0u64..5, 0u64..5, 0u64..64).prop_map(|(a, b, c, d)| a | b << 16 | c << 32 | d << 48),
    ];
    (place, word)
}

/// Any ring contents, served by a real I/O thread and disk, and changed meanwhile.
#[test]
fn requests() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=ram:1M", "b=ram:1M"]);
    let victim = RefCell::new(Client::connect(&socket(dir.path(), "b"), 1, 16, 1 << 20));
    let inputs = (
        prop::collection::vec(word(), 0..96),
        prop::collection::vec(word(), 0..32),
        1u16..20,
        any::<u16>(),
        any::<bool>(),
    );
    fuzz(
        "requests",
        50,
        inputs,
        |(before, during, offered, base, packed)| {
            let mut attacker = Raw::of(&socket(dir.path(), "a"), packed);
            let all = attacker.driver.memory().span(0, 4 << 20).unwrap();
            let poke = |&(at, word): &(u32, u64)| {
                all.store_u64(at as usize * 8, word, Ordering::Relaxed);
            };
            before.iter().for_each(poke);
            // Mostly from entry 0, where heads are offered.
            // A packed ring may be refused: then nothing is in flight.
            match base % 4 {
                0 => drop(attacker.try_start(base)),
                _ => attacker.start_at(None),
            }
            (0..offered).for_each(|head| attacker.driver.offer(head));
            attacker.kick.write(1).unwrap();
            during.iter().for_each(poke);
            // Returns when no request of the ring is in flight, broken or not.
            let _ = attacker.frontend.get_vring_base(0);
        },
        || assert_eq!(victim.borrow_mut().write(0, 1), 0),
    );
    drop(server);
}

/// A header: any, or that of a frame to be split with one field changed.
fn header() -> impl Strategy<Value = Header> {
    let any_header = any::<[u8; 10]>().prop_map(|bytes| Header::parse(&bytes));
    let close = (
        prop_oneof![Just(1u8), Just(4), Just(0x81), Just(5)],
        any::<bool>(),
        0u8..7,
        any::<u16>(),
        0u16..200,
    );
    let close = close.prop_map(|(gso_type, v6, field, any, few)| {
        let mut header = Header {
            flags: 1,
            gso_type,
            hdr_len: 54,
            gso_size: 100,
            csum_start: if gso_type == 4 || (gso_type == 5 && v6) {
                54
            } else {
                34
            },
            csum_offset: if gso_type == 5 { 6 } else { 16 },
        };
        match field {
            0 => header.flags = any as u8,
            1 => header.gso_type = any as u8,
            2 => header.hdr_len = any,
            3 => header.gso_size = few,
            4 => header.csum_start = few,
            5 => header.csum_offset = few,
            _ => {}
        }
        header
    });
    prop_oneof![1 => any_header, 3 => close]
}

/// A frame: any bytes, or a TCP segment or UDP datagrams with some bytes changed.
fn sent() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![4 => 0usize..200, 2 => 200usize..3000, 1 => 60_000usize..66_000];
    let changes = prop::collection::vec((0usize..80, any::<u8>()), 0..4);
    let protocol = prop_oneof![Just(6u8), Just(17)];
    (length, changes, any::<bool>(), protocol, 0u8..4).prop_map(
        |(bytes, changes, v6, protocol, to)| {
            let mut frame = nic::frame(if to == 3 { 0xff } else { to + 1 }, 1, bytes.max(14));
            let network: &[u8] = match v6 {
                true => &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol, 64],
                false => &[
                    8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0,
                    2,
                ],
            };
            let words = if v6 { 66 } else { 46 };
            let shape = network
                .iter()
                .enumerate()
                .map(|(at, byte)| (12 + at, *byte));
            for (at, byte) in shape.chain([(words, 0x50)]).chain(changes) {
                if let Some(place) = frame.get_mut(at) {
                    *place = byte;
                }
            }
            frame.truncate(bytes);
            frame
        },
    )
}

/// A word of a network device's memory: a place in a ring, or in its buffers.
fn net_word() -> impl Strategy<Value = (u64, u64)> {
    let ring = prop_oneof![Just(RINGS[0]), Just(RINGS[1])];
    let place = prop_oneof![
        4 => (ring.clone(), 0u64..0x80).prop_map(|(ring, at)| ring + at * 8),
        2 => (ring, 0x200u64..0x700).prop_map(|(ring, at)| ring + at * 8),
        2 => (0u64..0x100).prop_map(|at| SENT + at * 8),
    ];
    let length = prop_oneof![
        Just(12u32),
        0u32..200,
        Just(2048),
        Just(70_000),
        any::<u32>()
    ];
    let word = prop_oneof![
        1 => any::<u64>(),
        3 => (0u64..64).prop_map(|n| SENT + n * 16),
        3 => (length, 0u16..8, 0u16..300)
            .prop_map(|(bytes, flags, next)| u64::from(bytes) | u64::from(flags) << 32 | u64::from(next) << 48),
        // Half of a packed ring's descriptor, mostly available.
        2 => (0u32..3000, 0u16..300, 0u16..8, prop_oneof![5 => Just(1u64 << 7), 1 => Just(1 << 15)])
            .prop_map(|(bytes, id, flags, turn)| {
                u64::from(bytes) | u64::from(id) << 32 | (u64::from(flags) | turn) << 48
            }),
        2 => (0u64..5, 0u64..9, 0u64..300, 0u64..64).prop_map(|(a, b, c, d)| a | b << 16 | c << 32 | d << 48),
    ];
    (place, word)
}

/// Takes all frames that a victim got. Each must be one that it can take.
fn drain(nic: &mut Nic, offloads: bool) {
    let all = feature::CSUM
        | feature::HOST_TSO4
        | feature::HOST_TSO6
        | feature::HOST_ECN
        | feature::HOST_USO;
    while let Some((header, frame)) = nic.try_receive() {
        if offloads {
            let start = &frame[..frame.len().min(256)];
            assert_eq!(header.check(start, frame.len(), all), Ok(header));
        } else {
            assert_eq!(header, Header::default());
        }
    }
}

/// Any frames, headers and rings of a network device, split or packed, to two others, with offloads and packed rings,
/// and without.
#[test]
fn frames() {
    let dir = folder();
    let devices = ["a=switch:s", "b=switch:s", "c=switch:s"];
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let victims = RefCell::new((
        Nic::packed(&socket(dir.path(), "b"), 0),
        Nic::connect(&socket(dir.path(), "c"), OFFLOADS),
    ));
    let inputs = (
        prop::collection::vec((header(), sent(), 1usize..3000), 0..12),
        prop::collection::vec(net_word(), 0..40),
        prop::collection::vec(net_word(), 0..16),
        0u16..20,
        any::<bool>(),
    );
    fuzz(
        "frames",
        50,
        inputs,
        |(sent, before, during, offered, packed)| {
            let path = socket(dir.path(), "a");
            let mut attacker = match packed {
                true => Nic::idle_packed(&path, 0),
                false => Nic::idle(&path, 0),
            };
            let poke = |nic: &Nic, words: &[(u64, u64)]| {
                words
                    .iter()
                    .for_each(|(at, word)| nic.write(*at, &word.to_le_bytes()));
            };
            attacker.begin();
            attacker.offer_some(usize::from(offered) * 16);
            for (header, frame, part) in &sent {
                attacker.try_send(header, frame, (*part).max(frame.len() / 200 + 1));
            }
            poke(&attacker, &before);
            (0..offered).for_each(|head| attacker.rings[1].offer(head));
            attacker.kicks[1].write(1).unwrap();
            poke(&attacker, &during);
            let (b, c) = &mut *victims.borrow_mut();
            drain(b, true);
            drain(c, false);
            // Returns when the ring is not served any more, broken or not.
            let _ = attacker.frontend.get_vring_base(1);
            let _ = attacker.frontend.get_vring_base(0);
        },
        || {
            let (b, c) = &mut *victims.borrow_mut();
            let mark = nic::frame(0xff, 2, 99);
            b.send_plain(&mark);
            client::until("a frame between victims", || {
                let (header, frame) = c.try_receive()?;
                assert_eq!(header, Header::default());
                (frame == mark).then_some(())
            });
            drain(b, true);
        },
    );
    drop(server);
}
