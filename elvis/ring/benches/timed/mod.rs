//! Parts that the benchmarks share: drivers and their rings, and the timing of requests.
//!
//! The driver's work is not timed. The code from take to publish is a separate function, [`serve`], so that its
//! instructions can be counted (callgrind's `--toggle-collect`); `--once` runs a case without timing it.

#![allow(dead_code)]

use crate::raw;
use crate::requests::Request;
use elvis_ring::driver::Driver;
use elvis_ring::{Chain, Memory, Region, Ring, Visited};
use std::fs::File;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const SIZE: u16 = 256;
pub const DEPTH: u16 = 32;
/// Samples of a case, and how long each of them takes at least.
pub const SAMPLES: usize = 51;
pub const LENGTH: Duration = Duration::from_millis(10);
/// Pairs of samples of a comparison, and how long half of a pair takes.
pub const PAIRS: usize = 2001;
pub const PAIR_US: u32 = 200;
/// Operations of `--once`.
pub const ONCE: u64 = 10_000;

/// A driver and what serves its ring.
pub type Pair<D> = (Driver, D);
/// Makes requests.
pub type Submit = fn(&mut Driver);

/// A memory file.
pub fn memfd(bytes: u64) -> File {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = File::from(rustix::fs::memfd_create("elvis-ring-bench", flags).unwrap());
    file.set_len(bytes).unwrap();
    file
}

/// The device of a disk.
pub fn device(driver: &Driver) -> Ring {
    driver.device().unwrap()
}

/// Drivers of rings, all in one memory, with what `device` makes for each.
pub fn rings<D>(count: u64, packed: bool, device: impl Fn(&Driver) -> D) -> Vec<Pair<D>> {
    let each = Driver::ring_bytes(SIZE).next_multiple_of(4096);
    let bytes = (count * each).max(1 << 22);
    let file = memfd(bytes);
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

/// Chooses the layout for a visit, as an I/O thread does.
pub fn visit<R: Request>(ring: &mut Ring, chain: &mut Chain) -> u64 {
    match ring {
        Ring::Split(ring) => serve::<R>(ring, chain),
        Ring::Packed(ring) => serve::<R>(ring, chain),
    }
}

/// Serves a ring, and returns the number of requests served.
#[inline(never)]
pub fn serve<R: Request>(ring: &mut impl Visited, chain: &mut Chain) -> u64 {
    let mut served = 0;
    let mut header = [0u8; 16];
    ring.look().unwrap();
    while ring.take(chain).unwrap() {
        R::checked(chain, &mut header);
        ring.put(chain.head(), R::WRITTEN);
        served += 1;
    }
    black_box(ring.publish());
    served
}

/// Serves at least `wanted` requests, and returns the time that `wanted` of them take.
pub fn request<D>(
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
pub fn wanted(name: &str) -> Option<bool> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut cases = arguments.iter().filter(|word| !word.starts_with("--"));
    if cases.next().is_some_and(|case| case != name) {
        return None;
    }
    Some(arguments.iter().any(|word| word == "--once"))
}

/// Returns how often to run something so that it takes long enough.
pub fn enough(run: &mut impl FnMut(u64) -> Duration) -> u64 {
    let mut count = 1;
    while run(count) < LENGTH {
        count *= 2;
    }
    count
}

/// Prints the median and the quartiles.
pub fn print(name: &str, unit: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let [low, median, high] = [1, 2, 3].map(|quarter| values[values.len() * quarter / 4]);
    println!("{name:<24} {median:8.2}{unit} ({low:.2} to {high:.2})");
}

/// Measures the time of one operation. `run` makes as many as it is told.
pub fn measure(name: &str, mut run: impl FnMut(u64) -> Duration) {
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
pub fn compare(
    (name, one_name, other_name): (&str, &str, &str),
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
        &format!("{name}: {other_name}"),
        " ns",
        pairs.iter().map(|pair| ns(pair.1)).collect(),
    );
    print(
        &format!("{name}: {one_name} / {other_name}"),
        "   ",
        pairs.iter().map(|pair| pair.0 / pair.1).collect(),
    );
}

/// Compares with a raw ring.
pub fn with_raw<R: Request>(name: &str, packed: bool, device: fn(&Driver) -> Ring, submit: Submit) {
    let mut chain = Chain::new();
    let mut checked = rings(1, packed, device);
    let mut trusting = rings(1, packed, raw::Raw::new);
    compare(
        (name, "checked", "raw"),
        |wanted| {
            let serve = |ring: &mut Ring| visit::<R>(ring, &mut chain);
            request(&mut checked, submit, serve, wanted)
        },
        |wanted| request(&mut trusting, submit, raw::serve::<R>, wanted),
    );
}
