//! The growth of a disk whose file or block device has grown: sets the new size for all disks that are on it.

use crate::server::{Device, Notice};
use crate::storage::Disk;
use serde::Serialize;
use std::io;
use std::sync::Arc;

/// A disk in the answer to `elvis ctl resize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resized {
    /// Name of the disk's device.
    pub name: String,
    /// Size before, in bytes.
    pub before: u64,
    /// Size now, in bytes.
    pub bytes: u64,
    /// Whether the front-end was notified.
    pub told: bool,
    /// Time at which the guest sees the new size, for users.
    pub seen: &'static str,
}

/// Serves the whole file or block device of this device's disk from now on, and notifies the front-ends. Does so for
/// all disks of `others` on the same storage too. Front-ends are notified even if nothing has changed: one may have
/// missed the last notification.
///
/// # Errors
///
/// The device has no disk on a file or block device, or the storage has become smaller: then no size changes.
pub fn resize(device: &Arc<Device>, others: &[Arc<Device>]) -> io::Result<Vec<Resized>> {
    let name = &device.spec().name;
    let named = |name: &str, why: &io::Error| io::Error::new(why.kind(), format!("{name}: {why}"));
    let disk = device.kind().disk();
    let disk = disk.ok_or_else(|| named(name, &io::Error::other("it is no disk")))?;
    let file_bytes = disk.file_bytes().map_err(|why| named(name, &why))?;
    let alike = |other: &&Arc<Device>| {
        !Arc::ptr_eq(other, device) && other.kind().disk().and_then(Disk::storage) == disk.storage()
    };
    let all = std::iter::once(device).chain(others.iter().filter(alike));
    let all = all.filter_map(|device| Some((device, device.kind().disk()?)));
    // All are checked before the first one changes.
    let checked = all.map(|(device, disk)| match disk.fits(file_bytes) {
        Ok(bytes) => Ok((device, disk, bytes)),
        Err(why) => Err(named(&device.spec().name, &why)),
    });
    let checked = checked.collect::<io::Result<Vec<_>>>()?;
    let grown = checked.into_iter().map(|(device, disk, bytes)| {
        let before = disk.grow(bytes);
        let notice = device.config_changed();
        Resized {
            name: device.spec().name.clone(),
            before,
            bytes: disk.bytes(),
            told: notice == Notice::Sent,
            seen: notice.text(),
        }
    });
    Ok(grown.collect())
}
