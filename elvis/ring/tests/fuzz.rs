//! Fuzzing of rings with hostile drivers (see `fuzzing`).

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

mod common;
mod fuzzing;

use common::{Shaker, any_notes, any_progress, chain_is_sound, memfd, notes, pair_of};
use elvis_ring::driver::{Buffer, Driver};
use elvis_ring::{Chain, DirtyLog, Ring, RingAddresses};
use proptest::prelude::*;
use std::sync::atomic::Ordering;

/// Bytes of the driver's memory.
const MEMORY: u64 = 1 << 20;
const SIZE: u16 = 16;

fn fuzz<S: Strategy>(name: &str, inputs: S, target: impl Fn(S::Value)) {
    fuzzing::fuzz(name, 500, inputs, target, || ());
}

/// What a driver does.
#[derive(Clone, Debug)]
enum Step {
    /// Writes a descriptor (index, address, length, flags, next or identifier, the flags that say whose turn it
    /// is), also beyond the end of the table.
    Describe(u16, u64, u32, u16, u16, u16),
    /// Makes a chain available.
    Offer(u16),
    /// Makes a request of some buffers, then those of an indirect table, which is at an address.
    Chain(Vec<Buffer>, Vec<Buffer>, u64),
    /// Writes any word anywhere.
    Poke(u32, u64),
    /// Runs the device.
    Serve,
}

/// An address that is likely to be in memory, or near its start or end.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..MEMORY,
        1 => MEMORY - 64..MEMORY + 64,
        1 => Just(0),
        1 => any::<u64>(),
    ]
}

fn length() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => 0u32..64,
        3 => (0u32..40).prop_map(|n| n * 16),
        1 => Just(4096),
        1 => any::<u32>(),
    ]
}

/// A buffer, mostly one that is in memory.
fn buffer() -> impl Strategy<Value = Buffer> {
    let place = prop_oneof![8 => (0..MEMORY - 4096, 1u32..4096), 1 => (address(), length())];
    (place, any::<bool>()).prop_map(|((guest, bytes), written)| (guest, bytes, written))
}

/// The flags of a packed ring's descriptor that say whose turn it is.
fn turn() -> impl Strategy<Value = u16> {
    prop_oneof![6 => Just(1u16 << 7), 3 => Just(1 << 15), 1 => Just(0), 1 => Just(1 << 7 | 1 << 15)]
}

/// The second word of a descriptor.
fn rest(packed: bool, bytes: u32, flags: u16, last: u16, turn: u16) -> u64 {
    let (low, high) = if packed {
        (last, flags | turn)
    } else {
        (flags, last)
    };
    u64::from(bytes) | u64::from(low) << 32 | u64::from(high) << 48
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u16..64, address(), length(), 0u16..8, 0u16..20, turn())
            .prop_map(|(at, guest, bytes, flags, next, turn)| {
                Step::Describe(at, guest, bytes, flags, next, turn)
            }),
        3 => (0u16..20).prop_map(Step::Offer),
        2 => (prop::collection::vec(buffer(), 0..4), prop::collection::vec(buffer(), 0..4), address())
            .prop_map(|(before, table, at)| Step::Chain(before, table, at)),
        1 => (any::<u32>(), any::<u64>()).prop_map(|(at, word)| Step::Poke(at, word)),
        2 => Just(Step::Serve),
    ]
}

/// Serves available requests. False if the ring broke a rule.
fn serve(driver: &Driver, ring: &mut Ring, chain: &mut Chain) -> bool {
    if ring.look().is_err() {
        return false;
    }
    // Bounded, as a visit is: a driver that never stops must not block the test.
    for _ in 0..4 * SIZE {
        match ring.take(chain) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => return false,
        }
        assert!(chain_is_sound(chain, driver.memory()));
        let mut header = [0u8; 16];
        chain.read(0, &mut header);
        chain.write(0, &header);
        chain.fill(3, 4096, 7);
        chain.write_last(1);
        ring.put(chain.head(), u32::MAX);
    }
    ring.publish();
    let _ = ring.call_wanted();
    ring.arm();
    ring.disarm();
    true
}

