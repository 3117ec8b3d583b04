//! Puts a frame into the buffers of a receive queue: several for one frame if the driver takes that (mergeable receive
//! buffers). Offloads that the driver does not take are done in software before.

use super::header::{ECN, Header, NONE, TCP4, TCP6, UDP};
use super::offload::{self, Segments};
use super::{LONGEST, feature};
use elvis_ring::{Chain, Ring, RingError};

/// Most buffers of one frame. Linux' have at least 1500 bytes, so that 44 are enough; a driver whose buffers
/// are much smaller makes its device's frames long to copy.
pub const MOST_BUFFERS: usize = 256;

/// Bytes of a frame: private ones, then the rest of a sender's chain, or none.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// First bytes of the frame, checked or private.
    pub start: &'a [u8],
    /// Buffers of the sender, and the number of their bytes before the rest of the frame.
    pub rest: Option<(&'a Chain, u64)>,
    /// Length of the rest.
    pub rest_bytes: usize,
}

impl<'a> Parts<'a> {
    /// Returns the parts of a frame in private memory.
    #[must_use]
    pub fn private(start: &'a [u8]) -> Self {
        Self {
            start,
            rest: None,
            rest_bytes: 0,
        }
    }

    /// Returns the length of the frame.
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

/// Result of giving a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// The frame is in this many buffers, to be published. `lost`: segments of the frame that found no room.
    Done {
        /// Number of buffers.
        buffers: u64,
        /// Number of segments.
        lost: u64,
    },
    /// There were too few buffers: none is used.
    Starved,
    /// The frame fits no buffer of this driver: drop it.
    TooLong,
}

/// Memory that is used for each frame anew.
#[derive(Debug)]
pub struct Room {
    /// Spare chains, kept for their allocations.
    pub spare: Vec<Chain>,
    /// Buffers of the current frame: head, bytes written.
    used: Vec<(u16, u32)>,
    /// Memory for a frame; empty until a network device is served.
    pub scratch: Vec<u8>,
    /// Memory for the header and the start of a frame.
    pub first: Vec<u8>,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            spare: Vec::new(),
            used: Vec::with_capacity(MOST_BUFFERS),
            scratch: Vec::new(),
            first: Vec::new(),
        }
    }
}

impl Room {
    /// Most chains that are kept. A driver decides how many requests are in flight, and how long each is.
    pub const SPARE: usize = 256;

    /// Makes room for a frame.
    pub fn enlarge(&mut self) {
        self.scratch.resize(LONGEST, 0);
    }
}

/// Returns the bytes of the header of a driver with these features.
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
        TCP6 => feature::GUEST_TSO6,
        // The header does not say over which IP.
        UDP => feature::GUEST_USO4 | feature::GUEST_USO6,
        _ => return false,
    };
    has(feature::GUEST_CSUM)
        && features & split == split
        && (header.gso_type & ECN == 0 || has(feature::GUEST_ECN))
}

/// Puts a frame into a ring of a driver with these features. The caller publishes it.
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

/// Completes checksums, splits segments, and puts the resulting frames into the ring.
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
        // Once a segment is in the ring the frame can't be given again: segments without room are lost.
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
    if parts.rest.is_none() {
        let write = |chain: &Chain, at: u64, from: usize, bytes: usize| {
            let part = parts.start.get(from..from + bytes);
            part.is_some_and(|part| chain.write(at, part))
        };
        return fill(ring, features, room, header, parts.bytes(), write);
    }
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
    let done = match take(ring, &mut first) {
        Ok(true) => {
            let whole = header_bytes(features) + bytes;
            if whole as u64 <= first.writable_bytes() {
                Ok(fill_one(ring, features, &first, header, bytes, write))
            } else {
                room.used.clear();
                let ends = (0, bytes);
                fill_from(ring, features, room, (&first, header), ends, write)
            }
        }
        Ok(false) => Ok(Given::Starved),
        Err(error) => Err(error),
    };
    room.spare.push(first);
    done
}

/// Takes the next buffer. False if there is none.
fn take(ring: &mut Ring, chain: &mut Chain) -> Result<bool, RingError> {
    // Buffers that came after the last look count too.
    Ok(ring.take(chain)? || (ring.look()?.pending > 0 && ring.take(chain)?))
}

/// Fills the buffer that was taken last with a whole frame, as most buffers are filled.
fn fill_one(
    ring: &mut Ring,
    features: u64,
    chain: &Chain,
    header: &Header,
    bytes: usize,
    write: impl Fn(&Chain, u64, usize, usize) -> bool,
) -> Given {
    let before = header_bytes(features);
    let fits = write(chain, before as u64, 0, bytes) && chain.write(0, &header.bytes(1)[..before]);
    if !fits {
        ring.untake(chain.head());
        return Given::TooLong;
    }
    let written = before + bytes;
    if let Some(log) = ring.log() {
        chain.mark(log, written as u64);
    }
    ring.put(chain.head(), u32::try_from(written).unwrap_or(u32::MAX));
    Given::Done {
        buffers: 1,
        lost: 0,
    }
}

/// Puts a frame into the ring. Its first `done` bytes are already in the buffer `first`, taken last from the ring,
/// after room for the header; `tail` has the rest.
pub fn spill(
    ring: &mut Ring,
    features: u64,
    room: &mut Room,
    (first, header): (&Chain, &Header),
    done: usize,
    tail: &[u8],
) -> Result<Given, RingError> {
    let before = header_bytes(features) + done;
    let written = u32::try_from(before).unwrap_or(u32::MAX);
    if let Some(log) = ring.log() {
        first.mark(log, before as u64);
    }
    if tail.is_empty() {
        // Most frames are in one buffer.
        first.write(0, &header.bytes(1)[..header_bytes(features)]);
        ring.put(first.head(), written);
        return Ok(Given::Done {
            buffers: 1,
            lost: 0,
        });
    }
    room.used.clear();
    room.used.push((first.head(), written));
    let write = |chain: &Chain, at: u64, from: usize, bytes: usize| {
        let from = from - done;
        chain.write(at, &tail[from..from + bytes])
    };
    let bytes = (done, done + tail.len());
    fill_from(ring, features, room, (first, header), bytes, write)
}

/// Fills buffers from `done` bytes of the frame on. `first` was taken from the ring. If `done` is not 0, it has the
/// bytes before.
fn fill_from(
    ring: &mut Ring,
    features: u64,
    room: &mut Room,
    (first, header): (&Chain, &Header),
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
        // Buffers are put or given back only when all are filled: a frame is in the ring whole, or not at all.
        Ok(Given::Done { buffers, .. }) => {
            let buffers = u16::try_from(buffers).unwrap_or(u16::MAX);
            // The header's place was checked when the buffer was taken.
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
        first: &Chain,
        next: &mut Chain,
        write: impl Fn(&Chain, u64, usize, usize) -> bool,
    ) -> Result<Given, RingError> {
        let before = header_bytes(self.features);
        let merges = self.features & feature::MRG_RXBUF != 0;
        while self.used.is_empty() || self.done < self.bytes {
            let (chain, at) = if self.used.is_empty() {
                (first, before)
            } else if take(self.ring, next)? {
                (&*next, 0)
            } else {
                return Ok(Given::Starved);
            };
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
#[path = "give_tests.rs"]
mod tests;
