//! Descriptors of packed rings, and of indirect tables.

use crate::Memory;
use crate::chain::{self, Chain, Sums};
use crate::ring::RingError;
use crate::span::Pairs;

/// One descriptor, read once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Descriptor {
    pub(super) guest: u64,
    pub(super) bytes: u32,
    pub(super) id: u16,
    pub(super) flags: u16,
}

impl Descriptor {
    /// One that no request may have: it is empty.
    const NONE: Self = Self {
        guest: 0,
        bytes: 0,
        id: 0,
        flags: 0,
    };

    #[inline]
    pub(super) fn read(ring: &Pairs, slot: u16) -> Result<Self, RingError> {
        let outside = RingError::Descriptor { index: slot };
        ring.load(slot.into()).ok_or(outside).map(Self::of)
    }

    #[inline]
    pub(super) fn of([guest, rest]: [u64; 2]) -> Self {
        let rest = u64::from_le(rest);
        Self {
            guest: u64::from_le(guest),
            bytes: rest as u32,
            id: (rest >> 32) as u16,
            flags: (rest >> 48) as u16,
        }
    }
}

/// Fills a chain with the buffers of the indirect table that a descriptor points to. Its entries follow each other,
/// and of their flags only WRITE counts (section 2.8.7).
#[inline]
pub(super) fn fill_from_table(
    chain: &mut Chain,
    (guest, bytes, flags): (u64, u32, u16),
    head: u16,
    memory: &Memory,
) -> Result<(), RingError> {
    let table = chain::indirect(guest, bytes, flags, memory)?;
    let mut sums = Sums::default();
    for place in 0..table.count() {
        let Descriptor {
            guest,
            bytes,
            flags,
            ..
        } = table.load(place).map_or(Descriptor::NONE, Descriptor::of);
        chain.add(&mut sums, (guest, bytes, flags), memory)?;
    }
    chain.end(&sums, head);
    Ok(())
}
