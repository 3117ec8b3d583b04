//! Guests at a switch with an uplink. Its other end is a socket; tests/e2e/net.bats has a tap device.

use crate::client::{serve, socket, until};
use crate::nic::{Nic, datagrams, frame};
use elvis::config::uplink_argument;
use elvis::control;
use elvis::metrics;
use elvis::net::{Header, Link};
use elvis::serve::Server;
use elvis_policy::simulation::Mode;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::OwnedFd;

/// Bytes of a header on the wire.
const BEFORE: usize = 10;

/// Adds an uplink to a server. Returns the other end of its cable.
fn uplink(server: &Server, argument: &str) -> OwnedFd {
    let kind = SocketType::SEQPACKET;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (ours, wire) = socketpair(AddressFamily::UNIX, kind, flags, None).unwrap();
    let spec = uplink_argument(argument).unwrap();
    let open = |_: &_| Ok(Link::of_socket(ours));
    server.add_uplink(spec, open).unwrap();
    wire
}

/// The next frame on the wire.
fn sent(wire: &OwnedFd) -> (Header, Vec<u8>) {
    let mut bytes = vec![0; 70_000];
    let read = until("a frame on the wire", || {
        rustix::io::read(wire, &mut bytes).ok()
    });
    let header = Header::parse(bytes[..BEFORE].try_into().unwrap());
    (header, bytes[BEFORE..read].to_vec())
}

fn comes(wire: &OwnedFd, frame: &[u8]) {
    rustix::io::write(wire, &[&[0; BEFORE], frame].concat()).unwrap();
}

/// A frame with the tag of VLAN 5.
fn tagged(frame: &[u8]) -> Vec<u8> {
    [&frame[..12], &[0x81, 0, 0, 5], &frame[12..]].concat()
}

#[test]
fn guests_in_a_vlan_reach_the_host_and_no_other_guests() {
    let dir = tempfile::tempdir().unwrap();
    let devices = [
        "a=switch:s,vlan=5",
        "b=switch:s",
        "c=switch:s,vlan=5,mac=02:02:02:02:02:03",
    ];
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let wire = uplink(&server, "s=tap:none");
    let mut nics = ["a", "b", "c"].map(|name| Nic::connect(&socket(dir.path(), name), 0));
    server.stats().unwrap();
    let [a, b, c] = &mut nics;
    a.send_plain(&frame(0xff, 1, 100));
    assert_eq!(sent(&wire).1, tagged(&frame(0xff, 1, 100)));
    assert_eq!(c.receive().1, frame(0xff, 1, 100));
    b.send_plain(&frame(0xff, 2, 101));
    assert_eq!(sent(&wire).1, frame(0xff, 2, 101));
    // A tag of a guest's own gets nowhere.
    a.send_plain(&tagged(&frame(0xff, 1, 102)));
    b.send_plain(&tagged(&frame(0xff, 2, 103)));
    // In more parts than one system call takes, and of a frame's greatest length.
    assert!(a.try_send(&Header::default(), &frame(0xff, 1, 60_000), 500));
    a.until_sent();
    assert_eq!(sent(&wire).1, tagged(&frame(0xff, 1, 60_000)));
    c.receive();
    comes(&wire, &tagged(&frame(1, 9, 200)));
    assert_eq!(a.receive().1, frame(1, 9, 200));
    // To an address that nobody has sent from: to all but those that are pinned.
    comes(&wire, &tagged(&frame(7, 9, 201)));
    comes(&wire, &tagged(&frame(0xff, 9, 202)));
    assert_eq!((a.receive().1.len(), a.receive().1.len()), (201, 202));
    assert_eq!(c.receive().1.len(), 202);
    comes(&wire, &frame(0xff, 9, 203));
    assert_eq!(b.receive().1.len(), 203);
    assert!(nics.iter_mut().all(|nic| nic.try_receive().is_none()));
    // A frame is counted after its receiver has got it.
    let stats = until("the count of the last frame", || {
        let stats = server.stats().unwrap();
        (stats.uplinks["s=tap:none"].received >= 4).then_some(stats)
    });
    let counts = &stats.uplinks["s=tap:none"];
    assert_eq!(
        (counts.sent, counts.received, counts.foreign, counts.unsent),
        (3, 4, 1, 0)
    );
    let text = metrics::text(&stats).unwrap();
    let line = "elvis_uplink_frames_total{uplink=\"s=tap:none\",direction=\"received\"} 4";
    assert!(text.lines().any(|other| other == line), "{text}");
    let (list, _) = control::answer(&server, "{\"do\":\"list\"}");
    let last = list["devices"].as_array().unwrap().last().unwrap();
    let wanted = serde_json::json!({ "kind": "uplink", "switch": "s", "net": "tap:none" });
    assert_eq!((last, &list["devices"][0]["vlan"]), (&wanted, &5.into()));
}

#[test]
fn what_an_uplink_does_not_take_together_goes_there_apart() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(dir.path(), Mode::Elvis, &["a=switch:s,vlan=5"]);
    let wire = uplink(&server, "s=interface:none");
    let mut a = Nic::connect(&socket(dir.path(), "a"), 0);
    server.stats().unwrap();
    let (header, together) = datagrams();
    a.send(&header, &together);
    let mut apart = Vec::new();
    for length in [1000, 1000, 500] {
        let (header, datagram) = sent(&wire);
        assert_eq!(
            (header, &datagram[12..16]),
            (Header::default(), &[0x81, 0, 0, 5][..])
        );
        assert_eq!(datagram[42..44], (8u16 + length).to_be_bytes());
        apart.extend_from_slice(&datagram[46..]);
    }
    assert_eq!(apart, together[42..]);
    // Only its checksum is left to the host, whose place moves with the tag.
    let checksum = Header {
        gso_type: 0,
        hdr_len: 0,
        gso_size: 0,
        ..header
    };
    a.send(&checksum, &together[..142]);
    let (header, whole) = sent(&wire);
    assert_eq!(
        (header.flags, header.csum_start, header.csum_offset),
        (1, 38, 6)
    );
    assert_eq!(whole, tagged(&together[..142]));
}
