//! The driver of a network device, one pair of queues, whose rings the test controls.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use crate::client::{LIMIT, limited, pause};
use elvis::net::{self, Header};
use elvis_ring::driver::{Buffer, Driver};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use vhost::vhost_user::message::VhostUserProtocolFeatures as Protocol;
use vhost::{VhostBackend, VhostUserDirtyLogRegion};
use ws_io::nic::{FREE, feature};

pub const SIZE: u16 = ws_io::nic::SIZE;
pub const RINGS: [u64; 2] = ws_io::nic::RINGS;
const MEMORY: u64 = 32 << 20;
/// Buffers of received frames.
pub const RECEIVED: u64 = FREE;
/// Bytes of each.
pub const BUFFER: u32 = 2048;
/// Buffers of sent frames, which are used in turn.
pub const SENT: u64 = 0x40_0000;
const SLOT: u64 = 80 << 10;
const SLOTS: u64 = SIZE as u64;

/// What a driver that does all by itself leaves out.
pub const OFFLOADS: u64 = net::feature::GUEST_CSUM
    | net::feature::GUEST_TSO4
    | net::feature::GUEST_TSO6
    | net::feature::USO;

pub struct Nic {
    nic: ws_io::nic::Nic,
    /// Heads of buffers of received frames, by place.
    heads: Vec<Option<u16>>,
    sent: u64,
    replied: u64,
}

impl Deref for Nic {
    type Target = ws_io::nic::Nic;

    fn deref(&self) -> &Self::Target {
        &self.nic
    }
}

impl DerefMut for Nic {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.nic
    }
}

impl Nic {
    /// Connects with all features that the device offers but `without` and packed rings, and starts with buffers.
    pub fn connect(socket: &Path, without: u64) -> Self {
        Self::started(Self::idle(socket, without))
    }

    /// The same with packed rings.
    pub fn packed(socket: &Path, without: u64) -> Self {
        Self::started(Self::idle_packed(socket, without))
    }

    fn started(mut nic: Self) -> Self {
        nic.begin();
        nic.offer_buffers();
        nic
    }

    /// Connects, and starts no ring.
    pub fn idle(socket: &Path, without: u64) -> Self {
        Self::of(socket, without | feature::RING_PACKED)
    }

    /// The same with packed rings.
    pub fn idle_packed(socket: &Path, without: u64) -> Self {
        let nic = Self::of(socket, without);
        assert_ne!(nic.features & feature::RING_PACKED, 0, "not offered");
        nic
    }

    fn of(socket: &Path, without: u64) -> Self {
        // Dirty pages are logged only during a migration.
        let features = !without & !feature::LOG_ALL;
        let nic = limited("an answer to a front-end", || {
            ws_io::nic::Nic::connect(socket, features, Protocol::all(), MEMORY).unwrap()
        });
        let migrates = Protocol::RARP | Protocol::MTU | Protocol::LOG_SHMFD;
        assert!(nic.protocol.contains(migrates));
        Self {
            nic,
            heads: vec![None; SIZE.into()],
            sent: 0,
            replied: 0,
        }
    }

    /// Connects to another server; memory and rings stay. They start at `base`, see [`ws_io::nic::Nic::start`].
    pub fn reconnect(&mut self, socket: &Path, base: u16) {
        let features = self.features;
        self.frontend = limited("an answer to a front-end", || {
            ws_io::nic::negotiate(socket, features, Protocol::all())
                .unwrap()
                .0
        });
        self.start(base);
    }

    /// Shares the memory, and starts new rings.
    pub fn begin(&mut self) {
        let base = self.new_base();
        self.start(base);
    }

    /// Where new rings start.
    pub fn new_base(&self) -> u16 {
        self.rings[0].start() as u16
    }

