//! Memory files and rings for these tests.

use elvis_ring::driver::Driver;
use elvis_ring::{Chain, Memory, Ring};
use std::fs::File;

/// A memory file of this many bytes.
pub fn memfd(bytes: u64) -> File {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = File::from(rustix::fs::memfd_create("elvis-ring-test", flags).unwrap());
    file.set_len(bytes).unwrap();
    file
}

/// A driver with a ring of this size in memory of its own, and the device's side of it.
#[allow(dead_code)]
pub fn pair(size: u16, event_idx: bool) -> (Driver, Ring) {
    let driver = Driver::new(&memfd(1 << 20), size, event_idx).unwrap();
    let ring = Ring::new(
        size.into(),
        &driver.addresses(),
        driver.memory(),
        0,
        event_idx,
    )
    .unwrap();
    (driver, ring)
}

/// Whether every piece of a chain lies in the memory, and its sums are right.
#[allow(dead_code)]
pub fn chain_is_sound(chain: &Chain, memory: &Memory) -> bool {
    let sum = |segments: &[elvis_ring::Segment]| -> u64 {
        segments
            .iter()
            .map(|segment| u64::from(segment.bytes))
            .sum()
    };
    let inside = |segment: &elvis_ring::Segment| {
        memory
            .span(segment.guest, segment.bytes.into())
            .and_then(|span| span.address(0, segment.bytes as usize))
            == Some(segment.place)
    };
    chain.readable().iter().chain(chain.writable()).all(inside)
        && sum(chain.readable()) == chain.readable_bytes()
        && sum(chain.writable()) == chain.writable_bytes()
}
