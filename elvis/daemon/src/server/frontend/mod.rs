//! State of one connection: the front-end's settings, and which of its queues run.
//!
//! A queue is owned by the I/O thread while it runs, and is here while it changes. For each change it is taken back,
//! which waits for its requests in flight ("drain"), and handed over again afterwards. So the I/O thread never sees a
//! half-changed queue. `messages` answers the front-end. `own` does so for messages that the crate vhost does not
//! handle: `network` for those that only network devices get, `channel` for one that only disks get. `inflight` is the
//! memory that records requests in flight.

mod channel;
mod inflight;
mod messages;
mod network;
mod own;

use super::iothread::IoThread;
use super::queue::{Kick, Queue, Shared};
use super::stats::Counted;
use super::threads::Threads;
use elvis_ring::{DirtyLog, Memory, Region, Ring, RingAddresses, RingError};
use inflight::InflightArea;
pub use own::answer as answer_own;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use vhost::vhost_user::{Error, Result};

const INDIRECT: u64 = 1 << 28;
const EVENT_IDX: u64 = 1 << 29;
const RING_PACKED: u64 = 1 << 34;
const LOG_ALL: u64 = 1 << 26;

/// Number of pages of a driver's memory whose NUMA node is looked up.
const SAMPLES: usize = 256;

/// Greatest number of memory regions of one front-end; QEMU's limit is the same.
const MAX_REGIONS: usize = 509;
/// Most address space of a device's memory, in bytes: 4 TiB. All devices of a process share 128 TiB, and a new table of
/// memory is mapped beside the old one.
const MAPPED: u64 = 1 << 42;
/// Most address space of the log of a migration, in bytes: a bit for each page.
const MAPPED_LOG: u64 = MAPPED / 4096 / 8;
/// Most address space of an in-flight area, in bytes: 2 MiB for each of 256 queues. The area is mapped once a queue.
const MAPPED_AREA: u64 = 1 << 29;

/// The front-end's settings of a queue.
#[derive(Default)]
struct Setup {
    size: u32,
    /// Addresses of the ring, in the front-end's address space.
    addresses: Option<VringAddresses>,
    /// Place at which the ring continues, see [`Ring::base`].
    base: u32,
    /// Base that the front-end knows. The front-end sets it again after this process has died.
    told: u32,
    /// Way in which the driver kicks. None: the queue was not started, or was stopped.
    kick: Option<Kick>,
    call: Option<OwnedFd>,
    err: Option<OwnedFd>,
    enabled: bool,
    /// Whether the I/O thread has the queue.
    attached: bool,
    /// Whether the queue was polled when the I/O thread last had it.
    polled: bool,
    /// Counters of the queue so far.
    counted: Option<Counted>,
    /// Error that ended the queue's service.
    fault: Option<String>,
}

#[derive(Clone, Copy)]
struct VringAddresses {
    descriptors: u64,
    available: u64,
    used: u64,
    log: Option<u64>,
}

/// State of one connection.
pub struct Frontend {
    shared: Arc<Shared>,
    threads: Threads,
    features: u64,
    protocol: u64,
    queues: Vec<Setup>,
    /// Queue that was stopped by the last message. Its front-end may not have read yet where the ring continues.
    stopped: Option<u32>,
    regions: Vec<Region>,
    memory: Arc<Memory>,
    inflight: Option<InflightArea>,
    log: Option<DirtyLog>,
    /// Whether the log says that the front-end reads beyond the end of the configuration space.
    told_config: bool,
    /// Reason for which the last message was refused, if its reply says so and the crate vhost therefore reports no
    /// error.
    refusal: Option<String>,
}

fn failed(error: impl Into<io::Error>) -> Error {
    Error::ReqHandlerError(error.into())
}

fn refused(why: impl Into<String>) -> Error {
    Error::ReqHandlerError(io::Error::new(io::ErrorKind::InvalidInput, why.into()))
}