    /// The driver is reset: rings and buffers as new.
    pub fn reset(&mut self) {
        let packed = self.features & feature::RING_PACKED != 0;
        for (queue, base) in RINGS.into_iter().enumerate() {
            self.rings[queue].span().zero();
            let memory = Arc::clone(&self.memory);
            self.rings[queue] = Driver::of_memory(&memory, base, SIZE, true, packed).unwrap();
        }
        self.heads.fill(None);
        self.replied = self.sent;
    }

    /// Shares the memory, and starts both rings at `base`.
    pub fn start(&mut self, base: u16) {
        self.start_each([base; 2]);
    }

    /// The same, each at its own.
    pub fn start_each(&mut self, bases: [u16; 2]) {
        self.try_start(bases).unwrap();
    }

    /// The same, if the device takes it.
    pub fn try_start(&mut self, bases: [u16; 2]) -> vhost::Result<()> {
        limited("rings that are started", || self.nic.start(bases, None))
    }

    /// Starts, with writes to memory logged in this file.
    pub fn start_logged(&mut self, log: &File) {
        let bytes = log.metadata().unwrap().len();
        let region = VhostUserDirtyLogRegion {
            mmap_size: bytes,
            mmap_offset: 0,
            mmap_handle: log.as_raw_fd(),
        };
        limited("a log that is shared", || {
            self.nic.features |= feature::LOG_ALL;
            let features = self.nic.features;
            self.frontend.set_features(features).unwrap();
            self.frontend.set_log_base(0, Some(region)).unwrap();
            self.nic.start([0; 2], Some(0)).unwrap();
        });
    }

    /// A duplicate of the connection.
    pub fn stream(&self) -> UnixStream {
        // SAFETY: the front-end keeps its descriptor open during the borrow.
        let borrowed = unsafe { BorrowedFd::borrow_raw(self.frontend.as_raw_fd()) };
        borrowed.try_clone_to_owned().unwrap().into()
    }

    /// Whether the driver was called for received frames, and has not read that.
    pub fn called(&self) -> bool {
        // SAFETY: the descriptor is open during the borrow.
        let call = unsafe { BorrowedFd::borrow_raw(self.calls[0].as_raw_fd()) };
        let mut call = [PollFd::new(&call, PollFlags::IN)];
        rustix::event::poll(&mut call, Some(&Timespec::default())).unwrap() > 0
    }

    fn kick(&mut self, queue: usize) {
        self.nic.kick(queue).unwrap();
    }

    /// Gives the device all free buffers for received frames.
    pub fn offer_buffers(&mut self) {
        self.offer_some(SIZE.into());
    }

    /// Gives it at most this many.
    pub fn offer_some(&mut self, most: usize) {
        let free: Vec<_> = (0..self.heads.len())
            .filter(|&at| self.heads[at].is_none())
            .collect();
        for at in free.into_iter().take(most) {
            let buffer = (RECEIVED + at as u64 * u64::from(BUFFER), BUFFER, true);
            self.heads[at] = self.nic.rings[0].submit(&[buffer]);
        }
        self.kick(0);
    }

    // Through the memory's file: a loop over its bytes takes most of a test that is not optimized.
    pub fn write(&self, guest: u64, bytes: &[u8]) {
        self.file.write_all_at(bytes, guest).unwrap();
    }

    pub fn read(&self, guest: u64, bytes: u64) -> Vec<u8> {
        let mut read = vec![0; bytes as usize];
        self.file.read_exact_at(&mut read, guest).unwrap();
        read
    }

    /// Puts a frame into the transmit ring, in buffers of at most `part` bytes. False if the ring is full.
    pub fn try_send(&mut self, header: &Header, frame: &[u8], part: usize) -> bool {
        self.replied();
        let slot = SENT + self.sent % SLOTS * SLOT;
        let bytes = [&header.bytes(0)[..self.header_bytes()], frame].concat();
        self.write(slot, &bytes);
        let parts: Vec<Buffer> = (0..bytes.len())
            .step_by(part)
            .map(|at| (slot + at as u64, (bytes.len() - at).min(part) as u32, false))
            .collect();
        if self.rings[1].submit(&parts).is_none() {
            return false;
        }
        self.sent += 1;
        self.kick(1);
        true
    }

