//! The block device's protocol (VIRTIO 1.2, section 5.2): requests, features, configuration.

use crate::storage::Blocks;
use elvis_ring::Chain;

/// Bytes of a sector.
pub const SECTOR: u64 = 512;
/// Bytes of a request's header: type, reserved, sector.
pub const HEADER: u64 = 16;
/// Bytes of a discard or write-zeroes segment: sector, number of sectors, flags.
const RANGE: u64 = 16;
/// Bytes of a device id.
pub const ID: usize = 20;
/// Greatest number of sectors of a discard or write-zeroes request: 1 GiB.
const RANGE_SECTORS: u32 = 1 << 21;
/// Greatest number of data segments of a request. With header and status they fit a ring of 128.
const SEG_MAX: u32 = 126;
/// Greatest length of a data segment of a request, in bytes.
const SIZE_MAX: u32 = 1 << 20;

/// Feature bits of the block device.
pub mod feature {
    /// `size_max` is valid.
    pub const SIZE_MAX: u64 = 1 << 1;
    /// `seg_max` is valid.
    pub const SEG_MAX: u64 = 1 << 2;
    /// Writes fail.
    pub const RO: u64 = 1 << 5;
    /// `blk_size` is valid.
    pub const BLK_SIZE: u64 = 1 << 6;
    /// `topology` is valid.
    pub const TOPOLOGY: u64 = 1 << 10;
    /// There is a write cache, and flush empties it.
    pub const FLUSH: u64 = 1 << 9;
    /// The driver may turn the write cache off. Not offered, see `server::kind::Blk`.
    pub const CONFIG_WCE: u64 = 1 << 11;
    /// Several queues.
    pub const MQ: u64 = 1 << 12;
    /// Discard.
    pub const DISCARD: u64 = 1 << 13;
    /// Write zeroes.
    pub const WRITE_ZEROES: u64 = 1 << 14;
}

/// The status of a request, its last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// Failed.
    IoError = 1,
    /// Unknown, or not possible with this disk.
    Unsupported = 2,
}

/// A checked request. Offsets and lengths are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Read.
    Read {
        /// Offset of the data.
        offset: u64,
        /// Length of the data.
        bytes: u64,
    },
    /// Write.
    Write {
        /// Offset of the data.
        offset: u64,
        /// Length of the data.
        bytes: u64,
    },
    /// Empty the write cache.
    Flush,
    /// Read the serial number.
    Id,
    /// The data of the range are no longer needed.
    Discard {
        /// Offset of the range.
        offset: u64,
        /// Length of the range.
        bytes: u64,
    },
    /// Make the range read as zeros.
    Zero {
        /// Offset of the range.
        offset: u64,
        /// Length of the range.
        bytes: u64,
        /// Whether its space may be freed.
        unmap: bool,
    },
}

