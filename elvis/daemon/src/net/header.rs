//! The header before each frame (VIRTIO 1.2, section 5.1.6), as a driver sends it. It is checked, and made anew from
//! the contents of the frame, before it is passed to the host's kernel or to another driver.

use super::{ETHERNET, LONGEST, feature, vlan};

/// Bytes of the header without the number of buffers.
pub const BYTES: usize = 10;
/// Bytes of a frame's start that are read once and checked. They have all protocol headers of a segment to be split:
/// Ethernet, a VLAN tag, IP and TCP have at most 14 + 4 + 60 + 60 bytes; IPv6 may have extensions.
pub const START: usize = 256;
/// Fewest bytes of a split segment. Without this bound one frame would make tens of thousands of segments. Linux sends
/// no less than 48 with options.
pub const LEAST_SEGMENT: u16 = 32;
/// Most UDP datagrams of one frame, which may be short: Linux makes no more (UDP_MAX_SEGMENTS).
pub const MOST_DATAGRAMS: usize = 128;

/// `flags`: the checksum is not complete.
pub const NEEDS_CSUM: u8 = 1;
/// `gso_type`: not to be split.
pub const NONE: u8 = 0;
/// `gso_type`: TCP over IPv4.
pub const TCP4: u8 = 1;
/// `gso_type`: TCP over IPv6.
pub const TCP6: u8 = 4;
/// `gso_type`: UDP datagrams over IPv4 or IPv6.
pub const UDP: u8 = 5;
/// `gso_type`: has congestion marks.
pub const ECN: u8 = 0x80;

/// Offset of the checksum in a TCP header.
pub const TCP_CSUM: u16 = 16;
/// Offset of the checksum in a UDP header.
pub const UDP_CSUM: u16 = 6;
/// EtherTypes.
pub const IPV4: u16 = 0x0800;
pub const IPV6: u16 = 0x86dd;
/// The numbers of TCP and UDP in IP headers.
pub const PROTOCOL_TCP: u8 = 6;
pub const PROTOCOL_UDP: u8 = 17;
/// Bytes of a UDP header.
const UDP_BYTES: usize = 8;

/// Header that a driver gives a frame: its offloads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Header {
    /// [`NEEDS_CSUM`].
    pub flags: u8,
    /// [`NONE`], [`TCP4`] or [`TCP6`] with [`ECN`], or [`UDP`].
    pub gso_type: u8,
    /// Bytes of all protocol headers of a segment to be split.
    pub hdr_len: u16,
    /// Bytes of data of each segment.
    pub gso_size: u16,
    /// Offset of the checksummed part.
    pub csum_start: u16,
    /// Offset of the checksum in that part.
    pub csum_offset: u16,
}

/// Reason for which a frame is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Too short or too long.
    #[error("its length is not a frame's")]
    Length,
    /// The checksum is not in the frame.
    #[error("its checksum is outside of it")]
    Checksum,
    /// An offload that was not negotiated, or does not exist.
    #[error("it needs an offload that was not negotiated")]
    Offload,
    /// The frame can't be split: its protocol headers differ from the driver's header.
    #[error("it is no TCP segment and no row of UDP datagrams that can be split")]
    Segment,
}

/// Offsets of the protocol headers of a segment to be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Start of the IP header.
    pub ip: usize,
    /// Start of the TCP or UDP header.
    pub transport: usize,
    /// End of the TCP or UDP header.
    pub end: usize,
    /// Whether the packet is IPv6.
    pub v6: bool,
    /// Whether the packet is UDP.
    pub udp: bool,
}

/// Returns a word of a frame, in the network's byte order.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

impl Header {
    /// Reads a header.
    #[must_use]
    pub fn parse(bytes: &[u8; BYTES]) -> Self {
        let [flags, gso_type, l0, l1, g0, g1, s0, s1, o0, o1] = *bytes;
        Self {
            flags,
            gso_type,
            hdr_len: u16::from_le_bytes([l0, l1]),
            gso_size: u16::from_le_bytes([g0, g1]),
            csum_start: u16::from_le_bytes([s0, s1]),
            csum_offset: u16::from_le_bytes([o0, o1]),
        }
    }

    /// Returns the header as a receiver gets it, with the number of buffers.
    #[must_use]
    pub fn bytes(&self, buffers: u16) -> [u8; BYTES + 2] {
        let [l0, l1] = self.hdr_len.to_le_bytes();
        let [g0, g1] = self.gso_size.to_le_bytes();
        let [s0, s1] = self.csum_start.to_le_bytes();
        let [o0, o1] = self.csum_offset.to_le_bytes();
        let [b0, b1] = buffers.to_le_bytes();
        [
            self.flags,
            self.gso_type,
            l0,
            l1,
            g0,
            g1,
            s0,
            s1,
            o0,
            o1,
            b0,
            b1,
        ]
    }

