//! The free space of a file system.

use std::path::Path;

/// The bytes by which a file at this path may still grow, without root's reserve. None if the kernel does not report
/// them.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
