//! A driver's memory: regions of guest-physical addresses, each part of a mapped file.

use crate::{Mapping, Span};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// Region as the front-end announced it (vhost-user: "memory region description").
#[derive(Debug, Clone)]
pub struct Region {
    guest: u64,
    user: u64,
    bytes: u64,
    span: Span,
    /// Device and inode number of the region's file.
    file: [u64; 2],
}

impl Region {
    /// Whether the region contains this guest-physical address.
    #[inline]
    fn contains(&self, guest: u64) -> bool {
        guest >= self.guest && guest - self.guest < self.bytes
    }

    /// Maps a region: `bytes` bytes of `file` at `file_offset`, which is at address `guest` for the
    /// driver and at address `user` in the front-end.
    ///
    /// # Errors
    ///
    /// The region can't be mapped (see [`Mapping::new`]), or its addresses wrap.
    pub fn map(
        file: &File,
        file_offset: u64,
        guest: u64,
        user: u64,
        bytes: u64,
    ) -> io::Result<Self> {
        let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        let wraps = || invalid("the region's addresses wrap");
        let end = file_offset.checked_add(bytes).ok_or_else(wraps)?;
        guest
            .checked_add(bytes)
            .and(user.checked_add(bytes))
            .ok_or_else(wraps)?;
        let mapping = Arc::new(Mapping::new(file, end)?);
        let span = Span::new(&mapping, file_offset, bytes).ok_or_else(wraps)?;
        let metadata = file.metadata()?;
        Ok(Self {
            guest,
            user,
            bytes,
            span,
            file: [metadata.dev(), metadata.ino()],
        })
    }

    /// Returns the region's first guest-physical address.
    #[must_use]
    pub fn guest(&self) -> u64 {
        self.guest
    }

    /// Returns the region's first address in the front-end.
    #[must_use]
    pub fn user(&self) -> u64 {
        self.user
    }

    /// Returns the region's size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes of address space that the region takes in this process.
    #[must_use]
    pub fn mapped(&self) -> u64 {
        self.span.mapping().bytes() as u64
    }

    /// Returns the region's memory in this process.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.span
    }
}

/// Number of regions that are tried first, before all are searched.
const FEW: usize = 2;

/// Addresses of a region. 0 bytes: no region.
#[derive(Debug, Clone, Copy)]
struct Place {
    guest: u64,
    bytes: u64,
    place: *mut u8,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            guest: 0,
            bytes: 0,
            place: std::ptr::null_mut(),
        }
    }
}

/// All regions of one driver. Immutable: a new set of regions is a new `Memory`, and users of the old
/// one keep that mapped.
#[derive(Debug, Default)]
pub struct Memory {
    /// Regions sorted by guest address, without overlaps.
    regions: Vec<Region>,
    /// The largest regions, which contain nearly all buffers.
    largest: [Place; FEW],
}

