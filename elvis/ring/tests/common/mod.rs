//! Memory files and rings for the tests.

use elvis_ring::driver::Driver;
use elvis_ring::{Chain, Inflight, Mapping, Memory, Ring, Span};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A memory file of this many bytes.
pub fn memfd(bytes: u64) -> File {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = File::from(rustix::fs::memfd_create("elvis-ring-test", flags).unwrap());
    file.set_len(bytes).unwrap();
    file
}

/// A driver with a split ring of this size in its own memory, and the device side of that ring.
#[allow(dead_code)]
pub fn pair(size: u16, event_idx: bool) -> (Driver, Ring) {
    pair_of(size, event_idx, false)
}

/// The same, packed or not.
#[allow(dead_code)]
pub fn pair_of(size: u16, event_idx: bool, packed: bool) -> (Driver, Ring) {
    let driver = Driver::of_file(&memfd(1 << 20), size, event_idx, packed).unwrap();
    let ring = driver.device().unwrap();
    (driver, ring)
}

/// Memory for an in-flight record.
#[allow(dead_code)]
pub fn notes() -> Span {
    let mapping = Arc::new(Mapping::new(&memfd(4096), 4096).unwrap());
    Span::new(&mapping, 0, 4096).unwrap()
}

/// Whether every segment of a chain is in the memory, and its sums are right.
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
            .map(|place| place.cast_const())
            == Some(segment.place())
    };
    chain.readable().iter().chain(chain.writable()).all(inside)
        && sum(chain.readable()) == chain.readable_bytes()
        && sum(chain.writable()) == chain.writable_bytes()
}

/// Writes any words into an in-flight record and takes it over, by itself and by a packed ring: it is refused, or
/// its heads are in the table, and its requests an error or sound.
#[allow(dead_code)]
pub fn any_notes(words: &[(usize, u64)], used: u16) {
    let span = notes();
    let write = || {
        for (at, word) in words {
            span.store_u64(at * 8, *word, Ordering::Relaxed);
        }
    };
    write();
    if let Ok(mut inflight) = Inflight::new(span.clone(), 32) {
        let heads = inflight.recover(used);
        assert!(heads.len() <= 32 && heads.iter().all(|&head| head < 32));
        heads.iter().for_each(|&head| inflight.used(head));
        inflight.published(used);
    }
    write();
    let (driver, mut ring) = pair_of(32, true, true);
    if ring.track(span).is_err() {
        return;
    }
    let mut chain = Chain::new();
    assert!(ring.look().unwrap().pending <= 32);
    while let Ok(true) = ring.take(&mut chain) {
        assert!(chain_is_sound(&chain, driver.memory()));
        ring.put(chain.head(), 1);
    }
    ring.publish();
}

/// Writes any words into the record of a ring's progress, which a device has left, and some into that ring, and takes
/// it over: what is taken then is an error or sound.
#[allow(dead_code)]
pub fn any_progress(words: &[(usize, u64)], served: u16) {
    let (mut driver, mut ring) = pair_of(32, true, true);
    let (record, at, told) = (notes(), driver.addresses(), driver.start());
    ring.keep(record.clone(), &at, told).unwrap();
    let mut chain = Chain::new();
    for _ in 0..served % 100 {
        driver.submit(&[(0x1_0000, 64, false), (0x1_0040, 64, true)]);
        ring.look().unwrap();
        assert!(ring.take(&mut chain).unwrap());
        ring.put(chain.head(), 1);
        ring.publish();
        driver.reply().unwrap();
    }
    driver.submit(&[(0x1_0000, 64, true)]);
    for (at, word) in words {
        // Of the record's words most are between its origin and its last element, some the place of it.
        match at % 3 {
            0 => record.store_u64(64 + at / 3 % 2 * 64, *word, Ordering::Relaxed),
            1 => record.store_u64(at * 8 % 512, *word, Ordering::Relaxed),
            _ => driver
                .span()
                .store_u64(at * 8 % 640, *word, Ordering::Relaxed),
        }
    }
    let mut ring = driver.device().unwrap();
    ring.keep(record, &at, told).unwrap();
    assert!(ring.base() & 0x7fff < 32);
    let _ = ring.look();
    while let Ok(true) = ring.take(&mut chain) {
        assert!(chain_is_sound(&chain, driver.memory()));
        ring.put(chain.head(), 1);
    }
    ring.publish();
    let _ = (ring.call_wanted(), ring.base());
}

/// A thread that writes to shared memory as fast as it can, until this is dropped.
#[allow(dead_code)]
pub struct Shaker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[allow(dead_code)]
impl Shaker {
    /// `word` turns a random number into an offset and the word to write there.
    pub fn new(memory: &Span, word: impl Fn(u64) -> (usize, u64) + Send + 'static) -> Self {
        let (stop, memory) = (Arc::new(AtomicBool::new(false)), memory.clone());
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut random = 0x9e37_79b9_7f4a_7c15u64;
            while !stopped.load(Ordering::Relaxed) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let (offset, word) = word(random);
                memory.store_u64(offset, word, Ordering::Relaxed);
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Shaker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
