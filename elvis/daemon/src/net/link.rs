//! An interface of the host: a tap device, or a network interface by a packet socket. Both carry each frame
//! behind a header (`struct virtio_net_hdr`), so offloads are passed on.

use super::header::{BYTES, Header, NONE, UDP};
use super::offload::Segments;
use super::{ETHERNET, LONGEST, Parts, feature, vlan};
use crate::sys;
use elvis_ring::Chain;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

/// Longest name of an interface.
pub const NAME: usize = libc::IFNAMSIZ - 1;
/// Time to wait for a tap that is in use: a process that was killed keeps it until it has ended.
const LINGER: Duration = Duration::from_secs(2);
/// Most frames that are dropped when a driver starts, as they came before it.
const STALE: usize = 10_000;

/// Flags of TUNSETOFFLOAD (linux/if_tun.h), and the features of a driver that takes such frames.
const TAKES: [(u64, u32); 5] = [
    (feature::GUEST_CSUM, 0x01),
    (feature::GUEST_TSO4, 0x02),
    (feature::GUEST_TSO6, 0x04),
    (feature::GUEST_ECN, 0x08),
    (feature::GUEST_USO4 | feature::GUEST_USO6, DATAGRAMS),
];
/// TUN_F_USO4 and TUN_F_USO6 (Linux 6.2): both or none.
const DATAGRAMS: u32 = 0x60;

/// Name of an interface, by its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkSpec {
    /// A tap device. If there is none of this name, one is made, which exists as long as this process.
    Tap(String),
    /// A network interface: a driver's frames are sent there, and it gets all frames that arrive.
    Interface(String),
}

impl LinkSpec {
    /// Returns the interface as the configuration writes it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Tap(name) => format!("tap:{name}"),
            Self::Interface(name) => format!("interface:{name}"),
        }
    }
}

/// Open interface.
#[derive(Debug)]
pub struct Link {
    /// Descriptor for each pair of queues.
    queues: Vec<OwnedFd>,
    tap: bool,
    /// Whether the kernel knows frames with several UDP datagrams.
    datagrams: bool,
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

impl Link {
    /// Opens an interface for this many pairs of queues of a device. From a packet socket a device gets no frames of
    /// VLANs. The kernel takes their tags off, so they would seem to be of the device's own network.
    ///
    /// # Errors
    ///
    /// The interface can't be opened; the message names it.
    pub fn open(spec: &LinkSpec, pairs: u16) -> io::Result<Self> {
        Self::opened(spec, pairs, sys::Tags::Drop)
    }

