//! Drivers that break the rules: every request is an error or a sound chain.

use crate::common::{Shaker, any_notes, chain_is_sound, memfd, notes, pair, pair_of};
use elvis_ring::chain::LONGEST;
use elvis_ring::driver::Driver;
use elvis_ring::{
    Chain, Mapping, Memory, Part, RecordError, Region, Ring, RingAddresses, RingError, Span, sigbus,
};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const DATA: u64 = 0x8_0000;
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// Takes a request from a ring of 8 that a driver has prepared. The longest chain is longer than that ring.
fn taken(packed: bool, prepare: impl Fn(&mut Driver)) -> Result<bool, RingError> {
    taken_of(8, packed, prepare)
}

fn taken_of(size: u16, packed: bool, prepare: impl Fn(&mut Driver)) -> Result<bool, RingError> {
    let (mut driver, mut ring) = pair_of(size, true, packed);
    prepare(&mut driver);
    ring.look()?;
    let mut chain = Chain::new();
    let taken = ring.take(&mut chain);
    assert!(chain_is_sound(&chain, driver.memory()) || taken.is_err());
    taken
}

/// Descriptors of a split ring's table: address, length, flags, next.
type Plain = (u64, u32, u16, u16);

/// Takes a request of these descriptors, from the first on.
fn of(descriptors: &[Plain]) -> Result<bool, RingError> {
    taken(false, |driver| {
        for (index, &(guest, bytes, flags, next)) in (0..).zip(descriptors) {
            driver.describe(index, guest, bytes, flags, next);
        }
        driver.offer(0);
    })
}

/// The same after an indirect table, which these are the descriptors of, and which begins here.
fn of_table(table: u64, descriptors: &[Plain]) -> Result<bool, RingError> {
    taken(false, |driver| {
        let words: Vec<[u64; 2]> = descriptors
            .iter()
            .map(|&(guest, bytes, flags, next)| {
                let rest = u64::from(bytes) | u64::from(flags) << 32 | u64::from(next) << 48;
                [guest, rest]
            })
            .collect();
        driver.write(table, &words).unwrap();
        driver.describe(0, DATA, 16, NEXT, 1);
        driver.describe(1, table, 16 * descriptors.len() as u32, INDIRECT, 0);
        driver.offer(0);
    })
}

const TABLE: u64 = 0x4_0000;
const END: u64 = 0x10_0000;
const PLAIN: Plain = (DATA, 16, 0, 0);

#[test]
fn each_broken_rule_of_a_chain_has_its_error() {
    assert_eq!(of(&[PLAIN]), Ok(true));
    let head = taken(false, |driver| driver.offer(8));
    let (index, entries) = (8, 8);
    assert_eq!(head, Err(RingError::Head { index, entries }));
    let jump = RingError::Jump {
        avail: 9,
        pending: 9,
        size: 8,
    };
    let ahead = taken(false, |driver| (0..9).for_each(|_| driver.offer(0)));
    assert_eq!(ahead, Err(jump));
    let next = (DATA, 16, 0, 99);
    assert_eq!(of(&[next]), Ok(true), "next is ignored without its flag");
    let next = RingError::Next { index, entries };
    assert_eq!(of(&[(DATA, 16, NEXT, 8)]), Err(next));
    let endless = RingError::Endless { entries };
    assert_eq!(of(&[(DATA, 16, NEXT, 0)]), Err(endless));
    assert_eq!(
        of(&[(DATA, 16, WRITE | NEXT, 1), PLAIN]),
        Err(RingError::Order)
    );
    // All its buffers are in memory, many times.
    let large = |last| {
        taken_of(8192, false, |driver| {
            let whole = (0, END as u32, NEXT);
            for index in 0..1023 {
                driver.describe(index, whole.0, whole.1, whole.2, index + 1);
            }
            driver.describe(1023, 0, last, 0, 0);
            driver.offer(0);
        })
    };
    assert_eq!(large(0), Err(RingError::Empty { guest: 0 }));
    assert_eq!(large(1), Ok(true), "1 GiB and a byte");
}

