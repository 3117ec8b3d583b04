//! Rings with drivers that follow the rules.

use crate::common::{chain_is_sound, memfd, pair, pair_of};
use elvis_ring::driver::Driver;
use elvis_ring::{Chain, DirtyLog, Look, Mapping, Memory, Region, Ring, Span, inflight};
use proptest::prelude::*;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const DATA: u64 = 0x8_0000;

/// All kinds of rings: with EVENT_IDX or not, packed or not.
const KINDS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

#[test]
fn a_request_goes_round() {
    for packed in [false, true] {
        request_goes_round(packed);
    }
}

fn request_goes_round(packed: bool) {
    let (mut driver, mut ring) = pair_of(8, false, packed);
    assert_eq!(
        ring.look().unwrap(),
        Look {
            avail: 0,
            pending: 0
        }
    );
    let head = driver.submit(&[
        (DATA, 16, false),
        (DATA + 4096, 8, true),
        (DATA + 8192, 1, true),
    ]);
    let mut chain = Chain::new();
    assert_eq!(
        ring.look().unwrap(),
        Look {
            avail: 1,
            pending: 1
        }
    );
    assert!(ring.take(&mut chain).unwrap());
    assert!(chain_is_sound(&chain, driver.memory()));
    assert_eq!((chain.readable_bytes(), chain.writable_bytes()), (16, 9));
    let mut header = [1u8; 16];
    assert!(chain.read(0, &mut header));
    assert_eq!(header, [0; 16]);
    assert!(!chain.read(1, &mut header), "too much");
    assert!(chain.write(0, b"12345678!") && !chain.write(1, b"12345678!"));
    ring.put(chain.head(), 9);
    assert_eq!(driver.reply(), None, "not published yet");
    assert!(ring.publish(), "the driver wants a call");
    assert!(!ring.publish(), "nothing is new");
    assert_eq!(driver.reply(), Some((head.unwrap(), 9)));
    let written = driver.memory().span(DATA + 8192, 1).unwrap();
    assert_eq!(written.load_u8(0, Ordering::Relaxed), b'!');
    assert!(!ring.take(&mut chain).unwrap());
}

#[test]
fn a_buffer_may_cross_regions_and_not_their_end() {
    let file = memfd(0x4000);
    let region = |at: u64| Region::map(&file, at, 0x1_0000 + at, 0, 0x1000).unwrap();
    let memory = Arc::new(Memory::new(vec![region(0x2000), region(0), region(0x1000)]).unwrap());
    let mut driver = Driver::in_memory(&memory, 0x1_0000, 8, true).unwrap();
    let mut ring = Ring::new(8, &driver.addresses(), &memory, 0, true).unwrap();
    let mut chain = Chain::new();
    driver.submit(&[(0x1_0f00, 0x1200, false)]).unwrap();
    ring.look().unwrap();
    assert!(ring.take(&mut chain).unwrap());
    assert!(chain_is_sound(&chain, &memory));
    assert_eq!(
        chain.readable().iter().map(|s| s.bytes).collect::<Vec<_>>(),
        [0x100, 0x1000, 0x100]
    );
    driver.submit(&[(0x1_2f00, 0x101, true)]).unwrap();
    ring.look().unwrap();
    assert!(ring.take(&mut chain).is_err());
    assert!(
        Memory::new(vec![region(0), region(0)]).is_err(),
        "they overlap"
    );
    assert!(
        Region::map(&file, 0x2000, 0, 0, 0x2001).is_err(),
        "the file is shorter"
    );
}

/// A polled queue is not kicked, however often its index wraps, which matters with EVENT_IDX.
#[test]
fn a_disarmed_ring_is_never_kicked() {
    for (event_idx, packed) in KINDS {
        let (mut driver, mut ring) = pair_of(64, event_idx, packed);
        let mut chain = Chain::new();
        ring.disarm();
        let mut kicks = 0;
        for _ in 0..300_000 {
            driver.submit(&[(DATA, 16, false)]).unwrap();
            kicks += u32::from(driver.kick_wanted());
            ring.look().unwrap();
            assert!(ring.take(&mut chain).unwrap());
            ring.put(chain.head(), 0);
            ring.publish();
            driver.reply().unwrap();
        }
        assert_eq!(kicks, 0, "event_idx {event_idx}, packed {packed}");
        ring.arm();
        driver.submit(&[(DATA, 16, false)]).unwrap();
        assert!(driver.kick_wanted());
        driver.submit(&[(DATA, 16, false)]).unwrap();
        assert_eq!(driver.kick_wanted(), !event_idx, "the second one");
    }
}