impl Request {
    /// Returns the bytes of data that the request transfers.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        match *self {
            Self::Read { bytes, .. } | Self::Write { bytes, .. } => bytes,
            _ => 0,
        }
    }

    /// Returns a description of the request, for users.
    #[must_use]
    pub fn text(&self) -> String {
        let (what, offset, bytes) = match *self {
            Self::Read { offset, bytes } => ("a read", offset, bytes),
            Self::Write { offset, bytes } => ("a write", offset, bytes),
            Self::Discard { offset, bytes } => ("a discard", offset, bytes),
            Self::Zero { offset, bytes, .. } => ("a write of zeros", offset, bytes),
            Self::Flush => return "a flush".to_owned(),
            Self::Id => return "a read of the serial number".to_owned(),
        };
        format!("{what} of {bytes} bytes at offset {offset}")
    }

    /// Returns the bytes of the request's data or range, for units of work and limits.
    #[must_use]
    pub fn work_bytes(&self) -> u64 {
        match *self {
            Self::Discard { bytes, .. } | Self::Zero { bytes, .. } => bytes,
            _ => self.data_bytes(),
        }
    }

    /// Whether a chain keeps to the bounds on segments that its driver was told, if the driver has agreed to these
    /// features. "A driver MUST NOT" exceed `size_max` and `seg_max` (VIRTIO 1.3, section 5.2.6.1). All else in a chain
    /// is bounded by the ring.
    #[must_use]
    pub fn segments_fit(chain: &Chain, features: u64) -> bool {
        let most = match features & feature::SEG_MAX {
            0 => usize::MAX,
            // Header and status may have their own.
            _ => SEG_MAX as usize + 2,
        };
        let longest = match features & feature::SIZE_MAX {
            0 => u32::MAX,
            _ => SIZE_MAX,
        };
        let all = || chain.readable().iter().chain(chain.writable());
        let count = chain.readable().len() + chain.writable().len();
        if all().any(|segment| segment.bytes > longest) {
            return false;
        }
        // A segment that lies in two regions of memory is one segment for its driver.
        let joined = || {
            let ends = all().map(|it| it.guest.wrapping_add(it.bytes.into()));
            let starts = all().skip(1).map(|it| it.guest);
            ends.zip(starts).filter(|(end, start)| end == start).count()
        };
        count <= most || count - joined() <= most
    }

    /// Reads and checks the request in a chain, for a disk of `capacity` bytes.
    pub fn parse(
        chain: &Chain,
        (capacity, blocks): (u64, &Blocks),
        readonly: bool,
    ) -> Result<Self, Refused> {
        let mut header = [0u8; HEADER as usize];
        if !chain.read(0, &mut header) || chain.writable_bytes() == 0 {
            return Err(WRONG);
        }
        let [t0, t1, t2, t3, _, _, _, _, sector @ ..] = header;
        let sector = u64::from_le_bytes(sector);
        let out_bytes = chain.readable_bytes() - HEADER;
        let in_bytes = chain.writable_bytes() - 1;
        let range = |sector: u64, bytes: u64| {
            let offset = sector.checked_mul(SECTOR).ok_or(WRONG)?;
            let end = offset.checked_add(bytes).ok_or(WRONG)?;
            if bytes % SECTOR != 0 || end > capacity {
                return Err(WRONG);
            }
            if (offset | bytes) & u64::from(blocks.logical - 1) != 0 {
                return Err(Refused::Unaligned { offset, bytes });
            }
            Ok((offset, bytes))
        };
        let kind = u32::from_le_bytes([t0, t1, t2, t3]);
        if readonly && matches!(kind, 1 | 11 | 13) {
            return Err(WRONG);
        }
        match kind {
            0 => range(sector, in_bytes).map(|(offset, bytes)| Self::Read { offset, bytes }),
            1 => range(sector, out_bytes).map(|(offset, bytes)| Self::Write { offset, bytes }),
            4 => Ok(Self::Flush),
            8 if in_bytes >= ID as u64 => Ok(Self::Id),
            8 => Err(WRONG),
            11 | 13 => {
                let mut segment = [0u8; RANGE as usize];
                if out_bytes != RANGE || !chain.read(HEADER, &mut segment) {
                    return Err(WRONG);
                }
                let [s0, s1, s2, s3, s4, s5, s6, s7, n0, n1, n2, n3, flags @ ..] = segment;
                let sectors = u32::from_le_bytes([n0, n1, n2, n3]);
                let flags = u32::from_le_bytes(flags);
                // "The device MUST set status to UNSUPP if an unknown flag is set, or if unmap is
                // set in a discard" (5.2.6.2).
                if flags > 1 || (kind == 11 && flags != 0) {
                    return Err(Refused::With(Status::Unsupported));
                }
                if sectors > RANGE_SECTORS {
                    return Err(WRONG);
                }
                let sector = u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]);
                let range = range(sector, u64::from(sectors) * SECTOR)?;
                Self::of_range(kind == 11, range, flags == 1, blocks)
            }
            _ => Err(Refused::With(Status::Unsupported)),
        }
    }

    /// Makes a discard, or a request to zero a range. Under the page cache a device may have larger blocks than its
    /// driver sees. It discards and zeroes only whole ones.
    fn of_range(
        discard: bool,
        (offset, bytes): (u64, u64),
        unmap: bool,
        blocks: &Blocks,
    ) -> Result<Self, Refused> {
        let block = u64::from(blocks.ranges);
        if discard {
            // The rest of the range stays as it was, which is allowed.
            let (start, end) = (
                offset.next_multiple_of(block),
                (offset + bytes) / block * block,
            );
            let bytes = end.saturating_sub(start);
            return Ok(Self::Discard {
                offset: start.min(end),
                bytes,
            });
        }
        match (offset | bytes) % block {
            0 => Ok(Self::Zero {
                offset,
                bytes,
                unmap,
            }),
            // The driver writes zeros instead.
            _ => Err(Refused::With(Status::Unsupported)),
        }
    }
}

