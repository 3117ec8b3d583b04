//! The device side of a virtqueue, split (VIRTIO 1.2, section 2.7) or packed (section 2.8).

use crate::chain::{Chain, DESCRIPTOR, LONGEST};
use crate::packed::Packed;
use crate::span::AlignedPairs;
use crate::split::Split;
use crate::{DirtyLog, Memory, Span};
use std::fmt;
use std::sync::Arc;

/// Largest ring (sections 2.7 and 2.8.10.1).
pub const LARGEST: u16 = 32_768;

/// The driver broke a rule, one error for each. The ring can't be used until it is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The available index is ahead by more than the ring's size.
    #[error("the available index is {avail}, {pending} ahead in a ring of {size}")]
    Jump {
        /// The index.
        avail: u16,
        /// Number of entries by which the index is ahead.
        pending: u16,
        /// The ring's size.
        size: u16,
    },
    /// A head beyond the end of the descriptor table.
    #[error("the available ring names descriptor {index}, in a table of {entries}")]
    Head {
        /// The descriptor.
        index: u16,
        /// The table's size.
        entries: u32,
    },
    /// A `next` beyond the end of its table.
    #[error("a descriptor continues at descriptor {index}, in a table of {entries}")]
    Next {
        /// The descriptor.
        index: u16,
        /// The table's size.
        entries: u32,
    },
    /// A chain longer than its table, for example a loop; or one that fills a packed ring and goes on.
    #[error("a descriptor chain does not end within its {entries} descriptors")]
    Endless {
        /// The size of the table or ring.
        entries: u32,
    },
    /// A chain longer than [`LONGEST`], its indirect table included. A buffer that is split over several regions of
    /// memory counts once for each.
    #[error("a descriptor chain has more than {LONGEST} descriptors")]
    TooLong,
    /// A chain of a split ring with more bytes than section 2.7.5 allows.
    #[error("a descriptor chain has {0} bytes, more than 2^32")]
    TooLarge(u64),
    /// A chain of a packed ring that was joined with the next one.
    #[error("a descriptor chain was changed after it was made available")]
    Changed,
    /// A buffer that the device reads follows one that it writes.
    #[error("a readable descriptor follows a writable one")]
    Order,
    /// An indirect descriptor, although the driver did not negotiate them.
    #[error("an indirect descriptor, without the feature INDIRECT_DESC")]
    IndirectUnwanted,
    /// An indirect descriptor in a split ring that does not end its chain.
    #[error("a descriptor has both the INDIRECT and the NEXT flag")]
    IndirectNext,
    /// An indirect descriptor in a chain of a packed ring, in which it must be alone.
    #[error("an indirect descriptor is in a chain of a packed ring")]
    IndirectChained,
    /// An indirect descriptor in an indirect table.
    #[error("an indirect descriptor is in an indirect table")]
    Nested,
    /// The length of an indirect table is 0, or not a multiple of a descriptor's.
    #[error("an indirect table has {0} bytes: must be a multiple of 16, and not 0")]
    TableBytes(u32),
    /// An indirect table is not entirely in a region of the driver's memory.
    #[error("an indirect table of {bytes} bytes at guest address {guest:#x} is not in memory")]
    TableOutside {
        /// Guest-physical address of the table.
        guest: u64,
        /// Length of the table.
        bytes: u32,
    },
    /// A buffer has no bytes.
    #[error("a buffer of 0 bytes, at guest address {guest:#x}")]
    Empty {
        /// Guest-physical address of the buffer.
        guest: u64,
    },
    /// A buffer is not entirely in the driver's memory.
    #[error("a buffer of {bytes} bytes at guest address {guest:#x} is not in memory")]
    Outside {
        /// Guest-physical address of the buffer.
        guest: u64,
        /// Length of the buffer.
        bytes: u32,
    },
    /// The size is 0 or above 32768.
    #[error("a ring of {0} entries: must be 1 to 32768")]
    Size(u32),
    /// The size of a split ring is no power of two.
    #[error("a split ring of {0} entries: must be a power of two")]
    NoPower(u32),
    /// A part of the ring is not entirely in a region of the driver's memory.
    #[error("the {part} of {bytes} bytes at guest address {guest:#x} is not in memory")]
    PartOutside {
        /// Part of the ring.
        part: Part,
        /// Guest-physical address of the part.
        guest: u64,
        /// Length of the part.
        bytes: u32,
    },
    /// A part of the ring is not aligned.
    #[error("the {part} at guest address {guest:#x} is not aligned to {} bytes", part.align())]
    Unaligned {
        /// Part of the ring.
        part: Part,
        /// Guest-physical address of the part.
        guest: u64,
    },
    /// The ring was to continue at a descriptor that it does not have.
    #[error("a ring of {size} entries can't continue at entry {slot}")]
    Base {
        /// The descriptor.
        slot: u16,
        /// The ring's size.
        size: u16,
    },
    /// The record of requests in flight can't be used.
    #[error("the in-flight area {0}")]
    Inflight(RecordError),
    /// The record of a ring's progress can't be used.
    #[error("the record of a ring's progress {0}")]
    Progress(RecordError),
}

