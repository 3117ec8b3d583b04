//! What a device is to its driver: the part of it that differs between kinds of devices. The rest (queues,
//! messages, policy, notifications) is the same for all.

mod blk;

pub use blk::{Blk, BlkSpec};

use std::io;
use vhost::vhost_user::message::VhostUserProtocolFeatures;

/// The configuration of a device's kind.
#[derive(Debug, Clone, PartialEq)]
pub enum KindSpec {
    /// A block device.
    Blk(BlkSpec),
}

impl KindSpec {
    /// Its short name, for users.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Blk(_) => "blk",
        }
    }

    /// Opens what is behind the device.
    ///
    /// # Errors
    ///
    /// It can't be opened.
    pub fn open(&self) -> io::Result<Kind> {
        match self {
            Self::Blk(spec) => spec.open().map(Kind::Blk).map_err(io::Error::other),
        }
    }
}

/// An open device of some kind, shared by all its queues.
#[derive(Debug)]
pub enum Kind {
    /// A block device.
    Blk(Blk),
}

impl Kind {
    /// The number of its virtqueues.
    #[must_use]
    pub fn queues(&self) -> u16 {
        match self {
            Self::Blk(blk) => blk.queues,
        }
    }

    /// The feature bits that it adds to those of all devices.
    #[must_use]
    pub fn features(&self) -> u64 {
        match self {
            Self::Blk(blk) => blk.features(),
        }
    }

    /// The protocol features that it adds to those of all devices.
    #[must_use]
    pub fn protocol(&self) -> VhostUserProtocolFeatures {
        match self {
            Self::Blk(_) => {
                VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::INFLIGHT_SHMFD
            }
        }
    }

    /// Notes the features that driver and device agreed on. No queue runs.
    pub fn agreed(&self, features: u64) {
        match self {
            Self::Blk(blk) => blk.agreed(features),
        }
    }

    /// A new connection, or a reset.
    pub fn reset(&self) {
        match self {
            Self::Blk(blk) => blk.reset(),
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
        }
    }

    /// The configuration space.
    #[must_use]
    pub fn config(&self) -> Vec<u8> {
        match self {
            Self::Blk(blk) => blk.config(),
        }
    }

    /// Writes to the configuration space. False if the driver may not.
    #[must_use]
    pub fn set_config(&self, offset: u32, bytes: &[u8], features: u64) -> bool {
        match self {
            Self::Blk(blk) => blk.set_config(offset, bytes, features),
        }
    }

    /// The size of its disk in bytes. None: it has none.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Self::Blk(blk) => Some(blk.disk.bytes()),
        }
    }
}
