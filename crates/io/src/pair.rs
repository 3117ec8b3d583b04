//! Two network devices of a server that forwards frames between them, driven together: an echo or a stream.

use crate::client::{Counted, Endpoint};
use crate::station::Station;
use anyhow::bail;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Direction of a pair's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Traffic {
    /// The second device sends each frame back, as netperf's TCP_RR does. A request is the way there and back.
    Echo,
    /// The first device sends to the second. A request is a frame.
    Stream,
}

/// A pair of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrivenPair {
    /// Sockets of both devices.
    pub sockets: [PathBuf; 2],
    pub traffic: Traffic,
    pub frame_bytes: u32,
    /// Outstanding requests.
    pub depth: u16,
    /// Mean pause between a reply and the next request, exponentially distributed.
    pub think_ns: u64,
}

/// A connected pair, with its counts.
pub(crate) struct Pair {
    stations: [Station; 2],
    traffic: Traffic,
    depth: usize,
    think_ns: u64,
    /// Start of each request, by its number modulo `depth`.
    began: Vec<Instant>,
    /// Number of the next request, and of the next one that ends: requests end in order.
    next: u32,
    ends: u32,
    /// Numbers of the frames that are still to be sent back.
    unsent: Vec<u32>,
    /// Ends of the pauses.
    thinking: Vec<Instant>,
    latency: Histogram<u64>,
    counted: Counted,
    /// Number of kicks before counting started.
    kicks: u64,
}

impl Pair {
    /// Connects to a server, and waits until it forwards frames.
    pub(crate) fn connect(driven: &DrivenPair) -> anyhow::Result<Self> {
        let [first, second] = &driven.sockets;
        let connect =
            |socket, number| Station::connect(socket, number, driven.frame_bytes, driven.depth);
        let mut stations = [connect(first, 0)?, connect(second, 1)?];
        let [first, second] = &mut stations;
        first.find(second)?;
        second.find(first)?;
        let depth = usize::from(driven.depth);
        Ok(Self {
            stations,
            traffic: driven.traffic,
            depth,
            think_ns: driven.think_ns,
            began: vec![Instant::now(); depth],
            next: 0,
            ends: 0,
            unsent: Vec::with_capacity(depth),
            thinking: Vec::with_capacity(depth),
            latency: Histogram::new_with_bounds(1, 60_000_000_000, 3)?,
            counted: Counted::default(),
            kicks: 0,
        })
    }

    /// Requests that have begun and not ended.
    fn outstanding(&self) -> usize {
        self.next.wrapping_sub(self.ends) as usize
    }

    /// Begins as many requests as may be outstanding; requests that pause count as such.
    fn send(&mut self, now: Instant) -> anyhow::Result<()> {
        while self.outstanding() + self.thinking.len() < self.depth {
            if !self.stations[0].send(self.next) {
                break;
            }
            self.began[self.next as usize % self.depth] = now;
            self.next = self.next.wrapping_add(1);
        }
        self.stations[0].kick()
    }

    /// Sends back the frames that the second device has received.
    fn echo(&mut self) -> anyhow::Result<()> {
        while let Some(number) = self.stations[1].receive()? {
            self.unsent.push(number);
        }
        let second = &mut self.stations[1];
        let sent = self
            .unsent
            .iter()
            .take_while(|number| second.send(**number));
        let sent = sent.count();
        self.unsent.drain(..sent);
        second.kick()
    }

    /// Takes the frames that end requests. Returns their number and the time.
    fn take(&mut self) -> anyhow::Result<(usize, Option<Instant>)> {
        let last = match self.traffic {
            Traffic::Echo => 0,
            Traffic::Stream => 1,
        };
        let (mut taken, mut at) = (0, None);
        while let Some(number) = self.stations[last].receive()? {
            if number != self.ends {
                bail!("received frame {number} instead of frame {}", self.ends);
            }
            let now = *at.get_or_insert_with(Instant::now);
            let latency = now - self.began[number as usize % self.depth];
            self.latency.saturating_record(ns(latency).max(1));
            self.ends = self.ends.wrapping_add(1);
            taken += 1;
        }
        Ok((taken, at))
    }
}

impl Endpoint for Pair {
    fn begin(&mut self, called: bool, _: &mut fastrand::Rng) -> anyhow::Result<()> {
        for station in &mut self.stations {
            station.want_calls(called);
        }
        self.send(Instant::now())
    }

    fn has_reply(&mut self, called: bool) -> bool {
        if called {
            for station in &mut self.stations {
                station.want_calls(true);
            }
        }
        self.stations.iter().any(Station::has_frame)
    }

    fn is_thinking(&self) -> bool {
        !self.thinking.is_empty()
    }

    fn calls(&self) -> Vec<BorrowedFd<'_>> {
        self.stations.iter().map(Station::calls).collect()
    }

    fn take_call(&mut self, which: usize) -> anyhow::Result<()> {
        self.counted.calls += 1;
        self.stations[which].take_call()
    }

    fn go_on(&mut self, random: &mut fastrand::Rng) -> anyhow::Result<Option<Instant>> {
        if self.traffic == Traffic::Echo {
            self.echo()?;
        }
        let (taken, at) = self.take()?;
        for station in &mut self.stations {
            station.give_back()?;
        }
        let Some(now) = at else {
            return Ok(None);
        };
        self.counted.requests += taken as u64;
        if self.think_ns > 0 {
            for _ in 0..taken {
                let pause = -(1.0 - random.f64()).ln() * self.think_ns as f64;
                self.thinking.push(now + Duration::from_nanos(pause as u64));
            }
        }
        self.send(now)?;
        Ok(Some(now))
    }

    fn end_thinking(&mut self, _: &mut fastrand::Rng) -> anyhow::Result<()> {
        let now = Instant::now();
        let before = self.thinking.len();
        self.thinking.retain(|due| *due > now);
        if self.thinking.len() < before {
            self.send(now)?;
        }
        Ok(())
    }

    fn count_anew(&mut self) {
        self.counted = Counted::default();
        self.kicks = self.stations.iter().map(Station::kicks).sum();
        self.latency.reset();
    }

    fn counted(&self, elapsed: Duration) -> Counted {
        let kicks: u64 = self.stations.iter().map(Station::kicks).sum();
        Counted {
            elapsed_ns: ns(elapsed),
            kicks: kicks - self.kicks,
            latency_p50_ns: self.latency.value_at_quantile(0.5),
            latency_p99_ns: self.latency.value_at_quantile(0.99),
            ..self.counted.clone()
        }
    }

    fn read_back(&mut self, _: Duration) -> anyhow::Result<u64> {
        Ok(0)
    }
}

/// Nanoseconds, saturated.
fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
