//! A block device: its disk, and the choices of its driver.
//!
//! Whether a write may end before it is on the disk follows only from the features that the driver has chosen. This
//! process has to remember nothing. With FLUSH there is a write cache; without it each write waits for the disk (VIRTIO
//! 1.3, 5.2.5.1 and 5.2.6.2). A front-end sends the features with each connection, to each daemon, and on both sides of
//! a migration.
//!
//! CONFIG_WCE is not offered. By it a driver turns the cache off with a write to `writeback`, and never flushes from
//! then on. QEMU's vhost-user-blk passes that write on once: not again after a reconnect or a reset, nor after a
//! migration, whose stream does not have it. A back-end that offers CONFIG_WCE thus acknowledges writes that are lost
//! with the host's power. It avoids that only if it starts each connection without a cache, for which all other drivers
//! pay. SPDK does not offer it either. QEMU's storage daemon does, and forgets the choice when it ends.
//!
//! A front-end that first connected to an older elvis, which offered CONFIG_WCE, goes on with the feature. Its device
//! starts each connection without a cache, and its driver may turn it on.

use crate::blk::{self, Request, feature};
use crate::storage::{Blocks, Disk, DiskError, Source};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The configuration of a block device.
#[derive(Debug, Clone, PartialEq)]
pub struct BlkSpec {
    /// Source of the disk's data.
    pub source: Source,
    /// Whether writes fail.
    pub readonly: bool,
    /// Number of queues.
    pub queues: u16,
    /// Serial number that the guest sees, at most 20 bytes.
    pub serial: String,
}

impl BlkSpec {
    /// Opens the disk.
    pub fn open(&self) -> Result<Blk, DiskError> {
        Disk::open(&self.source, self.readonly).map(|disk| self.with(disk))
    }

    /// Returns the device with an open disk.
    #[must_use]
    pub fn with(&self, disk: Disk) -> Blk {
        Blk {
            disk,
            readonly: self.readonly,
            writeback: AtomicBool::new(true),
            serial: self.serial.clone(),
            queues: self.queues,
            told: Told::default(),
        }
    }
}

/// An open block device.
#[derive(Debug)]
pub struct Blk {
    /// Disk of the device.
    pub disk: Disk,
    /// Whether writes fail.
    pub readonly: bool,
    /// `writeback` of the configuration space: whether a driver with CONFIG_WCE has a write cache.
    writeback: AtomicBool,
    /// Serial number that the guest sees.
    pub serial: String,
    /// Number of queues.
    pub queues: u16,
    /// Messages logged about the disk's requests.
    pub told: Told,
}

/// Messages logged about failed requests of a disk. A guest may repeat such requests without end, so each kind is
/// logged once; all are counted.
#[derive(Debug, Default)]
pub struct Told {
    unaligned: AtomicBool,
    failed: AtomicBool,
    unsynced: AtomicBool,
    segments: AtomicBool,
    memory: AtomicBool,
    survived: AtomicBool,
}

/// Returns why the host did not do a request.
fn why(result: i32) -> String {
    match result {
        // A part was done before.
        0.. => "the file ends before that".to_owned(),
        errno => io::Error::from_raw_os_error(-errno).to_string(),
    }
}

impl Told {
    /// Logs that a request was not of whole blocks.
    pub fn unaligned(&self, name: &str, offset: u64, bytes: u64, blocks: &Blocks) {
        if !self.unaligned.swap(true, Ordering::Relaxed) {
            let block = blocks.logical;
            log::warn!(
                "{name}: refused a request of {bytes} bytes at offset {offset}: the disk's blocks have {block} bytes \
                 (blk_size); further ones are only counted (stats: unaligned)"
            );
        }
    }

    /// Logs that a request has more or longer segments than its driver was told that it may have.
    pub fn segments(&self, name: &str) {
        if !self.segments.swap(true, Ordering::Relaxed) {
            log::warn!(
                "{name}: refused a request with more segments than seg_max, or a longer one than size_max: its \
                 guest's driver breaks the rules (VIRTIO 1.3, section 5.2.6.1); further ones are only counted (stats: \
                 errors)"
            );
        }
    }

    /// Logs that there is no memory for a request.
    pub fn memory(&self, name: &str, request: &Request) {
        if !self.memory.swap(true, Ordering::Relaxed) {
            log::error!(
                "{name}: {} failed: no memory for it; let the daemon have more (systemd: MemoryMax, LimitAS); \
                 further ones are only counted (stats: errors)",
                request.text()
            );
        }
    }

