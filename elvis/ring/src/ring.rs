//! The device side of a virtqueue, split (VIRTIO 1.2, section 2.7) or packed (section 2.8).

use crate::chain::Chain;
use crate::packed::Packed;
use crate::split::Split;
use crate::{DirtyLog, Memory, Span};
use std::sync::Arc;

/// The driver broke a rule. The ring can't be used until it is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The available index is ahead by more than the ring's size.
    #[error("the available index is {avail}, {pending} ahead in a ring of {size}")]
    Jump {
        /// The index.
        avail: u16,
        /// By how much it is ahead.
        pending: u16,
        /// The ring's size.
        size: u16,
    },
    /// A head or a `next` beyond the end of the table.
    #[error("descriptor {index} is not in the table")]
    Descriptor {
        /// The index.
        index: u16,
    },
    /// A chain longer than its table, or than [`crate::chain::LONGEST`].
    #[error("a descriptor chain does not end")]
    Endless,
    /// A buffer that the device reads follows one that it writes.
    #[error("a readable descriptor follows a writable one")]
    Order,
    /// Invalid use of indirect descriptors.
    #[error("{0}")]
    Indirect(&'static str),
    /// A buffer is empty, or not entirely in the driver's memory.
    #[error("a buffer of {bytes} bytes at guest address {guest:#x} is not in memory")]
    Outside {
        /// Its guest-physical address.
        guest: u64,
        /// Its length.
        bytes: u32,
    },
    /// The size is 0 or above 32768, or that of a split ring and not a power of two.
    #[error("a ring of {0} entries: must be 1 to 32768, and a power of two if it is split")]
    Size(u32),
    /// A part of the ring is not in memory, or not aligned.
    #[error("the {0} is not in memory, or not aligned")]
    Address(&'static str),
    /// The ring was to continue at a descriptor that it does not have.
    #[error("a ring of {size} entries can't continue at entry {slot}")]
    Base {
        /// The descriptor.
        slot: u16,
        /// The ring's size.
        size: u16,
    },
    /// The record of requests in flight is too small, not aligned, or made for another version or for a
    /// smaller queue.
    #[error("the in-flight area is invalid")]
    Inflight,
    /// The record of a ring's progress is too small or not aligned.
    #[error("the record of a ring's progress is invalid")]
    Progress,
}

/// Guest-physical addresses of the parts of a ring. The names are those of a split ring; vhost-user uses them
/// for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingAddresses {
    /// Descriptor table, or packed descriptor ring; 16-byte aligned.
    pub descriptors: u64,
    /// Available ring, 2-byte aligned; if packed, driver event suppression structure, 4-byte aligned.
    pub available: u64,
    /// Used ring, or device event suppression structure; 4-byte aligned.
    pub used: u64,
    /// Guest-physical address under which writes to `used` are logged, for migration. None: no write to the
    /// ring is logged.
    pub used_log: Option<u64>,
}

/// A part of a ring: aligned, and all of it in memory.
pub(crate) fn part(
    memory: &Memory,
    guest: u64,
    bytes: usize,
    align: usize,
    name: &'static str,
) -> Result<Span, RingError> {
    memory
        .span(guest, bytes as u64)
        .filter(|span| span.aligned(align))
        .ok_or(RingError::Address(name))
}

/// What a look for new requests shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The driver's index, free-running. Of a packed ring: the number of requests seen so far.
    pub avail: u16,
    /// Requests available and not yet taken.
    pub pending: u16,
}

/// A virtqueue that is running.
#[derive(Debug)]
pub enum Ring {
    /// A split one.
    Split(Split),
    /// A packed one.
    Packed(Packed),
}

/// The same function of either.
macro_rules! either {
    ($self:ident, $ring:ident => $result:expr) => {
        match $self {
            Self::Split($ring) => $result,
            Self::Packed($ring) => $result,
        }
    };
}

/// What a visit does with a ring. [`Ring`] chooses the layout in each call; a visit that is written for any of these
/// chooses it once. [`Ring`]'s functions of the same names say what they do.
pub trait Visited {
    /// See [`Ring::log`].
    fn log(&self) -> Option<&DirtyLog>;
    /// See [`Ring::look`].
    ///
    /// # Errors
    ///
    /// The ring breaks the rules.
    fn look(&mut self) -> Result<Look, RingError>;
    /// See [`Ring::take`].
    ///
    /// # Errors
    ///
    /// The ring or the request breaks the rules.
    fn take(&mut self, chain: &mut Chain) -> Result<bool, RingError>;
    /// See [`Ring::put`].
    fn put(&mut self, head: u16, written: u32);
    /// See [`Ring::publish`].
    fn publish(&mut self) -> bool;
}

/// The functions of a layout, which have the same names.
macro_rules! visited {
    ($layout:ident) => {
        impl Visited for $layout {
            #[inline]
            fn log(&self) -> Option<&DirtyLog> {
                $layout::log(self)
            }

            #[inline]
            fn look(&mut self) -> Result<Look, RingError> {
                $layout::look(self)
            }

            #[inline]
            fn take(&mut self, chain: &mut Chain) -> Result<bool, RingError> {
                $layout::take(self, chain)
            }

            #[inline]
            fn put(&mut self, head: u16, written: u32) {
                $layout::put(self, head, written);
            }

            #[inline]
            fn publish(&mut self) -> bool {
                $layout::publish(self)
            }
        }
    };
}