#[test]
fn each_wrong_buffer_has_its_error() {
    let outside = |guest, bytes| Err(RingError::Outside { guest, bytes });
    for flags in [0, WRITE] {
        let one = |guest, bytes| of(&[(guest, bytes, flags, 0)]);
        assert_eq!(one(DATA, 0), Err(RingError::Empty { guest: DATA }));
        assert_eq!(one(END, 0), Err(RingError::Empty { guest: END }));
        assert_eq!(one(END - 8, 16), outside(END - 8, 16));
        assert_eq!(one(u64::MAX, 16), outside(u64::MAX, 16));
        assert_eq!(one(DATA, u32::MAX), outside(DATA, u32::MAX));
    }
}

#[test]
fn each_broken_rule_of_an_indirect_table_has_its_error() {
    let one = |guest, bytes, flags| of(&[(guest, bytes, INDIRECT | flags, 1), PLAIN]);
    // After another descriptor the rules are the same.
    let after = |guest, bytes, flags| {
        of(&[
            (DATA, 16, NEXT, 1),
            (guest, bytes, INDIRECT | flags, 2),
            PLAIN,
        ])
    };
    let outside = |guest, bytes| Err(RingError::TableOutside { guest, bytes });
    for table in [&one as &dyn Fn(u64, u32, u16) -> _, &after] {
        assert_eq!(table(TABLE, 16, NEXT), Err(RingError::IndirectNext));
        for bytes in [0, 8, 17] {
            assert_eq!(table(TABLE, bytes, 0), Err(RingError::TableBytes(bytes)));
        }
        assert_eq!(table(TABLE, 1 << 30, 0), outside(TABLE, 1 << 30));
        assert_eq!(table(END - 16, 32, 0), outside(END - 16, 32));
        assert_eq!(table(u64::MAX, 16, 0), outside(u64::MAX, 16));
        // A table of zeros: its only buffer is empty.
        assert_eq!(table(TABLE, 16, WRITE), Err(RingError::Empty { guest: 0 }));
        // A table that is the descriptor table itself: its entry 0 continues, or is indirect again.
        let error = table(0, 32, 0);
        assert!(matches!(error, Err(RingError::Nested)), "{error:?}");
    }
    let index = 1;
    for at in [TABLE, TABLE + 1, TABLE + 4, TABLE + 8] {
        assert_eq!(of_table(at, &[PLAIN]), Ok(true), "{at:#x}");
        let entries = 1;
        let next = RingError::Next { index, entries };
        assert_eq!(of_table(at, &[(DATA, 16, NEXT, 1)]), Err(next));
        let endless = RingError::Endless { entries };
        assert_eq!(of_table(at, &[(DATA, 16, NEXT, 0)]), Err(endless));
        assert_eq!(
            of_table(at, &[(DATA, 16, WRITE | NEXT, 1), PLAIN]),
            Err(RingError::Order)
        );
        for nested in [0, NEXT] {
            let descriptors = [(DATA, 16, NEXT, 1), (TABLE, 16, INDIRECT | nested, 0)];
            assert_eq!(of_table(at, &descriptors), Err(RingError::Nested));
        }
        assert_eq!(
            of_table(at, &[(DATA, 0, 0, 0)]),
            Err(RingError::Empty { guest: DATA })
        );
        // The rule of order holds over both parts, whatever the flags of the descriptor between them.
        assert_eq!(of_table(at, &[(DATA, 16, WRITE, 0)]), Ok(true));
    }
    let both = |between| {
        taken(false, |driver| {
            driver.write(TABLE, &[[DATA, 16]]).unwrap();
            driver.describe(0, DATA, 16, WRITE | NEXT, 1);
            driver.describe(1, TABLE, 16, INDIRECT | between, 0);
            driver.offer(0);
        })
    };
    assert_eq!([both(0), both(WRITE)], [Err(RingError::Order); 2]);
}

