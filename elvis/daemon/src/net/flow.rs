//! The flow of a frame from outside, which chooses the receiver's queue: frames of one flow stay in order.

use super::header::{IPV4, IPV6, PROTOCOL_TCP, PROTOCOL_UDP, word};
use super::vlan::ADDRESSES;

/// Protocols whose first four bytes are two ports; the last is SCTP.
const WITH_PORTS: [u8; 3] = [PROTOCOL_TCP, PROTOCOL_UDP, 132];
/// Bits of IPv4's third word (RFC 791): more fragments follow, and where this one belongs. Only the first has ports.
const FRAGMENT: u16 = 0x3fff;

/// FNV-1a (Fowler, Noll, Vo), folded to 16 bits.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u16 {
    let bytes = parts.into_iter().flatten();
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    });
    ((hash >> 16) ^ hash) as u16
}

/// Returns a number of the flow of an Ethernet frame without a VLAN tag: of its IP addresses, and of its ports if each
/// frame of the flow has them. 0: the frame is no IP packet, or is cut off.
#[must_use]
pub fn of(frame: &[u8]) -> u16 {
    numbered(frame).unwrap_or(0)
}

fn numbered(frame: &[u8]) -> Option<u16> {
    let packet = frame.get(ADDRESSES + 2..)?;
    let (addresses, ports) = match word(frame, ADDRESSES)? {
        IPV4 => {
            let whole = word(packet, 6)? & FRAGMENT == 0;
            let header = usize::from(*packet.first()? & 0xf) * 4;
            let has_ports = whole && WITH_PORTS.contains(packet.get(9)?);
            (packet.get(12..20)?, has_ports.then_some(header))
        }
        // With extension headers (fragments, too) the addresses alone are the flow.
        IPV6 => {
            let has_ports = WITH_PORTS.contains(packet.get(6)?);
            (packet.get(8..40)?, has_ports.then_some(40))
        }
        _ => return None,
    };
    let ports = match ports {
        Some(at) => packet.get(at..at + 4)?,
        None => &[],
    };
    Some(hash([addresses, ports]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with this packet.
    fn frame(kind: u16, packet: &[u8]) -> Vec<u8> {
        [&[2; ADDRESSES][..], &kind.to_be_bytes(), packet].concat()
    }

    /// A packet of IPv4 from a port, with this word of fragments.
    fn ipv4(protocol: u8, fragment: u16, port: u16) -> Vec<u8> {
        let mut packet = vec![0x46; 32];
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[9] = protocol;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        // Behind a header of 24 bytes.
        packet[24..26].copy_from_slice(&port.to_be_bytes());
        frame(IPV4, &packet)
    }

    fn ipv6(protocol: u8, port: u16) -> Vec<u8> {
        let mut packet = vec![0x60; 60];
        packet[6] = protocol;
        packet[40..42].copy_from_slice(&port.to_be_bytes());
        frame(IPV6, &packet)
    }

    #[test]
    fn ports_are_part_of_a_flow_where_each_of_its_frames_has_them() {
        for protocol in [6, 17, 132] {
            assert_ne!(of(&ipv4(protocol, 0, 1)), of(&ipv4(protocol, 0, 2)));
            assert_ne!(of(&ipv6(protocol, 1)), of(&ipv6(protocol, 2)));
        }
        // "Don't fragment" is no fragment.
        assert_ne!(of(&ipv4(6, 0x4000, 1)), of(&ipv4(6, 0x4000, 2)));
        // The first fragment has ports, the last has none.
        assert_eq!(of(&ipv4(17, 0x2000, 1)), of(&ipv4(17, 0x00b9, 2)));
        // ICMP, and an extension header.
        assert_eq!(of(&ipv4(1, 0, 1)), of(&ipv4(1, 0, 2)));
        assert_eq!(of(&ipv6(44, 1)), of(&ipv6(44, 2)));
    }

    #[test]
    fn flows_are_spread() {
        let queues: std::collections::BTreeMap<u16, u32> =
            (0..1024).fold(Default::default(), |mut queues, port| {
                *queues
                    .entry(of(&ipv4(6, 0, 32_768 + port)) % 4)
                    .or_default() += 1;
                queues
            });
        assert!(
            queues.len() == 4 && queues.values().all(|&frames| frames > 128),
            "{queues:?}"
        );
    }

    #[test]
    fn any_bytes_are_of_some_flow() {
        let frames = [ipv4(6, 0, 1), ipv6(6, 1), frame(0x0806, &[1; 40])];
        for frame in &frames {
            for bytes in 0..frame.len() {
                let _ = of(&frame[..bytes]);
            }
        }
        assert_eq!(of(&frames[2]), 0);
    }
}