/// Reason for which a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The reply has this status.
    With(Status),
    /// The request is not of whole blocks: an I/O error, as the driver was told the size of blocks.
    Unaligned {
        /// Offset of the request.
        offset: u64,
        /// Length of the request.
        bytes: u64,
    },
}

const WRONG: Refused = Refused::With(Status::IoError);

/// Bytes of the configuration space (VIRTIO 1.2).
pub const CONFIG: usize = 72;
/// Offset of `writeback` in the configuration space.
pub const WRITEBACK: usize = 32;

/// Returns the configuration space of a disk of `capacity` bytes.
#[must_use]
pub fn config(capacity: u64, blocks: &Blocks, queues: u16, writeback: bool) -> [u8; CONFIG] {
    let mut space = [0; CONFIG];
    let mut set = |at: usize, value: &[u8]| space[at..at + value.len()].copy_from_slice(value);
    set(0, &(capacity / SECTOR).to_le_bytes());
    set(8, &SIZE_MAX.to_le_bytes());
    set(12, &SEG_MAX.to_le_bytes());
    set(20, &blocks.logical.to_le_bytes());
    // Physical blocks: the exponent of their number of logical blocks, and the size of requests that are not slower.
    let each = blocks.physical / blocks.logical;
    set(24, &[each.trailing_zeros() as u8]);
    set(26, &(each as u16).to_le_bytes());
    set(WRITEBACK, &[u8::from(writeback)]);
    set(34, &queues.to_le_bytes());
    set(36, &RANGE_SECTORS.to_le_bytes());
    set(40, &1u32.to_le_bytes());
    set(44, &(blocks.ranges / SECTOR as u32).to_le_bytes());
    set(48, &RANGE_SECTORS.to_le_bytes());
    set(52, &1u32.to_le_bytes());
    set(56, &[1]);
    space
}

#[cfg(test)]
mod tests {
    use super::*;
    use elvis_ring::driver::Driver;
    use elvis_ring::{Ring, Span};
    use proptest::prelude::*;
    use std::fs::File;

    const SECTORS: Blocks = Blocks::SECTORS;
    /// Blocks of a device whose driver sees them, and of one under the page cache.
    const LARGE: Blocks = Blocks {
        logical: 4096,
        ranges: 4096,
        ..SECTORS
    };
    const LARGE_RANGES: Blocks = Blocks {
        ranges: 4096,
        ..SECTORS
    };

    fn parse(
        request: &[u8],
        in_bytes: u32,
        capacity: u64,
        readonly: bool,
    ) -> Result<Request, Refused> {
        parse_for(&SECTORS, request, in_bytes, capacity, readonly)
    }