    /// Whether the checksum is not complete.
    #[must_use]
    pub fn needs_checksum(&self) -> bool {
        self.flags & NEEDS_CSUM != 0
    }

    /// Returns the kind of segment to be split, without [`ECN`]; [`NONE`] if the frame is not to be split.
    #[must_use]
    pub fn gso(&self) -> u8 {
        self.gso_type & !ECN
    }

    /// Checks a driver's header of a frame of `bytes` bytes, of which `start` is the first [`START`] or all, against
    /// the features of its device. The result has only fields that were checked.
    ///
    /// # Errors
    ///
    /// The frame must be dropped, for this reason.
    pub fn check(&self, start: &[u8], bytes: usize, features: u64) -> Result<Self, Malformed> {
        if !(ETHERNET..=LONGEST).contains(&bytes) || start.len() < ETHERNET {
            return Err(Malformed::Length);
        }
        // The device sets all other flags.
        let mut checked = Self {
            flags: self.flags & NEEDS_CSUM,
            ..Self::default()
        };
        if checked.needs_checksum() {
            if features & feature::CSUM == 0 {
                return Err(Malformed::Offload);
            }
            let from = usize::from(self.csum_start);
            if from < ETHERNET || from + usize::from(self.csum_offset) + 2 > bytes {
                return Err(Malformed::Checksum);
            }
            checked.csum_start = self.csum_start;
            checked.csum_offset = self.csum_offset;
        }
        // The result starts without offloads: each field is copied only after its own check.
        if self.gso() == NONE {
            return Ok(checked);
        }
        let offered = match self.gso() {
            TCP4 => feature::HOST_TSO4,
            TCP6 => feature::HOST_TSO6,
            UDP => feature::HOST_USO,
            _ => return Err(Malformed::Offload),
        };
        // Only TCP slows down.
        let marks = features & feature::HOST_ECN != 0 && self.gso() != UDP;
        if features & offered == 0 || (self.gso_type & ECN != 0 && !marks) {
            return Err(Malformed::Offload);
        }
        if !checked.needs_checksum() {
            return Err(Malformed::Segment);
        }
        let layout = self.layout(start).ok_or(Malformed::Segment)?;
        let data = bytes.checked_sub(layout.end).ok_or(Malformed::Segment)?;
        let size = usize::from(self.gso_size);
        let is_short = match layout.udp {
            true => size == 0 || data.div_ceil(size) > MOST_DATAGRAMS,
            false => self.gso_size < LEAST_SEGMENT,
        };
        if is_short {
            return Err(Malformed::Segment);
        }
        if data > size {
            checked.gso_type = self.gso_type;
            checked.gso_size = self.gso_size;
            checked.hdr_len = u16::try_from(layout.end).map_err(|_| Malformed::Segment)?;
        }
        Ok(checked)
    }

    /// Finds the protocol headers of a segment to be split. None if they are not those of its kind, or not in
    /// `start`.
    #[must_use]
    pub fn layout(&self, start: &[u8]) -> Option<Layout> {
        let tagged = vlan::is_tagged(start);
        let ip = if tagged { ETHERNET + 4 } else { ETHERNET };
        let transport = usize::from(self.csum_start);
        let first = *start.get(ip)?;
        let v6 = match (self.gso(), word(start, ip - 2)?, first >> 4) {
            (TCP4 | UDP, IPV4, 4) => false,
            (TCP6 | UDP, IPV6, 6) => true,
            _ => return None,
        };
        let udp = self.gso() == UDP;
        let fits = if v6 {
            // Extensions may be in between: then the driver alone knows where TCP or UDP starts.
            transport >= ip + 40
        } else {
            let length = usize::from(first & 15) * 4;
            let protocol = if udp { PROTOCOL_UDP } else { PROTOCOL_TCP };
            length >= 20 && transport == ip + length && *start.get(ip + 9)? == protocol
        };
        let (bytes, checksum) = if udp {
            (UDP_BYTES, UDP_CSUM)
        } else {
            let words = usize::from(*start.get(transport + 12)? >> 4);
            ((words >= 5).then_some(words * 4)?, TCP_CSUM)
        };
        let end = transport + bytes;
        let found = fits && end <= start.len() && self.csum_offset == checksum;
        found.then_some(Layout {
            ip,
            transport,
            end,
            v6,
            udp,
        })
    }
}

