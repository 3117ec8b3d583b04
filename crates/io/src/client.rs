//! One client: a process that drives one or more devices by libblkio's driver, with so many 4 KiB
//! requests outstanding on each at random places.
//!
//! It connects, says `ready` and waits for a line; then it works, and says what it counted of each device
//! as a line of JSON. So all clients of a measurement begin together.

use anyhow::{Context, bail};
use hdrhistogram::Histogram;
use memmap2::MmapMut;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use virtio_driver::{
    VhostUser, VirtioBlkFeatureFlags, VirtioBlkQueue, VirtioBlkTransport, VirtioFeatureFlags,
};

/// Bytes of a request.
pub const BLOCK: u64 = 4096;
/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a request may take: a server that hangs is an error, not a long wait.
const LOST: Duration = Duration::from_secs(20);

/// How a client learns of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replies {
    /// It is called, through an eventfd.
    Eventfd,
    /// It looks into memory, all the time.
    Poll,
}

/// What a client is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its devices.
    pub sockets: Vec<PathBuf>,
    /// Requests outstanding on each.
    pub depth: u16,
    /// How it learns of replies.
    pub replies: Replies,
    /// Mean pause between a reply and the next request in its place, exponentially distributed; it has
    /// to look for replies then.
    pub think_ns: u64,
    /// Of 100 requests, those that write.
    pub write_percent: u8,
    /// Time before anything is counted.
    pub warmup_ms: u64,
    /// Time that is counted.
    pub measure_ms: u64,
    /// Of the random places.
    pub seed: u64,
}

/// What a client counted of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Requests that were replied to.
    pub requests: u64,
    /// In this time.
    pub elapsed_ns: u64,
    /// Notifications of the server.
    pub kicks: u64,
    /// Times that it was called.
    pub calls: u64,
    /// Half of the requests took at most this.
    pub latency_p50_ns: u64,
    /// 99 % took at most this.
    pub latency_p99_ns: u64,
}

/// A device that is driven.
struct Device {
    transport: Box<VirtioBlkTransport>,
    queue: VirtioBlkQueue<'static, usize>,
    memory: MmapMut,
    blocks: u64,
    /// When each of its requests outstanding was made.
    began: Vec<Instant>,
    /// Requests that are made when their pauses are over.
    thinking: Vec<(Instant, usize)>,
    latency: Histogram<u64>,
    counted: Counted,
}

fn connect(socket: &Path, depth: u16) -> anyhow::Result<Device> {
    let ring = VirtioFeatureFlags::VERSION_1
        | VirtioFeatureFlags::RING_EVENT_IDX
        | VirtioFeatureFlags::RING_INDIRECT_DESC;
    let features = ring.bits() | VirtioBlkFeatureFlags::all().bits();
    let name = socket.to_str().context("a socket's path that is no text")?;
    let end = Instant::now() + PATIENCE;
    let transport = loop {
        match VhostUser::new(name, features) {
            Ok(transport) => break transport,
            Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error).with_context(|| name.to_owned()),
        }
    };
    let mut transport: Box<VirtioBlkTransport> = Box::new(transport);
    // Direct descriptors, where the device has no others, are three a request.
    let size = (depth * 4).next_power_of_two().max(64);
    let mut queues = VirtioBlkQueue::setup_queues(&mut *transport, 1, size)?;
    let file = rustix::fs::memfd_create("worldswitch-io", rustix::fs::MemfdFlags::CLOEXEC)?;
    let file = File::from(file);
    file.set_len(u64::from(depth) * BLOCK)?;
    // SAFETY: a memory file of this process; only the device writes to it besides.
    let memory = unsafe { MmapMut::map_mut(&file) }?;
    let address = memory.as_ptr() as usize;
    transport.map_mem_region(address, memory.len(), file.as_raw_fd(), 0)?;
    let blocks = u64::from(transport.get_config()?.capacity) * 512 / BLOCK;
    if blocks == 0 {
        bail!("the disk at {name} is smaller than one block");
    }
    let queue = queues.pop().context("the device has no queue")?;
    Ok(Device {
        transport,
        queue,
        memory,
        blocks,
        began: vec![Instant::now(); depth.into()],
        thinking: Vec::new(),
        latency: Histogram::new_with_bounds(1, 60_000_000_000, 3)?,
        counted: Counted::default(),
    })
}

impl Device {
    fn submit(&mut self, slot: usize, random: &mut fastrand::Rng, write: u8) -> anyhow::Result<()> {
        let place = self.memory[slot * BLOCK as usize..].as_mut_ptr();
        let offset = random.u64(..self.blocks) * BLOCK;
        let length = BLOCK as usize;
        // SAFETY: the buffer lies in the mapping, which lives as long as the device.
        unsafe {
            if random.u8(..100) < write {
                self.queue.write_raw(offset, place, length, slot)?;
            } else {
                self.queue.read_raw(offset, place, length, slot)?;
            }
        }
        Ok(())
    }

    /// Tells the server of new requests, where it wants to be told.
    fn kick(&mut self) -> anyhow::Result<()> {
        if self.queue.avail_notif_needed() {
            self.transport.get_submission_notifier(0).notify()?;
            self.counted.kicks += 1;
        }
        Ok(())
    }

