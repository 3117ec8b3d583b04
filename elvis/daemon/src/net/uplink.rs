//! An uplink: a tap device or an interface of the host behind a port of a switch.
//!
//! The sender of a frame to an uplink gives the frame to the kernel, without waiting: the kernel takes it, or it is
//! dropped and counted. One thread for each uplink takes frames from the kernel and puts them into the inboxes of
//! receivers. So I/O cores spend time only on frames that a device gets.

use super::switch::{Joined, Learned, Port, Ports, Switch, UPLINK_ADDRESSES};
use super::{ETHERNET, Header, LONGEST, Link, LinkSpec, Mac, Parts, flow, vlan};
use crate::thread;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use serde::Serialize;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Frames that are taken between two looks for the end.
const BATCH: usize = 256;
/// A pause after an error: an interface that is gone has one at each look.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// The configuration of an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UplinkSpec {
    /// Name of the switch.
    pub switch: String,
    /// Tap or interface of the uplink.
    pub link: LinkSpec,
    /// VLAN of the uplink's frames, which have no tag; 0: the uplink carries all VLANs, each with its tag.
    pub vlan: u16,
}

impl UplinkSpec {
    /// Returns the uplink as the configuration writes it, without the VLAN.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}={}", self.switch, self.link.text())
    }
}

/// Counters of an uplink.
#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    sent_bytes: AtomicU64,
    received: AtomicU64,
    received_bytes: AtomicU64,
    unsent: AtomicU64,
    foreign: AtomicU64,
    failed: AtomicU64,
}

/// Counters of an uplink, at some time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UplinkCounts {
    /// Frames that the kernel took.
    pub sent: u64,
    /// Bytes of the frames that the kernel took.
    pub sent_bytes: u64,
    /// Frames that came from the kernel.
    pub received: u64,
    /// Bytes of the frames that came from the kernel.
    pub received_bytes: u64,
    /// Frames that the kernel did not take, as the interface is down or full: dropped.
    pub unsent: u64,
    /// Dropped frames: of a VLAN that has no port, with a tag where none may be, from an address of a device, or for
    /// the next switch only.
    pub foreign: u64,
    /// Times that the kernel had an error instead of frames.
    pub failed: u64,
}

/// Sender of an uplink's port.
#[derive(Debug)]
pub struct Uplink {
    link: Link,
    /// Whether the uplink carries all VLANs, each with its tag.
    trunk: bool,
    counts: Counts,
}

/// Whether an address is only for the next switch (IEEE 802.1Q, table 8-1): spanning trees, LACP, LLDP. Linux' bridges do
/// not forward its frames either.
fn is_local(to: Mac) -> bool {
    to[..5] == [1, 0x80, 0xc2, 0, 0] && to[5] < 0x10
}

fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

/// Returns the addresses of a frame's receiver and sender.
fn addresses(frame: &[u8]) -> Option<(Mac, Mac)> {
    let mac = |at| frame.get(at..at + 6)?.try_into().ok();
    Some((mac(0)?, mac(6)?))
}

impl Uplink {
    /// Returns an uplink with this link, of this VLAN; 0: of all.
    #[must_use]
    pub fn new(link: Link, vlan: u16) -> Arc<Self> {
        Arc::new(Self {
            link,
            trunk: vlan == 0,
            counts: Counts::default(),
        })
    }

    /// Sends a frame of a VLAN, or drops it.
    pub fn send(&self, vlan: u16, header: &Header, parts: &Parts, scratch: &mut [u8]) {
        // Only this switch chooses VLANs: a device's own tags would reach those of others.
        let is_local = addresses(parts.start).is_none_or(|(to, _)| is_local(to));
        if is_local || vlan::is_tagged(parts.start) {
            return count(&self.counts.foreign, 1);
        }
        let tag = if self.trunk { vlan } else { 0 };
        match self.link.send_parts(tag, header, parts, scratch) {
            Ok(()) => {
                count(&self.counts.sent, 1);
                count(&self.counts.sent_bytes, parts.bytes() as u64);
            }
            Err(_) => count(&self.counts.unsent, 1),
        }
    }

    fn counts(&self) -> UplinkCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = &self.counts;
        UplinkCounts {
            // First, see `Receiver::forward`.
            received: counts.received.load(Ordering::Acquire),
            sent: of(&counts.sent),
            sent_bytes: of(&counts.sent_bytes),
            received_bytes: of(&counts.received_bytes),
            unsent: of(&counts.unsent),
            foreign: of(&counts.foreign),
            failed: of(&counts.failed),
        }
    }
}

/// The thread that takes frames from the kernel.
struct Receiver {
    /// Name of the uplink, for messages.
    name: String,
    port: Arc<Port>,
    uplink: Arc<Uplink>,
    stop: Arc<OwnedFd>,
    /// Ports of the switch, as of this generation.
    ports: Ports,
    generation: u64,
    /// Memory for frames that go to other uplinks.
    scratch: Vec<u8>,
}

