//! Cost of the ring: a look at an empty ring, and a request from take to publish.
//!
//! `cargo bench -p elvis-bench --bench ring`. Requests are those of a block device: header, 4 KiB and status,
//! 32 at a time, in three descriptors of the ring or of an indirect table. The driver's work is not
//! timed. The code from take to publish is a separate function, [`serve`], so that its instructions
//! can be counted (callgrind's `--toggle-collect`).

#![allow(clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use elvis_ring::driver::Driver;
use elvis_ring::{Chain, Memory, Region, Ring};
use std::fs::File;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SIZE: u16 = 256;
const DEPTH: u16 = 32;

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

fn empty_poll(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("empty poll");
    for count in [1u64, 16, 64] {
        let mut rings = rings(count);
        group.throughput(Throughput::Elements(count));
        group.bench_with_input(BenchmarkId::from_parameter(count), &count, |bencher, _| {
            bencher.iter(|| {
                for (_, ring) in &mut rings {
                    black_box(ring.look().unwrap().pending);
                }
            });
        });
    }
    group.finish();
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

fn request(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("request");
    let direct: fn(&mut Driver) = submit;
    let cases = [1, 16, 64].map(|count| (count.to_string(), count, direct));
    let indirect = ("indirect".to_owned(), 1, submit_indirect as fn(&mut Driver));
    for (name, count, submit) in cases.into_iter().chain([indirect]) {
        let mut rings = rings(count);
        let mut chain = Chain::new();
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter_custom(|wanted| {
                let (mut spent, mut served) = (Duration::ZERO, 0);
                while served < wanted {
                    for (driver, _) in &mut rings {
                        submit(driver);
                    }
                    let start = Instant::now();
                    for (_, ring) in &mut rings {
                        served += serve(ring, &mut chain);
                    }
                    spent += start.elapsed();
                    for (driver, _) in &mut rings {
                        while driver.reply().is_some() {}
                    }
                }
                spent.mul_f64(wanted as f64 / served as f64)
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = empty_poll, request
}
criterion_main!(benches);
