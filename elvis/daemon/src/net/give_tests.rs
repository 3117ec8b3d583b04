//! Frames given to receivers of all kinds.

use super::*;
use crate::net::header::frames::{datagrams, segment};
use elvis_ring::driver::Driver;
use proptest::prelude::*;
use std::fs::File;
use std::sync::atomic::Ordering;

const OFFLOADS: u64 =
    feature::GUEST_CSUM | feature::GUEST_TSO4 | feature::GUEST_TSO6 | feature::GUEST_ECN;
/// Where the buffers are, one after another.
const BUFFERS: u64 = 0x8000;

/// A driver with buffers of these lengths, its ring, and memory for frames.
struct Receiver {
    driver: Driver,
    ring: Ring,
    room: Room,
    /// By head: place and length.
    buffers: Vec<(u64, u32)>,
    features: u64,
}

impl Receiver {
    fn new(lengths: &[u32], features: u64) -> Self {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = File::from(rustix::fs::memfd_create("give-test", flags).unwrap());
        file.set_len(4 << 20).unwrap();
        let mut driver = Driver::new(&file, 256, false).unwrap();
        let (mut at, mut buffers) = (BUFFERS, vec![(0, 0); 256]);
        for &bytes in lengths {
            let head = driver.submit(&[(at, bytes, true)]).unwrap();
            buffers[usize::from(head)] = (at, bytes);
            at += u64::from(bytes);
        }
        let mut ring = Ring::new(256, &driver.addresses(), driver.memory(), 0, false).unwrap();
        ring.look().unwrap();
        let mut room = Room::default();
        room.enlarge();
        Self {
            driver,
            ring,
            room,
            buffers,
            features,
        }
    }

    fn give(&mut self, header: &Header, frame: &[u8]) -> Given {
        let parts = Parts::private(frame);
        give(&mut self.ring, self.features, &mut self.room, header, parts).unwrap()
    }

    /// The next frame that was published.
    fn frame(&mut self) -> Option<(Header, Vec<u8>)> {
        self.ring.publish();
        let mut bytes = self.buffer()?;
        let before = header_bytes(self.features);
        let count = if before == 12 {
            u16::from_le_bytes([bytes[10], bytes[11]])
        } else {
            1
        };
        for _ in 1..count {
            bytes.extend(self.buffer().unwrap());
        }
        let header = Header::parse(bytes[..BYTES].try_into().unwrap());
        Some((header, bytes[before..].to_vec()))
    }

    fn buffer(&mut self) -> Option<Vec<u8>> {
        let (head, written) = self.driver.reply()?;
        let (at, bytes) = self.buffers[usize::from(head)];
        assert!(written <= bytes);
        let span = self
            .driver
            .memory()
            .span(at, u64::from(bytes).max(1))
            .unwrap();
        Some(
            (0..written as usize)
                .map(|at| span.load_u8(at, Ordering::Relaxed))
                .collect(),
        )
    }
}

const BYTES: usize = crate::net::header::BYTES;

#[test]
fn without_merging_one_buffer_takes_the_frame_or_none() {
    let mut receiver = Receiver::new(&[100, 100], 0);
    assert_eq!(receiver.give(&Header::default(), &[7; 91]), Given::TooLong);
    let one = Given::Done {
        buffers: 1,
        lost: 0,
    };
    assert_eq!(receiver.give(&Header::default(), &[8; 90]), one);
    assert_eq!(receiver.frame(), Some((Header::default(), vec![8; 90])));
    assert_eq!(receiver.frame(), None);
    assert_eq!(receiver.give(&Header::default(), &[9; 14]), one);
    assert_eq!(receiver.give(&Header::default(), &[9; 14]), Given::Starved);
}

#[test]
fn a_header_needs_a_whole_place() {
    let mut receiver = Receiver::new(&[11, 100], feature::MRG_RXBUF);
    assert_eq!(receiver.give(&Header::default(), &[7; 20]), Given::TooLong);
    let mut tiny = Receiver::new(&[12; 250], feature::MRG_RXBUF);
    assert_eq!(
        tiny.give(&Header::default(), &[7; 12 * 250]),
        Given::Starved
    );
    let buffers = Given::Done {
        buffers: 250,
        lost: 0,
    };
    assert_eq!(tiny.give(&Header::default(), &[7; 12 * 249]), buffers);
}