    fn opened(spec: &LinkSpec, pairs: u16, tags: sys::Tags) -> io::Result<Self> {
        let (name, opened) = match spec {
            LinkSpec::Tap(name) => (name, Self::tap(name, pairs)),
            LinkSpec::Interface(name) => (name, Self::interface(name, tags)),
        };
        opened.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))
    }

    /// Opens an interface for an uplink: it gets frames with all offloads, and VLAN tags.
    ///
    /// # Errors
    ///
    /// The interface can't be opened; the message names it.
    pub fn open_uplink(spec: &LinkSpec) -> io::Result<Self> {
        let link = Self::opened(spec, 1, sys::Tags::Tell)?;
        // Offloads that a receiver does not take are done in software.
        let udp = if link.datagrams { feature::USO } else { 0 };
        let all = feature::GUEST_CSUM | feature::GUEST_TSO4 | feature::GUEST_TSO6;
        link.agreed(all | feature::GUEST_ECN | udp)?;
        Ok(link)
    }

    /// Returns an interface by a socket that keeps each frame's length, for tests without privileges.
    #[must_use]
    pub fn of_socket(socket: OwnedFd) -> Self {
        Self {
            queues: vec![socket],
            tap: false,
            datagrams: false,
        }
    }

    fn tap(name: &str, pairs: u16) -> io::Result<Self> {
        let open = |several| -> io::Result<OwnedFd> {
            let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
            let mut options = OpenOptions::new();
            let file: File = options
                .read(true)
                .write(true)
                .custom_flags(flags)
                .open("/dev/net/tun")?;
            sys::tap_set(file.as_fd(), name, several)?;
            Ok(file.into())
        };
        let end = Instant::now() + LINGER;
        let open = |several| loop {
            match open(several) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                other => return other,
            }
        };
        let queues = match pairs {
            // A tap that was made for several queues is used with one, too.
            1 => match open(false) {
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => vec![open(true)?],
                one => vec![one?],
            },
            pairs => {
                let all: io::Result<Vec<_>> = (0..pairs).map(|_| open(true)).collect();
                let all = all.map_err(|error| match error.raw_os_error() {
                    Some(libc::EINVAL) => {
                        invalid("it has one queue; make it with multi_queue".to_owned())
                    }
                    _ => error,
                })?;
                // The kernel sends nothing to a queue that the driver does not use.
                for queue in &all[1..] {
                    sys::tap_use(queue.as_fd(), false)?;
                }
                all
            }
        };
        let set = |flags| sys::tap_offload(queues[0].as_fd(), flags);
        // The flags are tried with that of complete checksums, without which the kernel takes no other.
        let datagrams = set(TAKES[0].1 | DATAGRAMS).is_ok();
        set(0)?;
        Ok(Self {
            queues,
            tap: true,
            datagrams,
        })
    }

    fn interface(name: &str, tags: sys::Tags) -> io::Result<Self> {
        Ok(Self {
            queues: vec![sys::packet_socket(name, tags)?],
            tap: false,
            // Nothing says whether a kernel's packet sockets do, but its version.
            datagrams: false,
        })
    }

    /// Whether a driver may send and get frames with several UDP datagrams.
    #[must_use]
    pub fn takes_datagrams(&self) -> bool {
        self.datagrams
    }

    /// Tells the kernel which frames a driver with these features takes.
    pub fn agreed(&self, features: u64) -> io::Result<()> {
        if !self.tap {
            return Ok(());
        }
        // Without complete checksums there is no splitting either.
        let wanted = if features & feature::GUEST_CSUM != 0 {
            features
        } else {
            0
        };
        let flags = TAKES
            .iter()
            .filter(|(bits, _)| wanted & bits == *bits)
            .fold(0, |all, (_, flag)| all | flag);
        sys::tap_offload(self.queues[0].as_fd(), flags)
    }

    /// Tells the kernel that a pair of queues is used, or no longer.
    pub fn uses(&self, pair: usize, used: bool) {
        // The first queue is always used: an interface needs one.
        if let (true, true, Some(queue)) = (self.tap, pair > 0, self.queues.get(pair)) {
            // The call fails if nothing changes.
            let _ = sys::tap_use(queue.as_fd(), used);
        }
    }

    /// Drops frames that arrived before the driver started.
    pub fn drop_stale(&self) {
        let mut header = [0; BYTES];
        for queue in &self.queues {
            for _ in 0..STALE {
                if sys::read_frame(queue.as_fd(), &mut header, [], &mut [0; 64]) < 0 {
                    break;
                }
            }
        }
    }

    /// Returns the descriptor of a pair of queues: readable when frames arrived.
    #[must_use]
    pub fn fd(&self, pair: usize) -> Option<BorrowedFd<'_>> {
        self.queues.get(pair).map(AsFd::as_fd)
    }

    /// Whether frames from this interface may need offloads that its driver did not negotiate.
    #[must_use]
    pub fn unasked(&self) -> bool {
        !self.tap
    }

    /// Sends a frame: its header and its start, then the rest of the chain after its first `skip` bytes. `scratch` is
    /// used if the chain has too many parts.
    pub fn send(
        &self,
        pair: usize,
        first: &[u8],
        rest: Option<(&Chain, u64)>,
        scratch: &mut [u8],
    ) -> io::Result<()> {
        let Some(fd) = self.fd(pair) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let written = match rest {
            // Most frames take one plain write.
            None => sys::write_private(fd, first),
            Some((chain, skip)) if chain.readable().len() < sys::PIECES => {
                let pieces = chain.readable_pieces(skip, chain.readable_bytes());
                sys::write_frame(fd, &[first], pieces)
            }
            Some((chain, skip)) => {
                let bytes = usize::try_from(chain.readable_bytes().saturating_sub(skip));
                let rest = bytes.ok().and_then(|bytes| scratch.get_mut(..bytes));
                let Some(rest) = rest else {
                    return Err(io::ErrorKind::InvalidInput.into());
                };
                if !chain.read(skip, rest) {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                sys::write_frame(fd, &[first, rest], [])
            }
        };
        sent(written)
    }

    /// Sends a frame of a switch, with the tag of this VLAN unless that is 0. `scratch` is used if the frame has too
    /// many parts, or is to be split.
    pub fn send_parts(
        &self,
        tag: u16,
        header: &Header,
        parts: &Parts,
        scratch: &mut [u8],
    ) -> io::Result<()> {
        let Some(fd) = self.fd(0).filter(|_| parts.start.len() >= ETHERNET) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if header.gso() == UDP && !self.datagrams {
            return send_apart(fd, tag, header, parts, scratch);
        }
        let (first, bytes) = first(tag, header, parts.start);
        let (first, start) = (&first[..bytes], &parts.start[vlan::ADDRESSES..]);
        sent(match parts.rest {
            None => sys::write_frame(fd, &[first, start], []),
            Some((chain, skip)) if chain.readable().len() < sys::PIECES => {
                let pieces = chain.readable_pieces(skip, parts.rest_bytes as u64);
                sys::write_frame(fd, &[first, start], pieces)
            }
            Some((chain, skip)) => {
                let Some(rest) = scratch.get_mut(..parts.rest_bytes) else {
                    return Err(io::ErrorKind::InvalidInput.into());
                };
                if !chain.read(skip, rest) {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                sys::write_frame(fd, &[first, start, rest], [])
            }
        })
    }

    /// Receives a frame and the VLAN tag that the kernel took off it: EtherType and number. None: there is no frame.
    pub fn receive_apart(&self, into: &mut [u8]) -> io::Result<Option<Apart>> {
        let Some(fd) = self.fd(0) else {
            return Ok(None);
        };
        let mut header = [0; BYTES];
        let (read, tag) = match self.tap {
            true => (sys::read_frame(fd, &mut header, [], into), None),
            false => sys::receive_frame(fd, &mut header, into),
        };
        let received = received(read, &header)?;
        Ok(received.map(|(header, bytes)| (header, bytes, tag)))
    }

    /// Whether the interface has been removed.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let Some(fd) = self.fd(0) else {
            return true;
        };
        let mut look = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        let looked = poll(&mut look, Some(&Timespec::default()));
        looked.is_ok()
            && look[0]
                .revents()
                .intersects(PollFlags::ERR | PollFlags::HUP)
    }

    /// Receives a frame into the writable buffers of a chain after their first `skip` bytes, and its end into `tail`,
    /// if those are too short. Returns the frame's header and its length. None: there is no frame.
    pub fn receive(
        &self,
        pair: usize,
        (chain, skip): (&Chain, u64),
        tail: &mut [u8],
    ) -> io::Result<Option<(Header, usize)>> {
        let Some(fd) = self.fd(pair) else {
            return Ok(None);
        };
        let mut header = [0; BYTES];
        let pieces = chain.writable_pieces(skip, LONGEST as u64);
        let read = sys::read_frame(fd, &mut header, pieces, tail);
        received(read, &header)
    }

    /// Receives a frame into private memory, after [`BYTES`] bytes for its header. Returns the header and the length of
    /// the frame. None: there is no frame.
    pub fn receive_private(
        &self,
        pair: usize,
        memory: &mut [u8],
    ) -> io::Result<Option<(Header, usize)>> {
        let Some(fd) = self.fd(pair) else {
            return Ok(None);
        };
        let read = sys::read_private(fd, memory);
        match memory.first_chunk() {
            Some(header) => received(read, header),
            None => Ok(None),
        }
    }
}