/// Any writes of a driver, in any order, with or without a dirty log and an in-flight record, or one of progress.
#[test]
fn rings() {
    let inputs = (
        prop::collection::vec(step(), 0..64),
        any::<bool>(),
        0u8..3,
        any::<bool>(),
    );
    fuzz("rings", inputs, |(steps, event_idx, noted, packed)| {
        let (mut driver, mut ring) = pair_of(SIZE, event_idx, packed);
        match noted {
            0 => {}
            1 => ring.track(notes()).unwrap(),
            _ => {
                let kept = ring.keep(notes(), &driver.addresses(), driver.start());
                kept.unwrap();
            }
        }
        if noted > 0 {
            ring.log_to(Some(DirtyLog::map(&memfd(4096), 0, 4096).unwrap()));
        }
        let all = driver.memory().span(0, MEMORY).unwrap();
        let mut chain = Chain::new();
        for step in steps {
            match step {
                Step::Describe(at, guest, bytes, flags, next, turn) => {
                    let at = usize::from(at) * 16;
                    let rest = rest(packed, bytes, flags, next, turn);
                    all.store_u64(at, guest, Ordering::Relaxed);
                    all.store_u64(at + 8, rest, Ordering::Relaxed);
                }
                Step::Offer(head) => driver.offer(head),
                Step::Chain(before, table, at) => {
                    let _ = driver.write_table(at, &table);
                    let _ = driver.submit_mixed(&before, at, 16 * table.len() as u32);
                }
                Step::Poke(at, word) => {
                    let at = u64::from(at) * 8 % MEMORY;
                    all.store_u64(at as usize, word, Ordering::Relaxed);
                }
                Step::Serve => {
                    if !serve(&driver, &mut ring, &mut chain) {
                        return;
                    }
                }
            }
        }
        serve(&driver, &mut ring, &mut chain);
    });
}

/// The same, while another thread writes to the memory all the time.
#[test]
fn memory_that_changes_underneath() {
    let driver = Driver::new(&memfd(MEMORY), SIZE, true).unwrap();
    let all = driver.memory().span(0, MEMORY).unwrap();
    let _shaker = Shaker::new(&all, |random| {
        // The words of the table, of the rings after it, and of likely indirect tables.
        let word = match random % 5 {
            0 => random >> 16 & 0x3ff,
            1 => random >> 16 & 0xf_ffff,
            2 => random >> 20 & 0x001f_0007_0000_03f0,
            3 => random >> 20 & 0x0007_001f_0000_03f0 | 1 << (55 + 8 * (random >> 63)),
            _ => random,
        };
        ((random >> 8) as usize % 128 * 8, word)
    });
    let descriptor = (0u16..64, address(), length(), 0u16..8, turn());
    let inputs = (
        prop::collection::vec(descriptor, 0..32),
        any::<u16>(),
        any::<bool>(),
    );
    fuzz(
        "memory that changes",
        inputs,
        |(descriptors, next, packed)| {
            let (at, memory, size) = (driver.addresses(), driver.memory(), SIZE.into());
            let ring = if packed {
                Ring::packed(size, &at, memory, (next & 0x800f).into(), true)
            } else {
                Ring::new(size, &at, memory, next, true)
            };
            let (mut ring, mut chain) = (ring.unwrap(), Chain::new());
            for (at, guest, bytes, flags, turn) in descriptors {
                let at = usize::from(at) * 16;
                let rest = rest(packed, bytes, flags, 0, turn);
                all.store_u64(at, guest, Ordering::Relaxed);
                all.store_u64(at + 8, rest, Ordering::Relaxed);
                if !serve(&driver, &mut ring, &mut chain) {
                    return;
                }
            }
        },
    );
}

/// Any ring addresses, any in-flight record from a front-end, and any record of progress in a file.
#[test]
fn rings_anywhere_and_notes_of_another_process() {
    let driver = Driver::new(&memfd(MEMORY), SIZE, true).unwrap();
    let words = prop::collection::vec((0usize..132, any::<u64>()), 0..32);
    let place = (
        prop_oneof![Just(16u32), 0u32..40, any::<u32>()],
        address(),
        address(),
        address(),
    );
    fuzz(
        "places and notes",
        (words, place, any::<u16>()),
        |(words, place, used)| {
            let (size, descriptors, available, used_ring) = place;
            let at = RingAddresses {
                descriptors,
                available,
                used: used_ring,
                ..driver.addresses()
            };
            let base = u32::from(used) << 8 | u32::from(used) >> 8;
            let rings = [
                Ring::new(size, &at, driver.memory(), used, true),
                Ring::packed(size, &at, driver.memory(), base, true),
            ];
            for mut ring in rings.into_iter().flatten() {
                serve(&driver, &mut ring, &mut Chain::new());
            }
            any_notes(&words, used);
            any_progress(&words, used);
        },
    );
}
