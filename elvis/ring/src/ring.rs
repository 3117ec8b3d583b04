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
        /// By how much it is ahead.
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
    /// A chain longer than its table, as of a loop; or one that fills a packed ring and goes on.
    #[error("a descriptor chain does not end within its {entries} descriptors")]
    Endless {
        /// The size of the table or ring.
        entries: u32,
    },
    /// A chain longer than [`LONGEST`], its indirect table included; a buffer that lies in several regions of memory
    /// counts as so many.
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
    /// An indirect descriptor, which was not negotiated.
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
    /// The length of an indirect table is 0, or not that of descriptors.
    #[error("an indirect table has {0} bytes: must be a multiple of 16, and not 0")]
    TableBytes(u32),
    /// An indirect table is not entirely in a region of the driver's memory.
    #[error("an indirect table of {bytes} bytes at guest address {guest:#x} is not in memory")]
    TableOutside {
        /// Its guest-physical address.
        guest: u64,
        /// Its length.
        bytes: u32,
    },
    /// A buffer has no bytes.
    #[error("a buffer of 0 bytes, at guest address {guest:#x}")]
    Empty {
        /// Its guest-physical address.
        guest: u64,
    },
    /// A buffer is not entirely in the driver's memory.
    #[error("a buffer of {bytes} bytes at guest address {guest:#x} is not in memory")]
    Outside {
        /// Its guest-physical address.
        guest: u64,
        /// Its length.
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
        /// Which.
        part: Part,
        /// Its guest-physical address.
        guest: u64,
        /// Its length.
        bytes: u32,
    },
    /// A part of the ring is not aligned.
    #[error("the {part} at guest address {guest:#x} is not aligned to {} bytes", part.align())]
    Unaligned {
        /// Which.
        part: Part,
        /// Its guest-physical address.
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

/// Why a record in memory that outlives this process can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// It is too small for its ring.
    #[error("has {bytes} bytes, and needs {wanted}")]
    Small {
        /// Its length.
        bytes: u32,
        /// The length that the ring needs.
        wanted: u32,
    },
    /// It is not aligned.
    #[error("is not aligned to 8 bytes")]
    Unaligned,
    /// It has the format of another version.
    #[error("is of version {0}")]
    Version(u16),
    /// It was made for a smaller ring.
    #[error("was made for a ring of {entries} entries, not {wanted}")]
    Entries {
        /// That ring's size.
        entries: u16,
        /// This ring's size.
        wanted: u16,
    },
}

/// Checks that a record has so many bytes, and is aligned.
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
    /// Its alignment, in bytes (sections 2.7 and 2.8.10.1).
    fn align(self) -> usize {
        match self {
            Self::Descriptors | Self::Packed => 16,
            Self::Available => 2,
            Self::Used | Self::DriverEvents | Self::DeviceEvents => 4,
        }
    }

    /// The part of so many bytes: aligned, and all of it in memory.
    pub(crate) fn span(self, memory: &Memory, guest: u64, bytes: usize) -> Result<Span, RingError> {
        let span = memory.span(guest, bytes as u64);
        let span = span.ok_or(RingError::PartOutside {
            part: self,
            guest,
            // Of the largest ring: half a megabyte.
            bytes: bytes as u32,
        })?;
        match span.aligned(self.align()) {
            true => Ok(span),
            false => Err(RingError::Unaligned { part: self, guest }),
        }
    }

    /// The same of descriptors.
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

/// The size of a ring.
pub(crate) fn entries(size: u32) -> Result<u16, RingError> {
    let small = u16::try_from(size).ok();
    let fits = small.filter(|size| (1..=LARGEST).contains(size));
    fits.ok_or(RingError::Size(size))
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
    /// See [`Ring::survived`].
    fn survived(&self) -> u8;
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

    /// Whether the driver may use indirect descriptors; it may in a new ring.
    pub fn allow_indirect(&mut self, allowed: bool) {
        either!(self, ring => ring.indirect = allowed);
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

    /// Asks the processor for what [`Ring::take`] will read, and does not wait: the driver's CPU has it.
    #[inline]
    pub fn prefetch(&self) {
        either!(self, ring => ring.prefetch());
    }

    /// How many requests [`Ring::look`] saw that are not taken. Reads no memory of the driver.
    #[inline]
    #[must_use]
    pub fn known(&self) -> u16 {
        either!(self, ring => ring.known())
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

    /// How many processes ended while they had the last request taken, as the record of requests in flight says
    /// ([`Ring::track`]): 0 if its driver has just made it.
    #[inline]
    #[must_use]
    pub fn survived(&self) -> u8 {
        either!(self, ring => ring.survived())
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
