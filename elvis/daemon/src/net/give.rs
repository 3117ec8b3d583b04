//! Puts a frame into the buffers of a receive queue, several for one frame if the driver takes that
//! (mergeable receive buffers), after doing in software what the driver does not take.

use super::header::{ECN, Header, NONE, TCP4};
use super::offload::{self, Segments};
use super::{LONGEST, feature};
use elvis_ring::{Chain, Ring, RingError};

/// Most buffers of one frame. Linux' have at least 1500 bytes, so that 44 are enough; a driver whose buffers
/// are much smaller makes its device's frames long to copy.
pub const MOST_BUFFERS: usize = 256;

/// The bytes of a frame: private ones, then the rest of a sender's chain, or none.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// Checked or private bytes.
    pub start: &'a [u8],
    /// The sender's buffers, and how many of their bytes are before the rest of the frame.
    pub rest: Option<(&'a Chain, u64)>,
    /// Length of the rest.
    pub rest_bytes: usize,
}

impl<'a> Parts<'a> {
    /// A frame in private memory, in two parts.
    #[must_use]
    pub fn private(start: &'a [u8]) -> Self {
        Self {
            start,
            rest: None,
            rest_bytes: 0,
        }
    }

    /// The length of the frame.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.start.len() + self.rest_bytes
    }

    /// Copies the frame into private memory. False if it does not fit.
    #[must_use]
    pub fn copy(&self, to: &mut [u8]) -> bool {
        let start = self.start.len();
        if to.len() != self.bytes() {
            return false;
        }
        to[..start].copy_from_slice(self.start);
        self.rest
            .is_none_or(|(chain, skip)| chain.read(skip, &mut to[start..]))
    }
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// It is in this many buffers, to be published. `lost`: segments of it that found no room.
    Done {
        /// Buffers.
        buffers: u64,
        /// Segments.
        lost: u64,
    },
    /// There were too few buffers: none is used.
    Starved,
    /// It fits no buffer of this driver: drop it.
    TooLong,
}

/// Memory that is used for each frame anew.
#[derive(Debug)]
pub struct Room {
    /// Chains, for their allocations.
    pub spare: Vec<Chain>,
    /// Buffers of the current frame: head, bytes written.
    used: Vec<(u16, u32)>,
    /// A frame; empty until a network device is served.
    pub scratch: Vec<u8>,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            spare: Vec::new(),
            used: Vec::with_capacity(MOST_BUFFERS),
            scratch: Vec::new(),
        }
    }
}

impl Room {
    /// Makes room for a frame.
    pub fn enlarge(&mut self) {
        self.scratch.resize(LONGEST, 0);
    }
}

/// Bytes of the header of a driver with these features.
#[must_use]
pub fn header_bytes(features: u64) -> usize {
    if features & (feature::MRG_RXBUF | feature::VERSION_1) != 0 {
        12
    } else {
        10
    }
}

/// Whether a driver takes frames with this header as they are.
fn takes(features: u64, header: &Header) -> bool {
    let has = |bit| features & bit != 0;
    let split = match header.gso() {
        NONE => return !header.needs_checksum() || has(feature::GUEST_CSUM),
        TCP4 => feature::GUEST_TSO4,
        _ => feature::GUEST_TSO6,
    };
    has(feature::GUEST_CSUM)
        && has(split)
        && (header.gso_type & ECN == 0 || has(feature::GUEST_ECN))
}

/// Puts a frame into a ring of a driver with these features. The caller publishes it.
///
/// # Errors
///
/// The ring breaks the rules.
pub fn give(
    ring: &mut Ring,
    features: u64,
    room: &mut Room,
    header: &Header,
    parts: Parts,
) -> Result<Given, RingError> {
    if takes(features, header) {
        return put(ring, features, room, header, parts);
    }
    let mut scratch = std::mem::take(&mut room.scratch);
    let done = in_software(ring, features, room, header, parts, &mut scratch);
    room.scratch = scratch;
    done
}

/// Completes checksums, splits segments, and puts what results into the ring.
fn in_software(
    ring: &mut Ring,
    features: u64,
    room: &mut Room,
    header: &Header,
    parts: Parts,
    scratch: &mut [u8],
) -> Result<Given, RingError> {
    let Some(frame) = scratch.get_mut(..parts.bytes()) else {
        return Ok(Given::TooLong);
    };
    if !parts.copy(frame) {
        return Ok(Given::TooLong);
    }
    let plain = Header::default();
    let Some(mut segments) = (header.gso() != NONE)
        .then(|| Segments::new(frame, header))
        .flatten()
    else {
        offload::complete(frame, header);
        return put(ring, features, room, &plain, Parts::private(frame));
    };
    let (mut all, mut lost) = (0, 0);
    while let Some((headers, data)) = segments.split() {
        if lost > 0 {
            lost += 1;
            continue;
        }
        match put_both(ring, features, room, &plain, headers, data)? {
            Given::Done { buffers, .. } => all += buffers,
            other if all == 0 => return Ok(other),
            _ => lost += 1,
        }
    }
    Ok(Given::Done { buffers: all, lost })
}

/// Puts a segment into the ring.
fn put_both(
    ring: &mut Ring,
    features: u64,
    room: &mut Room,
    header: &Header,
    headers: &[u8],
    data: &[u8],
) -> Result<Given, RingError> {
    let write = |chain: &Chain, at: u64, from: usize, bytes: usize| {
        let split = headers.len();
        let end = from + bytes;
        let first = &headers[from.min(split)..end.min(split)];
        let second = &data[from.saturating_sub(split)..end.saturating_sub(split)];
        chain.write(at, first) && chain.write(at + first.len() as u64, second)
    };
    fill(
        ring,
        features,
        room,
        header,
        headers.len() + data.len(),
        write,
    )
}