/// Header of a frame, its length, and the tag that the kernel took off it.
pub type Apart = (Header, usize, Option<(u16, u16)>);

/// Returns the result of reading a frame. None: there was none.
fn received(read: i32, header: &[u8; BYTES]) -> io::Result<Option<(Header, usize)>> {
    match usize::try_from(read) {
        Ok(bytes) if bytes > BYTES => {
            let mut header = Header::parse(header);
            if header.gso() == NONE {
                (header.gso_size, header.hdr_len) = (0, 0);
            }
            Ok(Some((header, bytes - BYTES)))
        }
        Ok(_) => Ok(None),
        Err(_) if matches!(-read, libc::EAGAIN | libc::EINTR) => Ok(None),
        Err(_) => Err(io::Error::from_raw_os_error(-read)),
    }
}

/// Returns the result of writing a frame.
fn sent(written: i32) -> io::Result<()> {
    match written {
        0.. => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// Bytes of [`first`].
const FIRST: usize = BYTES + vlan::ADDRESSES + vlan::TAG;

/// Returns the bytes before the EtherType of a frame that begins with `start`: its header, its addresses and its tag;
/// and how many they are.
fn first(tag: u16, header: &Header, start: &[u8]) -> ([u8; FIRST], usize) {
    let (tag, bytes) = vlan::tag(tag);
    let mut first = [0; FIRST];
    let header = vlan::with_tag(header, bytes);
    first[..BYTES].copy_from_slice(&header.bytes(0)[..BYTES]);
    let (addresses, end) = first[BYTES..].split_at_mut(vlan::ADDRESSES);
    addresses.copy_from_slice(&start[..vlan::ADDRESSES]);
    end.copy_from_slice(&tag);
    (first, BYTES + vlan::ADDRESSES + bytes)
}

/// Sends the datagrams of one frame, each in a frame of its own, for a kernel that does not know such frames.
fn send_apart(
    fd: BorrowedFd,
    tag: u16,
    header: &Header,
    parts: &Parts,
    scratch: &mut [u8],
) -> io::Result<()> {
    let frame = scratch.get_mut(..parts.bytes());
    let frame = frame.and_then(|frame| parts.copy(frame).then_some(&*frame));
    let segments = frame.and_then(|frame| Segments::new(frame, header));
    let Some(mut segments) = segments else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    while let Some((headers, data)) = segments.split() {
        let (first, bytes) = first(tag, &Header::default(), headers);
        let private = [&first[..bytes], &headers[vlan::ADDRESSES..], data];
        sent(sys::write_frame(fd, &private, []))?;
    }
    Ok(())
}