/// Reason for which a record in memory that outlives this process can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The record is too small for its ring.
    #[error("has {bytes} bytes, and needs {wanted}")]
    Small {
        /// Length of the record.
        bytes: u32,
        /// The length that the ring needs.
        wanted: u32,
    },
    /// The record is not aligned.
    #[error("is not aligned to 8 bytes")]
    Unaligned,
    /// The record has the format of another version.
    #[error("is of version {0}")]
    Version(u16),
    /// The record was made for a smaller ring.
    #[error("was made for a ring of {entries} entries, not {wanted}")]
    Entries {
        /// Size of the ring that the record was made for.
        entries: u16,
        /// Size of this ring.
        wanted: u16,
    },
}

/// Checks that a record has `wanted` bytes at least, and is aligned.
pub(crate) fn record(region: &Span, wanted: u64) -> Result<(), RecordError> {
    let bytes = region.bytes() as u64;
    if bytes < wanted {
        // A record of the largest ring has a megabyte.
        let (bytes, wanted) = (bytes as u32, wanted as u32);
        return Err(RecordError::Small { bytes, wanted });
    }
    match region.aligned(8) {
        true => Ok(()),
        false => Err(RecordError::Unaligned),
    }
}

/// Guest-physical addresses of the parts of a ring. The names are those of a split ring; vhost-user uses them for
/// packed ones too.
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

/// A part of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The descriptor table of a split ring.
    Descriptors,
    /// The available ring of a split ring.
    Available,
    /// The used ring of a split ring.
    Used,
    /// The descriptor ring of a packed ring.
    Packed,
    /// The driver's event suppression structure, of a packed ring.
    DriverEvents,
    /// The device's event suppression structure, of a packed ring.
    DeviceEvents,
}

impl Part {
    /// Returns the part's alignment, in bytes (sections 2.7 and 2.8.10.1).
    fn align(self) -> usize {
        match self {
            Self::Descriptors | Self::Packed => 16,
            Self::Available => 2,
            Self::Used | Self::DriverEvents | Self::DeviceEvents => 4,
        }
    }

    /// Returns the part of `bytes` bytes: aligned, and entirely in memory.
    pub(crate) fn span(self, memory: &Memory, guest: u64, bytes: usize) -> Result<Span, RingError> {
        let span = memory.span(guest, bytes as u64);
        let span = span.ok_or(RingError::PartOutside {
            part: self,
            guest,
            // The largest ring has half a megabyte.
            bytes: bytes as u32,
        })?;
        match span.aligned(self.align()) {
            true => Ok(span),
            false => Err(RingError::Unaligned { part: self, guest }),
        }
    }

    /// Returns a part that is `entries` descriptors.
    pub(crate) fn pairs(
        self,
        memory: &Memory,
        guest: u64,
        entries: u16,
    ) -> Result<AlignedPairs, RingError> {
        let span = self.span(memory, guest, DESCRIPTOR * usize::from(entries))?;
        AlignedPairs::new(span).ok_or(RingError::Unaligned { part: self, guest })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Self::Descriptors => "descriptor table",
            Self::Available => "available ring",
            Self::Used => "used ring",
            Self::Packed => "descriptor ring",
            Self::DriverEvents => "driver event structure",
            Self::DeviceEvents => "device event structure",
        })
    }
}

/// Checks the size of a ring.
pub(crate) fn entries(size: u32) -> Result<u16, RingError> {
    let small = u16::try_from(size).ok();
    let fits = small.filter(|size| (1..=LARGEST).contains(size));
    fits.ok_or(RingError::Size(size))
}

/// Result of a look for new requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Available index of the driver, free-running. In a packed ring: the number of requests seen so far.
    pub avail: u16,
    /// Requests available and not yet taken.
    pub pending: u16,
}

/// A virtqueue that is running.
#[derive(Debug)]
pub enum Ring {
    /// A split virtqueue.
    Split(Split),
    /// A packed virtqueue.
    Packed(Packed),
}

/// Calls the same function of either layout.
macro_rules! either {
    ($self:ident, $ring:ident => $result:expr) => {
        match $self {
            Self::Split($ring) => $result,
            Self::Packed($ring) => $result,
        }
    };
}