/// Puts a frame into the ring as it is.
fn put(
    ring: &mut Ring,
    features: u64,
    room: &mut Room,
    header: &Header,
    parts: Parts,
) -> Result<Given, RingError> {
    let write = |chain: &Chain, at: u64, from: usize, bytes: usize| {
        let (split, end) = (parts.start.len(), from + bytes);
        let first = &parts.start[from.min(split)..end.min(split)];
        let from = from.saturating_sub(split) as u64;
        let (at_rest, left) = (at + first.len() as u64, (bytes - first.len()) as u64);
        chain.write(at, first)
            && match parts.rest {
                Some((source, skip)) if left > 0 => {
                    source.copy_to(skip + from, chain, at_rest, left)
                }
                _ => left == 0,
            }
    };
    fill(ring, features, room, header, parts.bytes(), write)
}

/// Takes buffers and fills them: `write` copies a part of the frame into one, to a place in it.
fn fill(
    ring: &mut Ring,
    features: u64,
    room: &mut Room,
    header: &Header,
    bytes: usize,
    write: impl Fn(&Chain, u64, usize, usize) -> bool,
) -> Result<Given, RingError> {
    let mut first = room.spare.pop().unwrap_or_default();
    room.used.clear();
    let done = fill_from(
        ring,
        features,
        room,
        (&mut first, header),
        (0, bytes),
        write,
    );
    room.spare.push(first);
    done
}

/// Puts a frame into the ring whose first `done` bytes are already in the buffer `first`, taken last from the
/// ring, after room for the header; `tail` has the rest.
///
/// # Errors
///
/// The ring breaks the rules.
pub fn spill(
    ring: &mut Ring,
    features: u64,
    room: &mut Room,
    (first, header): (&mut Chain, &Header),
    done: usize,
    tail: &[u8],
) -> Result<Given, RingError> {
    let before = header_bytes(features) + done;
    room.used.clear();
    room.used
        .push((first.head(), u32::try_from(before).unwrap_or(u32::MAX)));
    if let Some(log) = ring.log() {
        first.mark(log, before as u64);
    }
    let write = |chain: &Chain, at: u64, from: usize, bytes: usize| {
        let from = from - done;
        chain.write(at, &tail[from..from + bytes])
    };
    let bytes = (done, done + tail.len());
    fill_from(ring, features, room, (first, header), bytes, write)
}

/// Fills buffers from `done` bytes on; if that is not 0, `first` is the buffer that has them.
fn fill_from(
    ring: &mut Ring,
    features: u64,
    room: &mut Room,
    (first, header): (&mut Chain, &Header),
    (done, bytes): (usize, usize),
    write: impl Fn(&Chain, u64, usize, usize) -> bool,
) -> Result<Given, RingError> {
    let mut next = room.spare.pop().unwrap_or_default();
    let mut filling = Filling {
        ring,
        used: &mut room.used,
        features,
        bytes,
        done,
    };
    let filled = filling.run(first, &mut next, write);
    room.spare.push(next);
    match filled {
        Ok(Given::Done { buffers, .. }) => {
            let buffers = u16::try_from(buffers).unwrap_or(u16::MAX);
            // Its place was checked when the buffer was taken.
            first.write(0, &header.bytes(buffers)[..header_bytes(features)]);
            for &(head, written) in &room.used {
                ring.put(head, written);
            }
        }
        _ => {
            while let Some((head, _)) = room.used.pop() {
                ring.untake(head);
            }
        }
    }
    filled
}

/// A frame on its way into buffers.
struct Filling<'a> {
    ring: &'a mut Ring,
    /// Buffers taken: head, bytes written.
    used: &'a mut Vec<(u16, u32)>,
    features: u64,
    bytes: usize,
    done: usize,
}

impl Filling<'_> {
    fn run(
        &mut self,
        first: &mut Chain,
        next: &mut Chain,
        write: impl Fn(&Chain, u64, usize, usize) -> bool,
    ) -> Result<Given, RingError> {
        let before = header_bytes(self.features);
        let merges = self.features & feature::MRG_RXBUF != 0;
        while self.used.is_empty() || self.done < self.bytes {
            let (chain, at) = if self.used.is_empty() {
                (&mut *first, before)
            } else {
                (&mut *next, 0)
            };
            // Buffers that came after the last look count too.
            if !self.ring.take(chain)?
                && (self.ring.look()?.pending == 0 || !self.ring.take(chain)?)
            {
                return Ok(Given::Starved);
            }
            let room = usize::try_from(chain.writable_bytes()).unwrap_or(usize::MAX);
            let part = room.saturating_sub(at).min(self.bytes - self.done);
            let written = u32::try_from(at + part).unwrap_or(u32::MAX);
            self.used.push((chain.head(), written));
            let fits =
                room >= at && (merges || part == self.bytes) && self.used.len() <= MOST_BUFFERS;
            if !fits || !write(chain, at as u64, self.done, part) {
                return Ok(Given::TooLong);
            }
            if let Some(log) = self.ring.log() {
                chain.mark(log, written.into());
            }
            self.done += part;
        }
        Ok(Given::Done {
            buffers: self.used.len() as u64,
            lost: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::header::frames::segment;
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
}
