//! A vhost-user block device, driven with libblkio's driver.

use crate::client::{BLOCK, Counted, DrivenDisk, Endpoint, Writes};
use crate::pattern::Written;
use crate::slots;
use crate::station::patiently;
use anyhow::{Context, bail};
use hdrhistogram::Histogram;
use memmap2::MmapMut;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use virtio_driver::{
    EventFd, VirtioBlkFeatureFlags, VirtioBlkQueue, VirtioBlkTransport, VirtioFeatureFlags,
};

/// A connected device, with its requests and counts.
pub struct Device {
    transport: Box<VirtioBlkTransport>,
    queue: VirtioBlkQueue<'static, usize>,
    /// The server's calls.
    called: Arc<EventFd>,
    memory: MmapMut,
    /// Blocks that each slot may use.
    places: u64,
    depth: usize,
    writes: Writes,
    think_ns: u64,
    slots: Vec<Slot>,
    /// Slots whose requests are done.
    done: Vec<usize>,
    /// Slots that pause, and when their pauses end.
    thinking: Vec<(Instant, usize)>,
    /// Contents of the written blocks, if reads are checked.
    written: Option<Written>,
    latency: Histogram<u64>,
    counted: Counted,
    /// The origin of the requests' `began_ns`.
    epoch: Instant,
}

/// State of an outstanding request.
#[derive(Clone, Copy)]
struct Slot {
    began_ns: u64,
    block: u64,
    write: bool,
}

impl Device {
    /// Connects to a server, which may not listen yet. Each device has another `number`.
    /// # Errors
    /// No server listens, or its disk has fewer blocks than `depth`.
    pub fn connect(driven: &DrivenDisk, number: u64, verify: bool) -> anyhow::Result<Self> {
        let ring = VirtioFeatureFlags::VERSION_1
            | VirtioFeatureFlags::RING_EVENT_IDX
            | VirtioFeatureFlags::RING_INDIRECT_DESC;
        let features = ring.bits() | VirtioBlkFeatureFlags::all().bits();
        let name = driven.socket.display();
        let transport = patiently(|| slots::connect(&driven.socket, features));
        let transport = transport.with_context(|| name.to_string())?;
        let mut transport: Box<VirtioBlkTransport> = Box::new(transport);
        // All memory is there before a queue starts: a server that is told of more stops its queues meanwhile.
        let file = rustix::fs::memfd_create("worldswitch-io", rustix::fs::MemfdFlags::CLOEXEC)?;
        let file = File::from(file);
        file.set_len(u64::from(driven.depth) * BLOCK)?;
        // SAFETY: a memory file of this process; besides it only the device writes to the file.
        let memory = unsafe { MmapMut::map_mut(&file) }?;
        let address = memory.as_ptr() as usize;
        transport.map_mem_region(address, memory.len(), file.as_raw_fd(), 0)?;
        // Without indirect descriptors, a request takes three direct ones.
        let size = (driven.depth * 4).next_power_of_two().max(64);
        let mut queues = VirtioBlkQueue::setup_queues(&mut *transport, 1, size)?;
        let blocks = u64::from(transport.get_config()?.capacity) * 512 / BLOCK;
        if blocks < u64::from(driven.depth) {
            bail!("the disk at {name} has fewer blocks than requests outstanding");
        }
        let queue = queues.pop().context("the device has no queue")?;
        let slot = Slot {
            began_ns: 0,
            block: 0,
            write: false,
        };
        Ok(Self {
            called: transport.get_completion_fd(0),
            transport,
            queue,
            memory,
            places: blocks / u64::from(driven.depth),
            depth: driven.depth.into(),
            writes: driven.writes,
            think_ns: driven.think_ns,
            slots: vec![slot; driven.depth.into()],
            done: Vec::with_capacity(driven.depth.into()),
            thinking: Vec::new(),
            written: verify.then(|| Written::new(number, blocks)),
            latency: Histogram::new_with_bounds(1, 60_000_000_000, 3)?,
            counted: Counted::default(),
            epoch: Instant::now(),
        })
    }

    /// Submits a request for a random block. Each slot has blocks of its own: no two outstanding
    /// requests use the same block, so the contents of each block are known.
    fn submit_random(&mut self, slot: usize, random: &mut fastrand::Rng) -> anyhow::Result<()> {
        let block = random.u64(..self.places) * self.depth as u64 + slot as u64;
        let write = match self.writes {
            Writes::Percent(percent) => random.u8(..100) < percent,
            Writes::Slots(writers) => slot < writers.into(),
        };
        self.submit(slot, block, write)
    }

    fn submit(&mut self, slot: usize, block: u64, write: bool) -> anyhow::Result<()> {
        self.slots[slot].block = block;
        self.slots[slot].write = write;
        let length = BLOCK as usize;
        let buffer = &mut self.memory[slot * length..][..length];
        if let Some(written) = self.written.as_mut().filter(|_| write) {
            written.fill(block, buffer);
        }
        let place = buffer.as_mut_ptr();
        // SAFETY: the buffer is in the mapping, which lives as long as the device.
        unsafe {
            if write {
                self.queue.write_raw(block * BLOCK, place, length, slot)?;
            } else {
                self.queue.read_raw(block * BLOCK, place, length, slot)?;
            }
        }
        Ok(())
    }

