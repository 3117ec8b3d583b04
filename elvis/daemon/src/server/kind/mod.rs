//! Kinds of devices, as their drivers see them: the part that differs between kinds. The rest (queues, messages,
//! policy, notifications) is the same for all.

mod blk;
mod net;

pub use blk::{Blk, BlkSpec};
pub use net::{Backing, BackingSpec, Net, NetSpec};

use crate::net::Switches;
use crate::storage::Disk;
use elvis_policy::RateLimit;
use std::io;
use vhost::vhost_user::message::VhostUserProtocolFeatures;

/// The configuration of a device's kind.
#[derive(Debug, Clone, PartialEq)]
pub enum KindSpec {
    /// A block device.
    Blk(BlkSpec),
    /// A network device.
    Net(NetSpec),
}

impl KindSpec {
    /// Returns the kind's short name, for users.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Blk(_) => "blk",
            Self::Net(_) => "net",
        }
    }

    /// Returns the name of the limit on requests or packets.
    #[must_use]
    pub fn counts(&self) -> &'static str {
        match self {
            Self::Blk(_) => "requests_per_s",
            Self::Net(_) => "packets_per_s",
        }
    }

    /// Opens the device's disk or network.
    pub fn open(&self, switches: &Switches, limit: &RateLimit) -> io::Result<Kind> {
        match self {
            Self::Blk(spec) => spec.open().map(Kind::Blk).map_err(io::Error::other),
            Self::Net(spec) => spec.open(switches, limit).map(Kind::Net),
        }
    }
}

/// An open device of some kind, shared by all its queues.
#[derive(Debug)]
pub enum Kind {
    /// A block device.
    Blk(Blk),
    /// A network device.
    Net(Net),
}

impl Kind {
    /// Returns the number of virtqueues.
    #[must_use]
    pub fn queues(&self) -> u16 {
        match self {
            Self::Blk(blk) => blk.queues,
            Self::Net(net) => 2 * net.pairs,
        }
    }

    /// Returns the number of a queue's group: the two queues of a pair are one. One I/O thread serves all queues of a
    /// group.
    #[must_use]
    pub fn group(&self, queue: u16) -> u16 {
        match self {
            Self::Blk(_) => queue,
            Self::Net(_) => queue / 2,
        }
    }

    /// Returns the feature bits that the kind adds to those of all devices.
    #[must_use]
    pub fn features(&self) -> u64 {
        match self {
            Self::Blk(blk) => blk.features(),
            Self::Net(net) => net.features(),
        }
    }

    /// Returns the feature bits that the device does not offer, but takes from a driver to which an earlier daemon
    /// offered them.
    #[must_use]
    pub fn inherited(&self) -> u64 {
        match self {
            Self::Blk(blk) => blk.inherited(),
            Self::Net(_) => 0,
        }
    }

    /// Returns the protocol features that the kind adds to those of all devices.
    #[must_use]
    pub fn protocol(&self) -> VhostUserProtocolFeatures {
        match self {
            // By BACKEND_REQ a front-end learns that the disk has grown.
            Self::Blk(_) => {
                VhostUserProtocolFeatures::CONFIG
                    | VhostUserProtocolFeatures::INFLIGHT_SHMFD
                    | VhostUserProtocolFeatures::BACKEND_REQ
            }
            // The configuration space is the front-end's. Frames in flight are not recorded: see `in_order`.
            Self::Net(_) => VhostUserProtocolFeatures::RARP | VhostUserProtocolFeatures::MTU,
        }
    }

    /// Whether replies are in the order of requests, so that a ring goes on after its last reply. Requests that were
    /// taken before and not replied to, by this process or by another that died, are then taken again. The place of a
    /// packed ring's last reply is kept in a file.
    #[must_use]
    pub fn in_order(&self) -> bool {
        matches!(self, Self::Net(_))
    }

    /// Notes the features that driver and device agreed on. No queue runs.
    pub fn agreed(&self, features: u64) -> io::Result<()> {
        match self {
            Self::Blk(blk) => blk.agreed(features),
            Self::Net(net) => return net.agreed(features),
        }
        Ok(())
    }

    /// Notes that the device has these limits from now on.
    pub fn limited(&self, limit: RateLimit) {
        match self {
            Self::Blk(_) => {}
            Self::Net(net) => net.limited(limit),
        }
    }

    /// Notes that a queue is served from now on, or no longer.
    pub fn runs(&self, queue: u16, running: bool) {
        match self {
            Self::Blk(_) => {}
            Self::Net(net) => net.runs(queue, running),
        }
    }

    /// Resets the choices of the driver, for a new connection or at a reset.
    pub fn reset(&self) {
        match self {
            Self::Blk(blk) => blk.reset(),
            Self::Net(net) => net.reset(),
        }
    }

    /// Begins the use of the disk or network, before the first queue is served.
    ///
    /// # Errors
    ///
    /// Another process serves the disk.
    pub fn begin(&self) -> io::Result<()> {
        match self {
            Self::Blk(blk) => blk.disk.begin(),
            Self::Net(net) => {
                net.begin();
                Ok(())
            }
        }
    }

    /// Ends the use of the disk or network, when no queue is served any more.
    pub fn end(&self) -> io::Result<()> {
        match self {
            Self::Blk(blk) => blk.disk.end(),
            Self::Net(net) => {
                net.end();
                Ok(())
            }
        }
    }

    /// Returns the configuration space.
    #[must_use]
    pub fn config(&self) -> Vec<u8> {
        match self {
            Self::Blk(blk) => blk.config(),
            Self::Net(_) => Vec::new(),
        }
    }

    /// Writes to the configuration space.
    pub fn set_config(&self, offset: u32, bytes: &[u8], features: u64) -> Result<(), String> {
        match self {
            Self::Blk(blk) => blk.set_config(offset, bytes, features),
            Self::Net(_) => Err("a network device has none".to_owned()),
        }
    }

    /// Returns the disk, if the device has one.
    #[must_use]
    pub fn disk(&self) -> Option<&Disk> {
        match self {
            Self::Blk(blk) => Some(&blk.disk),
            Self::Net(_) => None,
        }
    }
}
