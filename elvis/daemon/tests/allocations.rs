//! An I/O thread allocates no memory per frame.

#![allow(clippy::unwrap_used)]

mod client;
mod nic;

use client::{serve, socket};
use elvis::net::Header;
use elvis_policy::simulation::Mode;
use nic::{Nic, OFFLOADS, frame};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the allocations of all threads but the test's.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static OWN: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: all calls go to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !OWN.try_with(Cell::get).unwrap_or(true) {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: as the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as the caller.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Through a switch: right into buffers, by the inbox of a device with a limit, with offloads done in software,
/// to all ports, and dropped ones.
#[test]
fn no_frame_allocates() {
    OWN.set(true);
    let dir = tempfile::tempdir().unwrap();
    let devices = [
        "a=switch:s",
        "b=switch:s",
        "c=switch:s,packets_per_s=1000000",
    ];
    let server = serve(dir.path(), Mode::Elvis, &devices);
    let mut a = Nic::connect(&socket(dir.path(), "a"), 0);
    let mut b = Nic::connect(&socket(dir.path(), "b"), OFFLOADS);
    let mut c = Nic::connect(&socket(dir.path(), "c"), 0);
    server.stats().unwrap();
    let mut round = |count: usize| {
        for number in 0..count {
            a.send_plain(&frame(0xff, 1, 60 + number % 9000));
            assert_eq!(b.receive().1.len(), c.receive().1.len());
            let checksum = Header {
                flags: 1,
                csum_start: 20,
                csum_offset: 6,
                ..Header::default()
            };
            a.send(&checksum, &frame(0xff, 1, 1000));
            assert!(!b.receive().0.needs_checksum() && c.receive().0.needs_checksum());
            a.send(&checksum, &frame(0xff, 1, 20));
        }
    };
    round(100);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    assert!(before > 0, "they are not counted");
    round(300);
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before);
    drop(server);
}