/// Opens the queue's ring at these addresses, with these features.
fn start_ring(
    queue: &Setup,
    at: &RingAddresses,
    memory: &Arc<Memory>,
    features: u64,
) -> Result<Ring> {
    let event_idx = features & EVENT_IDX != 0;
    let ring = if features & RING_PACKED != 0 {
        Ring::packed(queue.size, at, memory, queue.base, event_idx)
    } else {
        let next = u16::try_from(queue.base).map_err(|_| Error::InvalidParam)?;
        Ring::new(queue.size, at, memory, next, event_idx)
    };
    let mut ring = ring.map_err(|error| wrong(&error))?;
    ring.allow_indirect(features & INDIRECT != 0);
    Ok(ring)
}

fn wrong(error: &RingError) -> Error {
    refused(error.to_string())
}

impl Frontend {
    /// Returns the state of a new connection.
    pub fn new(shared: Arc<Shared>, threads: Threads) -> Self {
        Self {
            queues: (0..shared.kind.queues())
                .map(|_| Setup::default())
                .collect(),
            stopped: None,
            shared,
            threads,
            features: 0,
            protocol: 0,
            regions: Vec::new(),
            memory: Arc::new(Memory::default()),
            inflight: None,
            log: None,
            told_config: false,
            refusal: None,
        }
    }

    fn queue(&mut self, index: u32) -> Result<&mut Setup> {
        let count = self.queues.len();
        let queue = self.queues.get_mut(index as usize);
        queue.ok_or_else(|| refused(format!("there is no queue {index}, the device has {count}")))
    }

    /// Returns the I/O thread that serves a queue.
    fn thread(&self, index: u16) -> Arc<IoThread> {
        Arc::clone(self.threads.of(self.shared.kind.group(index)))
    }

    /// Takes a queue back from its I/O thread, if that has it. Waits for its requests in flight.
    fn take_back(&mut self, index: u32) -> Result<()> {
        if !self.queue(index)?.attached {
            return Ok(());
        }
        let number = u16::try_from(index).map_err(|_| Error::InvalidParam)?;
        let thread = self.thread(number);
        let back = thread.detach(self.shared.number, number);
        let back = back.map_err(failed)?;
        let Queue {
            ring,
            kick,
            call,
            err,
            fault,
            polled,
            counted,
            ..
        } = *back;
        self.shared.kind.runs(number, false);
        let queue = self.queue(index)?;
        queue.attached = false;
        queue.base = ring.base();
        queue.kick = Some(kick);
        queue.call = call;
        queue.err = err;
        queue.fault = fault;
        queue.polled = polled;
        queue.counted = Some(counted);
        Ok(())
    }

    /// Hands a queue to the I/O thread, if it is enabled and was started.
    fn hand_over(&mut self, index: u32) -> Result<()> {
        let memory = Arc::clone(&self.memory);
        let packed = self.features & RING_PACKED != 0;
        let size = self.queue(index)?.size;
        let region = |area: &InflightArea| area.region(index, size, packed);
        let inflight = self.inflight.as_ref().map(region);
        let inflight = inflight.transpose().map_err(failed)?;
        let log = self.log.clone().filter(|_| self.features & LOG_ALL != 0);
        let (shared, features) = (Arc::clone(&self.shared), self.features);
        let queue = self.queue(index)?;
        if queue.attached || !queue.enabled || queue.kick.is_none() {
            return Ok(());
        }
        let Some(addresses) = queue.addresses else {
            return Err(refused("a queue was started without ring addresses"));
        };
        // The use of the disk or network begins before the first queue runs: a disk may be locked by another process.
        if !self.attached() {
            self.shared.kind.begin().map_err(failed)?;
        }
        let queue = self.queue(index)?;
        let guest = |user, name: &str| {
            let outside = || refused(format!("the {name} at {user:#x} is not in memory"));
            memory.guest_of_user(user).ok_or_else(outside)
        };
        let at = RingAddresses {
            descriptors: guest(addresses.descriptors, "descriptor table")?,
            available: guest(addresses.available, "available ring")?,
            used: guest(addresses.used, "used ring")?,
            used_log: addresses.log,
        };
        let index = u16::try_from(index).map_err(|_| Error::InvalidParam)?;
        let mut ring = start_ring(queue, &at, &memory, features)?;
        ring.log_to(log);
        if let Some(inflight) = inflight {
            ring.track(inflight).map_err(|error| wrong(&error))?;
        // A front-end without an in-flight area knows only the base at which it started the ring.
        } else if let (true, Some(rings)) = (packed, &shared.rings) {
            let record = rings.record(index, size).map_err(failed)?;
            let kept = ring.keep(record, &at, queue.told);
            kept.map_err(|error| wrong(&error))?;
        } else if shared.kind.in_order() {
            ring.after_last_reply();
        }
        let Some(kick) = queue.kick.take() else {
            return Ok(());
        };
        shared.start();
        shared.kind.runs(index, true);
        let running = Queue {
            shared,
            index,
            features,
            ring,
            kick,
            call: queue.call.take(),
            err: queue.err.take(),
            fault: queue.fault.take(),
            polled: queue.polled,
            counted: queue.counted.take().unwrap_or_else(Counted::default),
        };
        queue.attached = true;
        self.thread(index).attach(Box::new(running)).map_err(failed)
    }

