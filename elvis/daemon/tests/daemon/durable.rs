//! No acknowledged write is lost: with the power of a disk, by a sync that fails, by kill -9 and by a new connection.
//!
//! The disk is a file behind `../layer`, which loses what was not synced.

use super::daemon::Daemon;
use crate::client::{exchange, socket};
use crate::layer::Layer;
use crate::raw::{DATA, Features, RING_PACKED, Raw};
use elvis_ring::driver::Buffer;
use rustix::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use vhost::VhostBackend;
use vhost::vhost_user::VhostUserFrontend;

/// Request types and statuses (VIRTIO 1.3, section 5.2.6).
const READ: u64 = 0;
const WRITE: u64 = 1;
const FLUSH: u64 = 4;
const DISCARD: u64 = 11;
const ZERO: u64 = 13;
const OK: u8 = 0;
const IO_ERROR: u8 = 1;

/// Feature bits (VIRTIO 1.3, section 5.2.3).
const F_FLUSH: u64 = 1 << 9;
const F_CONFIG_WCE: u64 = 1 << 11;

/// With a write cache, which flushes empty.
pub const CACHED: Features = Features {
    without: RING_PACKED,
    with: 0,
};
/// Each write waits for the disk.
pub const UNCACHED: Features = Features {
    without: RING_PACKED | F_FLUSH,
    with: 0,
};
/// The driver of a front-end that first connected to an earlier elvis. It may turn the cache off.
pub const CHOOSING: Features = Features {
    without: RING_PACKED,
    with: F_CONFIG_WCE,
};

/// Writes `writeback`, as QEMU does once: when the driver does.
pub fn set_writeback(raw: &Raw, on: bool) {
    let words = [32u32, 1, 0].map(u32::to_ne_bytes);
    let body = [words.as_flattened(), &[u8::from(on)]].concat();
    assert_eq!(exchange(&raw.frontend, 25, &body), [0; 8]);
}

/// Ends the connection, and makes a new one to the same daemon.
pub fn reconnect(raw: &mut Raw, path: &std::path::Path) {
    // SAFETY: the front-end keeps its descriptor open during the borrow.
    let stream = unsafe { BorrowedFd::borrow_raw(raw.frontend.as_raw_fd()) };
    rustix::net::shutdown(stream, Shutdown::Both).unwrap();
    raw.reconnect(path);
}

/// How many of some writes were synced before they ended.
fn synced(layer: &Layer, raw: &mut Raw) -> (u32, u32) {
    let before = layer.counted();
    for sector in 0..3 {
        let status = raw.request(WRITE, sector * 8, &[(DATA, 4096, false)]);
        assert_eq!(status, OK);
    }
    let after = layer.counted();
    (
        after.writes - before.writes,
        after.synced_writes - before.synced_writes,
    )
}

/// A driver without a write cache never flushes. So it has none after a new connection either, to the same daemon or to
/// its successor, though the front-end does not say it again.
#[test]
fn a_driver_without_a_write_cache_never_gets_one() {
    for threads_only in [false, true] {
        for features in [CACHED, UNCACHED, CHOOSING] {
            let dir = tempfile::tempdir().unwrap();
            let layer = Layer::new();
            let path = socket(dir.path(), "a");
            let start = || Daemon::listening(layer.serve(&path, threads_only), &path);
            let mut daemon = start();
            let mut raw = Raw::choosing(&path, features);
            raw.track_inflight();
            if features.with != 0 {
                set_writeback(&raw, false);
            }
            raw.start_at(None);
            let wanted = if features == CACHED { (3, 0) } else { (3, 3) };
            assert_eq!(synced(&layer, &mut raw), wanted, "{features:?}");
            reconnect(&mut raw, &path);
            raw.start_at(None);
            assert_eq!(
                synced(&layer, &mut raw),
                wanted,
                "{features:?}, reconnected"
            );
            drop(daemon);
            daemon = start();
            raw.reconnect(&path);
            raw.start_at(None);
            assert_eq!(synced(&layer, &mut raw), wanted, "{features:?}, restarted");
            raw.frontend.reset_device().unwrap();
            raw.choose_again();
            raw.start_at(None);
            assert_eq!(synced(&layer, &mut raw), wanted, "{features:?}, reset");
            drop(daemon);
        }
    }
}

