//! What a device is to its driver: the part of it that differs between kinds of devices. The rest (queues,
//! messages, policy, notifications) is the same for all.

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
    /// Its short name, for users.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Blk(_) => "blk",
            Self::Net(_) => "net",
        }
    }

    /// The name of the limit of what it counts.
    #[must_use]
    pub fn counts(&self) -> &'static str {
        match self {
            Self::Blk(_) => "requests_per_s",
            Self::Net(_) => "packets_per_s",
        }
    }

    /// Opens what is behind the device.
    ///
    /// # Errors
    ///
    /// It can't be opened.
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
    /// The number of its virtqueues.
    #[must_use]
    pub fn queues(&self) -> u16 {
        match self {
            Self::Blk(blk) => blk.queues,
            Self::Net(net) => 2 * net.pairs,
        }
    }

    /// Queues with the same number here are served by the same I/O thread: the two of a pair.
    #[must_use]
    pub fn group(&self, queue: u16) -> u16 {
        match self {
            Self::Blk(_) => queue,
            Self::Net(_) => queue / 2,
        }
    }

    /// The feature bits that it adds to those of all devices.
    #[must_use]
    pub fn features(&self) -> u64 {
        match self {
            Self::Blk(blk) => blk.features(),
            Self::Net(net) => net.features(),
        }
    }

    /// Feature bits that it does not offer, but takes from a driver that an earlier daemon has offered them.
    #[must_use]
    pub fn inherited(&self) -> u64 {
        match self {
            Self::Blk(blk) => blk.inherited(),
            Self::Net(_) => 0,
        }
    }

    /// The protocol features that it adds to those of all devices.
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

    /// Whether replies are in the order of requests, so that a ring goes on after its last reply: what was
    /// taken before and not replied to, by this process or another that died, is taken again. Where the last reply
    /// of a packed ring is, the device keeps in a file.
    #[must_use]
    pub fn in_order(&self) -> bool {
        matches!(self, Self::Net(_))
    }

    /// Notes the features that driver and device agreed on. No queue runs.
    ///
    /// # Errors
    ///
    /// What is behind it refuses.
    pub fn agreed(&self, features: u64) -> io::Result<()> {
        match self {
            Self::Blk(blk) => blk.agreed(features),
            Self::Net(net) => return net.agreed(features),
        }
        Ok(())
    }

    /// It has these limits from now on.
    pub fn limited(&self, limit: RateLimit) {
        match self {
            Self::Blk(_) => {}
            Self::Net(net) => net.limited(limit),
        }
    }

    /// A queue is served from now on, or no longer.
    pub fn runs(&self, queue: u16, running: bool) {
        match self {
            Self::Blk(_) => {}
            Self::Net(net) => net.runs(queue, running),
        }
    }

    /// A new connection, or a reset.
    pub fn reset(&self) {
        match self {
            Self::Blk(blk) => blk.reset(),
            Self::Net(net) => net.reset(),
        }
    }

    /// Called before the first of its queues is served.
    ///
    /// # Errors
    ///
    /// What is behind it is in use.
    pub fn begin(&self) -> io::Result<()> {
        match self {
            Self::Blk(blk) => blk.disk.begin(),
            Self::Net(net) => {
                net.begin();
                Ok(())
            }
        }
    }

    /// Called when none of its queues is served any more.
    ///
    /// # Errors
    ///
    /// What is behind it can't be left.
    pub fn end(&self) -> io::Result<()> {
        match self {
            Self::Blk(blk) => blk.disk.end(),
            Self::Net(net) => {
                net.end();
                Ok(())
            }
        }
    }

    /// The configuration space.
    #[must_use]
    pub fn config(&self) -> Vec<u8> {
        match self {
            Self::Blk(blk) => blk.config(),
            Self::Net(_) => Vec::new(),
        }
    }

    /// Writes to the configuration space.
    ///
    /// # Errors
    ///
    /// The driver may not.
    pub fn set_config(&self, offset: u32, bytes: &[u8], features: u64) -> Result<(), String> {
        match self {
            Self::Blk(blk) => blk.set_config(offset, bytes, features),
            Self::Net(_) => Err("a network device has none".to_owned()),
        }
    }

    /// Its disk. None: it has none.
    #[must_use]
    pub fn disk(&self) -> Option<&Disk> {
        match self {
            Self::Blk(blk) => Some(&blk.disk),
            Self::Net(_) => None,
        }
    }
}