#[test]
fn a_segment_is_split_for_a_driver_that_does_not_take_it() {
    let (header, frame) = segment(false, 5000, 1000);
    let mut receiver = Receiver::new(&[1200; 8], feature::MRG_RXBUF);
    let five = Given::Done {
        buffers: 5,
        lost: 0,
    };
    assert_eq!(receiver.give(&header, &frame), five);
    let mut data = Vec::new();
    while let Some((header, segment)) = receiver.frame() {
        assert_eq!(header, Header::default());
        data.extend_from_slice(&segment[54..]);
    }
    assert_eq!(data, frame[54..]);
    // Three buffers are left.
    assert_eq!(
        receiver.give(&header, &frame),
        Given::Done {
            buffers: 3,
            lost: 2
        }
    );
    assert_eq!(receiver.give(&header, &frame), Given::Starved);
    let mut all = Receiver::new(&[1200; 8], feature::MRG_RXBUF | OFFLOADS);
    assert_eq!(all.give(&header, &frame), five);
    assert_eq!(all.frame(), Some((header, frame)));
}

#[test]
fn datagrams_are_split_for_a_driver_that_does_not_take_both_kinds() {
    let some = feature::MRG_RXBUF | OFFLOADS;
    for v6 in [false, true] {
        let (header, frame) = datagrams(v6, 2500, 1000);
        for features in [some, some | feature::GUEST_USO4, some | feature::GUEST_USO6] {
            let mut receiver = Receiver::new(&[1200; 8], features);
            let three = Given::Done {
                buffers: 3,
                lost: 0,
            };
            assert_eq!(receiver.give(&header, &frame), three);
            let mut lengths = Vec::new();
            while let Some((header, datagram)) = receiver.frame() {
                assert_eq!(header, Header::default());
                lengths.push(datagram.len() - if v6 { 62 } else { 42 });
            }
            assert_eq!(lengths, [1000, 1000, 500]);
        }
        let all = some | feature::GUEST_USO4 | feature::GUEST_USO6;
        let mut receiver = Receiver::new(&[1200; 8], all);
        receiver.give(&header, &frame);
        assert_eq!(receiver.frame(), Some((header, frame)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// A frame arrives whole, or no buffer is used.
    #[test]
    fn whole_or_not(lengths in prop::collection::vec(12u32..3000, 1..60), sizes in prop::collection::vec(14usize..9000, 1..12), merges in any::<bool>(), split in 1usize..9000) {
        let features = if merges { feature::MRG_RXBUF } else { feature::VERSION_1 };
        let mut receiver = Receiver::new(&lengths, features);
        let mut left: std::collections::VecDeque<u32> = lengths.into();
        for (number, size) in sizes.into_iter().enumerate() {
            let frame: Vec<u8> = (0..size).map(|at| (at + number) as u8).collect();
            let header = Header { flags: 0, csum_start: number as u16, ..Header::default() };
            // By way of the buffer that a read from an interface has filled, or not.
            let (mut needed, mut room) = (0, 0);
            while room < size + 12 && needed < left.len() {
                room += left[needed] as usize;
                needed += 1;
            }
            let fits = room >= size + 12 && (merges || needed == 1);
            let given = if split < size && merges && left.front().is_some_and(|&first| first as usize >= split + 12) {
                let mut first = receiver.room.spare.pop().unwrap_or_default();
                prop_assert!(receiver.ring.take(&mut first).unwrap());
                // The interface fills a buffer before the next one.
                let inside = first.writable_bytes() as usize - 12;
                if inside >= size {
                    receiver.ring.untake(first.head());
                    receiver.give(&header, &frame)
                } else {
                    first.write(12, &frame[..inside]);
                    let (ring, room) = (&mut receiver.ring, &mut receiver.room);
                    spill(ring, features, room, (&mut first, &header), inside, &frame[inside..]).unwrap()
                }
            } else {
                receiver.give(&header, &frame)
            };
            if fits {
                prop_assert_eq!(given, Given::Done { buffers: needed as u64, lost: 0 });
                prop_assert_eq!(receiver.frame(), Some((header, frame)));
                left.drain(..needed);
            } else {
                prop_assert!(matches!(given, Given::Starved | Given::TooLong), "{:?}", given);
                prop_assert_eq!(receiver.frame(), None);
            }
        }
    }
}
