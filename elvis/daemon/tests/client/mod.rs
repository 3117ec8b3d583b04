//! A client that uses libblkio's driver (crate virtio-driver), and servers in this process.

#![allow(dead_code, clippy::unwrap_used)]

use elvis::config::{Config, device_argument, device_from_json};
use elvis::serve::Server;
use elvis::server::{DeviceSpec, Kind, KindSpec};
use elvis::storage::Disk;
use elvis_policy::Params;
use elvis_policy::simulation::Mode;
use memmap2::MmapMut;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use virtio_driver::{
    VhostUser, VirtioBlkFeatureFlags, VirtioBlkQueue, VirtioBlkTransport, VirtioFeatureFlags,
};

/// Time limit of all waits. Only a failure takes this long, even on a busy host.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Calls `look` until it returns a value.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited {LIMIT:?} for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits a little, between two looks for what was begun then. After what takes long, such as a limit of requests per
/// second, the CPU is the others'.
pub fn pause(begun: Instant) {
    if begun.elapsed() < Duration::from_millis(1) {
        std::thread::yield_now();
    } else {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Does work that may block forever if something is broken; aborts the program then.
pub fn limited<T>(what: &str, work: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (done, ended) = channel::<()>();
        scope.spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                eprintln!("waited {LIMIT:?} for {what}");
                std::process::abort();
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// Sends a vhost-user message on a front-end's connection, which need not be one that it knows of. Returns the body of
/// the reply that it asks for.
pub fn exchange(frontend: &impl AsRawFd, request: u32, body: &[u8]) -> Vec<u8> {
    // SAFETY: the front-end keeps its descriptor open during the borrow.
    let borrowed = unsafe { BorrowedFd::borrow_raw(frontend.as_raw_fd()) };
    let mut stream = UnixStream::from(borrowed.try_clone_to_owned().unwrap());
    let words = [request, 1 | 1 << 3, body.len() as u32];
    let bytes = [words.map(u32::to_ne_bytes).as_flattened(), body].concat();
    limited("a reply to a message", || {
        stream.write_all(&bytes).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(head[..4], request.to_ne_bytes());
        let [.., a, b, c, d] = head;
        let mut body = vec![0; u32::from_ne_bytes([a, b, c, d]) as usize];
        stream.read_exact(&mut body).unwrap();
        body
    })
}

/// Waits until the server's first I/O thread is idle. Each look at its counters wakes it, and it goes to
/// sleep again when no queue has work.
pub fn until_asleep(server: &Server) {
    let sleeps = || server.stats().unwrap().cores[0].policy.sleeps;
    let before = sleeps();
    until("an I/O thread that sleeps", || {
        (sleeps() > before).then_some(())
    });
}

/// How often two looks at its counters may wake an I/O thread in between: the second one does, and the
/// first one does if it was answered before its write to the thread's eventfd.
pub const WAKES_OF_LOOKS: u64 = 2;

/// Asserts that the I/O thread stays asleep: only looks at its counters wake it, and then it visits no queue.
pub fn assert_sleeps_on(server: &Server) {
    let look = || {
        let stats = server.stats().unwrap();
        let queues = stats.devices.values().flatten();
        let visits = queues.map(|queue| queue.policy.visits + queue.policy.empty_polls);
        (stats.cores[0].policy.sleeps, visits.sum::<u64>())
    };
    until_asleep(server);
    let before = look();
    // Time for unexpected wake-ups.
    std::thread::sleep(Duration::from_millis(200));
    let after = look();
    assert_eq!(after.1, before.1, "visits");
    assert!(
        after.0 - before.0 <= WAKES_OF_LOOKS,
        "sleeps: {before:?}, {after:?}"
    );
}

/// Waits until the server has noticed that a device's front-end disconnected, and has unlocked its disk.
pub fn until_disconnected(server: &Server, name: &str) {
    until("the end of a connection", || {
        let devices = server.list();
        let device = devices.iter().find(|device| device.name == name).unwrap();
        (!device.connected).then_some(())
    });
}

/// Binds the calling thread to the first CPU that it may use, and returns the last, for an I/O thread: a
/// polling thread must not share a CPU with its client.
pub fn split_cpus() -> usize {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let all = sched_getaffinity(None).unwrap();
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu));
    let first = cpus.next().unwrap();
    let mut set = CpuSet::new();
    set.set(first);
    let last = cpus.next_back().unwrap_or(first);
    sched_setaffinity(None, &set).unwrap();
    last
}

/// Two CPUs for I/O threads, as `--io-cores` has them; none if there is one.
pub fn two_cores() -> Option<String> {
    let cpus = ws_cpus::Cpus::here().allowed;
    let two: Vec<String> = cpus.iter().take(2).map(u32::to_string).collect();
    (two.len() == 2).then(|| two.join(","))
}

/// What servers of tests have unless a test is about it. A queue is polled while its driver is quick, and no longer
/// than 0.2 ms in vain. The derived window is up to 100 ms: on a busy host the driver then waits for the end of the
/// I/O thread's time slice before each reply. `../daemon` has the derived window.
pub fn config() -> Config {
    Config {
        derive_window: false,
        params: Params {
            poll_on_gap_ns: 100_000,
            poll_off_idle_ns: 100_000,
            poll_keep_ns: 200_000,
            ..Params::default()
        },
        ..Config::default()
    }
}

/// A server with these devices (`--blk` words, sockets in `dir`).
pub fn serve(dir: &Path, mode: Mode, devices: &[&str]) -> Server {
    serve_on(dir, mode, devices, &[])
}

/// The same, with I/O threads on these CPUs.
pub fn serve_on(dir: &Path, mode: Mode, devices: &[&str], io_cores: &[usize]) -> Server {
    let config = Config {
        mode,
        io_cores: io_cores.to_vec(),
        ..config()
    };
    serve_by(dir, config, devices)
}

/// A server with this configuration, plus these devices.
pub fn serve_by(dir: &Path, mut config: Config, devices: &[&str]) -> Server {
    for device in devices {
        let (socket, rest) = device.split_once('=').unwrap();
        let argument = format!("{}={rest}", dir.join(socket).display());
        let spec = device_from_json(device_argument(&argument).unwrap()).unwrap();
        config.add(spec).unwrap();
    }
    Server::start(&config).unwrap()
}

/// Adds a device with an open disk.
pub fn add_disk(server: &Server, socket: &Path, disk: Disk) {
    let argument = format!("{}=null:1M", socket.display());
    let spec = device_from_json(device_argument(&argument).unwrap()).unwrap();
    let opened = |spec: &DeviceSpec| {
        let KindSpec::Blk(blk) = &spec.kind else {
            panic!("not a block device");
        };
        Ok(Kind::Blk(blk.with(disk)))
    };
    server.add_with(spec, opened).unwrap();
}

/// A disk image of zeros.
pub fn image(dir: &Path, bytes: u64) -> PathBuf {
    let path = dir.join("image");
    File::create(&path).unwrap().set_len(bytes).unwrap();
    path
}

/// A memory file of this many bytes.
pub fn memfd(bytes: u64) -> File {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = File::from(rustix::fs::memfd_create("client", flags).unwrap());
    file.set_len(bytes).unwrap();
    file
}

/// One device, connected, with memory for its buffers.
pub struct Client {
    pub transport: Box<VirtioBlkTransport>,
    pub queues: Vec<VirtioBlkQueue<'static, usize>>,
    pub memory: MmapMut,
    pub memory_file: File,
    /// The number of replies so far.
    pub replies: u64,
}

pub fn socket(dir: &Path, name: &str) -> PathBuf {
    dir.join(name)
}

impl Client {
    pub fn connect(socket: &Path, queues: usize, depth: u16, bytes: u64) -> Self {
        Self::with_features(
            socket,
            queues,
            depth,
            bytes,
            VirtioFeatureFlags::all().bits(),
        )
    }

    pub fn with_features(socket: &Path, queues: usize, depth: u16, bytes: u64, ring: u64) -> Self {
        Self::with_memory(socket, queues, depth, memfd(bytes), ring)
    }

    /// A client whose buffers are in this file.
    pub fn with_memory(
        socket: &Path,
        queues: usize,
        depth: u16,
        memory_file: File,
        ring: u64,
    ) -> Self {
        let packed = VirtioFeatureFlags::RING_PACKED.bits();
        let features = (ring & !packed) | VirtioBlkFeatureFlags::all().bits();
        // SAFETY: a memory file of this process; only the device under test writes to it too.
        let memory = unsafe { MmapMut::map_mut(&memory_file) }.unwrap();
        let (address, bytes) = (memory.as_ptr() as usize, memory.len());
        let (transport, queues) = limited("a device that is set up", || {
            let transport = VhostUser::new(socket.to_str().unwrap(), features).unwrap();
            let mut transport: Box<VirtioBlkTransport> = Box::new(transport);
            let queues = VirtioBlkQueue::setup_queues(&mut *transport, queues, depth).unwrap();
            transport
                .map_mem_region(address, bytes, memory_file.as_raw_fd(), 0)
                .unwrap();
            (transport, queues)
        });
        Self {
            transport,
            queues,
            memory,
            memory_file,
            replies: 0,
        }
    }

    pub fn kick(&mut self, queue: usize) {
        if self.queues[queue].avail_notif_needed() {
            self.transport
                .get_submission_notifier(queue)
                .notify()
                .unwrap();
        }
    }

    /// Polls for one reply, and returns its context and result.
    pub fn reply(&mut self, queue: usize) -> (usize, i32) {
        let begun = Instant::now();
        loop {
            if let Some(completion) = self.queues[queue].completions().next() {
                self.replies += 1;
                return (completion.context, completion.ret);
            }
            assert!(begun.elapsed() < LIMIT, "waited {LIMIT:?} for a reply");
            pause(begun);
        }
    }

    /// Buffer `slot`, of 4 KiB.
    pub fn buffer(&mut self, slot: usize) -> &mut [u8] {
        &mut self.memory[slot * 4096..(slot + 1) * 4096]
    }

    fn place(&mut self, slot: usize) -> *mut u8 {
        self.buffer(slot).as_mut_ptr()
    }

    pub fn submit_read(&mut self, queue: usize, offset: u64, slot: usize) {
        let place = self.place(slot);
        // SAFETY: the buffer is in the mapping, which lives as long as this client.
        unsafe { self.queues[queue].read_raw(offset, place, 4096, slot) }.unwrap();
        self.kick(queue);
    }

    pub fn submit_write(&mut self, queue: usize, offset: u64, slot: usize) {
        let place = self.place(slot);
        // SAFETY: as for reads.
        unsafe { self.queues[queue].write_raw(offset, place, 4096, slot) }.unwrap();
        self.kick(queue);
    }

    pub fn write(&mut self, offset: u64, value: u8) -> i32 {
        self.buffer(0).fill(value);
        self.submit_write(0, offset, 0);
        self.reply(0).1
    }

    pub fn read(&mut self, offset: u64) -> (i32, Vec<u8>) {
        self.buffer(0).fill(0xee);
        self.submit_read(0, offset, 0);
        let result = self.reply(0).1;
        (result, self.buffer(0).to_vec())
    }

    pub fn flush(&mut self) -> i32 {
        self.queues[0].flush(0).unwrap();
        self.kick(0);
        self.reply(0).1
    }
}

/// Makes `count` random 4 KiB reads and writes, `depth` at a time, and checks all data read. Each block
/// contains its number and the generation of its last write.
pub fn verify(client: &mut Client, queue: usize, blocks: u64, count: u64, depth: usize, seed: u64) {
    verify_while(client, queue, blocks, count, depth, seed, &|| false);
}

/// The same with at least `count` requests, and more until `more` returns false.
pub fn verify_while(
    client: &mut Client,
    queue: usize,
    blocks: u64,
    count: u64,
    depth: usize,
    seed: u64,
    more: &dyn Fn() -> bool,
) {
    let mut random = seed | 1;
    // xorshift64*. Without the product, the low bits of one number decide those of the next: each block would be only
    // read or only written.
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    };
    let mut generation = vec![0u64; blocks as usize];
    let mut busy = vec![None::<(u64, bool)>; depth];
    let (mut made, mut ended, mut read_back) = (0, 0, 0);
    loop {
        while made < count || more() {
            let Some(slot) = busy.iter().position(Option::is_none) else {
                break;
            };
            let block = next() % blocks;
            if busy.iter().flatten().any(|(other, _)| *other == block) {
                continue;
            }
            let write = next() % 2 == 0;
            if write {
                generation[block as usize] += 1;
                let data = contents(block, generation[block as usize], seed);
                client.buffer(slot).copy_from_slice(&data);
                client.submit_write(queue, block * 4096, slot);
            } else {
                client.submit_read(queue, block * 4096, slot);
            }
            busy[slot] = Some((block, write));
            made += 1;
        }
        if ended == made {
            assert!(read_back > 0, "no block was written and read");
            return;
        }
        let (slot, result) = client.reply(queue);
        assert_eq!(result, 0);
        let (block, write) = busy[slot].take().unwrap();
        if !write {
            let wanted = contents(block, generation[block as usize], seed);
            assert!(client.buffer(slot) == wanted, "block {block}");
            read_back += u64::from(generation[block as usize] > 0);
        }
        ended += 1;
    }
}

/// A block's data after so many writes.
fn contents(block: u64, generation: u64, seed: u64) -> Vec<u8> {
    let mark = match generation {
        0 => [0; 4],
        _ => [block, generation, seed, !block],
    };
    mark.map(u64::to_le_bytes).as_flattened().repeat(4096 / 32)
}
