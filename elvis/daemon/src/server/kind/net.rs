//! A network device: its backing, which carries its frames, and the features for its driver.

use crate::net::header::BYTES;
use crate::net::switch::{Joined, PortSpec};
use crate::net::{Link, LinkSpec, Mac, Switches, feature};
use elvis_policy::RateLimit;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

/// Smallest MTU (IPv4's).
const LEAST_MTU: u16 = 68;

/// The configuration of a network device.
#[derive(Debug, Clone, PartialEq)]
pub struct NetSpec {
    /// Backing, which carries the device's frames.
    pub backing: BackingSpec,
    /// Number of pairs of queues.
    pub pairs: u16,
    /// Only address from which the device may send. Not for an interface.
    pub mac: Option<Mac>,
    /// Whether the device exchanges frames only with devices of its switch that are not isolated.
    pub isolated: bool,
    /// VLAN of the device, if it is at a switch; 0: none.
    pub vlan: u16,
}

/// Configuration of a backing, which carries a network device's frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackingSpec {
    /// An interface of the host.
    Link(LinkSpec),
    /// The switch of this name.
    Switch(String),
}

impl BackingSpec {
    /// Returns the backing as the configuration writes it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Link(link) => link.text(),
            Self::Switch(name) => format!("switch:{name}"),
        }
    }
}

impl NetSpec {
    /// Opens the backing.
    pub fn open(&self, switches: &Switches, limit: &RateLimit) -> io::Result<Net> {
        let backing = match &self.backing {
            BackingSpec::Link(spec) => Backing::Link(Link::open(spec, self.pairs)?),
            BackingSpec::Switch(name) => {
                let spec = PortSpec {
                    isolated: self.isolated,
                    mac: self.mac,
                    vlan: self.vlan,
                };
                Backing::Port(switches.get(name).join(spec, self.pairs)?)
            }
        };
        let net = Net {
            backing,
            pairs: self.pairs,
            mac: self.mac,
            mtu: AtomicU16::new(0),
            idle: AtomicBool::new(true),
        };
        net.limited(*limit);
        Ok(net)
    }
}

/// Open backing, which carries a network device's frames.
#[derive(Debug)]
pub enum Backing {
    /// An interface of the host.
    Link(Link),
    /// A port of a switch.
    Port(Joined),
}

/// An open network device.
#[derive(Debug)]
pub struct Net {
    /// Backing, which carries the device's frames.
    pub backing: Backing,
    /// Number of pairs of queues.
    pub pairs: u16,
    /// Only address from which the device may send.
    pub mac: Option<Mac>,
    /// MTU that the front-end told, 0: none.
    mtu: AtomicU16,
    /// Whether no driver used the device since it was opened, or since the last driver left it.
    idle: AtomicBool,
}

impl Net {
    pub(super) fn features(&self) -> u64 {
        let mut features = feature::CSUM
            | feature::GUEST_CSUM
            | feature::GUEST_TSO4
            | feature::GUEST_TSO6
            | feature::GUEST_ECN
            | feature::HOST_TSO4
            | feature::HOST_TSO6
            | feature::HOST_ECN
            | feature::MRG_RXBUF
            | feature::MTU
            | feature::STATUS
            | feature::CTRL_VQ
            | feature::CTRL_RX
            | feature::GUEST_ANNOUNCE;
        let takes_datagrams = match &self.backing {
            Backing::Link(link) => link.takes_datagrams(),
            Backing::Port(_) => true,
        };
        if takes_datagrams {
            features |= feature::USO;
        }
        if self.pairs > 1 {
            features |= feature::MQ;
        }
        if self.mac.is_none() {
            features |= feature::CTRL_MAC_ADDR;
        }
        features
    }

    pub(super) fn agreed(&self, features: u64) -> io::Result<()> {
        match &self.backing {
            Backing::Link(link) => link.agreed(features),
            Backing::Port(_) => Ok(()),
        }
    }

    /// Sets whether all frames of the device are counted, as a limit requires.
    pub(super) fn limited(&self, limit: RateLimit) {
        if let Backing::Port(joined) = &self.backing {
            joined.0.count(limit != RateLimit::default());
        }
    }

    /// Begins the use by a driver. A driver that starts gets no frame from before. A driver that was only moved does.
    pub(super) fn begin(&self) {
        if !self.idle.swap(false, Ordering::Relaxed) {
            return;
        }
        match &self.backing {
            Backing::Link(link) => link.drop_stale(),
            Backing::Port(joined) => joined.0.queues.iter().for_each(|queue| queue.clear()),
        }
    }

