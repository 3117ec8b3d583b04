//! Drivers that break the rules: every request is an error or a sound chain.

use crate::common::{Shaker, any_notes, chain_is_sound, memfd, notes, pair, pair_of};
use elvis_ring::driver::Driver;
use elvis_ring::{Chain, Mapping, Ring, RingError, sigbus};
use proptest::prelude::*;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const DATA: u64 = 0x8_0000;
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

fn taken(prepare: impl Fn(&mut Driver)) -> Result<bool, RingError> {
    let (mut driver, mut ring) = pair(8, true);
    prepare(&mut driver);
    ring.look()?;
    ring.take(&mut Chain::new())
}

#[test]
fn each_broken_rule_has_its_error() {
    let outside = |guest, bytes| Err(RingError::Outside { guest, bytes });
    assert_eq!(
        taken(|d| d.offer(8)),
        Err(RingError::Descriptor { index: 8 })
    );
    assert_eq!(
        taken(|d| (0..9).for_each(|_| d.offer(0))),
        Err(RingError::Jump {
            avail: 9,
            pending: 9,
            size: 8
        })
    );
    let one = |guest, bytes, flags, next| {
        taken(move |d: &mut Driver| {
            d.describe(0, guest, bytes, flags, next);
            d.offer(0);
        })
    };
    assert_eq!(
        one(DATA, 16, 0, 99),
        Ok(true),
        "next is ignored without its flag"
    );
    assert_eq!(
        one(DATA, 16, NEXT, 8),
        Err(RingError::Descriptor { index: 8 })
    );
    assert_eq!(one(DATA, 16, NEXT, 0), Err(RingError::Endless));
    assert_eq!(one(DATA, 0, 0, 0), outside(DATA, 0));
    assert_eq!(one(0x10_0000 - 8, 16, 0, 0), outside(0x10_0000 - 8, 16));
    assert_eq!(one(u64::MAX, 16, 0, 0), outside(u64::MAX, 16));
    assert_eq!(one(DATA, u32::MAX, WRITE, 0), outside(DATA, u32::MAX));
    assert!(matches!(
        one(DATA, 16, INDIRECT | NEXT, 0),
        Err(RingError::Indirect(_))
    ));
    assert!(matches!(
        one(DATA, 17, INDIRECT, 0),
        Err(RingError::Indirect(_))
    ));
    assert!(matches!(
        one(DATA + 1, 16, INDIRECT, 0),
        Err(RingError::Indirect(_))
    ));
    assert!(matches!(
        one(DATA, 1 << 30, INDIRECT, 0),
        Err(RingError::Indirect(_))
    ));
    assert_eq!(one(0xf_fff0, 32, INDIRECT, 0), outside(0xf_fff0, 32));
    // An indirect table that is the descriptor table itself: its entry 0 is indirect again.
    assert!(matches!(
        one(0, 16, INDIRECT, 0),
        Err(RingError::Indirect(_))
    ));
    let order = taken(|d| {
        d.describe(0, DATA, 16, WRITE | NEXT, 1);
        d.describe(1, DATA, 16, 0, 0);
        d.offer(0);
    });
    assert_eq!(order, Err(RingError::Order));
}

const AVAIL: u16 = 1 << 7;
const USED: u16 = 1 << 15;

fn taken_packed(prepare: impl Fn(&mut Driver)) -> Result<bool, RingError> {
    let (mut driver, mut ring) = pair_of(8, true, true);
    prepare(&mut driver);
    ring.look()?;
    ring.take(&mut Chain::new())
}

