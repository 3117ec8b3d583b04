use super::*;
use crate::net::header::BYTES;
use crate::net::switch::{Place, PortSpec};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

/// A switch with an uplink of this VLAN, and the other end of its cable.
struct Wired {
    switch: Arc<Switch>,
    uplink: Running,
    wire: OwnedFd,
}

impl Wired {
    fn new(vlan: u16) -> Self {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let kind = SocketType::SEQPACKET;
        let (ours, wire) = socketpair(AddressFamily::UNIX, kind, flags, None).unwrap();
        let switch: Arc<Switch> = Arc::default();
        let spec = UplinkSpec {
            switch: "s".to_owned(),
            link: LinkSpec::Tap("t".to_owned()),
            vlan,
        };
        let uplink = Running::start(spec, Link::of_socket(ours), &switch).unwrap();
        Self {
            switch,
            uplink,
            wire,
        }
    }

    /// A port whose queue is served.
    fn port(&self, mac: Option<u8>, vlan: u16) -> Joined {
        self.port_of_pairs(1, mac, vlan)
    }

    /// The same, with this many queues.
    fn port_of_pairs(&self, pairs: u16, mac: Option<u8>, vlan: u16) -> Joined {
        let spec = PortSpec {
            mac: mac.map(station),
            vlan,
            ..PortSpec::default()
        };
        let joined = self.switch.join(spec, pairs).unwrap();
        for queue in &joined.0.queues {
            queue.served_at(Some(Place { thread: 1, slot: 0 }));
        }
        joined
    }