    /// Makes the requests whose pauses are over.
    fn end_thinking(&mut self, random: &mut fastrand::Rng, write: u8) -> anyhow::Result<()> {
        let now = Instant::now();
        let mut made = false;
        for place in (0..self.thinking.len()).rev() {
            let (due, slot) = self.thinking[place];
            if due <= now {
                self.thinking.swap_remove(place);
                self.began[slot] = now;
                self.submit(slot, random, write)?;
                made = true;
            }
        }
        if made { self.kick() } else { Ok(()) }
    }

    /// Takes out the replies that are there.
    fn take(&mut self, done: &mut Vec<usize>) -> anyhow::Result<()> {
        for completion in self.queue.completions() {
            if completion.ret != 0 {
                bail!("a request failed with {}", completion.ret);
            }
            done.push(completion.context);
        }
        Ok(())
    }
}

fn any_reply(devices: &mut [Device]) -> bool {
    devices
        .iter_mut()
        .any(|device| device.queue.completions().has_next())
}

/// Waits until some device has a reply, or makes a request after a pause.
fn wait(devices: &mut [Device], replies: Replies) -> anyhow::Result<()> {
    match replies {
        Replies::Poll if devices.iter().any(|device| !device.thinking.is_empty()) => {}
        Replies::Poll => {
            let end = Instant::now() + LOST;
            let mut looks = 0u32;
            while !any_reply(devices) {
                std::hint::spin_loop();
                looks = looks.wrapping_add(1);
                if looks % (1 << 16) == 0 && Instant::now() > end {
                    bail!("no reply within {LOST:?}");
                }
            }
        }
        Replies::Eventfd if !any_reply(devices) => {
            let told: Vec<_> = devices
                .iter()
                .map(|device| device.transport.get_completion_fd(0))
                .collect();
            // Some servers make the eventfd non-blocking, which the two ends share.
            let mut ready: Vec<_> = told
                .iter()
                .map(|told| PollFd::new(&**told, PollFlags::IN))
                .collect();
            let limit = Timespec {
                tv_sec: LOST.as_secs() as _,
                tv_nsec: 0,
            };
            if rustix::event::poll(&mut ready, Some(&limit))? == 0 {
                bail!("no call within {LOST:?}");
            }
            let ready: Vec<bool> = ready.iter().map(|fd| !fd.revents().is_empty()).collect();
            for (told, _) in told.iter().zip(&ready).filter(|(_, ready)| **ready) {
                told.read()?;
            }
            drop(told);
            for (device, ready) in devices.iter_mut().zip(ready) {
                device.counted.calls += u64::from(ready);
            }
        }
        Replies::Eventfd => {}
    }
    Ok(())
}

/// Nanoseconds, as many as fit.
fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Does its task on open devices.
fn work(devices: &mut [Device], task: &Task) -> anyhow::Result<Vec<Counted>> {
    let mut random = fastrand::Rng::with_seed(task.seed);
    let mut done = Vec::with_capacity(task.depth.into());
    for device in &mut *devices {
        let called = task.replies == Replies::Eventfd;
        device.queue.set_used_notif_enabled(called);
        for slot in 0..task.depth.into() {
            device.submit(slot, &mut random, task.write_percent)?;
        }
        device.kick()?;
    }
    let mut from = Instant::now();
    let warm = from + Duration::from_millis(task.warmup_ms);
    let mut end: Option<Instant> = None;
    let mut now = from;
    while end.is_none_or(|end| now < end) {
        wait(devices, task.replies)?;
        for device in &mut *devices {
            device.take(&mut done)?;
            if done.is_empty() {
                continue;
            }
            now = Instant::now();
            for &slot in &done {
                let latency = now.duration_since(device.began[slot]);
                device.latency.saturating_record(ns(latency).max(1));
            }
            device.counted.requests += done.len() as u64;
            for slot in done.drain(..) {
                if task.think_ns == 0 {
                    device.began[slot] = now;
                    device.submit(slot, &mut random, task.write_percent)?;
                } else {
                    let pause = -(1.0 - random.f64()).ln() * task.think_ns as f64;
                    let due = now + Duration::from_nanos(pause as u64);
                    device.thinking.push((due, slot));
                }
            }
            device.kick()?;
        }
        if task.think_ns > 0 {
            for device in &mut *devices {
                device.end_thinking(&mut random, task.write_percent)?;
            }
            now = Instant::now();
        }
        if end.is_none() && now >= warm {
            // What is counted begins now, however late that is.
            (from, end) = (now, Some(now + Duration::from_millis(task.measure_ms)));
            for device in &mut *devices {
                device.counted = Counted::default();
                device.latency.reset();
            }
        }
    }
    let of = |device: &Device| Counted {
        elapsed_ns: ns(now - from),
        latency_p50_ns: device.latency.value_at_quantile(0.5),
        latency_p99_ns: device.latency.value_at_quantile(0.99),
        ..device.counted.clone()
    };
    Ok(devices.iter().map(of).collect())
}

/// A client's whole life, by its standard input and output.
///
/// # Errors
/// The device can't be used, or whoever started it is gone.
pub fn run(task: &str) -> anyhow::Result<()> {
    let task: Task = serde_json::from_str(task).context("this is no task of a client")?;
    let devices = task
        .sockets
        .iter()
        .map(|socket| connect(socket, task.depth));
    let mut devices = devices.collect::<anyhow::Result<Vec<_>>>()?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ready")?;
    stdout.flush()?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        bail!("nobody said that it begins");
    }
    let counted = work(&mut devices, &task)?;
    writeln!(stdout, "{}", serde_json::to_string(&counted)?)?;
    Ok(())
}
