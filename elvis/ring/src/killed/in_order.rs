//! Tests of a killed device that ends requests in order and records its progress in a packed ring (`progress`). Replies
//! that were published together are seen together, and a record of another ring is never used.

use super::{MEMORY, SIZE, Scene, dead, memory, random, request, with_writes};
use crate::driver::Driver;
use crate::{Chain, Mapping, Ring, RingAddresses, Span, progress};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn record() -> Span {
    let bytes = progress::bytes(SIZE);
    let mapping = Arc::new(Mapping::new(&memory(bytes), bytes).unwrap());
    Span::new(&mapping, 0, bytes).unwrap()
}

/// The device of a new process: its front-end tells it where the ring started at first.
fn device(driver: &Driver, record: &Span) -> Ring {
    let (mut ring, told) = (driver.device().unwrap(), driver.start());
    let kept = ring.keep(record.clone(), &driver.addresses(), told);
    kept.unwrap();
    ring
}

/// Requests that a device has taken, and the number of ended requests at each publication.
#[derive(Default)]
struct Work {
    taken: VecDeque<(u16, u64)>,
    published: Vec<u64>,
}

impl Work {
    /// Takes some requests, gives some of them back, ends some of the others, and publishes, or not yet.
    fn step(&mut self, ring: &mut Ring, chain: &mut Chain, chance: &mut u64) {
        let looked = ring.look();
        if dead() {
            return;
        }
        looked.unwrap();
        for _ in 0..random(chance) % 5 {
            let taken = ring.take(chain);
            if dead() {
                return;
            }
            if taken.unwrap() {
                self.taken.push_back((chain.head(), request(chain)));
            }
        }
        for _ in 0..random(chance) % 2 {
            if let Some((head, _)) = self.taken.pop_back() {
                ring.untake(head);
            }
        }
        let (mut ended, count) = (None, random(chance) % 5);
        for (head, request) in self.taken.drain(..self.taken.len().min(count as usize)) {
            ring.put(head, request as u32);
            ended = Some(request + 1);
        }
        self.published.extend(ended);
        ring.publish();
    }
}

/// Runs a device that dies after `writes` writes, one that dies early, and one that lives. False if the first one
/// lived.
fn killed(writes: u64, seed: u64) -> bool {
    let (mut scene, record) = (Scene::new(true), record());
    let (mut chance, mut chain, mut left) = (seed, Chain::new(), writes);
    let (what, mut work) = (format!("{writes} writes, seed {seed}"), Work::default());
    let (now, mut ring) = with_writes(left, || device(&scene.driver, &record));
    left = now;
    for _ in 0..40 {
        if left == 0 {
            break;
        }
        scene.make();
        (left, ()) = with_writes(left, || work.step(&mut ring, &mut chain, &mut chance));
        scene.see_replies();
    }
    let lived = left > 0;
    drop(ring);
    if random(&mut chance) % 2 == 0 {
        scene.make();
    }
    with_writes(random(&mut chance) % 40, || {
        let mut ring = device(&scene.driver, &record);
        let mut second = Work::default();
        if !dead() {
            second.step(&mut ring, &mut chain, &mut chance);
            work.published.append(&mut second.published);
        }
    });
    scene.see_replies();
    let mut ring = device(&scene.driver, &record);
    scene.see_replies();
    let ended = scene.acknowledged.len() as u64;
    assert!(
        ended == 0 || work.published.contains(&ended),
        "{ended} were never published together: {what}"
    );
    let open = scene.made - ended;
    assert_eq!(u64::from(ring.look().unwrap().pending), open, "{what}");
    for _ in 0..3 {
        ring.look().unwrap();
        while ring.take(&mut chain).unwrap() {
            ring.put(chain.head(), request(&chain) as u32);
        }
        ring.publish();
        scene.see_replies();
        assert!(scene.open.is_empty(), "{what}");
        scene.make();
    }
    assert!(
        scene
            .acknowledged
            .iter()
            .copied()
            .eq(0..scene.acknowledged.len() as u64),
        "not in order: {what}"
    );
    !lived
}

#[test]
fn a_packed_ring_served_in_order_survives_a_device_that_is_killed_after_any_write() {
    for seed in 1..=20u64 {
        let mut writes = 1;
        while killed(writes, seed << 32 | 0x9e37_79b9) {
            writes += 1;
        }
        assert!(writes > 100, "only {writes} writes");
    }
}

/// Makes `count` requests of one buffer, and ends them.
fn serve(driver: &mut Driver, ring: &mut Ring, count: u32) {
    let mut chain = Chain::new();
    for _ in 0..count {
        let number = driver.submit(&[(0x8_0000, 16, false)]).unwrap();
        ring.look().unwrap();
        assert!(ring.take(&mut chain).unwrap());
        ring.put(chain.head(), 0);
        ring.publish();
        assert_eq!(driver.reply(), Some((number, 0)));
    }
}

/// The position at which a new process continues, as [`Ring::base`] says.
fn continues(driver: &Driver, record: &Span) -> u32 {
    device(driver, record).base()
}