    fn attached(&self) -> bool {
        self.queues.iter().any(|queue| queue.attached)
    }

    /// Clears the recorded progress of a packed ring: the ring was stopped, and the front-end knows its base.
    fn forget_progress(&self, index: u32) {
        if let (Some(rings), Ok(index)) = (&self.shared.rings, u16::try_from(index)) {
            rings.clear(index);
        }
    }

    /// Notes that the front-end has sent its next message, or that the connection has ended: it knows the last answer.
    pub fn heard(&mut self) {
        if let Some(index) = self.stopped.take() {
            self.forget_progress(index);
        }
    }

    /// Returns the error that the last reply told of. Not every front-end understands such a reply: cloud-hypervisor's
    /// waits for the rest of it. So the error ends the connection too.
    pub fn not_refused(&mut self) -> Result<()> {
        self.refusal.take().map_or(Ok(()), |why| Err(refused(why)))
    }

    /// Ends the use of the device's disk or network, if no queue runs.
    fn let_go(&self) {
        if self.attached() {
            return;
        }
        if let Err(error) = self.shared.kind.end() {
            log::warn!(
                "{}: can't leave what is behind it: {error}",
                self.shared.name
            );
        }
    }

    /// Makes a change while all queues are taken back, then hands over again those that were running.
    fn changed<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let count = self.queues.len() as u32;
        let running: Vec<u32> = (0..count)
            .filter(|&index| self.queues[index as usize].attached)
            .collect();
        for &index in &running {
            self.take_back(index)?;
        }
        let changed = change(self)?;
        for index in running {
            self.hand_over(index)?;
        }
        Ok(changed)
    }

    fn set_regions(&mut self, regions: Vec<Region>) -> Result<()> {
        if regions.len() > MAX_REGIONS {
            return Err(refused("too many memory regions"));
        }
        self.memory = Arc::new(Memory::new(regions.clone()).map_err(failed)?);
        self.regions = regions;
        Ok(())
    }

    /// Returns the addresses in this process of a sample of the driver's memory: its rings, and pages spread over its
    /// regions.
    pub fn pages(&self) -> Vec<usize> {
        let rings = self.queues.iter().filter_map(|queue| queue.addresses);
        let rings = rings.flat_map(|at| [at.descriptors, at.available, at.used]);
        let rings = rings.filter_map(|user| {
            let guest = self.memory.guest_of_user(user)?;
            self.memory.span(guest, 1)?.address(0, 1)
        });
        rings
            .map(|place| place as usize)
            .chain(self.memory.pages(SAMPLES))
            .collect()
    }

    /// Moves the queues to other I/O threads, after their requests in flight.
    pub fn move_to(&mut self, threads: Threads) -> Result<()> {
        self.changed(|frontend| {
            frontend.threads = threads;
            Ok(())
        })
    }

    /// Stops all queues, when the connection ends or the device is reset.
    pub fn stop(&mut self) {
        for index in 0..self.queues.len() as u32 {
            if let Err(error) = self.take_back(index) {
                log::warn!("{}: {error}", self.shared.name);
            }
        }
        self.let_go();
    }

    fn reset(&mut self) {
        self.stop();
        (0..self.queues.len() as u32).for_each(|index| self.forget_progress(index));
        for queue in &mut self.queues {
            *queue = Setup {
                counted: queue.counted.take(),
                ..Setup::default()
            };
        }
        self.features = 0;
        self.inflight = None;
        self.log = None;
        self.shared.kind.reset();
    }
}