/// Frames for tests.
#[cfg(test)]
pub(crate) mod frames {
    use super::*;

    /// A TCP segment with `data` bytes, and the header with which Linux sends it.
    pub fn segment(v6: bool, data: usize, gso_size: u16) -> (Header, Vec<u8>) {
        let mut frame = vec![0x52, 0x54, 0, 0, 0, 2, 0x52, 0x54, 0, 0, 0, 1];
        let tcp_bytes = 20 + data;
        if v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((tcp_bytes as u16).to_be_bytes());
            frame.extend([6, 64]);
            frame.extend((0..32).map(|byte| byte as u8));
        } else {
            frame.extend([0x08, 0x00, 0x45, 0]);
            frame.extend(((20 + tcp_bytes) as u16).to_be_bytes());
            frame.extend([0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        let tcp = frame.len();
        frame.extend([0x30, 0x39, 0, 80]);
        frame.extend(0xffff_ff00u32.to_be_bytes());
        frame.extend([0, 0, 0, 1, 0x50, 0x99, 1, 0, 0, 0, 0, 0]);
        frame.extend((0..data).map(|at| (at * 7 + at / 251) as u8));
        let header = Header {
            flags: NEEDS_CSUM,
            gso_type: if v6 { TCP6 } else { TCP4 } | ECN,
            hdr_len: (tcp + 20) as u16,
            gso_size,
            csum_start: tcp as u16,
            csum_offset: 16,
        };
        (header, frame)
    }

    /// UDP datagrams in one frame, as Linux sends them: their header has the length of all data.
    pub fn datagrams(v6: bool, data: usize, gso_size: u16) -> (Header, Vec<u8>) {
        let (tcp, mut frame) = segment(v6, data, gso_size);
        let udp = usize::from(tcp.csum_start);
        let bytes = (8 + data) as u16;
        if v6 {
            frame[18..20].copy_from_slice(&bytes.to_be_bytes());
            frame[20] = PROTOCOL_UDP;
        } else {
            frame[16..18].copy_from_slice(&(20 + bytes).to_be_bytes());
            frame[23] = PROTOCOL_UDP;
        }
        let [high, low] = bytes.to_be_bytes();
        frame.splice(udp + 4..udp + 20, [high, low, 0, 0]);
        let header = Header {
            gso_type: UDP,
            hdr_len: (udp + 8) as u16,
            csum_offset: UDP_CSUM,
            ..tcp
        };
        (header, frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TSO: u64 = feature::CSUM | feature::HOST_TSO4 | feature::HOST_TSO6 | feature::HOST_ECN;
    const ALL: u64 = TSO | feature::HOST_USO;

    fn check(header: Header, frame: &[u8], features: u64) -> Result<Header, Malformed> {
        header.check(&frame[..frame.len().min(START)], frame.len(), features)
    }

    #[test]
    fn what_linux_sends_is_passed_on() {
        for v6 in [false, true] {
            let (header, frame) = frames::segment(v6, 4000, 1400);
            assert_eq!(check(header, &frame, ALL), Ok(header));
            let (header, frame) = frames::datagrams(v6, 4000, 1400);
            assert_eq!(check(header, &frame, ALL), Ok(header));
        }
        let (header, frame) = frames::segment(false, 100, 1400);
        let whole = check(header, &frame, ALL).unwrap();
        assert_eq!(
            (whole.gso_type, whole.gso_size),
            (NONE, 0),
            "it needs no split"
        );
        assert!(whole.needs_checksum());
        assert_eq!(check(Header::default(), &frame, 0), Ok(Header::default()));
    }

    #[test]
    fn a_vlan_tag_and_options_are_known() {
        let (mut header, mut frame) = frames::segment(false, 4000, 1400);
        frame.splice(12..12, [0x81, 0, 0, 7]);
        header.csum_start += 4;
        // Four bytes of options.
        frame[18 + 20 + 12] = 0x60;
        header.hdr_len = 12_345;
        let passed = check(header, &frame, ALL).unwrap();
        assert_eq!(passed.hdr_len, 18 + 20 + 24, "a lie is corrected");
    }

    #[test]
    fn what_is_hostile_is_dropped() {
        let (good, frame) = frames::segment(false, 4000, 1400);
        let wrong = |change: &dyn Fn(&mut Header, &mut Vec<u8>)| {
            let (mut header, mut frame) = (good, frame.clone());
            change(&mut header, &mut frame);
            check(header, &frame, ALL).unwrap_err()
        };
        use Malformed::{Checksum, Length, Offload, Segment};
        assert_eq!(wrong(&|_, f| f.truncate(13)), Length);
        assert_eq!(wrong(&|_, f| f.resize(LONGEST + 1, 0)), Length);
        assert_eq!(wrong(&|h, _| h.csum_start = 4100), Checksum);
        assert_eq!(wrong(&|h, _| h.csum_start = 13), Checksum);
        assert_eq!(wrong(&|h, _| h.csum_offset = u16::MAX), Checksum);
        assert_eq!(wrong(&|h, _| h.flags = 0), Segment);
        assert_eq!(wrong(&|h, _| h.gso_size = 0), Segment);
        assert_eq!(wrong(&|h, _| h.gso_size = 1), Segment);
        assert_eq!(wrong(&|h, _| h.gso_type = TCP6), Segment);
        assert_eq!(wrong(&|h, _| h.gso_type = 3), Offload);
        assert_eq!(wrong(&|h, _| h.gso_type = UDP), Segment);
        assert_eq!(wrong(&|h, _| h.csum_offset = 6), Segment);
        assert_eq!(wrong(&|h, _| h.csum_start = 35), Segment);
        assert_eq!(wrong(&|_, f| f[23] = 17), Segment);
        assert_eq!(wrong(&|_, f| f[14] = 0x4f), Segment);
        assert_eq!(wrong(&|_, f| f[14] = 0x41), Segment);
        assert_eq!(wrong(&|_, f| f[34 + 12] = 0x40), Segment);
        assert_eq!(check(good, &frame, ALL & !feature::HOST_TSO4), Err(Offload));
        assert_eq!(check(good, &frame, ALL & !feature::HOST_ECN), Err(Offload));
        assert_eq!(check(good, &frame, ALL & !feature::CSUM), Err(Offload));
    }

    #[test]
    fn hostile_datagrams_are_dropped() {
        use Malformed::{Offload, Segment};
        let (good, frame) = frames::datagrams(false, 4000, 1400);
        assert_eq!(check(good, &frame, TSO), Err(Offload));
        let wrong = |change: &dyn Fn(&mut Header)| {
            let mut header = good;
            change(&mut header);
            check(header, &frame, ALL).unwrap_err()
        };
        assert_eq!(wrong(&|h| h.gso_type |= ECN), Offload);
        assert_eq!(wrong(&|h| h.flags = 0), Segment);
        assert_eq!(wrong(&|h| h.csum_offset = TCP_CSUM), Segment);
        assert_eq!(wrong(&|h| h.csum_start += 1), Segment);
        assert_eq!(wrong(&|h| h.gso_type = TCP4), Segment);
        assert_eq!(wrong(&|h| h.gso_size = 0), Segment);
        // Short ones, but not too many.
        assert_eq!(wrong(&|h| h.gso_size = 31), Segment, "130 of them");
        let (short, frame) = frames::datagrams(true, 128, 1);
        assert_eq!(check(short, &frame, ALL), Ok(short));
    }

    proptest! {
        #[test]
        fn what_is_passed_is_inside_the_frame(words in any::<[u8; BYTES]>(), mut frame in prop::collection::vec(any::<u8>(), 0..400), v6 in any::<bool>(), udp in any::<bool>(), shaped in any::<bool>()) {
            let mut header = Header::parse(&words);
            if shaped {
                let make = if udp { frames::datagrams } else { frames::segment };
                let (good, start) = make(v6, 300, 64);
                let keep = frame.len().min(60);
                frame = [&frame[..keep], &start[keep..]].concat();
                header = Header { gso_type: good.gso_type, flags: 1, csum_start: good.csum_start, csum_offset: good.csum_offset, ..header };
            }
            if let Ok(passed) = check(header, &frame, ALL) {
                let csum = usize::from(passed.csum_start) + usize::from(passed.csum_offset);
                prop_assert!(csum + 2 <= frame.len());
                prop_assert!(passed.flags & !NEEDS_CSUM == 0);
                if passed.gso() != NONE {
                    let layout = passed.layout(&frame[..frame.len().min(START)]).unwrap();
                    let (data, size) = (frame.len() - layout.end, usize::from(passed.gso_size));
                    prop_assert!(data > size && size > 0);
                    prop_assert!(data.div_ceil(size) <= MOST_DATAGRAMS || passed.gso_size >= LEAST_SEGMENT);
                    prop_assert_eq!(usize::from(passed.hdr_len), layout.end);
                }
            }
        }
    }
}