#[test]
fn a_ring_that_was_reset_meanwhile_starts_anew() {
    for (served, event_idx) in (0..40).flat_map(|served| [(served, false), (served, true)]) {
        let file = memory(MEMORY);
        let mut driver = Driver::of_file(&file, SIZE, event_idx, true).unwrap();
        let record = record();
        let mut ring = device(&driver, &record);
        serve(&mut driver, &mut ring, served);
        let went_on = ring.base();
        assert_eq!(continues(&driver, &record), went_on);
        for made in 0..=u64::from(SIZE) {
            let again = record_of(&record);
            driver.span().zero();
            let mut new = Driver::of_memory(driver.memory(), 0, SIZE, event_idx, true).unwrap();
            for _ in 0..made {
                new.submit(&[(0x8_0000, 16, false)]).unwrap();
            }
            let mut ring = device(&new, &again);
            assert_eq!(ring.base(), new.start(), "{served} served, {made} made");
            assert_eq!(u64::from(ring.look().unwrap().pending), made);
        }
    }
}

/// A copy of a record.
fn record_of(other: &Span) -> Span {
    let copy = record();
    for at in (0..copy.bytes()).step_by(8) {
        copy.store_u64(at, other.load_u64(at, Ordering::Relaxed), Ordering::Relaxed);
    }
    copy
}

/// A driver that leaves the device's event structure as it is, and zeroes the descriptors, as it must.
#[test]
fn the_last_used_element_shows_a_reset_in_the_first_round() {
    for served in 1..=u32::from(SIZE) {
        let mut driver = Driver::of_file(&memory(MEMORY), SIZE, true, true).unwrap();
        let record = record();
        let mut ring = device(&driver, &record);
        serve(&mut driver, &mut ring, served);
        let descriptors = driver.span().part(0, 16 * usize::from(SIZE)).unwrap();
        descriptors.zero();
        assert_eq!(continues(&driver, &record), driver.start());
    }
}

#[test]
fn a_record_of_another_ring_is_not_used() {
    let file = memory(MEMORY);
    let mut driver = Driver::of_file(&file, SIZE, true, true).unwrap();
    let record = record();
    let mut ring = device(&driver, &record);
    serve(&mut driver, &mut ring, 3);
    let (there, start) = (ring.base(), driver.start());
    assert_eq!((there & 0x7fff, there >> 16 & 0x7fff), (3, 3));
    assert_eq!(continues(&driver, &record), there);
    let kept = |driver: &Driver, at: &RingAddresses, told: u32, record: &Span| {
        let mut ring = Ring::packed(SIZE.into(), at, driver.memory(), told, true).unwrap();
        ring.keep(record_of(record), at, told).unwrap();
        ring.base()
    };
    let at = driver.addresses();
    assert_eq!(kept(&driver, &at, start, &record), there);
    // The front-end knows another place.
    let told = start | 5 << 16 | 5;
    assert_eq!(kept(&driver, &at, told, &record), told);
    // Another address.
    let available = at.available + 4;
    assert_eq!(
        kept(&driver, &RingAddresses { available, ..at }, start, &record),
        start
    );
    // A file with the same bytes is another file.
    let other = memory(MEMORY);
    std::io::copy(&mut &file, &mut &other).unwrap();
    let copy = Driver::of_file(&other, SIZE, true, true).unwrap();
    assert_eq!(kept(&copy, &at, start, &record), start);
    // A damaged one: another version, a place that the ring does not have.
    for (at, word) in [(0, 1), (64, 0x7fff), (64, 0x7fff << 16), (64, 0x7fff << 48)] {
        let damaged = record_of(&record);
        damaged.store_u64(at, word, Ordering::Relaxed);
        assert_eq!(continues(&driver, &damaged), start);
    }
    // A cleared record is not used.
    assert!(progress::says(&record));
    progress::clear(&record);
    assert!(!progress::says(&record));
    assert_eq!(continues(&driver, &record), start);
    // A record that is too small is refused.
    let small = record.part(0, 64).unwrap();
    let mut ring = driver.device().unwrap();
    assert!(ring.keep(small, &at, start).is_err());
}

/// Frames in one chain or several, of all lengths, with the place where a ring goes round.
#[test]
fn what_was_taken_and_not_ended_is_taken_again() {
    let (mut scene, record, mut chain) = (Scene::new(true), record(), Chain::new());
    for round in 0..100u64 {
        let mut ring = device(&scene.driver, &record);
        scene.make();
        ring.look().unwrap();
        let first = scene.acknowledged.len() as u64;
        for number in 0..=round % 3 {
            assert!(ring.take(&mut chain).unwrap());
            assert_eq!(request(&chain), first + number);
        }
        drop(ring);
        let mut ring = device(&scene.driver, &record);
        ring.look().unwrap();
        assert!(ring.take(&mut chain).unwrap());
        assert_eq!(request(&chain), first);
        ring.put(chain.head(), first as u32);
        ring.publish();
        scene.see_replies();
    }
    assert_eq!(scene.acknowledged.len(), 100);
}
