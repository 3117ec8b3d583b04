//! A load of 4 KiB reads on vhost-user block sockets, by libblkio's driver, one after another:
//!
//!     cargo run --release -p elvis --example load -- DEPTH SECONDS poll|call SOCKET...
//!
//! `poll` looks for replies in memory; `call` waits for the eventfd. The socket may be anybody's.
//! Bind it and the server to different CPUs (taskset), or two polling threads share one.

use anyhow::{Context, bail};
use memmap2::MmapMut;
use rustix::event::{PollFd, PollFlags};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use virtio_driver::{
    VhostUser, VirtioBlkFeatureFlags, VirtioBlkQueue, VirtioBlkTransport, VirtioFeatureFlags,
};

struct Device {
    transport: Box<VirtioBlkTransport>,
    queue: VirtioBlkQueue<'static, usize>,
    memory: MmapMut,
    blocks: u64,
}

fn connect(socket: &str, depth: usize) -> anyhow::Result<Device> {
    let ring = VirtioFeatureFlags::VERSION_1 | VirtioFeatureFlags::RING_EVENT_IDX;
    let features = ring.bits() | VirtioBlkFeatureFlags::all().bits();
    let transport = VhostUser::new(socket, features).with_context(|| socket.to_owned())?;
    let mut transport: Box<VirtioBlkTransport> = Box::new(transport);
    let size = u16::try_from((depth * 4).next_power_of_two().max(64))?;
    let mut queues = VirtioBlkQueue::setup_queues(&mut *transport, 1, size)?;
    let file = rustix::fs::memfd_create("load", rustix::fs::MemfdFlags::CLOEXEC)?;
    let file = File::from(file);
    file.set_len(depth as u64 * 4096)?;
    // SAFETY: a memory file of this process; only the device writes to it besides.
    let memory = unsafe { MmapMut::map_mut(&file) }?;
    let address = memory.as_ptr() as usize;
    transport.map_mem_region(address, memory.len(), file.as_raw_fd(), 0)?;
    let blocks = u64::from(transport.get_config()?.capacity) / 8;
    let queue = queues.pop().context("no queue")?;
    Ok(Device {
        transport,
        queue,
        memory,
        blocks,
    })
}

fn submit(device: &mut Device, slot: usize, random: &mut u64) -> anyhow::Result<()> {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let place = device.memory[slot * 4096..].as_mut_ptr();
    let offset = *random % device.blocks * 4096;
    // SAFETY: the buffer lies in the mapping, which lives as long as the device.
    unsafe { device.queue.read_raw(offset, place, 4096, slot) }?;
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [depth, seconds, wait, sockets @ ..] = &words[..] else {
        bail!("usage: load DEPTH SECONDS poll|call SOCKET...");
    };
    let (depth, seconds): (usize, f64) = (depth.parse()?, seconds.parse()?);
    let poll = wait == "poll";
    let mut devices = sockets
        .iter()
        .map(|socket| connect(socket, depth))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut random = 0x9e37_79b9_7f4a_7c15;
    let mut kicks = 0u64;
    for device in &mut devices {
        device.queue.set_used_notif_enabled(!poll);
        for slot in 0..depth {
            submit(device, slot, &mut random)?;
        }
        device.queue.avail_notif_needed();
        device.transport.get_submission_notifier(0).notify()?;
    }
    let start = Instant::now();
    let end = Duration::from_secs_f64(seconds);
    let mut replies = vec![0u64; devices.len()];
    while start.elapsed() < end {
        for (device, replies) in devices.iter_mut().zip(&mut replies) {
            if !poll && !device.queue.completions().has_next() {
                let told = device.transport.get_completion_fd(0);
                // Some back-ends make the eventfd non-blocking, which the two ends share.
                let mut ready = [PollFd::new(&*told, PollFlags::IN)];
                rustix::event::poll(&mut ready, None)?;
                told.read()?;
            }
            let done: Vec<usize> = device
                .queue
                .completions()
                .map(|completion| completion.context)
                .collect();
            for &slot in &done {
                submit(device, slot, &mut random)?;
            }
            *replies += done.len() as u64;
            if !done.is_empty() && device.queue.avail_notif_needed() {
                kicks += 1;
                device.transport.get_submission_notifier(0).notify()?;
            }
        }
    }
    let elapsed = start.elapsed().as_secs_f64();
    let all: u64 = replies.iter().sum();
    println!(
        "{:.0} requests/s, mean latency {:.2} us, {kicks} kicks for {all} requests",
        all as f64 / elapsed,
        elapsed * 1e6 * (depth * devices.len()) as f64 / all.max(1) as f64,
    );
    Ok(())
}