    /// How many frames the device has sent in all, as far as it told.
    pub fn replied(&mut self) -> u64 {
        while self.rings[1].reply().is_some() {
            self.replied += 1;
        }
        self.replied
    }

    /// Sends a frame, in two buffers, and waits until the device has it.
    pub fn send(&mut self, header: &Header, frame: &[u8]) {
        self.submit(header, frame);
        self.until_sent();
    }

    /// Puts a frame into the transmit ring, in two buffers.
    pub fn submit(&mut self, header: &Header, frame: &[u8]) {
        let part = (self.header_bytes() + frame.len()).div_ceil(2);
        assert!(self.try_send(header, frame, part));
    }

    /// Waits until the device has all frames.
    pub fn until_sent(&mut self) {
        soon("a sent frame", || {
            (self.replied() >= self.sent).then_some(())
        });
    }

    pub fn send_plain(&mut self, frame: &[u8]) {
        self.send(&Header::default(), frame);
    }

    /// The next received frame, if there is one. Its buffers are given back.
    pub fn try_receive(&mut self) -> Option<(Header, Vec<u8>)> {
        let (first, bytes) = self.buffer()?;
        let before = self.header_bytes();
        let header = Header::parse(&bytes[..10].try_into().unwrap());
        let count = match before {
            12 => u16::from_le_bytes([bytes[10], bytes[11]]),
            _ => 1,
        };
        assert!(count > 0, "no buffers");
        let (mut frame, mut places) = (bytes[before..].to_vec(), vec![first]);
        for _ in 1..count {
            // All buffers of a frame are published at once.
            let (place, bytes) = self.buffer().unwrap();
            frame.extend(bytes);
            places.push(place);
        }
        for place in places {
            self.heads[place] = None;
        }
        self.offer_buffers();
        Some((header, frame))
    }

    fn buffer(&mut self) -> Option<(usize, Vec<u8>)> {
        let (head, written) = self.rings[0].reply()?;
        let place = self.heads.iter().position(|&other| other == Some(head));
        let place = place.expect("a buffer that was not offered");
        assert!(written <= BUFFER);
        let guest = RECEIVED + place as u64 * u64::from(BUFFER);
        Some((place, self.read(guest, written.into())))
    }

    pub fn receive(&mut self) -> (Header, Vec<u8>) {
        soon("a frame", || self.try_receive())
    }
}

/// Calls `look` until it returns a value, which mostly is soon.
fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < LIMIT, "waited {LIMIT:?} for {what}");
        pause(begun);
    }
}

/// A frame of this length between these stations. Its bytes differ from those of frames of other lengths, so that what
/// an earlier one left in a buffer is not taken for it.
pub fn frame(to: u8, from: u8, bytes: usize) -> Vec<u8> {
    // Made once, as it takes long in a test that is not optimized.
    static DATA: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let all = 0..SLOT as usize + 251;
        all.map(|at| (at * 7 + at / 256) as u8).collect()
    });
    let mut frame = DATA[bytes % 251..][..bytes].to_vec();
    frame[..6].copy_from_slice(&[if to == 0xff { 0xff } else { 2 }; 6]);
    frame[5] = to;
    frame[6..12].copy_from_slice(&[2, 2, 2, 2, 2, from]);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame
}

/// UDP datagrams of 1000, 1000 and 500 bytes in one frame to all stations, and its header.
pub fn datagrams() -> (Header, Vec<u8>) {
    let mut together = frame(0xff, 1, 14);
    together[12..].copy_from_slice(&[8, 0]);
    together.extend([
        0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ]);
    together.extend([1, 2, 3, 4, 0, 0, 0, 0]);
    together.extend((0..2500).map(|at| at as u8));
    let header = Header {
        flags: 1,
        gso_type: 5,
        hdr_len: 42,
        gso_size: 1000,
        csum_start: 34,
        csum_offset: 6,
    };
    (header, together)
}