    /// Notifies the server of new requests, unless it suppresses notifications.
    fn kick(&mut self) -> anyhow::Result<()> {
        if self.queue.avail_notif_needed() {
            self.transport.get_submission_notifier(0).notify()?;
            self.counted.kicks += 1;
        }
        Ok(())
    }

    /// Takes the available replies from the ring, and checks the bytes that were read.
    fn take(&mut self, done: &mut Vec<usize>) -> anyhow::Result<()> {
        for completion in self.queue.completions() {
            if completion.ret != 0 {
                bail!("a request failed with {}", completion.ret);
            }
            done.push(completion.context);
        }
        let Some(written) = &self.written else {
            return Ok(());
        };
        for &slot in &*done {
            let Slot { block, write, .. } = self.slots[slot];
            let length = BLOCK as usize;
            let read = &self.memory[slot * length..][..length];
            self.counted.compared += u64::from(!write && written.check(block, read)?);
        }
        Ok(())
    }

    /// Counts requests that are done, and submits the next in their slots or starts their pauses.
    fn next(
        &mut self,
        now: Instant,
        done: &mut Vec<usize>,
        random: &mut fastrand::Rng,
    ) -> anyhow::Result<()> {
        let now_ns = ns(now - self.epoch);
        for &slot in &*done {
            let latency_ns = now_ns - self.slots[slot].began_ns;
            self.latency.saturating_record(latency_ns.max(1));
        }
        self.counted.requests += done.len() as u64;
        for slot in done.drain(..) {
            if self.think_ns == 0 {
                self.slots[slot].began_ns = now_ns;
                self.submit_random(slot, random)?;
            } else {
                let pause = -(1.0 - random.f64()).ln() * self.think_ns as f64;
                let due = now + Duration::from_nanos(pause as u64);
                self.thinking.push((due, slot));
            }
        }
        self.kick()
    }

    /// Polls until `count` replies have arrived.
    fn collect(
        &mut self,
        count: usize,
        done: &mut Vec<usize>,
        lost: Duration,
    ) -> anyhow::Result<()> {
        let end = Instant::now() + lost;
        let mut taken = 0;
        while taken < count {
            self.take(done)?;
            taken += done.len();
            if done.is_empty() {
                if Instant::now() > end {
                    bail!("no reply within {lost:?}");
                }
                // Other clients may share this CPU.
                std::thread::yield_now();
            }
            done.clear();
        }
        Ok(())
    }
}

impl Endpoint for Device {
    fn begin(&mut self, called: bool, random: &mut fastrand::Rng) -> anyhow::Result<()> {
        self.queue.set_used_notif_enabled(called);
        for slot in 0..self.depth {
            self.slots[slot].began_ns = ns(self.epoch.elapsed());
            self.submit_random(slot, random)?;
        }
        self.kick()
    }

    fn has_reply(&mut self, _: bool) -> bool {
        self.queue.completions().has_next()
    }

    fn is_thinking(&self) -> bool {
        !self.thinking.is_empty()
    }

    fn calls(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.called.as_fd()]
    }

    fn take_call(&mut self, _: usize) -> anyhow::Result<()> {
        self.called.read()?;
        self.counted.calls += 1;
        Ok(())
    }

    fn go_on(&mut self, random: &mut fastrand::Rng) -> anyhow::Result<Option<Instant>> {
        let mut done = std::mem::take(&mut self.done);
        self.take(&mut done)?;
        let now = (!done.is_empty()).then(Instant::now);
        if let Some(now) = now {
            self.next(now, &mut done, random)?;
        }
        self.done = done;
        Ok(now)
    }

    fn end_thinking(&mut self, random: &mut fastrand::Rng) -> anyhow::Result<()> {
        let now = Instant::now();
        let mut made = false;
        for place in (0..self.thinking.len()).rev() {
            let (due, slot) = self.thinking[place];
            if due <= now {
                self.thinking.swap_remove(place);
                self.slots[slot].began_ns = ns(now - self.epoch);
                self.submit_random(slot, random)?;
                made = true;
            }
        }
        if made { self.kick() } else { Ok(()) }
    }

    fn count_anew(&mut self) {
        self.counted = Counted::default();
        self.latency.reset();
    }

    fn counted(&self, elapsed: Duration) -> Counted {
        Counted {
            elapsed_ns: ns(elapsed),
            latency_p50_ns: self.latency.value_at_quantile(0.5),
            latency_p99_ns: self.latency.value_at_quantile(0.99),
            ..self.counted.clone()
        }
    }

    fn read_back(&mut self, lost: Duration) -> anyhow::Result<u64> {
        let outstanding = self.depth - self.thinking.len();
        let mut done = Vec::new();
        self.collect(outstanding, &mut done, lost)?;
        let blocks = self.written.as_ref().map(Written::blocks);
        let blocks = blocks.unwrap_or_default();
        for some in blocks.chunks(self.depth) {
            for (slot, &block) in some.iter().enumerate() {
                self.submit(slot, block, false)?;
            }
            self.kick()?;
            self.collect(some.len(), &mut done, lost)?;
        }
        Ok(blocks.len() as u64)
    }
}

/// Nanoseconds, saturated.
fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
