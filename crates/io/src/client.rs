//! A client: a process that drives one or more disks with libblkio's driver, and keeps a fixed
//! number of 4 KiB requests outstanding on each, at random blocks; or pairs of network devices.
//!
//! A client connects, prints `ready` and waits for a line on standard input, so that all clients of a measurement start
//! together. Then it drives its devices, and prints its counts for each device as one line of JSON.

use crate::device::Device;
use crate::pair::{DrivenPair, Pair};
use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags, Timespec};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bytes of a request.
pub const BLOCK: u64 = 4096;
/// Longest time of a request: a server that hangs is an error, not a long wait.
const LOST: Duration = Duration::from_secs(20);

/// Way in which a client learns of completed requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replies {
    /// The client waits for the server's call (an eventfd).
    Eventfd,
    /// The client polls the ring in memory.
    Poll,
}

/// Choice of the requests that write; the others read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// Percentage of the requests, chosen at random.
    Percent(u8),
    /// Requests in this many of the slots, as threads that write beside threads that read.
    Slots(u16),
}

/// Device or devices that a client drives as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Driven {
    /// A block device.
    Disk(DrivenDisk),
    /// A pair of network devices.
    Pair(DrivenPair),
}

/// A block device of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrivenDisk {
    /// Socket on which the device's server listens.
    pub socket: PathBuf,
    /// Outstanding requests.
    pub depth: u16,
    /// Requests that write.
    pub writes: Writes,
    /// Mean pause between a reply and the next request in its slot, exponentially distributed; needs
    /// [`Replies::Poll`].
    pub think_ns: u64,
}

/// A client's task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Devices that the client drives.
    pub devices: Vec<Driven>,
    pub replies: Replies,
    /// Whether the client compares what it reads with what it wrote.
    pub verify: bool,
    /// Time before counting starts.
    pub warmup_ms: u64,
    /// Time that is counted.
    pub measure_ms: u64,
    /// Seed of the random blocks; each client has another one.
    pub seed: u64,
}

/// A client's counts for one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Completed requests.
    pub requests: u64,
    /// Time in which the requests were counted.
    pub elapsed_ns: u64,
    /// Kicks: notifications sent to the server.
    pub kicks: u64,
    /// Calls: notifications received from the server.
    pub calls: u64,
    /// Reads whose bytes were compared with the written ones, including the final read of each written block.
    pub compared: u64,
    /// Latency that half of the requests did not exceed.
    pub latency_p50_ns: u64,
    /// Latency that 99 % of the requests did not exceed.
    pub latency_p99_ns: u64,
}

/// A device, or a pair of them, with its requests and counts.
pub(crate) trait Endpoint {
    /// Submits the first requests. `called`: the client waits for the server's calls.
    fn begin(&mut self, called: bool, random: &mut fastrand::Rng) -> anyhow::Result<()>;

    /// Whether there is a reply; if not and `called`, the next one brings a call.
    fn has_reply(&mut self, called: bool) -> bool;

    /// Whether a request pauses.
    fn is_thinking(&self) -> bool;

    /// The eventfds of the server's calls.
    fn calls(&self) -> Vec<BorrowedFd<'_>>;

    /// Takes a call from one of the eventfds of [`Self::calls`].
    fn take_call(&mut self, which: usize) -> anyhow::Result<()>;

    /// Takes replies, and submits the next requests in their slots or starts their pauses. Returns the time of that if
    /// there was a reply. Fails if a request failed, or if a read did not return what was written.
    fn go_on(&mut self, random: &mut fastrand::Rng) -> anyhow::Result<Option<Instant>>;

    /// Submits the requests whose pauses are over.
    fn end_thinking(&mut self, random: &mut fastrand::Rng) -> anyhow::Result<()>;

    /// Resets the counts.
    fn count_anew(&mut self);

    /// The counts, for the given time.
    fn counted(&self, elapsed: Duration) -> Counted;

    /// Waits for all replies, then reads back and checks every block that was ever written. Returns the number of
    /// blocks. Fails if a request has no reply within `lost`.
    fn read_back(&mut self, lost: Duration) -> anyhow::Result<u64>;
}

type Endpoints = [Box<dyn Endpoint>];

fn any_reply(devices: &mut Endpoints, called: bool) -> bool {
    devices.iter_mut().any(|device| device.has_reply(called))
}

