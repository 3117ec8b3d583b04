//! Cost of the ring, split and packed: a look at an empty ring, and a request from take to publish.
//!
//! `cargo bench -p elvis-ring [-- [--once] CASE]`. Requests are those of a block device: header, 4 KiB and status,
//! 32 at a time, in three descriptors of the ring or of an indirect table. The driver's work is not
//! timed. The code from take to publish is a separate function, [`serve`], so that its instructions
//! can be counted (callgrind's `--toggle-collect`); `--once` runs a case without timing it. The last cases
//! compare it with [`raw`], which trusts the driver, in turns.

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

mod raw;

use elvis_ring::driver::Driver;
use elvis_ring::{Chain, Memory, Region, Ring, Visited};
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
/// Pairs of samples of a comparison, and how long half of a pair takes.
const PAIRS: usize = 2001;
const PAIR_US: u32 = 200;
/// Operations of `--once`.
const ONCE: u64 = 10_000;

/// A driver and what serves its ring.
type Pair<D> = (Driver, D);
/// Makes requests.
type Submit = fn(&mut Driver);

/// Drivers of rings, all in one memory, with what `device` makes for each.
fn rings<D>(count: u64, packed: bool, device: impl Fn(&Driver) -> D) -> Vec<Pair<D>> {
    let each = Driver::ring_bytes(SIZE).next_multiple_of(4096);
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = File::from(rustix::fs::memfd_create("elvis-ring-bench", flags).unwrap());
    let bytes = (count * each).max(1 << 22);
    file.set_len(bytes).unwrap();
    let region = Region::map(&file, 0, 0, 0, bytes).unwrap();
    let memory = Arc::new(Memory::new(vec![region]).unwrap());
    (0..count)
        .map(|number| {
            let driver = Driver::of_memory(&memory, number * each, SIZE, true, packed).unwrap();
            let device = device(&driver);
            (driver, device)
        })
        .collect()
}

/// Looks at each of the rings, all empty, `wanted` times.
fn look(rings: &mut [Pair<Ring>], wanted: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..wanted {
        for (_, ring) in &mut *rings {
            black_box(ring.look().unwrap().pending);
        }
    }
    start.elapsed() / u32::try_from(rings.len()).unwrap()
}

/// Chooses the layout for a visit, as an I/O thread does.
fn visit(ring: &mut Ring, chain: &mut Chain) -> u64 {
    match ring {
        Ring::Split(ring) => serve(ring, chain),
        Ring::Packed(ring) => serve(ring, chain),
    }
}

/// Serves a ring, and returns the number of requests served.
#[inline(never)]
fn serve(ring: &mut impl Visited, chain: &mut Chain) -> u64 {
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
    let packed = driver.start() != 0;
    for slot in 0..DEPTH {
        let table = 0x1e_0000 + u64::from(slot) * 64;
        let span = driver.memory().span(table, 48).unwrap();
        for (place, (guest, bytes, written)) in buffers(slot.into()).into_iter().enumerate() {
            let (flags, next) = (
                u64::from(place < 2) | u64::from(written) << 1,
                place as u64 + 1,
            );
            let rest = match packed {
                true => (flags & 2) << 48,
                false => flags << 32 | next << 48,
            };
            span.store_u64(16 * place, guest, Ordering::Relaxed);
            span.store_u64(16 * place + 8, u64::from(bytes) | rest, Ordering::Relaxed);
        }
        driver.submit_indirect(table, 48);
    }
}

/// Serves at least `wanted` requests, and returns the time that `wanted` of them take.
fn request<D>(
    rings: &mut [Pair<D>],
    submit: Submit,
    mut serve: impl FnMut(&mut D) -> u64,
    wanted: u64,
) -> Duration {
    let (mut spent, mut served) = (Duration::ZERO, 0);
    while served < wanted {
        for (driver, _) in &mut *rings {
            submit(driver);
        }
        let start = Instant::now();
        for (_, device) in &mut *rings {
            served += serve(device);
        }
        spent += start.elapsed();
        for (driver, _) in &mut *rings {
            while driver.reply().is_some() {}
        }
    }
    spent.mul_f64(wanted as f64 / served as f64)
}

/// Whether a case is to be run, and if so whether only once, untimed.
fn wanted(name: &str) -> Option<bool> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut cases = arguments.iter().filter(|word| !word.starts_with("--"));
    if cases.next().is_some_and(|case| case != name) {
        return None;
    }
    Some(arguments.iter().any(|word| word == "--once"))
}

/// How often to run something so that it takes long enough.
fn enough(run: &mut impl FnMut(u64) -> Duration) -> u64 {
    let mut count = 1;
    while run(count) < LENGTH {
        count *= 2;
    }
    count
}

/// Prints the median and the quartiles.
fn print(name: &str, unit: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let [low, median, high] = [1, 2, 3].map(|quarter| values[values.len() * quarter / 4]);
    println!("{name:<24} {median:8.2}{unit} ({low:.2} to {high:.2})");
}

/// Measures the time of one operation. `run` makes as many as it is told.
fn measure(name: &str, mut run: impl FnMut(u64) -> Duration) {
    let Some(once) = wanted(name) else { return };
    if once {
        run(ONCE);
        return;
    }
    let count = enough(&mut run);
    let each = |_| run(count).as_secs_f64() * 1e9 / count as f64;
    print(name, " ns", (0..SAMPLES).map(each).collect());
}

/// Measures how much longer one takes than the other: many short samples in turns, so that the host's load affects
/// both, or few of them.
fn compare(
    name: &str,
    mut run: impl FnMut(u64) -> Duration,
    mut other: impl FnMut(u64) -> Duration,
) {
    if wanted(name) != Some(false) {
        return;
    }
    let count = (enough(&mut run) * u64::from(PAIR_US) / LENGTH.as_micros() as u64).max(1);
    let pairs: Vec<(f64, f64)> = (0..PAIRS)
        .map(|_| (run(count).as_secs_f64(), other(count).as_secs_f64()))
        .collect();
    let ns = |seconds: f64| seconds * 1e9 / count as f64;
    print(
        &format!("{name}: raw"),
        " ns",
        pairs.iter().map(|pair| ns(pair.1)).collect(),
    );
    print(
        &format!("{name}: checked / raw"),
        "   ",
        pairs.iter().map(|pair| pair.0 / pair.1).collect(),
    );
}

/// All cases of one layout.
fn cases(prefix: &str, packed: bool) {
    let mut chain = Chain::new();
    let device = |driver: &Driver| driver.device().unwrap();
    for count in [1, 16, 64] {
        let mut rings = rings(count, packed, device);
        measure(&format!("{prefix}look/{count}"), |wanted| {
            look(&mut rings, wanted)
        });
        measure(&format!("{prefix}request/{count}"), |wanted| {
            request(&mut rings, submit, |ring| visit(ring, &mut chain), wanted)
        });
    }
    let kinds: [(&str, Submit); 2] = [("direct", submit), ("indirect", submit_indirect)];
    for (kind, submit) in kinds {
        let mut checked = rings(1, packed, device);
        if kind == "indirect" {
            measure(&format!("{prefix}request/indirect"), |wanted| {
                request(&mut checked, submit, |ring| visit(ring, &mut chain), wanted)
            });
        }
        let mut trusting = rings(1, packed, raw::Raw::new);
        compare(
            &format!("{prefix}raw/{kind}"),
            |wanted| request(&mut checked, submit, |ring| visit(ring, &mut chain), wanted),
            |wanted| request(&mut trusting, submit, raw::serve, wanted),
        );
    }
}

fn main() {
    cases("", false);
    cases("packed/", true);
}