/// A range of 4 KiB for a discard or a request to zero, with `unmap`.
fn range(raw: &Raw, kind: u64, sector: u64) -> [Buffer; 1] {
    let words = [sector, 8 | u64::from(kind == ZERO) << 32];
    let bytes = words.map(u64::to_ne_bytes);
    raw.memory.write_all_at(bytes.as_flattened(), DATA).unwrap();
    [(DATA, 16, false)]
}

/// One request of a kind, for 4 KiB.
fn request(raw: &mut Raw, kind: u64) -> u8 {
    match kind {
        FLUSH => raw.request(FLUSH, 0, &[]),
        DISCARD | ZERO => {
            let range = range(raw, kind, 8);
            raw.request(kind, 0, &range)
        }
        _ => raw.request(kind, 0, &[(DATA, 4096, kind == READ)]),
    }
}

/// Linux reports lost data once. A guest that flushes again must not hear that all is well: also not with another
/// connection, but from a daemon that has opened the disk anew.
#[test]
fn a_sync_that_failed_is_never_forgotten() {
    // What makes a sync, and fails by it.
    let cached = (CACHED, &[FLUSH][..]);
    let uncached = (UNCACHED, &[WRITE, ZERO, FLUSH][..]);
    for threads_only in [false, true] {
        for (features, kinds) in [cached, uncached] {
            for &first in kinds {
                let dir = tempfile::tempdir().unwrap();
                let layer = Layer::new();
                let path = socket(dir.path(), "a");
                let start = || Daemon::listening(layer.serve(&path, threads_only), &path);
                let daemon = start();
                let mut raw = Raw::choosing(&path, features);
                raw.track_inflight();
                raw.start_at(None);
                let all = [READ, WRITE, ZERO, DISCARD, FLUSH];
                assert_eq!(all.map(|kind| request(&mut raw, kind)), [OK; 5]);
                layer.fail_in(1);
                assert_eq!(request(&mut raw, first), IO_ERROR);
                assert_eq!(layer.counted().failed, 1);
                let wanted = all.map(|kind| match kinds.contains(&kind) {
                    true => IO_ERROR,
                    false => OK,
                });
                assert_eq!(all.map(|kind| request(&mut raw, kind)), wanted, "{first}");
                reconnect(&mut raw, &path);
                raw.start_at(None);
                assert_eq!(all.map(|kind| request(&mut raw, kind)), wanted, "{first}");
                assert_eq!(layer.counted().failed, 1);
                let said = daemon.said();
                assert_eq!(said.matches("earlier writes may be lost").count(), 1);
                drop(daemon);
                let _daemon = start();
                raw.reconnect(&path);
                raw.start_at(None);
                assert_eq!(all.map(|kind| request(&mut raw, kind)), [OK; 5]);
            }
        }
    }
}

/// A migratable disk is synced when it is left. That error counts too, should the guest stay.
#[test]
fn a_sync_that_failed_as_a_disk_was_left_is_not_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let layer = Layer::new();
    let path = socket(dir.path(), "a");
    let command = layer.serve_with(&path, ",migratable", false);
    let daemon = Daemon::listening(command, &path);
    let mut raw = Raw::choosing(&path, CACHED);
    raw.start_at(None);
    assert_eq!([WRITE, FLUSH].map(|kind| request(&mut raw, kind)), [OK; 2]);
    layer.fail_in(1);
    let base = raw.frontend.get_vring_base(0).unwrap();
    assert_eq!(layer.counted().failed, 1);
    raw.start_at(Some(base));
    let statuses = [WRITE, FLUSH].map(|kind| request(&mut raw, kind));
    assert_eq!(statuses, [OK, IO_ERROR]);
    assert!(daemon.said().contains("can't leave what is behind it"));
}
