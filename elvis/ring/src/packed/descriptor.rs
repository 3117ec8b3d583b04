//! Descriptors of packed rings, and of indirect tables.

use crate::Memory;
use crate::chain::{self, Chain, LONGEST, Sums, Table};
use crate::ring::RingError;
use crate::span::{Paired, Pairs};

/// Descriptor of a packed ring or of an indirect table, read once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Descriptor {
    pub(super) guest: u64,
    pub(super) bytes: u32,
    pub(super) id: u16,
    pub(super) flags: u16,
}

impl Descriptor {
    /// Empty descriptor, which no request may have.
    const NONE: Self = Self {
        guest: 0,
        bytes: 0,
        id: 0,
        flags: 0,
    };

    /// Reads a descriptor of a ring or table. [`Self::NONE`] if there are fewer.
    #[inline]
    fn at(table: &impl Paired, place: usize) -> Self {
        table.load(place).map_or(Self::NONE, Self::of)
    }

    /// Reads the descriptor of a slot that the ring has.
    #[inline]
    pub(super) fn read(ring: &Pairs, slot: u16) -> Self {
        Self::at(ring, slot.into())
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

/// Fills a chain with the buffers of the indirect table of `bytes` bytes at guest address `guest`.
#[inline]
pub(super) fn fill_from_table(
    chain: &mut Chain,
    (guest, bytes): (u64, u32),
    head: u16,
    memory: &Memory,
) -> Result<(), RingError> {
    match chain::table(guest, bytes, memory)? {
        Table::Aligned(table) => fill(chain, &table, head, memory),
        Table::Unaligned(table) => fill(chain, &table, head, memory),
    }
}

/// Fills a chain with a table's buffers. The entries follow each other, and of their flags only WRITE counts (section
/// 2.8.7).
#[inline]
fn fill(
    chain: &mut Chain,
    table: &impl Paired,
    head: u16,
    memory: &Memory,
) -> Result<(), RingError> {
    if table.count() > LONGEST {
        return Err(RingError::TooLong);
    }
    let mut sums = Sums::default();
    for place in 0..table.count() {
        let Descriptor {
            guest,
            bytes,
            flags,
            ..
        } = Descriptor::at(table, place);
        chain.add(&mut sums, (guest, bytes, flags), memory)?;
    }
    chain.end(&sums, head);
    Ok(())
}