impl Receiver {
    /// Forwards frames until the uplink ends.
    fn run(mut self) {
        let mut memory = vec![0; LONGEST];
        let mut pause = None;
        loop {
            let Some(fd) = self.uplink.link.fd(0) else {
                return;
            };
            let stop = PollFd::new(&*self.stop, PollFlags::IN);
            let mut all = [stop, PollFd::from_borrowed_fd(fd, PollFlags::IN)];
            // After an error the link is not looked at for a while.
            let looked = if pause.is_some() { 1 } else { 2 };
            let done = poll(&mut all[..looked], pause.as_ref());
            if !all[0].revents().is_empty() {
                return;
            }
            pause = match done {
                Ok(_) | Err(rustix::io::Errno::INTR) => self.take(&mut memory),
                Err(_) => Some(PAUSE),
            };
        }
    }

    /// Forwards the frames that are there. Returns how long to wait afterwards, if the link has an error.
    fn take(&mut self, memory: &mut [u8]) -> Option<Timespec> {
        for taken in 0..BATCH {
            match self.uplink.link.receive_apart(memory) {
                Ok(Some((header, bytes, apart))) => {
                    self.forward(&header, &mut memory[..bytes], apart);
                }
                Ok(None) => {
                    // Readable without a frame: an error that reading does not return.
                    let gone = taken == 0 && self.uplink.link.is_gone();
                    return gone.then_some(PAUSE);
                }
                Err(error) => {
                    if self.uplink.counts.failed.fetch_add(1, Ordering::Relaxed) == 0 {
                        log::error!(
                            "the uplink {} can't receive: {error}; it tries again. Check that its interface exists \
                             and is up. Further errors are only counted (stats: failed)",
                            self.name
                        );
                    }
                    return Some(PAUSE);
                }
            }
        }
        None
    }

    /// Gives a frame to all ports that get it.
    fn forward(&mut self, header: &Header, frame: &mut [u8], apart: Option<(u16, u16)>) {
        let bytes = frame.len() as u64;
        let done = self.try_forward(header, frame, apart);
        let counts = &self.uplink.counts;
        count(&counts.foreign, u64::from(done.is_none()));
        count(&counts.received_bytes, bytes);
        // This counter is last: a reader that sees the new count sees the frame, too.
        counts.received.fetch_add(1, Ordering::Release);
    }

    /// Gives a frame to all ports that get it; None: the frame may not be forwarded.
    fn try_forward(
        &mut self,
        header: &Header,
        frame: &mut [u8],
        apart: Option<(u16, u16)>,
    ) -> Option<()> {
        let (tag, header, frame) = vlan::untag(header, frame, apart)?;
        let own = self.port.vlan();
        if own != 0 && tag != 0 || frame.len() < ETHERNET {
            return None;
        }
        let in_vlan = if own == 0 { tag } else { own };
        let switch = self.port.switch();
        let (table, now_s) = (switch.table(in_vlan)?, switch.now_s());
        let (to, from) = addresses(frame)?;
        let learn = |most| table.learn_up_to(most, from, self.port.number(), now_s);
        if is_local(to) || from[0] & 1 != 0 || learn(UPLINK_ADDRESSES) == Learned::Foreign {
            return None;
        }
        if switch.generation() != self.generation {
            (self.generation, self.ports) = (switch.generation(), switch.ports());
        }
        let (_, mut left) = Port::receivers(&table, &self.ports, to, now_s);
        let (parts, flow) = (Parts::private(frame), flow::of(frame));
        while let Some(port) = self.port.receiver(in_vlan, &self.ports, to, &mut left) {
            port.give(in_vlan, flow, header, &parts, &mut self.scratch);
        }
        Some(())
    }
}

/// Uplink in use. Dropping it removes it from its switch.
pub struct Running {
    spec: UplinkSpec,
    uplink: Arc<Uplink>,
    /// Port, which leaves the switch when dropped.
    _joined: Joined,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Connects a link to a switch.
    ///
    /// # Errors
    ///
    /// The switch is full, or the uplink's thread can't be started.
    pub fn start(spec: UplinkSpec, link: Link, switch: &Arc<Switch>) -> io::Result<Self> {
        let uplink = Uplink::new(link, spec.vlan);
        let joined = switch.join_uplink(Arc::clone(&uplink), spec.vlan)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let stop = Arc::new(stop);
        let receiver = Receiver {
            name: spec.name(),
            port: Arc::clone(&joined.0),
            uplink: Arc::clone(&uplink),
            stop: Arc::clone(&stop),
            ports: Arc::new([]),
            generation: 0,
            scratch: vec![0; LONGEST],
        };
        let thread = thread::start("elvis-uplink", Some(256 << 10), move || receiver.run())?;
        Ok(Self {
            spec,
            uplink,
            _joined: joined,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns the uplink's configuration.
    #[must_use]
    pub fn spec(&self) -> &UplinkSpec {
        &self.spec
    }

    /// Returns the uplink's counters.
    #[must_use]
    pub fn counts(&self) -> UplinkCounts {
        self.uplink.counts()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // The panic itself has been reported.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[path = "uplink_tests.rs"]
mod tests;