visited!(Split);
visited!(Packed);
visited!(Ring);

impl Ring {
    /// A split ring at these addresses that continues with entry `next` of its available ring.
    ///
    /// # Errors
    ///
    /// The size or an address is invalid.
    pub fn new(
        size: u32,
        at: &RingAddresses,
        memory: &Arc<Memory>,
        next: u16,
        event_idx: bool,
    ) -> Result<Self, RingError> {
        Split::new(size, at, memory, next, event_idx).map(Self::Split)
    }

    /// A packed ring at these addresses that continues as `base` says, see [`Ring::base`]. No request is in
    /// flight, unless [`Ring::track`] finds some.
    ///
    /// # Errors
    ///
    /// The size, an address or the base is invalid.
    pub fn packed(
        size: u32,
        at: &RingAddresses,
        memory: &Arc<Memory>,
        base: u32,
        event_idx: bool,
    ) -> Result<Self, RingError> {
        Packed::new(size, at, memory, base, event_idx).map(Self::Packed)
    }

    /// Records requests in flight from now on in this memory, which outlives this process, and takes over
    /// those that another process left there: they are taken first, then the ring continues after them.
    ///
    /// # Errors
    ///
    /// The memory is no such record.
    pub fn track(&mut self, region: Span) -> Result<(), RingError> {
        either!(self, ring => ring.track(region))
    }

    /// Continues after the last request that was replied to. For a device that replies in order this is where
    /// the last process was, whatever it had taken. A packed ring does not say where that is: see [`Ring::keep`].
    pub fn after_last_reply(&mut self) {
        if let Self::Split(split) = self {
            split.after_last_reply();
        }
    }

    /// Of a packed ring whose requests end in order: from now on keeps how far it got in this memory, which outlives
    /// this process, and continues where the last process left it if that served the same ring. `at` is where it
    /// is, and `told` where its front-end last told to start it. [`crate::progress`] has the rest.
    ///
    /// # Errors
    ///
    /// The memory is too small or not aligned.
    pub fn keep(&mut self, region: Span, at: &RingAddresses, told: u32) -> Result<(), RingError> {
        match self {
            Self::Split(_) => Ok(()),
            Self::Packed(packed) => packed.keep(region, at, told),
        }
    }

    /// Logs the device's writes from now on; None: stops logging.
    pub fn log_to(&mut self, log: Option<DirtyLog>) {
        either!(self, ring => ring.log_to(log));
    }

    /// The log in which the caller must mark its writes to buffers.
    #[inline]
    #[must_use]
    pub fn log(&self) -> Option<&DirtyLog> {
        either!(self, ring => ring.log())
    }

    /// The number of entries.
    #[must_use]
    pub fn size(&self) -> u16 {
        either!(self, ring => ring.size())
    }

    /// The index of the next request, as [`Look::avail`] counts them.
    #[must_use]
    pub fn next(&self) -> u16 {
        either!(self, ring => ring.next())
    }

    /// Where the ring continues, as GET_VRING_BASE returns it. Split: the next entry of the available ring.
    /// Packed: the next descriptor to take (15 bits) and its wrap counter (1 bit), then the same for the next
    /// used element.
    #[must_use]
    pub fn base(&self) -> u32 {
        either!(self, ring => ring.base())
    }

    /// The driver's memory.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        either!(self, ring => ring.memory())
    }

    /// Whether a file of the driver's memory was truncated.
    #[must_use]
    pub fn broken(&self) -> bool {
        self.memory().broken()
    }

    /// Looks for new requests. If there is none: one read of shared memory.
    ///
    /// # Errors
    ///
    /// The ring breaks the rules.
    #[inline]
    pub fn look(&mut self) -> Result<Look, RingError> {
        either!(self, ring => ring.look())
    }

    /// Takes the next request that [`Ring::look`] saw. False if there is none.
    ///
    /// # Errors
    ///
    /// The ring or the request breaks the rules.
    #[inline]
    pub fn take(&mut self, chain: &mut Chain) -> Result<bool, RingError> {
        either!(self, ring => ring.take(chain))
    }

    /// Gives back the last request taken, which has this head: it will be taken again, here or by the
    /// next owner of the ring.
    pub fn untake(&mut self, head: u16) {
        either!(self, ring => ring.untake(head));
    }

    /// Puts a finished request, named by its head, into the ring; the driver sees it after
    /// [`Ring::publish`]. `written` is how many bytes were written, from the start of its writable buffers.
    #[inline]
    pub fn put(&mut self, head: u16, written: u32) {
        either!(self, ring => ring.put(head, written));
    }

    /// Publishes all requests put so far to the driver: one write of shared memory. True if the
    /// driver wants a call.
    #[inline]
    pub fn publish(&mut self) -> bool {
        either!(self, ring => ring.publish())
    }

    /// Whether the driver still wants a call that it did not get: it may have seen the replies
    /// meanwhile.
    #[must_use]
    pub fn call_wanted(&self) -> bool {
        either!(self, ring => ring.call_wanted())
    }

    /// Asks the driver not to kick. A kick on its way may still arrive.
    #[inline]
    pub fn disarm(&mut self) {
        either!(self, ring => ring.disarm());
    }

    /// Asks the driver to kick with its next request after those that the last look saw. The caller must look
    /// once more afterwards.
    #[inline]
    pub fn arm(&mut self) {
        either!(self, ring => ring.arm());
    }
}
