//! Checksums and segmentation in software, for a receiver that did not negotiate the offloads of the sender.

use super::header::{Header, Layout, PROTOCOL_TCP, PROTOCOL_UDP, START, TCP_CSUM, UDP_CSUM};

/// Adds data to a ones' complement sum. `sum` has the data so far; an odd number of bytes only at the end.
fn add(mut sum: u64, data: &[u8]) -> u64 {
    let mut words = data.chunks_exact(2);
    for word in &mut words {
        sum = sum.wrapping_add(u64::from(u16::from_be_bytes([word[0], word[1]])));
    }
    if let [last] = words.remainder() {
        sum = sum.wrapping_add(u64::from(*last) << 8);
    }
    sum
}

/// Returns the checksum of a sum.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Returns the checksum of a sum for TCP and UDP. It is never 0: to UDP 0 means that there is no checksum, and 0xffff
/// is as good.
fn checksum(sum: u64) -> u16 {
    match fold(sum) {
        0 => 0xffff,
        sum => sum,
    }
}

/// Completes the checksum of a checked frame: the field has the sum of the pseudo header.
pub fn complete(frame: &mut [u8], header: &Header) {
    let from = usize::from(header.csum_start);
    let at = from + usize::from(header.csum_offset);
    let Some(part) = frame.get(from..) else {
        return;
    };
    let sum = checksum(add(0, part));
    if let Some(field) = frame.get_mut(at..at + 2) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

/// Segments of one large TCP segment, or datagrams of a frame with several.
pub struct Segments<'a> {
    frame: &'a [u8],
    layout: Layout,
    size: usize,
    /// Bytes of data before the next segment.
    done: usize,
    count: u16,
    headers: [u8; START],
}

impl<'a> Segments<'a> {
    /// Returns the segments of a checked frame. None if it is not to be split.
    #[must_use]
    pub fn new(frame: &'a [u8], header: &Header) -> Option<Self> {
        let layout = header.layout(&frame[..frame.len().min(START)])?;
        let size = usize::from(header.gso_size);
        (size > 0 && layout.end < frame.len()).then_some(Self {
            frame,
            layout,
            size,
            done: 0,
            count: 0,
            headers: [0; START],
        })
    }

