//! End of a pair of network devices: sends numbered frames that are all alike, and takes the other end's.

use crate::nic::{self, Nic, RECEIVE, TRANSMIT, feature};
use anyhow::{Context, bail};
use elvis_ring::Span;
use rustix::event::{PollFd, PollFlags};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use vhost::vhost_user::message::VhostUserProtocolFeatures;

/// Bytes of the header before a frame.
const HEADER: usize = 12;
/// Offset of the number of buffers in a received frame's header.
const COUNT: usize = 10;
/// Bytes of a frame's Ethernet, IPv4 and TCP headers.
const HEADERS: usize = 14 + 20 + 20;
/// Offset of a frame's number from the start of its header, aligned.
const NUMBER: usize = HEADER + HEADERS + 2;
/// Bytes of the shortest frame. Ethernet has none shorter either, with its checksum.
pub const SHORTEST: u32 = 64;
/// Bytes of the longest frame that is not a segment to be split: an MTU of 1500.
pub const PLAIN: u32 = 1514;
/// Bytes of the longest frame: IPv4's limit.
pub const LONGEST: u32 = 65_535 + 14;
/// Bytes of data in a segment's parts: an MTU of 1500 less IPv4, TCP and its time stamps.
const PART: u16 = 1448;
/// Bytes of a buffer for received frames: a frame of an MTU of 1500, in whole cache lines.
const BUFFER: u64 = 1536;
/// Number in frames that only find the way.
const PROBE: u32 = u32::MAX;
/// Longest time until a server listens, and until it forwards frames.
const PATIENCE: Duration = Duration::from_secs(10);

/// Device at one end, with its frames and buffers.
pub(crate) struct Station {
    nic: Nic,
    frame_bytes: u32,
    received: Span,
    sent: Span,
    /// Address of `sent` in the memory.
    sent_at: u64,
    /// Bytes of a frame in `sent`, and the number of frames there.
    slot_bytes: u64,
    slots: u64,
    /// The slot of the next frame.
    next: u64,
    /// The place of each buffer, by its number in the ring.
    places: Vec<u16>,
    /// Places of buffers that the device does not have.
    free: Vec<u16>,
}

impl Station {
    /// Connects to a server, which may not listen yet. `number`: 0 or 1, the end. `depth`: most frames that are on
    /// their way.
    pub(crate) fn connect(
        socket: &Path,
        number: u8,
        frame_bytes: u32,
        depth: u16,
    ) -> anyhow::Result<Self> {
        if !(SHORTEST..=LONGEST).contains(&frame_bytes) {
            bail!("a frame has {SHORTEST} to {LONGEST} bytes");
        }
        let buffers = u64::from(frame_bytes + HEADER as u32).div_ceil(BUFFER);
        if u64::from(depth) * buffers > u64::from(nic::SIZE) {
            bail!("{depth} frames of {frame_bytes} bytes need more buffers than a ring has");
        }
        let slot_bytes = u64::from(frame_bytes + HEADER as u32).next_multiple_of(64);
        // A frame's slot is used again when so many were sent after it that it has arrived.
        let slots = 2 * u64::from(depth);
        let sent_at = nic::FREE + u64::from(nic::SIZE) * BUFFER;
        let bytes = (sent_at + slots * slot_bytes).next_multiple_of(4096);
        let mut nic = patiently(|| start(socket, frame_bytes, bytes))?;
        // Sent frames are reclaimed when more are sent.
        nic.rings[TRANSMIT].want_calls(false);
        let span = |at, bytes| nic.memory.span(at, bytes).context("no memory for frames");
        let (received, sent) = (
            span(nic::FREE, sent_at - nic::FREE)?,
            span(sent_at, slots * slot_bytes)?,
        );
        let frame = frame(number, frame_bytes);
        for slot in 0..slots {
            for (byte, value) in frame.iter().enumerate() {
                sent.store_u8(
                    (slot * slot_bytes) as usize + byte,
                    *value,
                    Ordering::Relaxed,
                );
            }
        }
        let mut station = Self {
            nic,
            frame_bytes,
            received,
            sent,
            sent_at,
            slot_bytes,
            slots,
            next: 0,
            places: vec![0; nic::SIZE.into()],
            free: (0..nic::SIZE).collect(),
        };
        station.give_back()?;
        Ok(station)
    }