#[test]
fn each_broken_rule_of_a_packed_ring_has_its_error() {
    let outside = |guest, bytes| Err(RingError::Outside { guest, bytes });
    let one = |guest, bytes, flags| {
        taken_packed(move |d: &mut Driver| d.describe(0, guest, bytes, flags, 0xffff))
    };
    assert_eq!(one(DATA, 16, AVAIL), Ok(true), "any identifier is valid");
    for flags in [0, USED, AVAIL | USED] {
        assert_eq!(one(DATA, 16, flags), Ok(false), "{flags:#x}");
    }
    assert_eq!(
        one(DATA, 16, AVAIL | NEXT),
        Ok(false),
        "the chain does not end yet"
    );
    assert_eq!(one(DATA, 0, AVAIL), outside(DATA, 0));
    assert_eq!(one(0x10_0000 - 8, 16, AVAIL), outside(0x10_0000 - 8, 16));
    assert_eq!(one(u64::MAX, 16, AVAIL), outside(u64::MAX, 16));
    assert_eq!(one(DATA, u32::MAX, AVAIL | WRITE), outside(DATA, u32::MAX));
    for (guest, bytes, flags) in [
        (DATA, 16, INDIRECT | NEXT),
        (DATA, 17, INDIRECT),
        (DATA, 0, INDIRECT),
        (DATA + 1, 16, INDIRECT),
        (DATA, 1 << 30, INDIRECT),
    ] {
        let two = taken_packed(|d| {
            d.describe(0, guest, bytes, AVAIL | flags, 0);
            d.describe(1, DATA, 16, AVAIL, 0);
        });
        assert!(matches!(two, Err(RingError::Indirect(_))), "{two:?}");
    }
    assert_eq!(one(0xf_fff0, 32, AVAIL | INDIRECT), outside(0xf_fff0, 32));
    // A table of zeros: empty buffers.
    assert_eq!(one(DATA, 16, AVAIL | INDIRECT), outside(0, 0));
    let pair = |first: u16, second: u16| {
        taken_packed(move |d: &mut Driver| {
            d.describe(0, DATA, 16, AVAIL | NEXT | first, 0);
            d.describe(1, DATA, 16, AVAIL | second, 0);
        })
    };
    assert_eq!(pair(0, WRITE), Ok(true));
    assert_eq!(pair(WRITE, 0), Err(RingError::Order));
    assert!(matches!(pair(0, INDIRECT), Err(RingError::Indirect(_))));
    let endless = taken_packed(|d| (0..8).for_each(|at| d.describe(at, DATA, 1, AVAIL | NEXT, 0)));
    assert_eq!(endless, Err(RingError::Endless));
}

/// A driver makes descriptors available that the device has not given back.
#[test]
fn a_packed_ring_has_no_more_requests_than_descriptors() {
    let (driver, mut ring) = pair_of(8, true, true);
    ring.track(notes()).unwrap();
    let mut chain = Chain::new();
    for round in 0..3u16 {
        let turn = if round % 2 == 0 { AVAIL } else { USED };
        (0..8).for_each(|at| driver.describe(at, DATA, 1, turn, 7));
        let pending = ring.look().unwrap().pending;
        assert_eq!(pending, if round == 0 { 8 } else { 0 });
        for _ in 0..pending {
            assert!(ring.take(&mut chain).unwrap());
        }
        assert!(!ring.take(&mut chain).unwrap());
    }
}

/// Descriptors change after they were seen: the chain does not end any more, or is in two.
#[test]
fn a_packed_chain_that_changes_after_a_look() {
    let (driver, mut ring) = pair_of(8, true, true);
    let mut chain = Chain::new();
    driver.describe(0, DATA, 1, AVAIL | NEXT, 0);
    driver.describe(1, DATA, 1, AVAIL, 0);
    assert_eq!(ring.look().unwrap().pending, 1);
    driver.describe(1, DATA, 1, AVAIL | NEXT, 0);
    assert_eq!(ring.take(&mut chain), Err(RingError::Endless));
    let (driver, mut ring) = pair_of(8, true, true);
    driver.describe(0, DATA, 1, AVAIL, 0);
    driver.describe(1, DATA, 1, AVAIL, 0);
    assert_eq!(ring.look().unwrap().pending, 2);
    driver.describe(0, DATA, 1, AVAIL | NEXT, 0);
    assert_eq!(ring.take(&mut chain), Ok(true));
    assert_eq!(ring.take(&mut chain), Err(RingError::Endless));
}