    fn parse_for(
        blocks: &Blocks,
        request: &[u8],
        in_bytes: u32,
        capacity: u64,
        readonly: bool,
    ) -> Result<Request, Refused> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = File::from(rustix::fs::memfd_create("blk-test", flags).unwrap());
        file.set_len(1 << 16).unwrap();
        let mut driver = Driver::new(&file, 8, false).unwrap();
        let data: Span = driver.memory().span(0x8000, 0x4000).unwrap();
        for (at, byte) in request.iter().enumerate() {
            data.store_u8(at, *byte, std::sync::atomic::Ordering::Relaxed);
        }
        let mut buffers = vec![(0x8000, request.len() as u32, false)];
        if in_bytes > 0 {
            buffers.push((0xc000, in_bytes, true));
        }
        driver.submit(&buffers).unwrap();
        let mut ring = Ring::new(8, &driver.addresses(), driver.memory(), 0, false).unwrap();
        let mut chain = Chain::new();
        ring.look().unwrap();
        assert!(ring.take(&mut chain).unwrap());
        Request::parse(&chain, (capacity, blocks), readonly)
    }

    fn header(kind: u32, sector: u64) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &[0; 4], &sector.to_le_bytes()].concat()
    }

    fn with_range(kind: u32, sector: u64, sectors: u32, flags: u32) -> Vec<u8> {
        let range = [
            &sector.to_le_bytes()[..],
            &sectors.to_le_bytes(),
            &flags.to_le_bytes(),
        ];
        [header(kind, 0), range.concat()].concat()
    }

    #[test]
    fn each_kind() {
        let size = 8 * SECTOR;
        let ok = |request: &[u8], in_bytes| parse(request, in_bytes, size, false);
        let read = Ok(Request::Read {
            offset: 512,
            bytes: 512,
        });
        assert_eq!(ok(&header(0, 1), 513), read);
        let write = [header(1, 7), vec![0; 512]].concat();
        assert_eq!(
            ok(&write, 1),
            Ok(Request::Write {
                offset: 7 * 512,
                bytes: 512
            })
        );
        assert_eq!(parse(&write, 1, size, true), Err(WRONG));
        assert_eq!(ok(&header(4, 0), 1), Ok(Request::Flush));
        assert_eq!(ok(&header(8, 0), 21), Ok(Request::Id));
        assert_eq!(ok(&header(8, 0), 20), Err(WRONG));
        assert_eq!(
            ok(&with_range(11, 1, 2, 0), 1),
            Ok(Request::Discard {
                offset: 512,
                bytes: 1024
            })
        );
        assert_eq!(
            ok(&with_range(11, 1, 2, 1), 1),
            Err(Refused::With(Status::Unsupported))
        );
        assert_eq!(
            ok(&with_range(13, 1, 2, 1), 1),
            Ok(Request::Zero {
                offset: 512,
                bytes: 1024,
                unmap: true
            })
        );
        assert_eq!(ok(&with_range(13, 7, 2, 0), 1), Err(WRONG));
        assert_eq!(
            ok(&header(99, 0), 1),
            Err(Refused::With(Status::Unsupported))
        );
    }

    #[test]
    fn nothing_outside_the_disk() {
        let size = 8 * SECTOR;
        for (sector, in_bytes) in [
            (8, 513),
            (7, 1025),
            (u64::MAX, 513),
            (u64::MAX / 512, 513),
            (0, 100),
        ] {
            assert_eq!(parse(&header(0, sector), in_bytes, size, false), Err(WRONG));
        }
        assert_eq!(parse(&header(0, 0)[..15], 513, size, false), Err(WRONG));
        assert_eq!(parse(&header(0, 0), 0, size, false), Err(WRONG));
    }

    #[test]
    fn the_configuration_says_the_size() {
        let space = config(1 << 30, &SECTORS, 4, true);
        assert_eq!(space[..8], (1u64 << 21).to_le_bytes());
        assert_eq!((space[32], space[34]), (1, 4));
        // size_max and seg_max.
        assert_eq!(space[8..16], [0, 0, 16, 0, 126, 0, 0, 0]);
    }

    #[test]
    fn a_driver_keeps_to_the_segments_that_it_agreed_to() {
        let both = feature::SIZE_MAX | feature::SEG_MAX;
        let fits = |count: u32, bytes: u32, apart: u64, features: u64| {
            let flags = rustix::fs::MemfdFlags::CLOEXEC;
            let file = File::from(rustix::fs::memfd_create("blk-test", flags).unwrap());
            file.set_len(4 << 20).unwrap();
            let mut driver = Driver::new(&file, 256, false).unwrap();
            let data = (0..u64::from(count)).map(|n| (0x10_0000 + n * apart, bytes, true));
            let mut buffers = vec![(0x8000, 16, false)];
            buffers.extend(data);
            buffers.push((0x9000, 1, true));
            driver.submit(&buffers).unwrap();
            let mut ring = Ring::new(256, &driver.addresses(), driver.memory(), 0, false).unwrap();
            let mut chain = Chain::new();
            ring.look().unwrap();
            assert!(ring.take(&mut chain).unwrap());
            Request::segments_fit(&chain, features)
        };
        assert!(fits(SEG_MAX, 512, 4096, both));
        assert!(!fits(SEG_MAX + 1, 512, 4096, both));
        assert!(fits(SEG_MAX + 1, 512, 4096, feature::SIZE_MAX));
        assert!(fits(1, SIZE_MAX, 4096, both));
        assert!(!fits(1, SIZE_MAX + 1, 4096, both));
        assert!(fits(1, SIZE_MAX + 1, 4096, feature::SEG_MAX));
        // Adjacent segments count as one that lies in two regions of memory.
        assert!(fits(SEG_MAX + 1, 512, 512, both));
    }

    #[test]
    fn the_configuration_says_the_blocks() {
        // blk_size, the exponent of the physical block, min_io_size, discard_sector_alignment.
        let said = |blocks: &Blocks| {
            let space = config(1 << 30, blocks, 1, true);
            let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| space[at + byte]));
            assert_eq!(word(28), 0, "no optimal size is known");
            (word(20), word(24) & 0xff, word(24) >> 16, word(44))
        };
        let physical = Blocks {
            physical: 4096,
            ..SECTORS
        };
        let both = Blocks {
            physical: 4096,
            ..LARGE
        };
        assert_eq!(said(&SECTORS), (512, 0, 1, 1));
        assert_eq!(said(&physical), (512, 3, 8, 1));
        assert_eq!(said(&both), (4096, 0, 1, 8));
    }

    #[test]
    fn ranges_of_whole_blocks_only() {
        let size = 64 << 10;
        let range = |blocks, kind, sector, sectors| {
            parse_for(
                blocks,
                &with_range(kind, sector, sectors, 0),
                1,
                size,
                false,
            )
        };
        let zero = |offset, bytes| {
            Ok(Request::Zero {
                offset,
                bytes,
                unmap: false,
            })
        };
        let discard = |offset, bytes| Ok(Request::Discard { offset, bytes });
        for blocks in [&LARGE, &LARGE_RANGES] {
            assert_eq!(range(blocks, 13, 8, 16), zero(4096, 8192));
            assert_eq!(range(blocks, 11, 8, 16), discard(4096, 8192));
        }
        // The page cache is in between: the driver does not know of the blocks.
        let unsupported = Err(Refused::With(Status::Unsupported));
        for (sector, sectors, inside) in [
            (1, 30, (4096, 8192)),
            (8, 9, (4096, 4096)),
            (1, 8, (4096, 0)),
            (3, 2, (0, 0)),
        ] {
            assert_eq!(range(&LARGE_RANGES, 13, sector, sectors), unsupported);
            let (offset, bytes) = inside;
            assert_eq!(
                range(&LARGE_RANGES, 11, sector, sectors),
                discard(offset, bytes)
            );
            let (offset, bytes) = (sector * 512, u64::from(sectors) * 512);
            for kind in [11, 13] {
                let unaligned = Err(Refused::Unaligned { offset, bytes });
                assert_eq!(range(&LARGE, kind, sector, sectors), unaligned);
            }
        }
    }

    proptest! {
        #[test]
        fn any_request_is_in_the_disk_or_refused(rest in prop::collection::vec(any::<u8>(), 0..48), bytes in 0usize..9000, kind in 0u32..16, sector in prop_oneof![0u64..40, any::<u64>()], range in (0u64..40, 0u32..40, 0u32..3), in_bytes in prop_oneof![0u32..2000, (0u32..20).prop_map(|n| 512 * n + 1)], sectors in 0u64..40, which in 0usize..3) {
            let blocks = [&SECTORS, &LARGE, &LARGE_RANGES][which];
            let (capacity, (from, count, flags)) = (sectors * SECTOR, range);
            let requests = [
                rest.clone(),
                [header(kind, sector), rest].concat(),
                [header(kind, sector), vec![0; bytes / 512 * 512]].concat(),
                with_range(kind, from, count, flags),
            ];
            for request in requests.iter().filter(|request| !request.is_empty()) {
                let (offset, bytes, block) = match parse_for(blocks, request, in_bytes, capacity, false) {
                    Ok(Request::Read { offset, bytes } | Request::Write { offset, bytes }) => (offset, bytes, blocks.logical),
                    Ok(Request::Discard { offset, bytes } | Request::Zero { offset, bytes, .. }) => (offset, bytes, blocks.ranges),
                    Ok(Request::Flush | Request::Id) | Err(_) => continue,
                };
                prop_assert!(offset + bytes <= capacity);
                prop_assert_eq!((offset | bytes) % u64::from(block), 0);
            }
        }
    }
}