/// Descriptors of the ring and of the table count together, and so do their bytes.
#[test]
fn a_chain_is_not_too_long_in_both_parts_together() {
    for packed in [false, true] {
        for (ring, table, longest) in [
            (0, LONGEST, true),
            (7, LONGEST - 7, true),
            (7, LONGEST - 6, false),
        ] {
            let done = taken(packed, |driver| {
                let descriptor = |index: u64| {
                    let flags = u64::from(NEXT) * u64::from(index + 1 < table as u64);
                    let flags = if packed {
                        0
                    } else {
                        flags << 32 | (index + 1) << 48
                    };
                    [DATA, 8 | flags]
                };
                let words: Vec<_> = (0..table as u64).map(descriptor).collect();
                driver.write(TABLE, &words).unwrap();
                let buffers = vec![(DATA, 8, false); ring];
                driver
                    .submit_mixed(&buffers, TABLE, 16 * table as u32)
                    .unwrap();
            });
            let wanted = match (packed && ring > 0, longest) {
                (true, _) => Err(RingError::IndirectChained),
                (false, true) => Ok(true),
                (false, false) => Err(RingError::TooLong),
            };
            assert_eq!(done, wanted, "packed {packed}, {ring} and {table}");
        }
        let long = taken_of(2048, packed, |driver| {
            driver.submit(&vec![(DATA, 8, false); LONGEST + 1]).unwrap();
        });
        assert_eq!(long, Err(RingError::TooLong));
        let longest = taken_of(2048, packed, |driver| {
            driver.submit(&vec![(DATA, 8, false); LONGEST]).unwrap();
        });
        assert_eq!(longest, Ok(true));
    }
    // A table may have more descriptors than its chain.
    let more = taken(false, |driver| {
        driver.write(TABLE, &[[DATA, 8]]).unwrap();
        driver
            .submit_indirect(TABLE, 16 * (LONGEST as u32 + 1))
            .unwrap();
    });
    assert_eq!(more, Ok(true));
}

/// Of a memory of 8 MiB, 512 times as a whole.
#[test]
fn a_chain_of_a_split_ring_has_at_most_4_gib() {
    const MEMORY: u32 = 8 << 20;
    let file = memfd(MEMORY.into());
    for (table, last, wanted) in [
        (0, MEMORY, Ok(true)),
        (100, MEMORY, Ok(true)),
        (0, MEMORY - 1, Ok(true)),
        (100, 1, Err(RingError::TooLarge((1 << 32) + 1))),
        (0, 1, Err(RingError::TooLarge((1 << 32) + 1))),
    ] {
        let mut driver = Driver::of_file(&file, 1024, true, false).unwrap();
        let mut buffers = vec![(0, MEMORY, false); 511 + usize::from(last == 1)];
        buffers.push((0, last, false));
        let words: Vec<[u64; 2]> = (1..=table)
            .map(|next| {
                let flags = u64::from(NEXT) * u64::from(next < table);
                let bytes = if next == table { last } else { MEMORY };
                [0, u64::from(bytes) | flags << 32 | next << 48]
            })
            .collect();
        driver.write(TABLE, &words).unwrap();
        match table {
            0 => driver.submit(&buffers),
            _ => {
                let rest = buffers.len() - table as usize;
                driver.submit_mixed(&buffers[..rest], TABLE, 16 * table as u32)
            }
        }
        .unwrap();
        let mut ring = driver.device().unwrap();
        ring.look().unwrap();
        assert_eq!(ring.take(&mut Chain::new()), wanted, "{table}, {last}");
    }
}

#[test]
fn an_indirect_table_must_be_negotiated() {
    for packed in [false, true] {
        let (mut driver, mut ring) = pair_of(8, true, packed);
        ring.allow_indirect(false);
        driver.write(TABLE, &[[DATA, 8]]).unwrap();
        driver.submit(&[(DATA, 16, false)]).unwrap();
        driver.submit_indirect(TABLE, 16).unwrap();
        ring.look().unwrap();
        let mut chain = Chain::new();
        assert_eq!(ring.take(&mut chain), Ok(true));
        assert_eq!(ring.take(&mut chain), Err(RingError::IndirectUnwanted));
        let mut ring = driver.device().unwrap();
        ring.look().unwrap();
        assert_eq!(
            [ring.take(&mut chain), ring.take(&mut chain)],
            [Ok(true); 2]
        );
    }
}