    /// Sends a frame with this number; false if the ring is full. [`Self::kick`] notifies the device.
    pub(crate) fn send(&mut self, number: u32) -> bool {
        let ring = &mut self.nic.rings[TRANSMIT];
        while ring.reply().is_some() {}
        let at = self.next * self.slot_bytes;
        self.sent
            .store_u32(at as usize + NUMBER, number.to_le(), Ordering::Relaxed);
        let bytes = HEADER as u32 + self.frame_bytes;
        if ring.submit(&[(self.sent_at + at, bytes, false)]).is_none() {
            return false;
        }
        self.next = (self.next + 1) % self.slots;
        true
    }

    /// Notifies the device of sent frames, unless it suppresses notifications.
    pub(crate) fn kick(&mut self) -> anyhow::Result<()> {
        Ok(self.nic.kick(TRANSMIT)?)
    }

    /// The number of the next received frame, if there is one. [`Self::give_back`] returns its buffers.
    pub(crate) fn receive(&mut self) -> anyhow::Result<Option<u32>> {
        while let Some((place, mut bytes)) = self.buffer()? {
            let at = usize::from(place) * BUFFER as usize;
            let count = u16::from_le(self.received.load_u16(at + COUNT, Ordering::Relaxed));
            let number = u32::from_le(self.received.load_u32(at + NUMBER, Ordering::Relaxed));
            for _ in 1..count {
                // All buffers of a frame are published at once.
                let more = self.buffer()?.context("a frame without its last buffers")?;
                bytes += more.1;
            }
            if bytes != HEADER as u32 + self.frame_bytes {
                bail!(
                    "a frame of {} bytes arrived as {bytes} bytes, {HEADER} of them its header",
                    self.frame_bytes
                );
            }
            if number != PROBE {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// The next buffer that the device has filled, and the bytes in it.
    fn buffer(&mut self) -> anyhow::Result<Option<(u16, u32)>> {
        let Some((head, bytes)) = self.nic.rings[RECEIVE].reply() else {
            return Ok(None);
        };
        let place = self.places.get(usize::from(head));
        let place = *place.context("a buffer that is not in the ring")?;
        self.free.push(place);
        Ok(Some((place, bytes)))
    }

    /// Gives the device all free buffers.
    pub(crate) fn give_back(&mut self) -> anyhow::Result<()> {
        if self.free.is_empty() {
            return Ok(());
        }
        let ring = &mut self.nic.rings[RECEIVE];
        while let Some(&place) = self.free.last() {
            let buffer = (nic::FREE + u64::from(place) * BUFFER, BUFFER as u32, true);
            let Some(head) = ring.submit(&[buffer]) else {
                break;
            };
            self.places[usize::from(head)] = place;
            self.free.pop();
        }
        Ok(self.nic.kick(RECEIVE)?)
    }

    /// Whether a frame was received.
    pub(crate) fn has_frame(&self) -> bool {
        self.nic.rings[RECEIVE].has_reply()
    }

    /// Asks for a call with the next frame, or for none.
    pub(crate) fn want_calls(&mut self, wanted: bool) {
        self.nic.rings[RECEIVE].want_calls(wanted);
    }

    /// Eventfd that becomes readable with a call.
    pub(crate) fn calls(&self) -> BorrowedFd<'_> {
        // SAFETY: the event keeps its descriptor open during the borrow.
        unsafe { BorrowedFd::borrow_raw(self.nic.calls[RECEIVE].as_raw_fd()) }
    }

    /// Takes a call.
    pub(crate) fn take_call(&mut self) -> anyhow::Result<()> {
        self.nic.calls[RECEIVE].read()?;
        Ok(())
    }

    /// Number of kicks so far.
    pub(crate) fn kicks(&self) -> u64 {
        self.nic.kicked
    }

    /// Sends frames until one arrives at the other end: a server may need time until it forwards any, and a switch
    /// learns where a station is by a frame from it.
    pub(crate) fn find(&mut self, other: &mut Self) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            self.send(PROBE);
            self.kick()?;
            let mut told = [PollFd::from_borrowed_fd(other.calls(), PollFlags::IN)];
            let moment = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: 10_000_000,
            };
            if rustix::event::poll(&mut told, Some(&moment))? > 0 {
                other.take_call()?;
            }
            let found = other.has_frame();
            if other.receive()?.is_some() {
                bail!("received a frame that was not sent");
            }
            other.give_back()?;
            other.want_calls(true);
            if found {
                return Ok(());
            }
        }
        bail!("no frame was forwarded within {PATIENCE:?}");
    }
}

