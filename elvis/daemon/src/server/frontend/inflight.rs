//! The in-flight area: shared memory that records requests in flight. The front-end keeps it in case this
//! process dies (vhost-user: INFLIGHT_SHMFD).

use elvis_ring::{Mapping, Span, inflight};
use rustix::fs::{MemfdFlags, SealFlags};
use std::fs::File;
use std::io;
use std::sync::Arc;
use vhost::vhost_user::message::VhostUserInflight;

/// The largest ring that QEMU lets a guest use.
const LARGEST_USUAL_RING: u16 = 1024;

/// In-flight area: one region per queue, one after another.
pub struct InflightArea {
    file: File,
    offset: u64,
    /// Size of each region.
    region_bytes: u64,
}

fn invalid(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.into())
}

impl InflightArea {
    /// Makes a new area, and its file for the front-end.
    ///
    /// The area is larger than requested. QEMU lets a guest use a ring larger than the queue size in the request, and
    /// the features that say whether rings are packed may come later.
    pub fn make(queues: u16, queue_size: u16) -> io::Result<(Self, File)> {
        let region_bytes = inflight::region_bytes(queue_size.max(LARGEST_USUAL_RING), true);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(rustix::fs::memfd_create("elvis-inflight", flags)?);
        file.set_len(region_bytes * u64::from(queues))?;
        let seals = SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        let kept = Self {
            file: file.try_clone()?,
            offset: 0,
            region_bytes,
        };
        Ok((kept, file))
    }

    /// Takes the area that a front-end kept. The size of its regions is computed from the size of the area.
    ///
    /// # Errors
    ///
    /// The area is too small for the number and size of queues in the message.
    pub fn given(area: &VhostUserInflight, file: File) -> io::Result<Self> {
        let queues = u64::from(area.num_queues).max(1);
        let region_bytes = area.mmap_size / queues / 64 * 64;
        if region_bytes < inflight::region_bytes(area.queue_size, false) {
            return Err(invalid("the in-flight area is too small for its queues"));
        }
        Ok(Self {
            file,
            offset: area.mmap_offset,
            region_bytes,
        })
    }

    /// Returns the bytes of the regions of this many queues.
    pub fn bytes(&self, queues: u16) -> u64 {
        self.region_bytes * u64::from(queues)
    }

    /// Returns the region of a queue whose ring has this many entries.
    ///
    /// # Errors
    ///
    /// The region is not in the area, or too small for this ring.
    pub fn region(&self, index: u32, ring: u32, packed: bool) -> io::Result<Span> {
        // The region's capacity counts, not the requested size: firmware and kernel of a guest may use rings of
        // different sizes with the same area.
        let fits = |ring| inflight::region_bytes(ring, packed) <= self.region_bytes;
        if !u16::try_from(ring).is_ok_and(fits) {
            let why = format!("a ring of {ring} does not fit the in-flight area");
            return Err(invalid(why));
        }
        let outside = || invalid("the in-flight area is too small for its queues");
        let start = self.region_bytes.checked_mul(index.into());
        let start = start.and_then(|start| start.checked_add(self.offset));
        let start = start.ok_or_else(outside)?;
        let end = start.checked_add(self.region_bytes).ok_or_else(outside)?;
        let mapping = Arc::new(Mapping::new(&self.file, end)?);
        Span::new(&mapping, start, self.region_bytes).ok_or_else(outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use elvis_ring::Inflight;

    /// The record of a split ring.
    fn record(area: &InflightArea, index: u32, ring: u32) -> io::Result<Inflight> {
        let region = area.region(index, ring, false)?;
        let entries = inflight::region_entries(area.region_bytes);
        Inflight::new(region, entries).map_err(io::Error::other)
    }

    #[test]
    fn a_guest_may_take_a_larger_ring_than_was_asked_for() {
        let (area, file) = InflightArea::make(2, 128).unwrap();
        for ring in [128, 1024, 16] {
            let mut region = record(&area, 1, ring).unwrap();
            region.taken(15);
            assert_eq!(region.recover(0), [15]);
        }
        assert!(
            record(&area, 0, 1024).unwrap().recover(0).is_empty(),
            "queues do not share records"
        );
        assert!(area.region(0, 1024, true).is_ok());
        assert!(area.region(0, 2048, true).is_err());
        assert!(area.region(0, 4096, false).is_err());
        // The front-end passes it to the next process, with the queue size of its request.
        let bytes = area.bytes(2);
        let again = InflightArea::given(&VhostUserInflight::new(bytes, 0, 2, 128), file).unwrap();
        assert_eq!(record(&again, 1, 1024).unwrap().recover(0), [15]);
        assert!(again.region(2, 128, false).is_err(), "beyond the end");
    }

    #[test]
    fn an_area_that_is_too_small_is_refused() {
        let (area, file) = InflightArea::make(1, 1024).unwrap();
        let of = |queues, size| VhostUserInflight::new(area.bytes(1), 0, queues, size);
        let clone = || file.try_clone().unwrap();
        assert!(InflightArea::given(&of(1, 1024), clone()).is_ok());
        assert!(InflightArea::given(&of(2, 1024), clone()).is_err());
        assert!(InflightArea::given(&of(1, 4096), clone()).is_err());
        // An area larger than its file.
        let huge = VhostUserInflight::new(u64::MAX, u64::MAX, 1, 64);
        assert!(
            InflightArea::given(&huge, clone())
                .unwrap()
                .region(0, 64, false)
                .is_err()
        );
    }
}
