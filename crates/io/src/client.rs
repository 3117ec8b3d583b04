//! One client: a process that drives one or more devices by libblkio's driver, with so many 4 KiB
//! requests outstanding on each at random places.
//!
//! It connects, says `ready` and waits for a line; then it works, and says what it counted of each device
//! as a line of JSON. So all clients of a measurement begin together.

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

/// How a client learns of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replies {
    /// It is called, through an eventfd.
    Eventfd,
    /// It looks into memory, all the time.
    Poll,
}

/// Which requests write; the others read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// So many of 100, by chance.
    Percent(u8),
    /// Those of so many of the outstanding: threads that write beside threads that read.
    Slots(u16),
}

/// One device of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driven {
    /// Where its server listens.
    pub socket: PathBuf,
    /// Requests outstanding.
    pub depth: u16,
    /// Which of them write.
    pub writes: Writes,
    /// Mean pause between a reply and the next request in its place, exponentially distributed; the
    /// client has to look for replies then.
    pub think_ns: u64,
}

/// What a client is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its devices.
    pub devices: Vec<Driven>,
    /// How it learns of replies.
    pub replies: Replies,
    /// Whether it compares what it reads with what it wrote.
    pub verify: bool,
    /// Time before anything is counted.
    pub warmup_ms: u64,
    /// Time that is counted.
    pub measure_ms: u64,
    /// Of the random places; differs from client to client.
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
    /// Reads that were compared with what was written, and were the same; those after the end, of each
    /// block that was written, among them.
    pub compared: u64,
    /// Half of the requests took at most this.
    pub latency_p50_ns: u64,
    /// 99 % took at most this.
    pub latency_p99_ns: u64,
}

fn any_reply(devices: &mut [Device]) -> bool {
    devices.iter_mut().any(Device::has_reply)
}

/// Waits until some device has a reply, or makes a request after a pause.
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

/// Does its task on open devices.
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
            // What is counted begins now, however late that is.
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

/// A client's whole life, by its standard input and output.
///
/// # Errors
/// The device can't be used, or whoever started it is gone.
pub fn run(task: &str) -> anyhow::Result<()> {
    let task: Task = serde_json::from_str(task).context("this is no task of a client")?;
    let numbered = (task.seed..).zip(&task.devices);
    let devices = numbered.map(|(number, driven)| Device::connect(driven, number, task.verify));
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
