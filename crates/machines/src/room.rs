//! How much a file system can still take.

use std::path::Path;

/// The bytes that a file there may still grow by, without root's reserve. None if the kernel does not tell.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
