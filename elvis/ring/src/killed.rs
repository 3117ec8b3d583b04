//! Tests of a device that is killed between any two of its writes to shared memory: its successor runs exactly
//! the requests that were not acknowledged.

mod in_order;

use crate::driver::Driver;
use crate::{Chain, Mapping, Ring, Span, inflight};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

thread_local! {
    /// Number of writes that the device of this thread still makes.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Whether a write takes place: not if the device is dead.
pub(crate) fn may_write() -> bool {
    LEFT.with(|left| match left.get() {
        0 => false,
        u64::MAX => true,
        count => {
            left.set(count - 1);
            true
        }
    })
}

/// Whether the device has died. Its reads then mean nothing, as its writes did not take place.
fn dead() -> bool {
    LEFT.with(|left| left.get() == 0)
}

/// Runs `work` as a device that dies after `left` writes. Returns how many writes were left.
fn with_writes<T>(left: u64, work: impl FnOnce() -> T) -> (u64, T) {
    LEFT.with(|it| it.set(left));
    let result = work();
    (LEFT.with(|it| it.replace(u64::MAX)), result)
}

const SIZE: u16 = 8;
const DATA: u64 = 0x8_0000;
const MEMORY: u64 = 1 << 20;

fn memory(bytes: u64) -> File {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = File::from(rustix::fs::memfd_create("elvis-killed-test", flags).unwrap());
    file.set_len(bytes).unwrap();
    file
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 8
}

/// Driver with its requests and the replies that it saw.
struct Scene {
    driver: Driver,
    notes: Span,
    made: u64,
    /// Requests without a reply, by the number that the reply will have.
    open: BTreeMap<u16, u64>,
    acknowledged: Vec<u64>,
}

impl Scene {
    fn new(packed: bool) -> Self {
        let bytes = inflight::region_bytes(SIZE, packed);
        let mapping = Arc::new(Mapping::new(&memory(bytes), bytes).unwrap());
        Self {
            driver: Driver::of_file(&memory(MEMORY), SIZE, true, packed).unwrap(),
            notes: Span::new(&mapping, 0, bytes).unwrap(),
            made: 0,
            open: BTreeMap::new(),
            acknowledged: Vec::new(),
        }
    }

    /// Makes requests of one to three buffers until the ring is full; buffers say which request it is.
    fn make(&mut self) {
        loop {
            let count = self.made % 3 + 1;
            let buffers: Vec<_> = (0..count)
                .map(|n| (DATA + self.made * 64 + n * 16, 16, n > 0))
                .collect();
            let Some(number) = self.driver.submit(&buffers) else {
                return;
            };
            assert_eq!(self.open.insert(number, self.made), None);
            self.made += 1;
        }
    }

    fn see_replies(&mut self) {
        while let Some((number, written)) = self.driver.reply() {
            let request = self.open.remove(&number);
            let request = request.expect("a reply to no request");
            assert_eq!(u64::from(written), request, "the reply of another one");
            assert!(!self.acknowledged.contains(&request), "acknowledged twice");
            self.acknowledged.push(request);
        }
    }

    /// Returns a device that continues this ring.
    fn device(&self) -> Ring {
        let mut ring = self.driver.device().unwrap();
        ring.track(self.notes.clone()).unwrap();
        ring
    }
}

/// Returns the number of the request in a chain.
fn request(chain: &Chain) -> u64 {
    assert_eq!(chain.readable_bytes(), 16);
    let number = (chain.readable()[0].guest - DATA) / 64;
    assert_eq!(chain.writable_bytes(), number % 3 * 16);
    number
}

/// Requests that a device has taken and not ended: head and number.
#[derive(Default)]
struct Held(Vec<(u16, u64)>);

impl Held {
    /// Does a device's step: takes some requests, ends some of them in any order, and publishes, or not yet.
    fn step(&mut self, ring: &mut Ring, chain: &mut Chain, chance: &mut u64) {
        let looked = ring.look();
        if dead() {
            return;
        }
        looked.unwrap();
        for _ in 0..random(chance) % 4 {
            let taken = ring.take(chain);
            if dead() {
                return;
            }
            if taken.unwrap() {
                self.0.push((chain.head(), request(chain)));
            }
        }
        for _ in 0..random(chance) % 4 {
            if !self.0.is_empty() {
                let place = random(chance) as usize % self.0.len();
                let (head, request) = self.0.swap_remove(place);
                ring.put(head, request as u32);
            }
        }
        if random(chance) % 3 > 0 {
            ring.publish();
        }
    }
}

/// Runs a device that dies after `writes` writes, one that dies while it takes over, and one that lives. False if the
/// first one lived.
fn killed(packed: bool, writes: u64, seed: u64) -> bool {
    let mut scene = Scene::new(packed);
    let (mut chance, mut chain, mut left) = (seed, Chain::new(), writes);
    let what = format!("packed {packed}, {writes} writes, seed {seed}");
    let ring;
    (left, ring) = with_writes(left, || scene.driver.device().unwrap());
    let mut ring = ring;
    (left, _) = with_writes(left, || ring.track(scene.notes.clone()).unwrap());
    let mut held = Held::default();
    for _ in 0..40 {
        scene.make();
        (left, _) = with_writes(left, || held.step(&mut ring, &mut chain, &mut chance));
        scene.see_replies();
        if left == 0 {
            break;
        }
    }
    let lived = left > 0;
    drop(ring);
    if random(&mut chance) % 2 == 0 {
        scene.make();
    }
    // The second one, which may also serve a little before it dies.
    with_writes(random(&mut chance) % 60, || {
        let mut ring = scene.driver.device().unwrap();
        if ring.track(scene.notes.clone()).is_ok() {
            let mut held = Held::default();
            held.step(&mut ring, &mut chain, &mut chance);
        }
    });
    scene.see_replies();
    let mut ring = scene.device();
    let open = scene.made - scene.acknowledged.len() as u64;
    assert_eq!(u64::from(ring.look().unwrap().pending), open, "{what}");
    for _ in 0..3 {
        ring.look().unwrap();
        while ring.take(&mut chain).unwrap() {
            let request = request(&chain);
            assert!(!scene.acknowledged.contains(&request), "again: {what}");
            ring.put(chain.head(), request as u32);
        }
        ring.publish();
        scene.see_replies();
        assert!(scene.open.is_empty(), "{what}");
        assert_eq!(scene.acknowledged.len() as u64, scene.made, "{what}");
        scene.make();
    }
    !lived
}

/// Checks the count of killed devices that had a request. A request that was given back is not counted.
fn survived(packed: bool) {
    let mut scene = Scene::new(packed);
    let mut chain = Chain::new();
    scene.driver.submit(&[(DATA, 16, false)]).unwrap();
    for devices in 0..4 {
        let mut ring = scene.device();
        for _ in 0..2 {
            ring.look().unwrap();
            assert!(ring.take(&mut chain).unwrap());
            assert_eq!(ring.survived(), devices, "packed {packed}");
            ring.untake(chain.head());
        }
        ring.look().unwrap();
        assert!(ring.take(&mut chain).unwrap());
        assert_eq!(ring.survived(), devices);
        if devices == 3 {
            ring.put(chain.head(), 0);
            ring.publish();
            assert!(scene.driver.reply().is_some());
        }
    }
    // A new request in the same place.
    scene.driver.submit(&[(DATA, 16, false)]).unwrap();
    let mut ring = scene.device();
    ring.look().unwrap();
    assert!(ring.take(&mut chain).unwrap());
    assert_eq!(ring.survived(), 0);
    drop(ring);
    let mut ring = scene.device();
    ring.look().unwrap();
    assert!(ring.take(&mut chain).unwrap());
    assert_eq!(ring.survived(), 1, "of this request only");
}

#[test]
fn a_request_says_how_many_devices_it_survived() {
    survived(false);
    survived(true);
}

fn killed_after_any_write(packed: bool) {
    for seed in 1..=20u64 {
        let mut writes = 1;
        while killed(packed, writes, seed << 32 | 0x9e37_79b9) {
            writes += 1;
        }
        assert!(writes > 100, "only {writes} writes");
    }
}

#[test]
fn a_packed_ring_survives_a_device_that_is_killed_after_any_write() {
    killed_after_any_write(true);
}

#[test]
fn a_split_ring_survives_a_device_that_is_killed_after_any_write() {
    killed_after_any_write(false);
}
