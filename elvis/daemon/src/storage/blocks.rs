//! The block sizes that a file or block device asks of requests, found out when it is opened: with O_DIRECT their
//! offsets, lengths and buffers must be aligned.

use super::disk::SECTOR;
use rustix::fs::{AtFlags, StatxFlags, ioctl_blkpbszget, ioctl_blksszget, major, minor, statx};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};

/// Largest block that guests can have: one of their pages.
const LARGEST: u32 = 4096;

/// Block sizes of a disk, in bytes, all powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Unit of the offsets and lengths of requests.
    pub logical: u32,
    /// Block of the storage itself, at least the logical one: writes of less are slower.
    pub physical: u32,
    /// Unit of the ranges that are discarded or zeroed.
    pub ranges: u32,
    /// Unit of the addresses of buffers; 1: any.
    pub memory: u32,
    /// Unit of the lengths of buffers; 1: any.
    pub length: u32,
}

impl Blocks {
    /// Blocks of sectors, with buffers anywhere.
    pub const SECTORS: Self = Self {
        logical: SECTOR as u32,
        physical: SECTOR as u32,
        ranges: SECTOR as u32,
        memory: 1,
        length: 1,
    };

    /// Returns the block sizes of an open file or block device.
    ///
    /// # Errors
    ///
    /// The storage can't be used with O_DIRECT, or not by guests; the message says what to do.
    pub fn of(file: &File, direct: bool) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let device = match metadata.file_type().is_block_device() {
            true => Some([ioctl_blksszget(file)?, ioctl_blkpbszget(file)?]),
            false => None,
        };
        let facts = Facts {
            direct,
            device,
            said: direct.then(|| said(file)).flatten(),
            below: direct.then(|| below(file)).flatten(),
        };
        let found = facts.blocks(|bytes| reads(file, bytes));
        found.map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))
    }
}

/// Facts about a file or block device.
#[derive(Debug, Clone, Copy)]
struct Facts {
    /// Whether it was opened with O_DIRECT.
    direct: bool,
    /// Logical and physical block size, of a block device.
    device: Option<[u32; 2]>,
    /// Alignment of buffers and of offsets in direct requests, as the kernel says since Linux 6.1; 0: direct requests
    /// are not possible.
    said: Option<[u32; 2]>,
    /// Logical block size of the device that a file is on.
    below: Option<u32>,
}

impl Facts {
    /// Returns the block sizes; `reads` tries a direct read of this many bytes. The error is for users.
    fn blocks(&self, reads: impl Fn(u32) -> bool) -> Result<Blocks, String> {
        let sector = Blocks::SECTORS.logical;
        let [device, physical] = self.device.unwrap_or([sector; 2]);
        let [memory, logical] = match (
            self.direct,
            self.said,
            self.device.map(|it| it[0]).or(self.below),
        ) {
            (false, _, _) => [1, sector],
            (true, Some(said), _) => said,
            (true, None, Some(block)) => [block; 2],
            (true, None, None) => [self.read_by(reads)?; 2],
        };
        if logical == 0 || memory == 0 {
            return Err("the kernel supports no direct I/O on this file (statx: STATX_DIOALIGN is 0); leave \"direct\" out".to_owned());
        }
        // The file may need a smaller alignment than a sector, but the guest's unit is the sector.
        let logical = logical.max(sector);
        if !(logical.is_power_of_two() && memory.is_power_of_two())
            || logical > LARGEST
            || device > LARGEST
        {
            let needs = logical.max(device);
            return Err(format!(
                "its requests must be multiples of {needs} bytes, and guests have blocks of 512 to {LARGEST}; {}",
                if device > LARGEST {
                    "use another device"
                } else {
                    "leave \"direct\" out"
                }
            ));
        }
        Ok(Blocks {
            logical,
            physical: physical.max(logical),
            ranges: device.max(logical),
            memory,
            length: if self.direct { logical } else { 1 },
        })
    }

    /// Returns the smallest direct read that works. A file without data may take any.
    fn read_by(&self, reads: impl Fn(u32) -> bool) -> Result<u32, String> {
        let sizes = (SECTOR.trailing_zeros()..=LARGEST.trailing_zeros()).map(|log| 1 << log);
        let found = sizes.into_iter().find(|&bytes| reads(bytes));
        found.ok_or_else(|| {
            format!("no direct read of 512 to {LARGEST} bytes is possible; leave \"direct\" out")
        })
    }
}

