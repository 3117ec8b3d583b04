//! A disk's configuration space, as front-ends read and write it.

use crate::client::{exchange, serve, socket};
use crate::raw::{Features, RING_PACKED, Raw};
use elvis::blk::CONFIG;
use elvis_policy::simulation::Mode;
use std::os::fd::AsRawFd;
use vhost::VhostBackend;

const GET_CONFIG: u32 = 24;
const SET_CONFIG: u32 = 25;
/// A feature bit (VIRTIO 1.3, section 5.2.3).
const F_CONFIG_WCE: u64 = 1 << 11;
/// `writeback` in it.
const WRITEBACK: usize = 32;

fn message(offset: u32, bytes: &[u8]) -> Vec<u8> {
    let words = [offset, bytes.len() as u32, 0].map(u32::to_ne_bytes);
    [words.as_flattened(), bytes].concat()
}

/// Reads from the configuration space. None: refused, by a reply without bytes, as the protocol says.
fn get(frontend: &impl AsRawFd, offset: u32, size: u32) -> Option<Vec<u8>> {
    let reply = exchange(
        frontend,
        GET_CONFIG,
        &message(offset, &vec![0xee; size as usize]),
    );
    let [words, bytes] = [&reply[..12], &reply[12..]];
    assert_eq!(words[..4], offset.to_ne_bytes());
    assert_eq!(words[4..8], (bytes.len() as u32).to_ne_bytes());
    match bytes.len() as u32 {
        0 => None,
        count => {
            assert_eq!(count, size);
            Some(bytes.to_vec())
        }
    }
}

/// A read is answered with the bytes that it asks for, or refused: never with other bytes, also not with zeros for what
/// the space does not have where the read starts.
#[test]
fn each_read_is_exact_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _server = serve(dir.path(), Mode::Elvis, &["a=null:1G,queues=3"]);
    let path = socket(dir.path(), "a");
    let raw = Raw::connect(&path);
    let mut whole = get(&raw.frontend, 0, CONFIG as u32).unwrap();
    assert_eq!(whole[..8], (1u64 << 21).to_le_bytes());
    assert_eq!(whole[34..36], [3, 0]);
    // A front-end that knows of more fields gets zeros for them.
    whole.resize(CONFIG + 256, 0);
    for offset in 0..CONFIG {
        for size in [1, 2, 4, 8, 60, CONFIG, 96, 256] {
            let got = get(&raw.frontend, offset as u32, size as u32);
            let wanted = &whole[offset..offset + size];
            assert_eq!(got.as_deref(), Some(wanted), "{size} bytes at {offset}");
        }
    }
    drop(raw);
    // Old versions of Cloud Hypervisor read at 0x100.
    for offset in [CONFIG as u32, CONFIG as u32 + 1, 0xff, 0x100, 0xf00] {
        for size in [1, 60, 256] {
            let raw = Raw::connect(&path);
            assert_eq!(get(&raw.frontend, offset, size), None, "{size} at {offset}");
            // Then the connection ends: not every front-end understands this reply.
            assert!(raw.frontend.get_features().is_err());
        }
    }
}

/// Each write that is refused ends its connection, as the front-end does not learn of it otherwise.
#[test]
fn only_writeback_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let _server = serve(dir.path(), Mode::Elvis, &["a=null:1G"]);
    let path = socket(dir.path(), "a");
    // Drivers that have the feature got it from an earlier elvis. Without a word from them there is no write cache.
    let choosing = Features {
        without: RING_PACKED,
        with: F_CONFIG_WCE,
    };
    let written = |offset: usize, bytes: &[u8]| {
        let raw = Raw::choosing(&path, choosing);
        assert_eq!(raw.frontend.get_features().unwrap() & F_CONFIG_WCE, 0);
        assert_eq!(get(&raw.frontend, WRITEBACK as u32, 1), Some(vec![0]));
        let body = message(offset as u32, bytes);
        let done = exchange(&raw.frontend, SET_CONFIG, &body) == [0; 8];
        done.then(|| get(&raw.frontend, WRITEBACK as u32, 1).unwrap()[0])
    };
    assert_eq!(written(WRITEBACK, &[0]), Some(0));
    assert_eq!(written(WRITEBACK, &[1]), Some(1));
    let mut whole = get(&Raw::connect(&path).frontend, 0, CONFIG as u32).unwrap();
    assert_eq!(whole[WRITEBACK], 1);
    whole[WRITEBACK] = 0;
    assert_eq!(written(0, &whole), Some(0), "the rest is as it was");
    for (offset, bytes) in [
        (WRITEBACK, &[2][..]),
        (WRITEBACK, &[0, 1]),
        (0, &[0; 8]),
        (0, &whole[..8]),
        (WRITEBACK + 1, &[0]),
        (CONFIG, &[0]),
        (CONFIG - 1, &[0, 0]),
        (0x100, &[1]),
        (0xfff, &[1]),
    ] {
        assert_eq!(written(offset, bytes), None, "{bytes:?} at {offset}");
    }
    let without = Raw::connect(&path);
    let body = message(WRITEBACK as u32, &[0]);
    assert_ne!(exchange(&without.frontend, SET_CONFIG, &body), [0; 8]);
}