    pub(super) fn end(&self) {
        self.idle.store(true, Ordering::Relaxed);
    }

    pub(super) fn runs(&self, queue: u16, running: bool) {
        // Receive queues have even numbers.
        if let (Backing::Link(link), 0) = (&self.backing, queue % 2) {
            link.uses(usize::from(queue / 2), running);
        }
    }

    /// Sets the MTU. False if it is too small.
    #[must_use]
    pub fn set_mtu(&self, mtu: u64) -> bool {
        let mtu = u16::try_from(mtu).ok().filter(|&mtu| mtu >= LEAST_MTU);
        if let Some(mtu) = mtu {
            self.mtu.store(mtu, Ordering::Relaxed);
        }
        mtu.is_some()
    }

    /// Returns the bytes of the longest IP packet that the driver may send unsplit, if the front-end told that.
    #[must_use]
    pub fn mtu(&self) -> Option<u16> {
        let mtu = self.mtu.load(Ordering::Relaxed);
        (mtu > 0).then_some(mtu)
    }

    pub(super) fn reset(&self) {
        self.mtu.store(0, Ordering::Relaxed);
    }

    /// Tells the network that an address is here now, for a driver that came by migration and cannot do so itself. The
    /// message is a reverse ARP request (RFC 903), which needs only the Ethernet address. False if the device may not
    /// send from there, or the request can't be sent.
    #[must_use]
    pub fn announce(&self, mac: Mac) -> bool {
        if mac[0] & 1 != 0 || self.mac.is_some_and(|its| its != mac) {
            return false;
        }
        // The frame, after an empty header.
        let mut first = [0; BYTES + 60];
        let frame = &mut first[BYTES..];
        frame[..6].fill(0xff);
        frame[6..12].copy_from_slice(&mac);
        // RARP; Ethernet and IPv4 addresses of 6 and 4 bytes; request reverse.
        frame[12..22].copy_from_slice(&[0x80, 0x35, 0, 1, 8, 0, 6, 4, 0, 3]);
        frame[22..28].copy_from_slice(&mac);
        frame[32..38].copy_from_slice(&mac);
        match &self.backing {
            Backing::Link(link) => link.send(0, &first, None, &mut []).is_ok(),
            Backing::Port(joined) => {
                let (port, switch) = (&joined.0, joined.0.switch());
                port.table().learn(mac, port.number(), switch.now_s());
                port.broadcast(frame);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::switch::Place;

    #[test]
    fn an_announcement_reaches_the_switch_and_its_ports() {
        let switches = Switches::default();
        let open = |mac| {
            let spec = NetSpec {
                backing: BackingSpec::Switch("s".to_owned()),
                pairs: 1,
                mac,
                isolated: false,
                vlan: 0,
            };
            spec.open(&switches, &RateLimit::default()).unwrap()
        };
        let (one, two) = (open(None), open(Some([2, 0, 0, 0, 0, 2])));
        let (Backing::Port(a), Backing::Port(b)) = (&one.backing, &two.backing) else {
            panic!("no ports");
        };
        b.0.queues[0].served_at(Some(Place { thread: 1, slot: 0 }));
        let mac = [2, 0, 0, 0, 0, 1];
        assert!(one.announce(mac));
        assert_eq!(a.0.table().find(mac, 0), Some(a.0.number()));
        let seen = b.0.queues[0]
            .take(|_, frame| (true, frame.to_vec()))
            .unwrap();
        assert_eq!(
            (seen.len(), &seen[..6], &seen[6..12]),
            (60, &[0xff; 6][..], &mac[..])
        );
        assert!(!two.announce(mac), "it has another address");
        assert!(!one.announce([3, 0, 0, 0, 0, 1]));
    }

    #[test]
    fn an_mtu_is_checked() {
        let spec = NetSpec {
            backing: BackingSpec::Switch("s".to_owned()),
            pairs: 1,
            mac: None,
            isolated: false,
            vlan: 0,
        };
        let net = spec
            .open(&Switches::default(), &RateLimit::default())
            .unwrap();
        assert!(!net.set_mtu(67) && !net.set_mtu(65_536) && net.mtu().is_none());
        assert!(net.set_mtu(1400) && net.mtu() == Some(1400));
        net.reset();
        assert_eq!(net.mtu(), None);
    }
}
