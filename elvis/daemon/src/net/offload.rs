//! Checksums and segmentation in software, for a receiver that did not negotiate what the sender did.

use super::header::{Header, Layout, START};

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

/// The checksum of a sum.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Completes the checksum of a checked frame: the field has the sum of the pseudo header.
pub fn complete(frame: &mut [u8], header: &Header) {
    let from = usize::from(header.csum_start);
    let at = from + usize::from(header.csum_offset);
    let Some(part) = frame.get(from..) else {
        return;
    };
    // 0 means to UDP that there is no checksum; to others it is as good as this.
    let sum = match fold(add(0, part)) {
        0 => 0xffff,
        sum => sum,
    };
    if let Some(field) = frame.get_mut(at..at + 2) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

/// The segments of one large TCP segment.
pub struct Segments<'a> {
    frame: &'a [u8],
    layout: Layout,
    size: usize,
    /// Data before the next segment.
    done: usize,
    count: u16,
    headers: [u8; START],
}

impl<'a> Segments<'a> {
    /// The segments of a checked frame. None if it is not to be split.
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

    /// The next segment: its headers, with all checksums complete, and its data.
    pub fn split(&mut self) -> Option<(&[u8], &'a [u8])> {
        let Layout { ip, tcp, end, v6 } = self.layout;
        let all = &self.frame[end..];
        let rest = all.get(self.done..).filter(|rest| !rest.is_empty())?;
        let data = &rest[..rest.len().min(self.size)];
        let (first, last) = (self.done == 0, data.len() == rest.len());
        let headers = &mut self.headers[..end];
        headers.copy_from_slice(&self.frame[..end]);
        let tcp_bytes = (end - tcp + data.len()) as u16;
        let mut pseudo = add(
            u64::from(tcp_bytes) + 6,
            &headers[if v6 {
                ip + 8..ip + 40
            } else {
                ip + 12..ip + 20
            }],
        );
        if v6 {
            let bytes = (end - ip - 40 + data.len()) as u16;
            headers[ip + 4..ip + 6].copy_from_slice(&bytes.to_be_bytes());
        } else {
            let bytes = (end - ip + data.len()) as u16;
            headers[ip + 2..ip + 4].copy_from_slice(&bytes.to_be_bytes());
            let id =
                u16::from_be_bytes([headers[ip + 4], headers[ip + 5]]).wrapping_add(self.count);
            headers[ip + 4..ip + 6].copy_from_slice(&id.to_be_bytes());
            headers[ip + 10..ip + 12].fill(0);
            let sum = fold(add(0, &headers[ip..tcp]));
            headers[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
        }
        let place = &mut headers[tcp + 4..tcp + 8];
        let number = place
            .iter()
            .fold(0u32, |all, &byte| all << 8 | u32::from(byte));
        place.copy_from_slice(&number.wrapping_add(self.done as u32).to_be_bytes());
        // Only the first segment says that the sender slows down, only the last one ends or pushes.
        let flags = &mut headers[tcp + 13];
        *flags &= !(if first { 0 } else { 0x80 } | if last { 0 } else { 0x09 });
        headers[tcp + 16..tcp + 18].fill(0);
        pseudo = add(pseudo, &headers[tcp..end]);
        let sum = fold(add(pseudo, data));
        headers[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
        self.done += data.len();
        self.count = self.count.wrapping_add(1);
        Some((&self.headers[..end], data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::header::frames::segment;
    use proptest::prelude::*;

    /// Whether the IP and TCP checksums of a frame are right, by the definition: all words sum up to -0.
    fn right(frame: &[u8], v6: bool) -> bool {
        let tcp = if v6 { 54 } else { 34 };
        let addresses = if v6 { 22..54 } else { 26..34 };
        let pseudo = add((frame.len() - tcp + 6) as u64, &frame[addresses]);
        (v6 || fold(add(0, &frame[14..34])) == 0) && fold(add(pseudo, &frame[tcp..])) == 0
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
    }
}