    /// Returns the next segment: its headers, with all checksums complete, and its data.
    pub fn split(&mut self) -> Option<(&[u8], &'a [u8])> {
        let layout = self.layout;
        let all = &self.frame[layout.end..];
        let rest = all.get(self.done..).filter(|rest| !rest.is_empty())?;
        let data = &rest[..rest.len().min(self.size)];
        self.headers[..layout.end].copy_from_slice(&self.frame[..layout.end]);
        self.ip(data.len());
        let at = if layout.udp {
            self.udp(data.len())
        } else {
            self.tcp(data.len() == rest.len())
        };
        let headers = &mut self.headers[..layout.end];
        // The sum covers the checksum's own field, which must be 0.
        headers[at..at + 2].fill(0);
        let addresses = if layout.v6 { 8..40 } else { 12..20 };
        let (protocol, bytes) = (
            if layout.udp {
                PROTOCOL_UDP
            } else {
                PROTOCOL_TCP
            },
            layout.end - layout.transport + data.len(),
        );
        let sum = add(
            u64::from(protocol) + bytes as u64,
            &headers[layout.ip..][addresses],
        );
        let sum = checksum(add(add(sum, &headers[layout.transport..]), data));
        headers[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        self.done += data.len();
        self.count = self.count.wrapping_add(1);
        Some((&self.headers[..layout.end], data))
    }

    /// Changes the IP header for `data` bytes of data.
    fn ip(&mut self, data: usize) {
        let Layout {
            ip,
            transport,
            end,
            v6,
            ..
        } = self.layout;
        let ip = &mut self.headers[ip..transport];
        let bytes = end - transport + data + ip.len();
        if v6 {
            ip[4..6].copy_from_slice(&((bytes - 40) as u16).to_be_bytes());
            return;
        }
        ip[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
        let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(self.count);
        ip[4..6].copy_from_slice(&id.to_be_bytes());
        ip[10..12].fill(0);
        let sum = fold(add(0, ip));
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    /// Changes the TCP header to that of the next segment. Returns the place of its checksum.
    fn tcp(&mut self, is_last: bool) -> usize {
        let at = self.layout.transport;
        let tcp = &mut self.headers[at..];
        let number = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let number = number.wrapping_add(self.done as u32);
        tcp[4..8].copy_from_slice(&number.to_be_bytes());
        // Only the first segment says that the sender slows down, only the last one ends or pushes.
        let slows = if self.done == 0 { 0 } else { 0x80 };
        tcp[13] &= !(slows | if is_last { 0 } else { 0x09 });
        at + usize::from(TCP_CSUM)
    }

    /// Changes the UDP header for `data` bytes of data. Returns the place of its checksum.
    fn udp(&mut self, data: usize) -> usize {
        let Layout { transport, end, .. } = self.layout;
        let bytes = (end - transport + data) as u16;
        self.headers[transport + 4..transport + 6].copy_from_slice(&bytes.to_be_bytes());
        transport + usize::from(UDP_CSUM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::header::frames::{datagrams, segment};
    use proptest::prelude::*;

    /// Whether the checksums of a frame are right, by the definition: all words sum up to -0.
    fn right(frame: &[u8], v6: bool) -> bool {
        let transport = if v6 { 54 } else { 34 };
        let protocol = usize::from(frame[if v6 { 20 } else { 23 }]);
        let addresses = if v6 { 22..54 } else { 26..34 };
        let pseudo = add(
            (frame.len() - transport + protocol) as u64,
            &frame[addresses],
        );
        (v6 || fold(add(0, &frame[14..34])) == 0) && fold(add(pseudo, &frame[transport..])) == 0
    }

    #[test]
    fn a_known_checksum() {
        // RFC 1071, section 3.
        let sum = add(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(fold(sum), !0xddf2);
        assert_eq!(fold(add(0, &[1])), !0x0100);
    }

    #[test]
    fn a_partial_checksum_is_completed() {
        let (header, mut frame) = segment(false, 333, 1400);
        let pseudo = !fold(add(333 + 20 + 6, &frame[26..34]));
        frame[50..52].copy_from_slice(&pseudo.to_be_bytes());
        let sum = fold(add(0, &frame[14..34]));
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        complete(&mut frame, &header);
        assert!(right(&frame, false));
        // Outside the frame: nothing is written.
        complete(
            &mut frame,
            &Header {
                csum_start: u16::MAX,
                ..header
            },
        );
    }

    proptest! {
        #[test]
        fn segments_make_up_the_whole(v6 in any::<bool>(), data in 1usize..9000, size in 32u16..3000) {
            let (header, frame) = segment(v6, data, size);
            let end = usize::from(header.hdr_len);
            let mut segments = Segments::new(&frame, &header).unwrap();
            let (mut whole, mut count) = (Vec::new(), 0usize);
            while let Some((headers, data)) = segments.split() {
                let one = [headers, data].concat();
                prop_assert!(right(&one, v6), "segment {}", count);
                let tcp = usize::from(header.csum_start);
                let number = u32::from_be_bytes(one[tcp + 4..tcp + 8].try_into().unwrap());
                prop_assert_eq!(number, 0xffff_ff00u32.wrapping_add(whole.len() as u32));
                let last = whole.len() + data.len() == frame.len() - end;
                prop_assert_eq!(one[tcp + 13], 0x10 | if count == 0 { 0x80 } else { 0 } | if last { 9 } else { 0 });
                prop_assert!(data.len() == usize::from(size) || last);
                whole.extend_from_slice(data);
                count += 1;
            }
            prop_assert_eq!(&whole[..], &frame[end..]);
        }

        #[test]
        fn datagrams_make_up_the_whole(v6 in any::<bool>(), data in 1usize..9000, size in 1u16..3000) {
            let (header, frame) = datagrams(v6, data, size);
            let udp = usize::from(header.csum_start);
            let mut datagrams = Segments::new(&frame, &header).unwrap();
            let (mut whole, mut count) = (Vec::new(), 0u16);
            while let Some((headers, data)) = datagrams.split() {
                let one = [headers, data].concat();
                prop_assert!(right(&one, v6), "datagram {}", count);
                let word = |at: usize| u16::from_be_bytes([one[at], one[at + 1]]);
                prop_assert_eq!(usize::from(word(udp + 4)), 8 + data.len());
                prop_assert!(word(udp + 6) != 0, "0 is no checksum");
                if v6 {
                    prop_assert_eq!(usize::from(word(18)), 8 + data.len());
                } else {
                    prop_assert_eq!(usize::from(word(16)), 28 + data.len());
                    prop_assert_eq!(word(18), 0x1234u16.wrapping_add(count));
                }
                whole.extend_from_slice(data);
                prop_assert!(data.len() == usize::from(size) || whole.len() == frame.len() - udp - 8);
                count += 1;
            }
            prop_assert_eq!(&whole[..], &frame[udp + 8..]);
        }
    }
}
