//! No acknowledged write is lost: with the power of a disk, by a sync that fails, by kill -9 and by a new connection.
//!
//! The disk is a file behind `../layer`, which loses what was not synced.

use super::daemon::Daemon;
use crate::client::{exchange, socket};
use crate::layer::Layer;
use crate::raw::{DATA, Features, RING_PACKED, Raw};
use rustix::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd};
use vhost::vhost_user::VhostUserFrontend;

const WRITE: u64 = 1;
const OK: u8 = 0;

/// Feature bits (VIRTIO 1.3, section 5.2.3).
const F_FLUSH: u64 = 1 << 9;
const F_CONFIG_WCE: u64 = 1 << 11;

/// With a write cache, which flushes empty.
const CACHED: Features = Features {
    without: RING_PACKED,
    with: 0,
};
/// Each write waits for the disk.
const UNCACHED: Features = Features {
    without: RING_PACKED | F_FLUSH,
    with: 0,
};
/// The driver of a front-end that first connected to an earlier elvis. It may turn the cache off.
const CHOOSING: Features = Features {
    without: RING_PACKED,
    with: F_CONFIG_WCE,
};

/// Writes `writeback`, as QEMU does once: when the driver does.
fn set_writeback(raw: &Raw, on: bool) {
    let words = [32u32, 1, 0].map(u32::to_ne_bytes);
    let body = [words.as_flattened(), &[u8::from(on)]].concat();
    assert_eq!(exchange(&raw.frontend, 25, &body), [0; 8]);
}

/// Ends the connection, and makes a new one to the same daemon.
fn reconnect(raw: &mut Raw, path: &std::path::Path) {
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
            let layer = Layer::new(dir.path());
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