#[test]
fn a_driver_that_looks_late_does_not_kick_for_what_is_taken() {
    for packed in [false, true] {
        driver_looks_late(packed);
    }
}

fn driver_looks_late(packed: bool) {
    let (mut driver, mut ring) = pair_of(8, true, packed);
    let mut chain = Chain::new();
    for _ in 0..200_000 {
        // The device takes the request after the driver wrote its index, before it reads avail_event.
        driver
            .submit(&[(DATA, 16, false), (DATA + 8192, 1, true)])
            .unwrap();
        ring.disarm();
        ring.look().unwrap();
        assert!(ring.take(&mut chain).unwrap());
        ring.arm();
        ring.disarm();
        assert!(!driver.kick_wanted());
        ring.put(chain.head(), 1);
        ring.publish();
        driver.reply().unwrap();
    }
}

/// As a network device does when the driver's buffers are too few for a frame.
#[test]
fn a_ring_that_is_armed_with_requests_left_is_kicked_for_more() {
    for (event_idx, packed) in KINDS {
        let (mut driver, mut ring) = pair_of(8, event_idx, packed);
        let mut chain = Chain::new();
        for left in (0..40).map(|round| 1 + round % 3) {
            ring.disarm();
            for _ in 0..left {
                driver.submit(&[(DATA, 16, false)]).unwrap();
            }
            assert!(!driver.kick_wanted());
            ring.look().unwrap();
            assert!(ring.take(&mut chain).unwrap());
            ring.untake(chain.head());
            ring.arm();
            assert_eq!(ring.look().unwrap().pending, left);
            driver.submit(&[(DATA, 16, false)]).unwrap();
            let what = format!("event_idx {event_idx}, packed {packed}");
            assert!(driver.kick_wanted(), "{what}");
            ring.look().unwrap();
            while ring.take(&mut chain).unwrap() {
                ring.put(chain.head(), 0);
            }
            ring.publish();
            while driver.reply().is_some() {}
        }
    }
}

#[test]
fn calls_are_as_the_driver_wants() {
    for (event_idx, packed) in KINDS {
        let (mut driver, mut ring) = pair_of(64, event_idx, packed);
        let mut chain = Chain::new();
        for wanted in [true, false, true, false, false, true] {
            driver.want_calls(wanted);
            for _ in 0..3 {
                driver.submit(&[(DATA, 16, false)]).unwrap();
            }
            ring.look().unwrap();
            while ring.take(&mut chain).unwrap() {
                ring.put(chain.head(), 0);
            }
            let what = format!("event_idx {event_idx}, packed {packed}");
            assert_eq!(ring.publish(), wanted, "{what}");
            while driver.reply().is_some() {}
        }
    }
}

#[test]
fn a_call_that_was_put_off_is_not_made_for_replies_that_were_found() {
    for (event_idx, packed) in KINDS {
        let (mut driver, mut ring) = pair_of(8, event_idx, packed);
        let mut chain = Chain::new();
        driver.want_calls(true);
        for _ in 0..70_000 {
            driver.submit(&[(DATA, 16, false)]).unwrap();
            ring.look().unwrap();
            assert!(ring.take(&mut chain).unwrap());
            ring.put(chain.head(), 0);
            assert!(ring.publish() && ring.call_wanted());
            driver.reply().unwrap();
            driver.want_calls(true);
            // Without EVENT_IDX the device can't see which replies the driver has found.
            assert_eq!(ring.call_wanted(), !event_idx);
        }
        if !event_idx {
            driver.want_calls(false);
            assert!(!ring.call_wanted());
        }
    }
}

#[test]
fn what_is_written_is_logged() {
    let log_file = memfd(4096);
    let log = DirtyLog::map(&log_file, 0, 4096).unwrap();
    let pages = || {
        let mut bits = [0u8; 4096];
        log_file.read_exact_at(&mut bits, 0).unwrap();
        (0..4096 * 8)
            .filter(|page| bits[page / 8] >> (page % 8) & 1 == 1)
            .collect::<Vec<_>>()
    };
    log.mark(0x5fff, 2);
    assert_eq!(pages(), [5, 6]);
    log.mark(u64::MAX - 5, 100);
    log.mark(0x7000, 0);
    assert_eq!(pages(), [5, 6], "no bit for these");
    let (mut driver, _) = pair(8, false);
    let mut at = driver.addresses();
    at.used_log = Some(0x10_0000);
    let mut ring = Ring::new(8, &at, driver.memory(), 0, false).unwrap();
    ring.log_to(Some(log));
    driver.submit(&[(DATA, 16, false)]).unwrap();
    ring.look().unwrap();
    let mut chain = Chain::new();
    ring.take(&mut chain).unwrap();
    ring.put(chain.head(), 0);
    ring.publish();
    assert_eq!(pages(), [5, 6, 0x100]);
    let packed = |used_log| {
        log_file.write_all_at(&[0; 4096], 0).unwrap();
        let mut driver = Driver::of_memory(driver.memory(), 0x2000, 512, false, true).unwrap();
        let mut at = driver.addresses();
        at.used_log = used_log;
        let (memory, start) = (driver.memory(), driver.start());
        let mut ring = Ring::packed(512, &at, memory, start, false).unwrap();
        ring.log_to(Some(DirtyLog::map(&log_file, 0, 4096).unwrap()));
        for _ in 0..257 {
            driver.submit(&[(DATA, 16, false)]).unwrap();
        }
        ring.look().unwrap();
        let mut chain = Chain::new();
        while ring.take(&mut chain).unwrap() {
            ring.put(chain.head(), 0);
        }
        let unpublished = pages();
        ring.publish();
        ring.disarm();
        (unpublished, pages())
    };
    assert_eq!(packed(Some(0x10_0000)), (vec![2, 3], vec![2, 3, 0x100]));
    assert_eq!(packed(None), (vec![], vec![]));
}

