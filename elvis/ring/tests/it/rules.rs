//! Rings with drivers that follow the rules.

use crate::common::{chain_is_sound, memfd, pair};
use elvis_ring::driver::Driver;
use elvis_ring::{Chain, DirtyLog, Inflight, Look, Mapping, Memory, Region, Ring, Span, inflight};
use proptest::prelude::*;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

const DATA: u64 = 0x8_0000;

#[test]
fn a_request_goes_round() {
    let (mut driver, mut ring) = pair(8, false);
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
    assert_eq!(
        written.load_u8(0, std::sync::atomic::Ordering::Relaxed),
        b'!'
    );
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
    for event_idx in [false, true] {
        let (mut driver, mut ring) = pair(64, event_idx);
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
        assert_eq!(kicks, 0, "event_idx {event_idx}");
        ring.arm();
        driver.submit(&[(DATA, 16, false)]).unwrap();
        assert!(driver.kick_wanted());
    }
}

#[test]
fn a_driver_that_looks_late_does_not_kick_for_what_is_taken() {
    let (mut driver, mut ring) = pair(8, true);
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

#[test]
fn calls_are_as_the_driver_wants() {
    for event_idx in [false, true] {
        let (mut driver, mut ring) = pair(64, event_idx);
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
            assert_eq!(ring.publish(), wanted, "event_idx {event_idx}");
            while driver.reply().is_some() {}
        }
    }
}

#[test]
fn a_call_that_was_put_off_is_not_made_for_replies_that_were_found() {
    for event_idx in [false, true] {
        let (mut driver, mut ring) = pair(8, event_idx);
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
}

/// If a device ends between any two writes, the next one runs exactly the requests that were not
/// acknowledged.
#[test]
fn requests_in_flight_survive_the_device() {
    const SIZE: u16 = 16;
    for end in 0..40 {
        let (mut driver, mut ring) = pair(SIZE, false);
        let notes_file = memfd(inflight::region_bytes(SIZE));
        let notes = || {
            let bytes = inflight::region_bytes(SIZE);
            let mapping = Arc::new(Mapping::new(&notes_file, bytes).unwrap());
            Inflight::new(Span::new(&mapping, 0, bytes).unwrap(), SIZE).unwrap()
        };
        ring.track(notes());
        let mut chain = Chain::new();
        let mut submitted = 0u64;
        let mut acknowledged = Vec::new();
        let mut open: Vec<u16> = Vec::new();
        let mut written = 0;
        // After each step the device may end.
        'device: for round in 0.. {
            while submitted < 10 {
                driver
                    .submit(&[(DATA + submitted * 16, 16, false)])
                    .unwrap();
                submitted += 1;
            }
            ring.look().unwrap();
            while open.len() < 4 && ring.take(&mut chain).unwrap() {
                open.push(chain.head());
                written += 1;
                if written > end {
                    break 'device;
                }
            }
            // Replies out of order.
            for _ in 0..2 {
                if open.is_empty() {
                    break;
                }
                ring.put(open.remove(round % open.len()), 0);
                written += 1;
                if written > end {
                    break 'device;
                }
            }
            let mut before = vec![0u8; inflight::region_bytes(SIZE) as usize];
            notes_file.read_exact_at(&mut before, 0).unwrap();
            ring.publish();
            written += 1;
            if written > end {
                // As if it ended after publishing, and before recording that.
                notes_file.write_all_at(&before, 0).unwrap();
                break 'device;
            }
            if round > 20 {
                break;
            }
        }
        while let Some((head, _)) = driver.reply() {
            acknowledged.push(head);
        }
        drop(ring);
        let mut ring =
            Ring::new(SIZE.into(), &driver.addresses(), driver.memory(), 0, false).unwrap();
        ring.track(notes());
        let pending = ring.look().unwrap().pending;
        assert_eq!(
            u64::from(pending),
            submitted - acknowledged.len() as u64,
            "end {end}"
        );
        let mut again = Vec::new();
        while ring.take(&mut chain).unwrap() {
            again.push(chain.head());
            ring.put(chain.head(), 0);
        }
        ring.publish();
        for head in &again {
            assert!(
                !acknowledged.contains(head),
                "end {end}: {head} was acknowledged"
            );
        }
        assert_eq!(again.len() + acknowledged.len(), 10, "end {end}");
        assert!(again.windows(2).all(|pair| pair[0] != pair[1]));
        while driver.reply().is_some() {}
        drop(ring);
        let mut third =
            Ring::new(SIZE.into(), &driver.addresses(), driver.memory(), 0, false).unwrap();
        third.track(notes());
        assert_eq!(third.look().unwrap().pending, 0, "end {end}");
    }
}

/// A request that is given back is taken exactly once by the next owner of the ring, whether it is found by
/// the ring's index or by the in-flight record of a process that died.
#[test]
fn a_request_that_is_left_is_taken_once_more() {
    const SIZE: u16 = 16;
    for died in [false, true] {
        let (mut driver, mut ring) = pair(SIZE, false);
        let bytes = inflight::region_bytes(SIZE);
        let mapping = Arc::new(Mapping::new(&memfd(bytes), bytes).unwrap());
        let region = Span::new(&mapping, 0, bytes).unwrap();
        let notes = || Inflight::new(region.clone(), SIZE).unwrap();
        let at = driver.addresses();
        let new = |driver: &Driver, next| {
            Ring::new(SIZE.into(), &at, driver.memory(), next, false).unwrap()
        };
        ring.track(notes());
        let heads = [0, 1].map(|n| driver.submit(&[(DATA + n * 16, 16, false)]).unwrap());
        let mut chain = Chain::new();
        ring.look().unwrap();
        assert!(ring.take(&mut chain).unwrap());
        if died {
            ring = new(&driver, 0);
            ring.track(notes());
            ring.look().unwrap();
            assert!(ring.take(&mut chain).unwrap());
        }
        ring.untake(heads[0]);
        assert_eq!(ring.look().unwrap().pending, 2);
        let mut next = new(&driver, ring.next());
        next.track(notes());
        assert_eq!(next.look().unwrap().pending, 2, "died: {died}");
        for head in heads {
            assert!(next.take(&mut chain).unwrap());
            assert_eq!(chain.head(), head, "died: {died}");
            next.put(head, 0);
        }
        assert!(!next.take(&mut chain).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The device gets requests unchanged and in order, for any ring and any load.
    #[test]
    fn requests_come_as_they_were_made(log_size in 0u32..8, event_idx: bool, load in prop::collection::vec((1u64..5, 1u32..5000, any::<bool>()), 1..100)) {
        let (mut driver, mut ring) = pair(1 << log_size, event_idx);
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
            while ring.take(&mut chain).unwrap() {
                let (head, buffers) = made.pop_front().unwrap();
                prop_assert_eq!(chain.head(), head);
                prop_assert!(chain_is_sound(&chain, driver.memory()));
                let all: Vec<_> = chain.readable().iter().map(|s| (s.guest, s.bytes, false))
                    .chain(chain.writable().iter().map(|s| (s.guest, s.bytes, true))).collect();
                prop_assert_eq!(all, buffers);
                ring.put(head, 7);
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