#[test]
fn a_packed_ring_must_lie_in_memory() {
    let (driver, _) = pair_of(8, true, true);
    let new = |size, base, change: fn(&mut elvis_ring::RingAddresses)| {
        let mut at = driver.addresses();
        change(&mut at);
        Ring::packed(size, &at, driver.memory(), base, true).map(|_| ())
    };
    assert_eq!(new(8, 0x8000, |_| ()), Ok(()));
    assert_eq!(new(7, 0x0006, |_| ()), Ok(()), "any size");
    assert_eq!(new(0, 0, |_| ()), Err(RingError::Size(0)));
    assert_eq!(new(32_769, 0, |_| ()), Err(RingError::Size(32_769)));
    assert_eq!(new(65_536, 0, |_| ()), Err(RingError::Size(65_536)));
    assert_eq!(
        new(8, 0x8008, |_| ()),
        Err(RingError::Base { slot: 8, size: 8 })
    );
    assert_eq!(
        new(8, 0, |at| at.descriptors = 8),
        Err(RingError::Address("descriptor ring"))
    );
    assert_eq!(
        new(8, 0, |at| at.available = 2),
        Err(RingError::Address("driver event structure"))
    );
    assert_eq!(
        new(8, 0, |at| at.used = u64::MAX),
        Err(RingError::Address("device event structure"))
    );
}

#[test]
fn a_ring_must_lie_in_memory() {
    let (driver, _) = pair(8, true);
    let new = |size, change: fn(&mut elvis_ring::RingAddresses)| {
        let mut at = driver.addresses();
        change(&mut at);
        Ring::new(size, &at, driver.memory(), 0, true).map(|_| ())
    };
    assert_eq!(new(8, |_| ()), Ok(()));
    assert_eq!(new(0, |_| ()), Err(RingError::Size(0)));
    assert_eq!(new(12, |_| ()), Err(RingError::Size(12)));
    assert_eq!(new(65_536, |_| ()), Err(RingError::Size(65_536)));
    assert_eq!(
        new(8, |at| at.descriptors = 8),
        Err(RingError::Address("descriptor table"))
    );
    assert_eq!(
        new(8, |at| at.available = 1),
        Err(RingError::Address("available ring"))
    );
    assert_eq!(
        new(8, |at| at.used = 0xf_fffc),
        Err(RingError::Address("used ring"))
    );
    assert_eq!(
        new(8, |at| at.used = u64::MAX),
        Err(RingError::Address("used ring"))
    );
}

/// Runs a ring over its whole life while these words are written to its memory.
fn live(words: &[(u16, u64)], event_idx: bool, packed: bool, steps: u32) {
    let (driver, mut ring) = pair_of(16, event_idx, packed);
    let span = driver.span().clone();
    let mut chain = Chain::new();
    ring.track(notes()).unwrap();
    for step in 0..steps {
        for (offset, word) in words {
            let offset = usize::from(*offset) * 8 % span.bytes();
            span.store_u64(offset & !7, word.rotate_left(step), Ordering::Relaxed);
        }
        if ring.look().is_err() {
            return;
        }
        loop {
            match ring.take(&mut chain) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return,
            }
            assert!(chain_is_sound(&chain, driver.memory()));
            let mut header = [0u8; 16];
            chain.read(0, &mut header);
            // Buffers may be in the ring itself.
            chain.write(0, &header);
            ring.put(chain.head(), u32::MAX);
        }
        ring.publish();
        if step % 2 == 0 {
            ring.arm()
        } else {
            ring.disarm()
        }
    }
}

/// The bits of a packed ring's descriptor that say whose turn it is.
fn turn() -> impl Strategy<Value = u16> {
    prop_oneof![4 => Just(1u16 << 7), 2 => Just(1 << 15), 1 => Just(0), 1 => Just(1 << 7 | 1 << 15)]
}