/// A request that is given back is taken exactly once by the next owner of the ring, whether it is found by
/// the ring's index or by the in-flight record of a process that died.
#[test]
fn a_request_that_is_left_is_taken_once_more() {
    const SIZE: u16 = 16;
    for (died, packed) in KINDS {
        let what = format!("died {died}, packed {packed}");
        let (mut driver, mut ring) = pair_of(SIZE, false, packed);
        let bytes = inflight::region_bytes(SIZE, packed);
        let mapping = Arc::new(Mapping::new(&memfd(bytes), bytes).unwrap());
        let region = Span::new(&mapping, 0, bytes).unwrap();
        ring.track(region.clone()).unwrap();
        let places = [0, 1].map(|n| DATA + n * 64);
        for place in places {
            let buffers = [(place, 16, false), (place + 16, 16, true)];
            driver.submit(&buffers).unwrap();
        }
        let mut chain = Chain::new();
        ring.look().unwrap();
        assert!(ring.take(&mut chain).unwrap());
        if died {
            ring = driver.device().unwrap();
            ring.track(region.clone()).unwrap();
            ring.look().unwrap();
            assert!(ring.take(&mut chain).unwrap());
        }
        ring.untake(chain.head());
        assert_eq!(ring.look().unwrap().pending, 2);
        let mut next = driver.device_at(ring.base()).unwrap();
        next.track(region).unwrap();
        assert_eq!(next.look().unwrap().pending, 2, "{what}");
        for place in places {
            assert!(next.take(&mut chain).unwrap());
            assert_eq!(chain.readable()[0].guest, place, "{what}");
            next.put(chain.head(), 0);
        }
        assert!(!next.take(&mut chain).unwrap());
        next.publish();
        assert!(driver.reply().is_some() && driver.reply().is_some());
    }
}

/// The size of a ring, which is packed or not.
fn size() -> impl Strategy<Value = (u16, bool)> {
    prop_oneof![
        (0u32..8).prop_map(|log| (1 << log, false)),
        (1u16..130).prop_map(|size| (size, true)),
    ]
}

/// A table is one descriptor of the ring, also if the process ends that has taken it.
#[test]
fn a_table_is_taken_as_its_buffers() {
    for (packed, again) in KINDS {
        let (mut driver, mut ring) = pair_of(4, true, packed);
        let bytes = inflight::region_bytes(4, packed);
        let mapping = Arc::new(Mapping::new(&memfd(bytes), bytes).unwrap());
        let region = Span::new(&mapping, 0, bytes).unwrap();
        ring.track(region.clone()).unwrap();
        let mut chain = Chain::new();
        for round in 0..9u64 {
            let buffers: Vec<_> = (0..=round)
                .map(|n| (DATA + n * 4096, 16 + round as u32, n > round / 2))
                .collect();
            // At any address.
            let table = 0x4_0000 + round;
            driver.write_table(table, &buffers).unwrap();
            let number = driver.submit_indirect(table, 16 * (round as u32 + 1));
            ring.look().unwrap();
            assert!(ring.take(&mut chain).unwrap());
            if again {
                ring = driver.device().unwrap();
                ring.track(region.clone()).unwrap();
                assert_eq!(ring.look().unwrap().pending, 1);
                assert!(ring.take(&mut chain).unwrap());
            }
            let all = buffers_of(&chain);
            assert_eq!(all, buffers, "packed {packed}, again {again}");
            ring.put(chain.head(), 5);
            ring.publish();
            assert_eq!(driver.reply(), Some((number.unwrap(), 5)));
        }
    }
}

