//! CPU time of the I/O thread per file request, with and without registered memory, which leaves out the
//! disk's time; and the time to register memory.
//!
//! `cargo bench -p elvis`. Random reads of 4 KiB, 32 outstanding, from a file in the build
//! folder, or from the file or device `ENGINE_IMAGE`; with O_DIRECT if the file system supports it.

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

use elvis::storage::{Disk, Engine, Job, Operation, Registered, Source};
use elvis_policy::Params;
use elvis_ring::{Memory, Region};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const DEPTH: usize = 32;
const BLOCK: u64 = 4096;
/// Bytes of the driver's memory, and of the image that this benchmark makes.
const BYTES: u64 = 64 << 20;
/// Samples of a case, and how long each of them takes at least.
const SAMPLES: usize = 25;
const LENGTH: Duration = Duration::from_millis(50);

fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

fn image() -> PathBuf {
    if let Some(path) = std::env::var_os("ENGINE_IMAGE") {
        return path.into();
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("engine-image");
    if !path.exists() {
        std::fs::write(&path, vec![1; BYTES as usize]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
    }
    path
}

fn open(path: PathBuf, direct: bool) -> Option<Disk> {
    let source = Source::File {
        path,
        direct,
        migratable: false,
        registered_buffers: false,
    };
    Disk::open(&source, true).ok()
}

/// Makes `wanted` requests, and returns the CPU time that they took.
fn read(
    engine: &mut Engine,
    disk: &Disk,
    memory: &Memory,
    to: &Registered,
    wanted: u64,
) -> Duration {
    let Disk::File { file, .. } = disk else {
        panic!("not a file");
    };
    let bytes = disk.bytes();
    let all = memory.span(0, BYTES).unwrap();
    let mut pieces = [all.piece(0, 0).unwrap(); DEPTH];
    let mut free: Vec<usize> = (0..DEPTH).collect();
    let (mut made, mut ended, mut random) = (0, 0, 0x9e37_79b9_7f4a_7c15u64);
    let mut results = Vec::new();
    let start = cpu_time();
    while ended < wanted {
        while made < wanted && !free.is_empty() {
            let slot = free.pop().unwrap();
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let place = (random >> 32) % (BYTES / BLOCK) * BLOCK;
            pieces[slot] = all.piece(place as usize, BLOCK as usize).unwrap();
            let job = Job {
                token: slot as u64,
                fd: file.as_fd(),
                operation: Operation::Read,
                offset: (random & 0xffff_ffff) % (bytes / BLOCK) * BLOCK,
                pieces: &pieces[slot..=slot],
                registered: to,
            };
            // SAFETY: pieces, memory and file live until all results have arrived, below.
            unsafe { engine.submit(&job) }.unwrap();
            made += 1;
        }
        engine.start().unwrap();
        engine.reap(&mut results);
        if results.is_empty() {
            let mut ready = [rustix::event::PollFd::from_borrowed_fd(
                engine.fd(),
                rustix::event::PollFlags::IN,
            )];
            rustix::event::poll(&mut ready, None).unwrap();
        }
        for (token, result) in results.drain(..) {
            assert_eq!(result, BLOCK as i32);
            free.push(token as usize);
            ended += 1;
        }
    }
    cpu_time() - start
}

/// Prints the median and the quartiles of the time of one operation. `run` makes as many as it is told.
fn measure(name: &str, mut run: impl FnMut(u64) -> Duration) {
    let mut count = 1;
    while run(count) < LENGTH {
        count *= 2;
    }
    let mut us: Vec<f64> = (0..SAMPLES)
        .map(|_| run(count).as_secs_f64() * 1e6 / count as f64)
        .collect();
    us.sort_by(f64::total_cmp);
    let (low, median, high) = (us[SAMPLES / 4], us[SAMPLES / 2], us[SAMPLES * 3 / 4]);
    println!("{name:<50} {median:8.2} us ({low:.2} to {high:.2})");
}

fn main() {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = File::from(rustix::fs::memfd_create("engine-bench", flags).unwrap());
    file.set_len(BYTES).unwrap();
    let memory = Memory::new(vec![Region::map(&file, 0, 0, 0, BYTES).unwrap()]).unwrap();
    let mut engine = Engine::new(false, Params::default().start_requests).unwrap();
    measure("64 MiB registered and given up", |wanted| {
        let start = Instant::now();
        for _ in 0..wanted {
            let registered = engine.register(&memory);
            engine.unregister(registered);
        }
        start.elapsed()
    });
    assert!(engine.buffers().refused.is_none(), "{:?}", engine.buffers());
    for (direct, how) in [(true, "direct"), (false, "page cache")] {
        let Some(disk) = open(image(), direct) else {
            println!("{how}: skipped, not supported by this file system");
            continue;
        };
        for registered in [false, true] {
            let mut engine = Engine::new(false, Params::default().start_requests).unwrap();
            let mut to = Registered::default();
            if registered {
                to = engine.register(&memory);
                assert!(engine.buffers().refused.is_none(), "{:?}", engine.buffers());
            }
            let buffers = if registered { "registered" } else { "as it is" };
            let name = format!("CPU of a read, {how}, {buffers}, {}", engine.name());
            measure(&name, |wanted| {
                read(&mut engine, &disk, &memory, &to, wanted)
            });
        }
    }
}
