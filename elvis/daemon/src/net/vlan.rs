//! VLAN tags (IEEE 802.1Q) of frames and of their headers.

use super::header::{Header, NONE, word};

/// Bytes of the addresses, after which a tag is.
pub const ADDRESSES: usize = 12;
/// Bytes of a tag.
pub const TAG: usize = 4;
/// The greatest number of a VLAN.
pub const MOST: u16 = 4094;

/// The EtherTypes of a VLAN's tag, and of a provider's around it.
const CUSTOMER: u16 = 0x8100;
const PROVIDER: u16 = 0x88a8;

/// Returns the number of a VLAN in a tag; 0 if the tag has only a priority. None: a provider's tag.
fn number(kind: u16, control: u16) -> Option<u16> {
    (kind == CUSTOMER).then_some(control & 0xfff)
}

/// Whether a frame that starts so has a tag.
#[must_use]
pub fn is_tagged(start: &[u8]) -> bool {
    matches!(word(start, ADDRESSES), Some(CUSTOMER | PROVIDER))
}

/// Returns a VLAN's tag and its bytes; none for VLAN 0.
#[must_use]
pub fn tag(vlan: u16) -> ([u8; TAG], usize) {
    let ([k0, k1], [n0, n1]) = (CUSTOMER.to_be_bytes(), vlan.to_be_bytes());
    ([k0, k1, n0, n1], if vlan == 0 { 0 } else { TAG })
}

/// Returns the header of a frame that gets a tag of `bytes` bytes.
#[must_use]
pub fn with_tag(header: &Header, bytes: usize) -> Header {
    shifted(header, |place| place.wrapping_add(bytes as u16))
}

/// Returns the header with its places in the frame moved.
fn shifted(header: &Header, to: impl Fn(u16) -> u16) -> Header {
    let mut header = *header;
    if header.needs_checksum() {
        header.csum_start = to(header.csum_start);
    }
    if header.gso() != NONE {
        header.hdr_len = to(header.hdr_len);
    }
    header
}

/// Takes the tag off a frame, or uses the one that the kernel has taken off: `apart`, its EtherType and number. Returns
/// the VLAN (0: no tag), the header and the frame. None: the frame has a provider's tag, or two tags.
pub fn untag<'a>(
    header: &Header,
    frame: &'a mut [u8],
    apart: Option<(u16, u16)>,
) -> Option<(u16, Header, &'a [u8])> {
    if let Some((kind, control)) = apart {
        let vlan = number(kind, control)?;
        return (!is_tagged(frame)).then_some((vlan, *header, &*frame));
    }
    if !is_tagged(frame) {
        return Some((0, *header, frame));
    }
    let vlan = number(word(frame, ADDRESSES)?, word(frame, ADDRESSES + 2)?)?;
    frame.copy_within(..ADDRESSES, TAG);
    let frame = frame.get(TAG..).filter(|frame| !is_tagged(frame))?;
    let header = shifted(header, |place| place.wrapping_sub(TAG as u16));
    Some((vlan, header, frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::header::frames;

    #[test]
    fn a_tag_comes_and_goes() {
        let (header, frame) = frames::segment(false, 4000, 1400);
        let (tag, bytes) = tag(5);
        let mut tagged = [&frame[..ADDRESSES], &tag[..bytes], &frame[ADDRESSES..]].concat();
        assert!(is_tagged(&tagged) && !is_tagged(&frame) && !is_tagged(&frame[..13]));
        let moved = with_tag(&header, bytes);
        assert_eq!(
            (moved.csum_start, moved.hdr_len),
            (header.csum_start + 4, header.hdr_len + 4)
        );
        assert!(moved.layout(&tagged).is_some(), "it can still be split");
        assert_eq!(
            untag(&moved, &mut tagged, None),
            Some((5, header, &frame[..]))
        );
        let plain = Header::default();
        assert_eq!(with_tag(&plain, bytes), plain);
    }

    #[test]
    fn tags_that_the_kernel_took_off_and_those_of_providers() {
        let header = Header::default();
        let mut frame = vec![2; 60];
        let untag = |frame: &mut [u8], apart| {
            untag(&header, frame, apart).map(|(vlan, _, frame)| (vlan, frame.len()))
        };
        assert_eq!(untag(&mut frame, None), Some((0, 60)));
        // Priority 7.
        assert_eq!(untag(&mut frame, Some((0x8100, 0xe005))), Some((5, 60)));
        assert_eq!(untag(&mut frame, Some((0x88a8, 5))), None);
        frame[12..16].copy_from_slice(&[0x81, 0, 0xe0, 0]);
        assert_eq!(
            untag(&mut frame.clone(), None),
            Some((0, 56)),
            "only a priority"
        );
        assert_eq!(
            untag(&mut frame.clone(), Some((0x8100, 5))),
            None,
            "two tags"
        );
        frame[16..18].copy_from_slice(&[0x81, 0]);
        assert_eq!(untag(&mut frame.clone(), None), None, "two tags");
        frame[12..14].copy_from_slice(&[0x88, 0xa8]);
        assert_eq!(untag(&mut frame, None), None);
        assert_eq!(tag(0).1, 0);
    }
}