const AVAIL: u16 = 1 << 7;
const USED: u16 = 1 << 15;

#[test]
fn each_broken_rule_of_a_packed_ring_has_its_error() {
    let one =
        |guest, bytes, flags| taken(true, move |d| d.describe(0, guest, bytes, flags, 0xffff));
    assert_eq!(one(DATA, 16, AVAIL), Ok(true), "any identifier is valid");
    for flags in [0, USED, AVAIL | USED] {
        assert_eq!(one(DATA, 16, flags), Ok(false), "{flags:#x}");
    }
    let joined = one(DATA, 16, AVAIL | NEXT);
    assert_eq!(joined, Ok(false), "the chain does not end yet");
    let outside = |guest, bytes| Err(RingError::Outside { guest, bytes });
    assert_eq!(one(DATA, 0, AVAIL), Err(RingError::Empty { guest: DATA }));
    assert_eq!(one(END - 8, 16, AVAIL), outside(END - 8, 16));
    assert_eq!(one(u64::MAX, 16, AVAIL), outside(u64::MAX, 16));
    assert_eq!(one(DATA, u32::MAX, AVAIL | WRITE), outside(DATA, u32::MAX));
    let table = |guest, bytes, flags| {
        taken(true, |d| {
            d.describe(0, guest, bytes, AVAIL | INDIRECT | flags, 0);
            d.describe(1, DATA, 16, AVAIL, 0);
        })
    };
    assert_eq!(table(TABLE, 16, NEXT), Err(RingError::IndirectChained));
    for bytes in [0, 8, 17] {
        assert_eq!(table(TABLE, bytes, 0), Err(RingError::TableBytes(bytes)));
    }
    let outside = |guest, bytes| Err(RingError::TableOutside { guest, bytes });
    assert_eq!(table(TABLE, 1 << 30, 0), outside(TABLE, 1 << 30));
    assert_eq!(table(END - 16, 32, 0), outside(END - 16, 32));
    let long = 16 * (LONGEST as u32 + 1);
    assert_eq!(table(TABLE, long, 0), Err(RingError::TooLong));
    // A table of zeros: empty buffers.
    assert_eq!(table(TABLE, 16, 0), Err(RingError::Empty { guest: 0 }));
    // Other flags than WRITE are ignored in a table, at any address.
    for at in [TABLE, TABLE + 1, TABLE + 8] {
        let reserved = taken(true, |driver| {
            let flags = u64::from(INDIRECT | NEXT | AVAIL) << 48;
            driver.write(at, &[[DATA, 16 | flags]]).unwrap();
            driver.submit_indirect(at, 16).unwrap();
        });
        assert_eq!(reserved, Ok(true));
    }
    let pair = |first: u16, second: u16| {
        taken(true, move |d| {
            d.describe(0, DATA, 16, AVAIL | NEXT | first, 0);
            d.describe(1, DATA, 16, AVAIL | second, 0);
        })
    };
    assert_eq!(pair(0, WRITE), Ok(true));
    assert_eq!(pair(WRITE, 0), Err(RingError::Order));
    assert_eq!(pair(0, INDIRECT), Err(RingError::IndirectChained));
    let endless = taken(true, |d| {
        (0..8).for_each(|at| d.describe(at, DATA, 1, AVAIL | NEXT, 0))
    });
    assert_eq!(endless, Err(RingError::Endless { entries: 8 }));
}