/// Returns the alignments that the kernel says for direct requests to a file.
fn said(file: &File) -> Option<[u32; 2]> {
    let wanted = StatxFlags::DIOALIGN;
    let found = statx(file, "", AtFlags::EMPTY_PATH, wanted).ok()?;
    let says = found.stx_mask & wanted.bits() != 0;
    says.then_some([found.stx_dio_mem_align, found.stx_dio_offset_align])
}

/// Returns the logical block size of the device that a file is on; None if the file is on none, as on a network.
fn below(file: &File) -> Option<u32> {
    let device = rustix::fs::fstat(file).ok()?.st_dev;
    let of = |folder: &str| {
        let path = format!(
            "/sys/dev/block/{}:{}/{folder}queue/logical_block_size",
            major(device),
            minor(device)
        );
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    // A partition has the block size of its disk.
    of("").or_else(|| of("../"))
}

/// Whether a direct read of this many bytes is possible, as far as alignment matters.
fn reads(file: &File, bytes: u32) -> bool {
    let mut memory = vec![0; 2 * LARGEST as usize];
    let start = memory.as_ptr().align_offset(LARGEST as usize);
    let Some(buffer) = memory.get_mut(start..start.saturating_add(bytes as usize)) else {
        return false;
    };
    let read = file.read_at(buffer, 0);
    !matches!(read, Err(error) if error.raw_os_error() == Some(libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECT: Facts = Facts {
        direct: true,
        device: None,
        said: None,
        below: None,
    };

    fn blocks(facts: Facts, least_read: u32) -> Result<[u32; 4], String> {
        let found = facts.blocks(|bytes| bytes >= least_read)?;
        let length = if facts.direct { found.logical } else { 1 };
        assert_eq!(found.length, length, "of each buffer");
        Ok([found.logical, found.physical, found.ranges, found.memory])
    }

    #[test]
    fn each_source_of_the_block_size() {
        let cases = [
            // Through the page cache sectors are possible on any device, but not ranges.
            (false, None, None, None, [512, 512, 512, 1]),
            (false, Some([512, 4096]), None, None, [512, 4096, 512, 1]),
            (false, Some([4096, 4096]), None, None, [512, 4096, 4096, 1]),
            // What the kernel says comes first.
            (true, None, Some([512, 512]), None, [512, 512, 512, 512]),
            (
                true,
                None,
                Some([4, 4096]),
                Some(512),
                [4096, 4096, 4096, 4],
            ),
            (true, None, Some([4, 1]), None, [512, 512, 512, 4]),
            (
                true,
                Some([512, 4096]),
                Some([4, 512]),
                None,
                [512, 4096, 512, 4],
            ),
            // Then the device, which is below a file.
            (
                true,
                Some([4096, 4096]),
                None,
                None,
                [4096, 4096, 4096, 4096],
            ),
            (true, Some([512, 4096]), None, None, [512, 4096, 512, 512]),
            (true, None, None, Some(4096), [4096, 4096, 4096, 4096]),
        ];
        for (direct, device, said, below, wanted) in cases {
            let facts = Facts {
                direct,
                device,
                said,
                below,
            };
            assert_eq!(blocks(facts, 512), Ok(wanted), "{facts:?}");
        }
        // Then a read.
        for bytes in [1, 512, 1024, 2048, 4096] {
            let size = bytes.max(512);
            assert_eq!(blocks(DIRECT, bytes), Ok([size; 4]));
        }
    }

    #[test]
    fn what_no_guest_can_use_is_refused() {
        let refused = |facts, least| blocks(facts, least).unwrap_err();
        let none = refused(
            Facts {
                said: Some([0, 0]),
                ..DIRECT
            },
            512,
        );
        assert!(
            none.contains("STATX_DIOALIGN is 0") && none.contains("leave \"direct\" out"),
            "{none}"
        );
        let large = refused(
            Facts {
                said: Some([4, 65_536]),
                ..DIRECT
            },
            512,
        );
        assert!(
            large.contains("multiples of 65536 bytes") && large.contains("leave \"direct\" out"),
            "{large}"
        );
        let read = refused(DIRECT, 8192);
        assert!(read.contains("no direct read"), "{read}");
        for direct in [false, true] {
            let device = Some([8192; 2]);
            let facts = Facts {
                direct,
                device,
                ..DIRECT
            };
            assert!(refused(facts, 512).contains("use another device"));
        }
    }
}