// SAFETY: the addresses in `largest` are in mappings that `regions` keep, and are only read.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// A memory of these regions.
    ///
    /// # Errors
    ///
    /// Two regions overlap.
    pub fn new(mut regions: Vec<Region>) -> io::Result<Self> {
        regions.sort_by_key(|region| region.guest);
        if regions
            .windows(2)
            .any(|pair| pair[0].guest + pair[0].bytes > pair[1].guest)
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "two memory regions overlap",
            ));
        }
        let mut by_size: Vec<&Region> = regions.iter().collect();
        by_size.sort_by_key(|region| std::cmp::Reverse(region.bytes));
        let mut largest = [Place::default(); FEW];
        for (place, region) in largest.iter_mut().zip(by_size) {
            *place = Place {
                guest: region.guest,
                bytes: region.bytes,
                place: region.span.start(),
            };
        }
        Ok(Self { regions, largest })
    }

    /// The regions, by guest address.
    #[must_use]
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Addresses in this process of about `count` pages, spread evenly over all regions.
    #[must_use]
    pub fn pages(&self, count: usize) -> Vec<usize> {
        let all: u64 = self.regions.iter().map(|region| region.bytes).sum();
        let step = (all / count.max(1) as u64).max(4096);
        let of = |region: &Region| {
            let start = region.span.start() as usize;
            let offsets = (0..region.bytes).step_by(usize::try_from(step).unwrap_or(usize::MAX));
            offsets.map(move |offset| start + offset as usize)
        };
        self.regions.iter().flat_map(of).collect()
    }

    /// Whether a file of the memory was truncated (see [`crate::sigbus`]).
    #[must_use]
    pub fn broken(&self) -> bool {
        self.regions
            .iter()
            .any(|region| region.span.mapping().broken())
    }

    /// Translates an address in the front-end to a guest-physical address.
    #[must_use]
    pub fn guest_of_user(&self, user: u64) -> Option<u64> {
        let region = self
            .regions
            .iter()
            .find(|region| user >= region.user && user - region.user < region.bytes)?;
        Some(user - region.user + region.guest)
    }

    /// Returns a range in one region; None if the range is not entirely in one.
    #[must_use]
    pub fn span(&self, guest: u64, bytes: u64) -> Option<Span> {
        let bytes = usize::try_from(bytes).ok()?;
        let (span, offset) = self.within(guest, bytes)?;
        span.part(offset, bytes)
    }

    #[inline]
    fn region_of(&self, guest: u64) -> Option<&Region> {
        self.regions.iter().find(|region| region.contains(guest))
    }

    /// Returns the device and inode number of the file that contains an address; zeros if there is none. At any time no
    /// two files have the same numbers.
    pub(crate) fn file_of(&self, guest: u64) -> [u64; 2] {
        self.region_of(guest).map_or([0; 2], |region| region.file)
    }

    /// Returns the span of the region that contains a range, and the range's offset in it.
    #[inline]
    pub(crate) fn within(&self, guest: u64, bytes: usize) -> Option<(&Span, usize)> {
        let region = self.region_of(guest)?;
        let offset = usize::try_from(guest - region.guest).ok()?;
        let fits = bytes <= region.span.bytes() - offset;
        fits.then_some((&region.span, offset))
    }

    /// Returns the host address of a non-empty range that is entirely in one of the largest regions, as nearly all are.
    /// To try the last range's region first instead would not help. A user-space driver has its rings and its data in
    /// two regions, and alternates between them.
    #[inline]
    pub(crate) fn find_whole(&self, guest: u64, bytes: u32) -> Option<*mut u8> {
        for region in &self.largest {
            let offset = guest.wrapping_sub(region.guest);
            if let Some(room) = region.bytes.checked_sub(offset) {
                // An empty range wraps to u64::MAX, which is never below `room`.
                if u64::from(bytes).wrapping_sub(1) < room {
                    // The whole region is mapped, so the offset fits a usize.
                    return Some(region.place.wrapping_add(offset as usize));
                }
            }
        }
        None
    }

    /// Returns the host address of the start of a range, and the number of its bytes in that region. `hit` is the
    /// region to try first; it is set to the one found.
    #[inline]
    pub(crate) fn find(&self, guest: u64, bytes: u32, hit: &mut usize) -> Option<(*mut u8, u32)> {
        let region = match self
            .regions
            .get(*hit)
            .filter(|region| region.contains(guest))
        {
            Some(region) => region,
            None => {
                let index = self.regions.partition_point(|region| region.guest <= guest);
                *hit = index.checked_sub(1)?;
                self.regions
                    .get(*hit)
                    .filter(|region| region.contains(guest))?
            }
        };
        let offset = guest - region.guest;
        let here = u32::try_from(region.bytes - offset)
            .unwrap_or(u32::MAX)
            .min(bytes);
        let place = region
            .span
            .address(usize::try_from(offset).ok()?, here as usize)?;
        Some((place, here))
    }
}