    /// Logs that `daemons` daemons have ended while they ran a request.
    pub fn survived(&self, name: &str, daemons: u8) {
        if !self.survived.swap(true, Ordering::Relaxed) {
            log::error!(
                "{name}: a request was in flight when each of the last {daemons} daemons ended: it is not run \
                 again, and its guest gets an I/O error; see above for why they ended; further ones are only counted \
                 (stats: errors)"
            );
        }
    }

    /// Logs that the host did not do a request, or only a part of it.
    pub fn failed(&self, name: &str, request: &Request, result: i32) {
        if self.failed.swap(true, Ordering::Relaxed) {
            return;
        }
        let why = why(result);
        log::error!(
            "{name}: {} failed: {why}; further errors are only counted (stats: errors)",
            request.text()
        );
    }

    /// Logs that data did not get to the disk.
    pub fn unsynced(&self, name: &str, request: &Request, result: i32) {
        if self.unsynced.swap(true, Ordering::Relaxed) {
            return;
        }
        let why = why(result);
        log::error!(
            "{name}: {} failed: {why}; earlier writes may be lost, so flushes, and writes of a driver without write \
             cache, fail from now on. Check the host's storage, then restart its VM with the disk opened anew \
             (elvis ctl remove, then add)",
            request.text()
        );
    }
}

impl Blk {
    pub(super) fn features(&self) -> u64 {
        let mut features =
            feature::SIZE_MAX | feature::SEG_MAX | feature::BLK_SIZE | feature::FLUSH;
        let blocks = self.disk.blocks();
        if blocks.physical > blocks.logical {
            features |= feature::TOPOLOGY;
        }
        if self.queues > 1 {
            features |= feature::MQ;
        }
        if self.readonly {
            features |= feature::RO;
        } else {
            features |= feature::DISCARD | feature::WRITE_ZEROES;
        }
        features
    }

    /// Returns the features that are not offered, but that a driver may have from an earlier elvis.
    pub(super) fn inherited(&self) -> u64 {
        if self.readonly {
            0
        } else {
            feature::CONFIG_WCE
        }
    }

    /// Whether each write waits for the disk, for a driver with these features.
    #[must_use]
    pub fn write_through(&self, features: u64) -> bool {
        features & feature::FLUSH == 0 || !self.writeback.load(Ordering::Relaxed)
    }

    pub(super) fn agreed(&self, features: u64) {
        // The driver may have turned the cache off before (see the module's description).
        let unknown = features & feature::CONFIG_WCE != 0;
        self.writeback.store(!unknown, Ordering::Relaxed);
    }

    pub(super) fn reset(&self) {
        self.writeback.store(true, Ordering::Relaxed);
    }

    pub(super) fn config(&self) -> Vec<u8> {
        let writeback = self.writeback.load(Ordering::Relaxed);
        let (bytes, blocks) = (self.disk.bytes(), self.disk.blocks());
        blk::config(bytes, &blocks, self.queues, writeback).to_vec()
    }

    pub(super) fn set_config(
        &self,
        offset: u32,
        bytes: &[u8],
        features: u64,
    ) -> Result<(), String> {
        // A write may cover other bytes than `writeback`, if it does not change them.
        let before = self.config();
        let mut after = before.clone();
        let (start, known) = (offset as usize, before.len());
        let Some(written) = after.get_mut(start..start.saturating_add(bytes.len())) else {
            let count = bytes.len();
            return Err(format!(
                "{count} bytes at offset {offset} are outside of it, it has {known}"
            ));
        };
        written.copy_from_slice(bytes);
        let writeback = after[blk::WRITEBACK];
        after[blk::WRITEBACK] = before[blk::WRITEBACK];
        let written = start..start + bytes.len();
        if !written.contains(&blk::WRITEBACK) || after != before {
            let at = blk::WRITEBACK;
            return Err(format!("only its byte {at}, writeback, may be changed"));
        }
        if features & feature::CONFIG_WCE == 0 {
            return Err("writeback, without the feature CONFIG_WCE".to_owned());
        }
        if writeback > 1 {
            return Err(format!("writeback is 0 or 1, not {writeback}"));
        }
        self.writeback.store(writeback == 1, Ordering::Relaxed);
        Ok(())
    }
}
