//! Cost of the ring: a look at an empty ring, and a request from take to publish.
//!
//! `cargo bench -p elvis-ring [-- [--once] CASE]`. Requests are those of a block device: header, 4 KiB and status,
//! 32 at a time, in three descriptors of the ring or of an indirect table. The driver's work is not
//! timed. The code from take to publish is a separate function, [`serve`], so that its instructions
//! can be counted (callgrind's `--toggle-collect`); `--once` runs a case without timing it.

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

use elvis_ring::driver::Driver;
use elvis_ring::{Chain, Memory, Region, Ring};
use std::fs::File;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SIZE: u16 = 256;
const DEPTH: u16 = 32;
/// Samples of a case, and how long each of them takes at least.
const SAMPLES: usize = 51;
const LENGTH: Duration = Duration::from_millis(10);
/// Operations of `--once`.
const ONCE: u64 = 10_000;

/// Rings and their drivers, all in one memory.
fn rings(count: u64) -> Vec<(Driver, Ring)> {
    let each = Driver::ring_bytes(SIZE).next_multiple_of(4096);
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = File::from(rustix::fs::memfd_create("elvis-ring-bench", flags).unwrap());
    let bytes = (count * each).max(1 << 22);
    file.set_len(bytes).unwrap();
    let region = Region::map(&file, 0, 0, 0, bytes).unwrap();
    let memory = Arc::new(Memory::new(vec![region]).unwrap());
    (0..count)
        .map(|number| {
            let driver = Driver::in_memory(&memory, number * each, SIZE, true).unwrap();
            let ring = Ring::new(SIZE.into(), &driver.addresses(), &memory, 0, true).unwrap();
            (driver, ring)
        })
        .collect()
}

/// Looks at each of the rings, all empty, `wanted` times.
fn look(rings: &mut [(Driver, Ring)], wanted: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..wanted {
        for (_, ring) in &mut *rings {
            black_box(ring.look().unwrap().pending);
        }
    }
    start.elapsed() / u32::try_from(rings.len()).unwrap()
}

/// Serves a ring, and returns the number of requests served.
#[inline(never)]
fn serve(ring: &mut Ring, chain: &mut Chain) -> u64 {
    let mut served = 0;
    let mut header = [0u8; 16];
    ring.look().unwrap();
    while ring.take(chain).unwrap() {
        black_box(chain.read(0, &mut header));
        black_box(chain.write_last(0));
        ring.put(chain.head(), 4097);
        served += 1;
    }
    black_box(ring.publish());
    served
}

/// The buffers of request `slot`.
fn buffers(slot: u64) -> [(u64, u32, bool); 3] {
    [
        (0x1f_0000 + slot * 32, 16, false),
        (0x20_0000 + slot * 4096, 4096, true),
        (0x1f_8000 + slot, 1, true),
    ]
}

/// Makes requests, each of three descriptors.
fn submit(driver: &mut Driver) {
    for slot in 0..u64::from(DEPTH) {
        driver.submit(&buffers(slot));
    }
}

/// Makes requests, each of one descriptor and an indirect table of three.
fn submit_indirect(driver: &mut Driver) {
    for slot in 0..DEPTH {
        let table = 0x1e_0000 + u64::from(slot) * 64;
        let span = driver.memory().span(table, 48).unwrap();
        for (place, (guest, bytes, written)) in buffers(slot.into()).into_iter().enumerate() {
            let (flags, next) = (
                u64::from(place < 2) | u64::from(written) << 1,
                place as u64 + 1,
            );
            let rest = u64::from(bytes) | flags << 32 | next << 48;
            span.store_u64(16 * place, guest, Ordering::Relaxed);
            span.store_u64(16 * place + 8, rest, Ordering::Relaxed);
        }
        driver.describe(slot, table, 48, 4, 0);
        driver.offer(slot);
    }
}

/// Serves at least `wanted` requests, and returns the time that `wanted` of them take.
fn request(rings: &mut [(Driver, Ring)], submit: fn(&mut Driver), wanted: u64) -> Duration {
    let mut chain = Chain::new();
    let (mut spent, mut served) = (Duration::ZERO, 0);
    while served < wanted {
        for (driver, _) in &mut *rings {
            submit(driver);
        }
        let start = Instant::now();
        for (_, ring) in &mut *rings {
            served += serve(ring, &mut chain);
        }
        spent += start.elapsed();
        for (driver, _) in &mut *rings {
            while driver.reply().is_some() {}
        }
    }
    spent.mul_f64(wanted as f64 / served as f64)
}

/// Prints the median and the quartiles of the time of one operation. `run` makes as many as it is told.
fn measure(name: &str, mut run: impl FnMut(u64) -> Duration) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut cases = arguments.iter().filter(|word| !word.starts_with("--"));
    if cases.next().is_some_and(|case| case != name) {
        return;
    }
    if arguments.iter().any(|word| word == "--once") {
        run(ONCE);
        return;
    }
    let mut count = 1;
    while run(count) < LENGTH {
        count *= 2;
    }
    let mut ns: Vec<f64> = (0..SAMPLES)
        .map(|_| run(count).as_secs_f64() * 1e9 / count as f64)
        .collect();
    ns.sort_by(f64::total_cmp);
    let (low, median, high) = (ns[SAMPLES / 4], ns[SAMPLES / 2], ns[SAMPLES * 3 / 4]);
    println!("{name:<20} {median:8.2} ns ({low:.2} to {high:.2})");
}

fn main() {
    for count in [1, 16, 64] {
        let mut rings = rings(count);
        measure(&format!("look/{count}"), |wanted| look(&mut rings, wanted));
        measure(&format!("request/{count}"), |wanted| {
            request(&mut rings, submit, wanted)
        });
    }
    let mut rings = rings(1);
    measure("request/indirect", |wanted| {
        request(&mut rings, submit_indirect, wanted)
    });
}