/// No two rules have the same text, and each says what is wrong.
#[test]
fn errors_say_what_is_wrong() {
    let (guest, bytes, entries, index) = (0x1000, 7, 8, 9);
    let part = Part::Used;
    let texts = [
        RingError::Head { index, entries }.to_string(),
        RingError::Next { index, entries }.to_string(),
        RingError::Endless { entries }.to_string(),
        RingError::TooLong.to_string(),
        RingError::TooLarge(1 << 33).to_string(),
        RingError::Changed.to_string(),
        RingError::Order.to_string(),
        RingError::IndirectUnwanted.to_string(),
        RingError::IndirectNext.to_string(),
        RingError::IndirectChained.to_string(),
        RingError::Nested.to_string(),
        RingError::TableBytes(bytes).to_string(),
        RingError::TableOutside { guest, bytes }.to_string(),
        RingError::Empty { guest }.to_string(),
        RingError::Outside { guest, bytes }.to_string(),
        RingError::Size(0).to_string(),
        RingError::NoPower(12).to_string(),
        RingError::PartOutside { part, guest, bytes }.to_string(),
        RingError::Unaligned { part, guest }.to_string(),
        RingError::Base { slot: 9, size: 8 }.to_string(),
        RingError::Inflight(RecordError::Unaligned).to_string(),
        RingError::Progress(RecordError::Version(3)).to_string(),
    ];
    for (number, text) in texts.iter().enumerate() {
        assert!(!texts[..number].contains(text), "{text}");
    }
    assert_eq!(texts[13], "a buffer of 0 bytes, at guest address 0x1000");
    assert_eq!(
        texts[18],
        "the used ring at guest address 0x1000 is not aligned to 4 bytes"
    );
    assert_eq!(texts[20], "the in-flight area is not aligned to 8 bytes");
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
    assert_eq!(ring.take(&mut chain), Err(RingError::Changed));
    let (driver, mut ring) = pair_of(8, true, true);
    driver.describe(0, DATA, 1, AVAIL, 0);
    driver.describe(1, DATA, 1, AVAIL, 0);
    assert_eq!(ring.look().unwrap().pending, 2);
    driver.describe(0, DATA, 1, AVAIL | NEXT, 0);
    assert_eq!(ring.take(&mut chain), Ok(true));
    assert_eq!(ring.take(&mut chain), Err(RingError::Changed));
}

#[test]
fn a_packed_ring_must_lie_in_memory() {
    let (driver, _) = pair_of(8, true, true);
    let at = driver.addresses();
    let new = |size, base| Ring::packed(size, &at, driver.memory(), base, true).map(drop);
    assert_eq!(new(8, 0x8000), Ok(()));
    assert_eq!(new(7, 0x0006), Ok(()), "any size");
    for size in [0, 32_769, 65_536] {
        assert_eq!(new(size, 0), Err(RingError::Size(size)));
    }
    let base = RingError::Base { slot: 8, size: 8 };
    assert_eq!(new(8, 0x8008), Err(base));
    type Place = fn(&mut RingAddresses, u64);
    let parts: [(Part, u32, u64, Place); 3] = [
        (Part::Packed, 128, 16, |at, guest| at.descriptors = guest),
        (Part::DriverEvents, 4, 4, |at, guest| at.available = guest),
        (Part::DeviceEvents, 4, 4, |at, guest| at.used = guest),
    ];
    for (part, bytes, align, place) in parts {
        each_place(part, bytes, align, |guest| {
            let mut at = driver.addresses();
            place(&mut at, guest);
            Ring::packed(8, &at, driver.memory(), 0, true).map(drop)
        });
    }
}

#[test]
fn a_ring_must_lie_in_memory() {
    let (driver, _) = pair(8, true);
    let at = driver.addresses();
    let new = |size| Ring::new(size, &at, driver.memory(), 0, true).map(drop);
    assert_eq!(new(8), Ok(()));
    assert_eq!(new(0), Err(RingError::Size(0)));
    assert_eq!(new(12), Err(RingError::NoPower(12)));
    for size in [32_769, 65_536] {
        assert_eq!(new(size), Err(RingError::Size(size)));
    }
    type Place = fn(&mut RingAddresses, u64);
    let parts: [(Part, u32, u64, Place); 3] = [
        (Part::Descriptors, 128, 16, |at, guest| {
            at.descriptors = guest
        }),
        (Part::Available, 22, 2, |at, guest| at.available = guest),
        (Part::Used, 70, 4, |at, guest| at.used = guest),
    ];
    for (part, bytes, align, place) in parts {
        each_place(part, bytes, align, |guest| {
            let mut at = driver.addresses();
            place(&mut at, guest);
            Ring::new(8, &at, driver.memory(), 0, true).map(drop)
        });
    }
}