/// A word that is likely to be half a descriptor, or ring indices.
fn word() -> impl Strategy<Value = u64> {
    let length = prop_oneof![Just(0u32), 1u32..64, any::<u32>()];
    prop_oneof![
        any::<u64>(),
        (0u64..0x10_0010),
        (length, 0u16..8, 0u16..20).prop_map(|(length, flags, next)| {
            u64::from(length) | u64::from(flags) << 32 | u64::from(next) << 48
        }),
        // Half of a packed ring's descriptor.
        (0u32..64, 0u16..20, 0u16..8, turn()).prop_map(|(length, id, flags, turn)| {
            u64::from(length) | u64::from(id) << 32 | u64::from(flags | turn) << 48
        }),
        (0u64..5, 0u64..5, 0u64..5, 0u64..20)
            .prop_map(|(a, b, c, d)| a | b << 16 | c << 32 | d << 48),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(4096), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_ring_is_an_error_or_sound(words in prop::collection::vec((any::<u16>(), word()), 0..64), event_idx: bool, packed: bool) {
        live(&words, event_idx, packed, 8);
    }

    /// A front-end may pass any memory as the in-flight record of another process.
    #[test]
    fn any_notes_are_an_error_or_taken(words in prop::collection::vec((0usize..132, any::<u64>()), 0..64), used: u16) {
        any_notes(&words, used);
    }
}

/// How many sound chains, and how many errors, the test of a changing ring waits for, and how long.
const WANTED: u64 = 20_000;
const LIMIT: Duration = Duration::from_secs(60);

/// Another thread writes to the ring as fast as it can.
#[test]
fn memory_that_changes_underneath() {
    let (mut driver, mut ring) = pair(16, true);
    let shaker = Shaker::new(driver.span(), |random| {
        // Descriptors: mostly addresses in memory, with any length, flags and next.
        let offset = (random >> 8) as usize % 32 * 8;
        let word = if offset % 16 == 0 {
            random % 0x10_0000
        } else {
            random >> 20 & 0x001f_0007_0000_3fff
        };
        (offset, word)
    });
    let mut chain = Chain::new();
    let (mut sound, mut errors) = (0u64, 0u64);
    // Until both were seen often enough, however the two threads are scheduled.
    let end = Instant::now() + LIMIT;
    while sound.min(errors) < WANTED {
        assert!(
            Instant::now() < end,
            "waited {LIMIT:?} for {WANTED} of both: {sound} sound, {errors} errors"
        );
        std::thread::yield_now();
        for head in 0..8 {
            driver.offer(head);
        }
        ring.look().unwrap();
        loop {
            match ring.take(&mut chain) {
                Ok(true) => {
                    assert!(chain_is_sound(&chain, driver.memory()));
                    sound += 1;
                    ring.put(chain.head(), 1);
                }
                Ok(false) => break,
                // A real device would stop here; this one continues after the request.
                Err(_) => {
                    errors += 1;
                    let next = ring.next().wrapping_add(1);
                    ring = Ring::new(16, &driver.addresses(), driver.memory(), next, true).unwrap();
                    ring.look().unwrap();
                }
            }
        }
        ring.publish();
        while driver.reply().is_some() {}
    }
    drop(shaker);
}

/// A front-end truncates its memory file: the access succeeds, and the memory is marked.
#[test]
fn a_shortened_file_is_contained() {
    let file = memfd(1 << 20);
    let mut driver = Driver::new(&file, 8, true).unwrap();
    let mut ring = Ring::new(8, &driver.addresses(), driver.memory(), 0, true).unwrap();
    let (mut other, mut others_ring) = pair(8, true);
    driver
        .submit(&[(DATA, 16, false), (DATA + 4096, 4096, true)])
        .unwrap();
    other.submit(&[(DATA, 16, false)]).unwrap();
    ring.look().unwrap();
    let mut chain = Chain::new();
    assert!(ring.take(&mut chain).unwrap());
    let before = sigbus::faults();
    file.set_len(0).unwrap();
    assert!(chain.write(0, &[1; 4096]));
    ring.put(chain.head(), 4096);
    ring.publish();
    assert!(ring.broken());
    assert!(sigbus::faults() > before);
    assert_eq!(others_ring.look().unwrap().pending, 1);
    assert!(!others_ring.broken());
    assert!(ring.look().is_ok_and(|look| look.pending <= 8) || ring.look().is_err());
}

#[test]
fn only_memory_is_mapped() {
    let file = std::fs::File::open("/proc/self/status").unwrap();
    let error = Mapping::new(&file, 4096).unwrap_err().to_string();
    assert!(error.contains("type 0x9fa0"), "{error}");
    assert!(error.contains("memory-backend-memfd"), "{error}");
    assert!(Mapping::new(&memfd(4096), 4096).is_ok());
    let tmpfs = std::path::Path::new("/dev/shm");
    if tmpfs.exists() {
        let file = tempfile::tempfile_in(tmpfs).unwrap();
        file.set_len(4096).unwrap();
        assert!(Mapping::new(&file, 4096).is_ok());
    }
}
