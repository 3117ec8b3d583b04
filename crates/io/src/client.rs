//! A client: a process that drives one or more devices with libblkio's driver, and keeps a fixed
//! number of 4 KiB requests outstanding on each, at random blocks.
//!
//! It connects, prints `ready` and waits for a line on standard input, so that all clients of a
//! measurement start together. Then it drives its devices, and prints its counts for each device as
//! one line of JSON.

use crate::device::Device;
use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags, Timespec};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bytes of a request.
pub const BLOCK: u64 = 4096;
/// How long a request may take: a server that hangs is an error, not a long wait.
const LOST: Duration = Duration::from_secs(20);

/// How a client learns of completed requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replies {
    /// It waits for the server's call (an eventfd).
    Eventfd,
    /// It polls the ring in memory.
    Poll,
}

/// Which requests write; the others read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// This many of 100, chosen at random.
    Percent(u8),
    /// Those in this many of the slots, as threads that write beside threads that read.
    Slots(u16),
}

/// One device of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driven {
    /// The socket on which its server listens.
    pub socket: PathBuf,
    /// Requests outstanding.
    pub depth: u16,
    /// Which of them write.
    pub writes: Writes,
    /// Mean pause between a reply and the next request in its slot, exponentially distributed; needs
    /// [`Replies::Poll`].
    pub think_ns: u64,
}

/// A client's task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its devices.
    pub devices: Vec<Driven>,
    /// How it learns of completed requests.
    pub replies: Replies,
    /// Whether it compares what it reads with what it wrote.
    pub verify: bool,
    /// Time before counting starts.
    pub warmup_ms: u64,
    /// Time that is counted.
    pub measure_ms: u64,
    /// The seed of the random blocks, another one for each client.
    pub seed: u64,
}

/// A client's counts for one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Completed requests.
    pub requests: u64,
    /// The time in which they were counted.
    pub elapsed_ns: u64,
    /// Kicks: notifications sent to the server.
    pub kicks: u64,
    /// Calls: notifications received from the server.
    pub calls: u64,
    /// Reads that returned what was written, including the final read of each written block.
    pub compared: u64,
    /// Half of the requests took at most this.
    pub latency_p50_ns: u64,
    /// 99 % took at most this.
    pub latency_p99_ns: u64,
}

fn any_reply(devices: &mut [Device]) -> bool {
    devices.iter_mut().any(Device::has_reply)
}

/// Waits until a device has a reply. With pauses (`think_ns`) it returns at once while any slot
/// pauses, so that the caller can check whether a pause is over.
fn wait(devices: &mut [Device], replies: Replies) -> anyhow::Result<()> {
    match replies {
        Replies::Poll if devices.iter().any(Device::is_thinking) => {}
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
            let told: Vec<_> = devices.iter().map(Device::called).collect();
            // poll, not a blocking read: some servers set O_NONBLOCK, which both ends share.
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
            for ((device, told), ready) in devices.iter_mut().zip(&told).zip(&ready) {
                if !ready.revents().is_empty() {
                    told.read()?;
                    device.was_called();
                }
            }
        }
        Replies::Eventfd => {}
    }
    Ok(())
}

/// Runs the task on connected devices.
fn work(devices: &mut [Device], task: &Task) -> anyhow::Result<Vec<Counted>> {
    let mut random = fastrand::Rng::with_seed(task.seed);
    let mut done = Vec::new();
    for device in &mut *devices {
        device.begin(task.replies == Replies::Eventfd, &mut random)?;
    }
    let thinks = task.devices.iter().any(|driven| driven.think_ns > 0);
    let mut from = Instant::now();
    let warm = from + Duration::from_millis(task.warmup_ms);
    let mut end: Option<Instant> = None;
    let mut now = from;
    while end.is_none_or(|end| now < end) {
        wait(devices, task.replies)?;
        for device in &mut *devices {
            now = device.go_on(&mut done, &mut random)?.unwrap_or(now);
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
            devices.iter_mut().for_each(Device::count_anew);
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

/// Runs a client on standard input and output.
///
/// # Errors
/// A device can't be used, or standard input was closed before the start.
pub fn run(task: &str) -> anyhow::Result<()> {
    let task: Task = serde_json::from_str(task).context("this is not a client's task")?;
    let numbered = (task.seed..).zip(&task.devices);
    let devices = numbered.map(|(number, driven)| Device::connect(driven, number, task.verify));
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
