//! A place in a packed ring: a descriptor and a wrap counter (VIRTIO 1.2, section 2.8.1).

use crate::ring::RingError;

/// Bits of a descriptor's flags that say whether it is the driver's or the device's: both sides' wrap counters.
pub(crate) const AVAIL_USED: u16 = AVAIL | USED;
const AVAIL: u16 = 1 << 7;
pub(crate) const USED: u16 = 1 << 15;
/// Bit of the wrap counter, where it is stored with a descriptor's number.
const WRAP: u16 = 1 << 15;

/// A descriptor and the wrap counter with which it is passed next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    slot: u16,
    /// Flags of an available descriptor here: AVAIL if the wrap counter is 1, USED if it is 0.
    available: u16,
}

impl Position {
    /// Start of a ring: descriptor 0, wrap counter 1.
    pub(crate) const START: u16 = WRAP;

    /// Returns the position that these bits say, in a ring of `size` descriptors.
    pub(crate) fn new(bits: u16, size: u16) -> Result<Self, RingError> {
        let slot = bits & !WRAP;
        if slot >= size {
            return Err(RingError::Base { slot, size });
        }
        let available = if bits & WRAP != 0 { AVAIL } else { USED };
        Ok(Self { slot, available })
    }

    /// Returns the position as bits: the descriptor, and the wrap counter above it.
    pub(crate) fn bits(self) -> u16 {
        self.slot | u16::from(self.available == AVAIL) << 15
    }

    #[inline]
    pub(crate) fn slot(self) -> u16 {
        self.slot
    }

    /// Returns the bits of an available descriptor's flags here.
    #[inline]
    pub(crate) fn available(self) -> u16 {
        self.available
    }

    /// Returns the bits of a used descriptor's flags here.
    #[inline]
    pub(crate) fn used(self) -> u16 {
        if self.available == AVAIL {
            AVAIL_USED
        } else {
            0
        }
    }

    /// Goes on by `count`, at most `size`.
    #[inline]
    pub(crate) fn advance(&mut self, count: u16, size: u16) {
        // At most 65535: the first is below 32768, the second at most that.
        self.slot = self.slot.wrapping_add(count);
        if self.slot >= size {
            self.slot = self.slot.wrapping_sub(size);
            self.available ^= AVAIL_USED;
        }
    }

    /// Goes back by `count`, at most `size`.
    pub(crate) fn retreat(&mut self, count: u16, size: u16) {
        if self.slot < count {
            self.slot += size;
            self.available ^= AVAIL_USED;
        }
        self.slot -= count;
    }

    /// Whether the descriptor that these bits say is one of the last `count` before this position.
    #[inline]
    pub(crate) fn passed(self, bits: u16, count: u16, size: u16) -> bool {
        let size = i32::from(size);
        let place = |bits: u16| {
            let around = if bits & WRAP != 0 { 0 } else { size };
            i32::from(bits & !WRAP) + around
        };
        let since = place(self.bits()) - place(bits);
        let since = if since < 0 { since + 2 * size } else { since };
        (1..=i32::from(count)).contains(&since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(slot: u16, wrap: bool, size: u16) -> Position {
        Position::new(slot | u16::from(wrap) << 15, size).unwrap()
    }

    #[test]
    fn it_goes_round() {
        for size in [1u16, 3, 8, 32_768] {
            let mut position = at(0, true, size);
            for n in 0..4 * u32::from(size) {
                let wrap = n / u32::from(size) % 2 == 0;
                assert_eq!(position, at((n % u32::from(size)) as u16, wrap, size));
                assert_eq!(Position::new(position.bits(), size), Ok(position));
                let mut back = position;
                position.advance(1, size);
                let mut there = position;
                there.retreat(1, size);
                assert_eq!(there, back);
                back.advance(size, size);
                back.retreat(size, size);
                assert_eq!(there, back);
            }
        }
        assert_eq!(
            Position::new(8, 8),
            Err(RingError::Base { slot: 8, size: 8 })
        );
    }

    /// Against counting: all events and positions of a small ring.
    #[test]
    fn an_event_is_passed_when_its_descriptor_is() {
        let size = 5;
        for start in 0..10u16 {
            for count in 0..=5u16 {
                let mut position = at(start % size, start < size, size);
                let mut passed = Vec::new();
                for _ in 0..count {
                    passed.push(position.bits());
                    position.advance(1, size);
                }
                for event in 0..10u16 {
                    let bits = at(event % size, event < size, size).bits();
                    let expected = passed.contains(&bits);
                    assert_eq!(position.passed(bits, count, size), expected);
                }
            }
        }
        // An event beyond the ring: any answer will do.
        at(0, true, 5).passed(0x7fff, 5, 5);
        at(4, false, 5).passed(0xffff, 5, 5);
    }
}