    /// A frame comes from the host. Returns when it has been forwarded.
    fn comes(&self, frame: &[u8]) {
        let before = self.uplink.counts().received;
        rustix::io::write(&self.wire, &[&[0; BYTES], frame].concat()).unwrap();
        let end = Instant::now() + LIMIT;
        while self.uplink.counts().received == before {
            assert!(Instant::now() < end, "the frame was not taken");
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Frames that were refused.
    fn foreign(&self) -> u64 {
        self.uplink.counts().foreign
    }

    /// The next frame on the wire, with its header.
    fn sent(&self) -> Option<(Header, Vec<u8>)> {
        let mut bytes = [0; 4096];
        let read = rustix::io::read(&self.wire, &mut bytes).ok()?;
        let header = Header::parse(bytes[..BYTES].try_into().unwrap());
        Some((header, bytes[BYTES..read].to_vec()))
    }
}

fn station(number: u8) -> Mac {
    [2, 0, 0, 0, 0, number]
}

fn frame(to: Mac, from: u8, vlan: u16) -> Vec<u8> {
    let (tag, bytes) = vlan::tag(vlan);
    let rest = [&tag[..bytes], &[0x88, 0xb5, 1, 2, 3, 4]].concat();
    [&to[..], &station(from), &rest].concat()
}

/// What an I/O thread does with a frame of a port.
fn send(from: &Joined, header: &Header, frame: &[u8]) {
    let (port, to) = (&from.0, addresses(frame).unwrap().0);
    port.table()
        .learn(addresses(frame).unwrap().1, port.number(), 0);
    let ports = port.switch().ports();
    let (_, mut left) = Port::receivers(port.table(), &ports, to, 0);
    while let Some(other) = port.receiver(port.vlan(), &ports, to, &mut left) {
        let parts = Parts::private(frame);
        other.give(port.vlan(), 0, *header, &parts, &mut []);
    }
}

/// The frames that wait for a port.
fn got(port: &Joined) -> Vec<Vec<u8>> {
    got_by(port, 0)
}

/// Those that wait for this queue of it.
fn got_by(port: &Joined, queue: usize) -> Vec<Vec<u8>> {
    let next = || port.0.queues[queue].take(|_, frame| (true, frame.to_vec()));
    std::iter::from_fn(next).collect()
}

const ALL: Mac = [0xff; 6];

#[test]
fn addresses_are_learned_and_nothing_is_flooded_to_a_port_that_is_pinned_to_another_address() {
    let wired = Wired::new(0);
    let (pinned, open) = (wired.port(Some(1), 0), wired.port(None, 0));
    let (broadcast, unknown) = (frame(ALL, 9, 0), frame(station(5), 9, 0));
    wired.comes(&broadcast);
    wired.comes(&unknown);
    wired.comes(&frame(station(1), 9, 0));
    // From a station that is behind the uplink, to another one there.
    wired.comes(&frame(station(9), 8, 0));
    assert_eq!(got(&pinned), [broadcast.clone(), frame(station(1), 9, 0)]);
    assert_eq!(got(&open), [broadcast, unknown]);
    assert_eq!((wired.foreign(), wired.sent()), (0, None));
    // Nobody outside may take a device's address.
    wired.comes(&frame(station(7), 1, 0));
    assert_eq!((wired.foreign(), got(&open).len()), (1, 0));
    // Spanning trees, LACP and LLDP end here.
    let local = [1, 0x80, 0xc2, 0, 0, 0x0e];
    wired.comes(&frame(local, 9, 0));
    send(&open, &Header::default(), &frame(local, 2, 0));
    assert_eq!((wired.foreign(), wired.sent()), (3, None));
    assert_eq!((got(&open).len(), got(&pinned).len()), (0, 1));
    // Answers go to the uplink only; what is unknown goes there too.
    let plain = Header::default();
    send(&pinned, &plain, &frame(station(9), 1, 0));
    assert_eq!(wired.sent(), Some((plain, frame(station(9), 1, 0))));
    send(&pinned, &plain, &frame(station(77), 1, 0));
    send(&open, &plain, &frame(station(1), 2, 0));
    assert_eq!(wired.sent(), Some((plain, frame(station(77), 1, 0))));
    assert_eq!(
        (wired.sent(), got(&open).len(), got(&pinned).len()),
        (None, 1, 1)
    );
    // When it is removed, its addresses are.
    let table = wired.switch.table(0).unwrap();
    assert!(table.find(station(9), 0).is_some());
    drop(wired.uplink);
    assert!(table.find(station(9), 0).is_none() && table.find(station(2), 0).is_some());
    assert_eq!(wired.switch.ports().iter().flatten().count(), 2);
}

#[test]
fn an_uplink_has_more_addresses_than_a_device() {
    let wired = Wired::new(0);
    let port = wired.port(None, 0);
    for number in 0..600u16 {
        let [high, low] = number.to_be_bytes();
        let mut frame = frame(ALL, 0, 0);
        frame[10..12].copy_from_slice(&[high | 0x10, low]);
        wired.comes(&frame);
    }
    let known = port.0.table().addresses();
    assert!((500..=601).contains(&known), "{known}");
}

#[test]
fn vlans_have_tags_outside_and_none_inside() {
    let wired = Wired::new(0);
    let (none, five, six) = (
        wired.port(None, 0),
        wired.port(None, 5),
        wired.port(None, 6),
    );
    let inside = frame(ALL, 9, 0);
    wired.comes(&frame(ALL, 9, 5));
    assert_eq!(
        (got(&none), got(&five), got(&six)),
        (vec![], vec![inside.clone()], vec![])
    );
    wired.comes(&inside);
    assert_eq!(
        (got(&none), got(&five), got(&six)),
        (vec![inside], vec![], vec![])
    );
    wired.comes(&frame(ALL, 9, 7));
    assert_eq!(wired.foreign(), 1, "no port has this VLAN");
    let plain = Header::default();
    send(&five, &plain, &frame(ALL, 1, 0));
    assert_eq!(wired.sent(), Some((plain, frame(ALL, 1, 5))));
    assert_eq!((got(&none).len(), got(&six).len()), (0, 0));
    // One address in two VLANs is two stations.
    send(&six, &plain, &frame(station(9), 1, 0));
    assert_eq!(wired.sent(), Some((plain, frame(station(9), 1, 6))));
    wired.comes(&frame(station(1), 9, 6));
    wired.comes(&frame(station(1), 9, 5));
    assert_eq!((got(&five).len(), got(&six).len()), (1, 1));
    // A device without a VLAN does not get into one by a tag of its own.
    send(&none, &plain, &frame(ALL, 3, 5));
    assert_eq!((wired.sent(), wired.foreign()), (None, 2));
    assert_eq!(got(&five).len(), 0);
    // A header's places move with the tag.
    let checksum = Header {
        flags: 1,
        csum_start: 34,
        csum_offset: 6,
        ..plain
    };
    send(&five, &checksum, &frame(ALL, 1, 0));
    assert_eq!(wired.sent().unwrap().0.csum_start, 38);
}

#[test]
fn flows_from_outside_are_spread_over_the_queues_of_a_device_and_stay_in_order() {
    let wired = Wired::new(5);
    let port = wired.port_of_pairs(4, None, 5);
    // A datagram of IPv4 with this port and this payload.
    let datagram = |from_port: u8, payload| {
        let mut packet = [0x45; 29];
        packet[6..10].copy_from_slice(&[0, 0, 64, 17]);
        (packet[21], packet[28]) = (from_port, payload);
        [&ALL[..], &station(9), &[8, 0], &packet].concat()
    };
    for payload in 0..8 {
        for from_port in 0..64 {
            wired.comes(&datagram(from_port, payload));
        }
    }
    let queues = [0, 1, 2, 3].map(|queue| got_by(&port, queue));
    assert!(
        queues.iter().all(|frames| frames.len() >= 8 * 4),
        "few in one"
    );
    assert_eq!(queues.iter().map(Vec::len).sum::<usize>(), 8 * 64);
    for from_port in 0..64 {
        let flow: Vec<_> = (0..8).map(|payload| datagram(from_port, payload)).collect();
        let its = |frames: &Vec<Vec<u8>>| -> Vec<_> {
            frames
                .iter()
                .filter(|frame| flow.contains(frame))
                .cloned()
                .collect()
        };
        let found: Vec<_> = queues
            .iter()
            .map(its)
            .filter(|its| !its.is_empty())
            .collect();
        assert_eq!(found, [flow], "one queue has it, in order");
    }
}

#[test]
fn an_uplink_of_one_vlan_has_no_tags() {
    let wired = Wired::new(5);
    let (none, five) = (wired.port(None, 0), wired.port(None, 5));
    wired.comes(&frame(ALL, 9, 0));
    wired.comes(&frame(ALL, 9, 5));
    assert_eq!((got(&none).len(), got(&five)), (0, vec![frame(ALL, 9, 0)]));
    assert_eq!(wired.foreign(), 1);
    let plain = Header::default();
    send(&none, &plain, &frame(ALL, 1, 0));
    assert_eq!(wired.sent(), None);
    send(&five, &plain, &frame(ALL, 1, 0));
    assert_eq!(wired.sent(), Some((plain, frame(ALL, 1, 0))));
}

#[test]
fn an_uplink_that_is_full_or_gone_drops_frames() {
    let wired = Wired::new(0);
    let port = wired.port(None, 0);
    let plain = Header::default();
    // Nobody reads the wire.
    while wired.uplink.counts().unsent == 0 {
        send(&port, &plain, &frame(ALL, 1, 0));
        assert!(wired.uplink.counts().sent < 1_000_000);
    }
    let before = wired.uplink.counts();
    drop(wired.wire);
    send(&port, &plain, &frame(ALL, 1, 0));
    let counts = wired.uplink.counts();
    assert_eq!(
        (counts.sent, counts.unsent),
        (before.sent, before.unsent + 1)
    );
    // Its thread waits, and still ends.
    drop(wired.uplink);
}