/// Waits until a device has a reply. With pauses (`think_ns`) this returns at once while any slot pauses, so that the
/// caller can check whether a pause is over.
fn wait(devices: &mut Endpoints, replies: Replies) -> anyhow::Result<()> {
    match replies {
        Replies::Poll if devices.iter().any(|device| device.is_thinking()) => {}
        Replies::Poll => {
            let end = Instant::now() + LOST;
            let mut looks = 0u32;
            while !any_reply(devices, false) {
                std::hint::spin_loop();
                looks = looks.wrapping_add(1);
                if looks % (1 << 16) == 0 && Instant::now() > end {
                    bail!("no reply within {LOST:?}");
                }
            }
        }
        Replies::Eventfd if !any_reply(devices, true) => {
            for (device, which) in called(devices)? {
                devices[device].take_call(which)?;
            }
        }
        Replies::Eventfd => {}
    }
    Ok(())
}

/// Waits for calls. Returns the devices that were called, each with the index of its eventfd.
fn called(devices: &Endpoints) -> anyhow::Result<Vec<(usize, usize)>> {
    let (mut places, mut ready) = (Vec::new(), Vec::new());
    for (number, device) in devices.iter().enumerate() {
        for (which, told) in device.calls().into_iter().enumerate() {
            places.push((number, which));
            ready.push(PollFd::from_borrowed_fd(told, PollFlags::IN));
        }
    }
    // poll, not a blocking read: some servers set O_NONBLOCK, which both ends share.
    let limit = Timespec {
        tv_sec: LOST.as_secs() as _,
        tv_nsec: 0,
    };
    if rustix::event::poll(&mut ready, Some(&limit))? == 0 {
        bail!("no call within {LOST:?}");
    }
    let all = places.into_iter().zip(&ready);
    let told = all.filter(|(_, ready)| !ready.revents().is_empty());
    Ok(told.map(|(place, _)| place).collect())
}

/// Runs the task on connected devices.
fn work(devices: &mut Endpoints, task: &Task) -> anyhow::Result<Vec<Counted>> {
    let mut random = fastrand::Rng::with_seed(task.seed);
    for device in &mut *devices {
        device.begin(task.replies == Replies::Eventfd, &mut random)?;
    }
    let thinks = task.devices.iter().any(|driven| driven.think_ns() > 0);
    let mut from = Instant::now();
    let warm = from + Duration::from_millis(task.warmup_ms);
    let mut end: Option<Instant> = None;
    let mut now = from;
    while end.is_none_or(|end| now < end) {
        wait(devices, task.replies)?;
        for device in &mut *devices {
            now = device.go_on(&mut random)?.unwrap_or(now);
        }
        if thinks {
            for device in &mut *devices {
                device.end_thinking(&mut random)?;
            }
            now = Instant::now();
        }
        if end.is_none() && now >= warm {
            // Counting starts now, even if the warm-up ended earlier.
            (from, end) = (now, Some(now + Duration::from_millis(task.measure_ms)));
            devices.iter_mut().for_each(|device| device.count_anew());
        }
    }
    let elapsed = now - from;
    let mut counted: Vec<Counted> = devices.iter().map(|d| d.counted(elapsed)).collect();
    if task.verify {
        for (device, counted) in devices.iter_mut().zip(&mut counted) {
            counted.compared += device.read_back(LOST)?;
        }
    }
    Ok(counted)
}

impl Driven {
    fn think_ns(&self) -> u64 {
        match self {
            Self::Disk(disk) => disk.think_ns,
            Self::Pair(pair) => pair.think_ns,
        }
    }

    fn connect(&self, number: u64, verify: bool) -> anyhow::Result<Box<dyn Endpoint>> {
        Ok(match self {
            Self::Disk(disk) => Box::new(Device::connect(disk, number, verify)?),
            Self::Pair(pair) => Box::new(Pair::connect(pair)?),
        })
    }
}

/// Runs a client on standard input and output.
///
/// # Errors
/// A device can't be used, or standard input was closed before the start.
pub fn run(task: &str) -> anyhow::Result<()> {
    let task: Task = serde_json::from_str(task).context("this is not a client's task")?;
    let numbered = (task.seed..).zip(&task.devices);
    let devices = numbered.map(|(number, driven)| driven.connect(number, task.verify));
    let mut devices = devices.collect::<anyhow::Result<Vec<_>>>()?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ready")?;
    stdout.flush()?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        bail!("standard input was closed before the start");
    }
    let counted = work(&mut devices, &task)?;
    writeln!(stdout, "{}", serde_json::to_string(&counted)?)?;
    Ok(())
}