/// The buffers of a chain, as (address, length, whether the device writes it).
fn buffers_of(chain: &Chain) -> Vec<(u64, u32, bool)> {
    let read = chain.readable().iter().map(|s| (s.guest, s.bytes, false));
    let written = chain.writable().iter().map(|s| (s.guest, s.bytes, true));
    read.chain(written).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A split ring's chain is the same to a device whether its descriptors are in the ring, in an indirect table, or
    /// in the ring and then in a table, wherever that is (sections 2.7.5.3.1 and 2.7.5.3.2); also to the next process.
    #[test]
    fn a_chain_may_end_in_a_table(lengths in prop::collection::vec((1u32..5000, any::<bool>()), 1..40), cut in 0usize..41, at in 0u64..64, died: bool) {
        let (mut driver, mut ring) = pair_of(64, true, false);
        let region = Span::new(&Arc::new(Mapping::new(&memfd(4096), 4096).unwrap()), 0, 4096).unwrap();
        ring.track(region.clone()).unwrap();
        let mut buffers: Vec<_> = (0..).zip(&lengths).map(|(n, &(bytes, written))| (DATA + n * 8192, bytes, written)).collect();
        buffers.sort_by_key(|buffer| buffer.2);
        let (table, cut) = (0x4_0000 + at, cut.min(buffers.len()));
        let number = match buffers.split_at(cut) {
            (all, []) => driver.submit(all),
            (before, rest) => {
                driver.write_table(table, rest).unwrap();
                driver.submit_mixed(before, table, 16 * rest.len() as u32)
            }
        };
        let mut chain = Chain::new();
        ring.look().unwrap();
        prop_assert!(ring.take(&mut chain).unwrap());
        if died {
            ring = driver.device().unwrap();
            ring.track(region).unwrap();
            ring.look().unwrap();
            prop_assert!(ring.take(&mut chain).unwrap());
        }
        prop_assert!(chain_is_sound(&chain, driver.memory()));
        prop_assert_eq!(buffers_of(&chain), buffers);
        ring.put(chain.head(), 3);
        ring.publish();
        prop_assert_eq!(driver.reply(), Some((number.unwrap(), 3)));
    }

    /// The device gets requests unchanged and in order, for any ring and any load.
    #[test]
    fn requests_come_as_they_were_made((size, packed) in size(), event_idx: bool, load in prop::collection::vec((1u64..5, 1u32..5000, any::<bool>()), 1..100)) {
        let (mut driver, mut ring) = pair_of(size, event_idx, packed);
        let mut chain = Chain::new();
        let mut made = std::collections::VecDeque::new();
        for (count, bytes, serve) in load {
            let buffers: Vec<_> = (0..count).map(|n| (DATA + n * 8192, bytes + n as u32, n * 2 >= count)).collect();
            if let Some(head) = driver.submit(&buffers) {
                made.push_back((head, buffers));
            }
            if !serve {
                continue;
            }
            prop_assert_eq!(usize::from(ring.look().unwrap().pending), made.len());
            prop_assert_eq!(usize::from(ring.known()), made.len());
            ring.prefetch();
            while ring.take(&mut chain).unwrap() {
                let (head, buffers) = made.pop_front().unwrap();
                prop_assert_eq!(usize::from(ring.known()), made.len());
                prop_assert!(packed || chain.head() == head);
                prop_assert!(chain_is_sound(&chain, driver.memory()));
                prop_assert_eq!(buffers_of(&chain), buffers);
                ring.put(chain.head(), 7);
                ring.publish();
                prop_assert_eq!(driver.reply(), Some((head, 7)));
            }
        }
    }

    /// Pieces together are exactly the requested range.
    #[test]
    fn pieces_are_cuts(lengths in prop::collection::vec(1u32..50, 1..6), skip in 0u64..100, bytes in 0u64..200) {
        let (mut driver, mut ring) = pair(8, false);
        let mut at = 0;
        let buffers: Vec<_> = lengths.iter().map(|&bytes| {
            let buffer = (DATA + at, bytes, false);
            at += u64::from(bytes);
            buffer
        }).collect();
        driver.submit(&buffers).unwrap();
        let mut chain = Chain::new();
        ring.look().unwrap();
        prop_assert!(ring.take(&mut chain).unwrap());
        let start = driver.memory().span(DATA, at).unwrap().start() as u64;
        let mut expect = skip;
        for piece in chain.readable_pieces(skip, bytes) {
            prop_assert_eq!(piece.address() as u64, start + expect);
            expect += piece.bytes() as u64;
        }
        prop_assert_eq!(expect.max(skip), skip.max(at.min(skip + bytes)));
    }
}
