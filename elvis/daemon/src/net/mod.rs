//! The network device: frames, their headers and offloads, and what carries them.
//!
//! [`header`] checks what a driver says of a frame; [`offload`] does offloads in software that a receiver did not
//! negotiate. [`give`] puts a frame into a receive queue. [`link`] is an interface of the host; [`switch`] connects the
//! devices of this process, and [`uplink`] a switch with an interface. [`vlan`] has the tags, and [`flow`] chooses
//! queues. Nothing here allocates per frame.

pub mod flow;
pub mod give;
pub mod header;
pub mod link;
pub mod offload;
pub mod switch;
pub mod uplink;
pub mod vlan;

pub use give::{Given, Parts, Room};
pub use header::{Header, Malformed};
pub use link::{Link, LinkSpec};
pub use switch::{Port, Switch, Switches};
pub use uplink::{Uplink, UplinkSpec};

/// Feature bits of the network device (VIRTIO 1.2, section 5.1.3).
pub mod feature {
    /// The device completes checksums.
    pub const CSUM: u64 = 1;
    /// The driver takes frames whose checksum is not complete.
    pub const GUEST_CSUM: u64 = 1 << 1;
    /// The device has a maximum frame size.
    pub const MTU: u64 = 1 << 3;
    /// The driver takes TCP segments larger than a frame, over IPv4.
    pub const GUEST_TSO4: u64 = 1 << 7;
    /// The driver takes TCP segments larger than a frame, over IPv6.
    pub const GUEST_TSO6: u64 = 1 << 8;
    /// The driver takes TCP segments with congestion marks.
    pub const GUEST_ECN: u64 = 1 << 9;
    /// The device splits large TCP segments, over IPv4.
    pub const HOST_TSO4: u64 = 1 << 11;
    /// The device splits large TCP segments, over IPv6.
    pub const HOST_TSO6: u64 = 1 << 12;
    /// The device splits TCP segments with congestion marks.
    pub const HOST_ECN: u64 = 1 << 13;
    /// A received frame may use several buffers.
    pub const MRG_RXBUF: u64 = 1 << 15;
    /// The device has a status. This feature and those of the control queue are the front-end's, which offers them if
    /// the back-end does.
    pub const STATUS: u64 = 1 << 16;
    /// There is a control queue.
    pub const CTRL_VQ: u64 = 1 << 17;
    /// Receive modes.
    pub const CTRL_RX: u64 = 1 << 18;
    /// The driver announces itself after a migration.
    pub const GUEST_ANNOUNCE: u64 = 1 << 21;
    /// Several pairs of queues.
    pub const MQ: u64 = 1 << 22;
    /// The driver may set its address.
    pub const CTRL_MAC_ADDR: u64 = 1 << 23;
    /// The header has the number of buffers (VERSION_1 is a feature of all devices).
    pub const VERSION_1: u64 = 1 << 32;
    /// The driver takes several UDP datagrams in one frame, over IPv4 (VIRTIO 1.3, as the next two).
    pub const GUEST_USO4: u64 = 1 << 54;
    /// The driver takes several UDP datagrams in one frame, over IPv6.
    pub const GUEST_USO6: u64 = 1 << 55;
    /// The device splits a frame into UDP datagrams, over IPv4 and IPv6.
    pub const HOST_USO: u64 = 1 << 56;
    /// Features of UDP datagrams: Linux' taps have both IPs or none.
    pub const USO: u64 = GUEST_USO4 | GUEST_USO6 | HOST_USO;
}

/// An Ethernet address.
pub type Mac = [u8; 6];

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// Bytes of the longest frame: an IP packet, with Ethernet header and a VLAN tag.
pub const LONGEST: usize = 65_535 + ETHERNET + 4;

/// Reads `aa:bb:cc:dd:ee:ff`.
#[must_use]
pub fn parse_mac(text: &str) -> Option<Mac> {
    let mut mac = Mac::default();
    let mut parts = text.split(':');
    for byte in &mut mac {
        let part = parts.next().filter(|part| part.len() == 2)?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    // Neither a group's address nor none.
    (parts.next().is_none() && mac[0] & 1 == 0 && mac != Mac::default()).then_some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_single_stations_only() {
        assert_eq!(
            parse_mac("52:54:00:12:34:56"),
            Some([0x52, 0x54, 0, 0x12, 0x34, 0x56])
        );
        for wrong in [
            "",
            "52:54:00:12:34",
            "52:54:00:12:34:56:78",
            "01:00:5e:00:00:01",
            "00:00:00:00:00:00",
            "5:54:00:12:34:56",
            "+1:54:00:12:34:56",
        ] {
            assert_eq!(parse_mac(wrong), None, "{wrong}");
        }
    }
}