/// Operations of a visit on a ring. [`Ring`] chooses the layout in each call; a visit that is generic over this trait
/// chooses it once. [`Ring`]'s functions of the same names describe them.
pub trait Visited {
    /// See [`Ring::log`].
    fn log(&self) -> Option<&DirtyLog>;
    /// See [`Ring::look`].
    fn look(&mut self) -> Result<Look, RingError>;
    /// See [`Ring::take`].
    fn take(&mut self, chain: &mut Chain) -> Result<bool, RingError>;
    /// See [`Ring::survived`].
    fn survived(&self) -> u8;
    /// See [`Ring::put`].
    fn put(&mut self, head: u16, written: u32);
    /// See [`Ring::publish`].
    fn publish(&mut self) -> bool;
}

/// Implements [`Visited`] by the functions of a layout, which have the same names.
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
            fn survived(&self) -> u8 {
                $layout::survived(self)
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
    /// Opens a split ring at these addresses, which continues with entry `next` of its available ring.
    pub fn new(
        size: u32,
        at: &RingAddresses,
        memory: &Arc<Memory>,
        next: u16,
        event_idx: bool,
    ) -> Result<Self, RingError> {
        Split::new(size, at, memory, next, event_idx).map(Self::Split)
    }

    /// Opens a packed ring at these addresses, which continues as `base` says (see [`Ring::base`]). No request is in
    /// flight, unless [`Ring::track`] finds some.
    pub fn packed(
        size: u32,
        at: &RingAddresses,
        memory: &Arc<Memory>,
        base: u32,
        event_idx: bool,
    ) -> Result<Self, RingError> {
        Packed::new(size, at, memory, base, event_idx).map(Self::Packed)
    }

    /// Sets whether the driver may use indirect descriptors. In a new ring it may.
    pub fn allow_indirect(&mut self, allowed: bool) {
        either!(self, ring => ring.indirect = allowed);
    }

    /// Records requests in flight from now on in `region`, which outlives this process. Takes over the requests that
    /// another process left there: they are taken first, then the ring continues after them.
    pub fn track(&mut self, region: Span) -> Result<(), RingError> {
        either!(self, ring => ring.track(region))
    }

    /// Continues after the last request that was replied to. A device that replies in order continues there where the
    /// last process was, whatever that had taken. A packed ring does not say where that is: see [`Ring::keep`].
    pub fn after_last_reply(&mut self) {
        if let Self::Split(split) = self {
            split.after_last_reply();
        }
    }

    /// Records the progress of a packed ring, whose requests must end in order, in `region`, which outlives this
    /// process. Continues where the last process left the ring if that process served the same one. `at` is the ring's
    /// place, and `told` the base at which its front-end last started it. [`crate::progress`] has the rest.
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

    /// Returns the number of entries.
    #[must_use]
    pub fn size(&self) -> u16 {
        either!(self, ring => ring.size())
    }

    /// Returns the index of the next request, as [`Look::avail`] counts them.
    #[must_use]
    pub fn next(&self) -> u16 {
        either!(self, ring => ring.next())
    }

    /// Returns the place at which the ring continues, as GET_VRING_BASE does. Split: the next entry of the available
    /// ring. Packed: the next descriptor to take (15 bits) and its wrap counter (1 bit), then both for the next used
    /// element.
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
    #[inline]
    pub fn look(&mut self) -> Result<Look, RingError> {
        either!(self, ring => ring.look())
    }

    /// Prefetches the cache lines that [`Ring::take`] will read, which are in the cache of the driver's CPU. Does not
    /// wait.
    #[inline]
    pub fn prefetch(&self) {
        either!(self, ring => ring.prefetch());
    }

    /// Returns how many requests [`Ring::look`] saw that are not taken. Reads no memory of the driver.
    #[inline]
    #[must_use]
    pub fn known(&self) -> u16 {
        either!(self, ring => ring.known())
    }

    /// Takes the next request that [`Ring::look`] saw. False if there is none.
    #[inline]
    pub fn take(&mut self, chain: &mut Chain) -> Result<bool, RingError> {
        either!(self, ring => ring.take(chain))
    }

    /// Returns how many processes ended while they had the last request taken, by the record of requests in flight
    /// ([`Ring::track`]). 0 for a request that its driver has just made.
    #[inline]
    #[must_use]
    pub fn survived(&self) -> u8 {
        either!(self, ring => ring.survived())
    }

    /// Gives back the last request taken, which has this head. It will be taken again, here or by the next owner of the
    /// ring.
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

    /// Whether the driver still wants a call that it did not get. It may have seen the replies meanwhile.
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