/// Connects and starts a device for such frames.
fn start(socket: &Path, frame_bytes: u32, bytes: u64) -> anyhow::Result<Nic> {
    let ring = feature::EVENT_IDX | feature::PROTOCOL | feature::VERSION_1;
    let segments = match frame_bytes {
        ..=PLAIN => 0,
        _ => feature::CSUM | feature::GUEST_CSUM | feature::GUEST_TSO4 | feature::HOST_TSO4,
    };
    let wanted = ring | feature::MRG_RXBUF | segments;
    let protocol = VhostUserProtocolFeatures::REPLY_ACK;
    let mut nic = Nic::connect(socket, wanted, protocol, bytes)?;
    if nic.features != wanted {
        let lacks = wanted & !nic.features;
        bail!("the server does not support the features {lacks:#x}, which this load needs");
    }
    nic.start([0; 2], None)?;
    Ok(nic)
}

/// Calls `connect` until there is a server.
pub(crate) fn patiently<T>(connect: impl Fn() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        match connect() {
            Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
            done => return done,
        }
    }
}

/// Makes a frame that end `from` sends to the other, with its header. A frame longer than [`PLAIN`] is a TCP segment to
/// be split, whose checksum is not complete.
fn frame(from: u8, bytes: u32) -> Vec<u8> {
    let (length, split) = ((bytes - 14) as u16, bytes > PLAIN);
    let mut frame = vec![0; HEADER + bytes as usize];
    if split {
        // NEEDS_CSUM and TCPv4; then bytes of all headers, bytes of a part's data, start and place of the checksum.
        let fields = [HEADERS as u16, PART, 34, 16];
        frame[..2].copy_from_slice(&[1, 1]);
        for (place, field) in frame[2..10].chunks_exact_mut(2).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
    }
    let ethernet = &mut frame[HEADER..];
    ethernet[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1 - from, 2, 0, 0, 0, 0, from, 8, 0]);
    let [high, low] = length.to_be_bytes();
    let start = [0x45, 0, high, low, 0, 0, 0x40, 0, 64, 6, 0, 0];
    let addresses = [10, 0, 0, from + 1, 10, 0, 0, 2 - from];
    ethernet[14..26].copy_from_slice(&start);
    ethernet[26..34].copy_from_slice(&addresses);
    let checksum = !sum(&ethernet[14..34]);
    ethernet[24..26].copy_from_slice(&checksum.to_be_bytes());
    // Port 1024 to itself, ACK, a header of five words.
    ethernet[34..38].copy_from_slice(&[4, 0, 4, 0]);
    ethernet[46..48].copy_from_slice(&[5 << 4, 0x10]);
    if split {
        // The checksum so far is that of the pseudo-header (NEEDS_CSUM): whoever splits the segment completes it.
        let tcp = (length - 20).to_be_bytes();
        let pseudo = [&addresses[..], &[0, 6], &tcp].concat();
        ethernet[50..52].copy_from_slice(&sum(&pseudo).to_be_bytes());
    }
    frame
}

/// The Internet's checksum (RFC 1071), not yet inverted.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_valid() {
        for bytes in [SHORTEST, PLAIN, LONGEST] {
            let made = frame(1, bytes);
            assert_eq!(made.len(), HEADER + bytes as usize);
            assert_eq!(made[0], u8::from(bytes > PLAIN));
            let ip = &made[HEADER + 14..];
            assert_eq!(u32::from(u16::from_be_bytes([ip[2], ip[3]])), bytes - 14);
            // With its checksum, a header's sum is zero.
            assert_eq!(sum(&ip[..20]), 0xffff);
        }
        // An example of RFC 1071, section 3.
        assert_eq!(sum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
        assert_eq!(NUMBER % 4, 0);
        assert!(NUMBER + 4 <= HEADER + SHORTEST as usize);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (bytes, depth, why) in [
            (SHORTEST - 1, 1, "64 to 65549 bytes"),
            (LONGEST, 6, "more buffers than a ring has"),
        ] {
            let error = Station::connect(Path::new("nowhere"), 0, bytes, depth).err();
            let error = error.unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