/// A part of a ring may be where it is aligned and in memory.
fn each_place(part: Part, bytes: u32, align: u64, new: impl Fn(u64) -> Result<(), RingError>) {
    let last = (END - u64::from(bytes)) & !(align - 1);
    for guest in [0, align, last] {
        assert_eq!(new(guest), Ok(()), "{part} at {guest:#x}");
    }
    for guest in [align / 2, align - 1, last - 1] {
        let unaligned = RingError::Unaligned { part, guest };
        assert_eq!(new(guest), Err(unaligned));
    }
    for guest in [last + align, END, u64::MAX] {
        let outside = RingError::PartOutside { part, guest, bytes };
        assert_eq!(new(guest), Err(outside));
    }
}

/// A record of requests in flight, or of progress, that can't be used.
#[test]
fn each_wrong_record_has_its_error() {
    let record = |start: u64, bytes: u64, words: &[(usize, u16)]| {
        let mapping = Arc::new(Mapping::new(&memfd(1 << 16), 1 << 16).unwrap());
        let span = Span::new(&mapping, start, bytes).unwrap();
        for (at, word) in words {
            span.store_u16(*at, *word, Ordering::Relaxed);
        }
        span
    };
    for (packed, least) in [(false, 16 + 16 * 8), (true, 32 + 32 * 8)] {
        let new = |start, bytes, words: &[_]| {
            let (_, mut ring) = pair_of(8, true, packed);
            ring.track(record(start, bytes, words)).err()
        };
        let small = RecordError::Small {
            bytes: least as u32 - 8,
            wanted: least as u32,
        };
        let version = RecordError::Version(2);
        assert_eq!(new(0, least, &[]), None);
        assert_eq!(new(0, least - 8, &[]), Some(RingError::Inflight(small)));
        let unaligned = RingError::Inflight(RecordError::Unaligned);
        assert_eq!(new(4, least, &[]), Some(unaligned));
        let version = RingError::Inflight(version);
        assert_eq!(new(0, least, &[(8, 2)]), Some(version));
        let entries = RecordError::Entries {
            entries: 4,
            wanted: 8,
        };
        // A packed one is made anew.
        let entries = (!packed).then_some(RingError::Inflight(entries));
        assert_eq!(new(0, least, &[(8, 1), (10, 4)]), entries);
    }
    let keep = |start, bytes| {
        let (driver, mut ring) = pair_of(8, true, true);
        let (at, told) = (driver.addresses(), driver.start());
        ring.keep(record(start, bytes, &[]), &at, told).err()
    };
    let (bytes, wanted) = (128 + 56, 128 + 64);
    let small = RingError::Progress(RecordError::Small { bytes, wanted });
    let unaligned = RingError::Progress(RecordError::Unaligned);
    assert_eq!(keep(0, wanted.into()), None);
    assert_eq!(keep(0, bytes.into()), Some(small));
    assert_eq!(keep(4, wanted.into()), Some(unaligned));
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
const WANTED: u64 = 5_000;
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

/// A front-end may share memory in small regions: a buffer lies in as many as the longest chain has descriptors.
#[test]
fn a_buffer_in_many_regions_is_bounded() {
    const EACH: u64 = 4096;
    const RING: u64 = 1 << 20;
    let file = memfd(RING + EACH);
    let of = |parts: u64, buffers: usize| {
        let small = (0..parts).map(|n| Region::map(&file, RING, RING + n * EACH, 0, EACH));
        let rings = std::iter::once(Region::map(&file, 0, 0, 0, RING));
        let regions: Vec<Region> = rings.chain(small).map(Result::unwrap).collect();
        let memory = Arc::new(Memory::new(regions).unwrap());
        let mut driver = Driver::in_memory(&memory, 0, 1024, false).unwrap();
        let buffer = (RING, (parts * EACH) as u32, true);
        driver.submit(&vec![buffer; buffers]).unwrap();
        let (mut ring, mut chain) = (driver.device().unwrap(), Chain::new());
        ring.look().unwrap();
        let taken = ring.take(&mut chain);
        taken.map(|_| chain.writable().len())
    };
    assert_eq!(of(500, 2), Ok(1000));
    assert_eq!(of(500, 3), Err(RingError::TooLong));
}
