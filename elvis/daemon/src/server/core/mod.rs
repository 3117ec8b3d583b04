//! An I/O thread: asks the policy for the next step, and does it.
//!
//! The thread accesses its data without locks, except the limits of a device that it shares with other I/O threads. It
//! waits only in one epoll: never for a front-end. This file has the loop. `queues` takes queues in and gives them
//! back; `visits` serves a queue as the policy decides. `requests` starts requests and replies to them; `network` does
//! so for frames, by the state that `frames` has of a queue.

mod answers;
mod frames;
mod network;
mod queues;
mod requests;
mod stops;
mod visits;

use super::iothread::{IoThreadSpec, Order};
use super::pending::Pending;
use super::queue::{Queue, Shared};
use super::stats::CoreStats;
use crate::aio::Signaller;
use crate::net::give::Room;
use crate::storage::{Engine, Registered};
use elvis_policy::{Calls, DeviceId, Pace, QueueId, Scheduler, Step};
use elvis_ring::sigbus;
use frames::Frames;
use requests::Partial;
use rustix::event::{Timespec, epoll};
use rustix::time::{ClockId, clock_gettime};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Weak};
use stops::Stops;
use ws_cpus::list::Set;
use ws_cpus::named;

/// Data of epoll events; smaller values are slots of queues.
const WAKE: u64 = u64::MAX;
const ENGINE: u64 = u64::MAX - 1;
/// Flag beside a slot: frames may have come to a receive queue.
const FRAMES: u64 = 1 << 32;
/// Most events of one call.
const EVENTS: usize = 64;
/// Visits in vain between two reads of the clock.
const CLOCK_EVERY: u32 = 8;
/// Time after which requests that the kernel did not take are tried again, in ns.
const RETRY_NS: u64 = 1_000_000;
/// Time, in ns, between two looks of an idle thread for the end of another thread's sync of the same disk: less than a
/// sync takes.
const HELD_NS: u64 = 50_000;

/// Returns the time, at least 1. All I/O threads have this clock, as they share devices' limits. The clock is read once
/// or twice a visit.
pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64).max(1)
}

/// Binds the calling thread to these CPUs; empty: any.
fn bind(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let set = cpus
        .iter()
        .map(|&cpu| u32::try_from(cpu).unwrap_or(u32::MAX));
    let set: Set = set.collect();
    let bound = ws_cpus::bind(None, &set);
    bound.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", named(&set))))
}

struct Slot {
    queue: Box<Queue>,
    /// Device of the queue, which pays for the queue as long as the slot has it.
    device: DeviceId,
    /// Number of the queue in the policy. None after it was removed from the policy.
    id: Option<QueueId>,
    in_flight: u32,
    /// Bytes of memory that the requests in flight hold.
    held: u64,
    /// Whether the queue was found to have more requests when those in flight held all memory that they may.
    waits_for_room: bool,
    /// Replies put into the ring, not yet published.
    unpublished: u64,
    /// Parts of the driver's memory that are registered with the engine.
    registered: Registered,
    /// Pace at which the queue's requests are started.
    pace: Pace,
    /// Decides when the driver is called.
    calls: Calls,
    /// Request that the I/O thread does part by part.
    partial: Option<Box<Partial>>,
    /// State of frames, of a network device's queue.
    frames: Option<Box<Frames>>,
    /// Channel that gets the queue when it has drained.
    back: Option<Sender<Box<Queue>>>,
}

/// The state of one I/O thread.
pub(super) struct Core {
    /// Number of the I/O thread in this process, from 1.
    number: u32,
    scheduler: Scheduler,
    slots: Vec<Option<Slot>>,
    /// Slot of each queue, by queue id.
    slot_of: Vec<usize>,
    /// Id of each device, and whether the device still exists, by device number. A device without queues stays here.
    /// Otherwise a front-end would get a new share, and lose its debt, by a restart of its rings.
    devices: HashMap<u64, (DeviceId, Weak<Shared>)>,
    engine: Engine,
    pending: Vec<Option<Pending>>,
    free: Vec<usize>,
    in_flight: usize,
    /// Chains for reuse, and memory for frames.
    room: Room,
    results: Vec<(u64, i32)>,
    /// Requests whose sync ended well while others ran, with the limit of their outcome.
    held: Vec<(usize, u64)>,
    /// Requests of which the engine has done a part.
    parts: VecDeque<usize>,
    /// Slots with requests that came back from the engine, and those that got frames from others.
    touched: Vec<usize>,
    /// Slots whose driver is owed a call.
    owed: Vec<usize>,
    /// Requests done at once in the current visit.
    at_once: u64,
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    orders: Receiver<Order>,
    signaller: Signaller,
    faults: usize,
    /// Time at the last look on the clock of all I/O threads, and at the start of this one.
    now_ns: u64,
    started_ns: u64,
    stops: Stops,
    cpus: Vec<usize>,
    serving_ns: u64,
    asleep_ns: u64,
    stopping: bool,
}

impl Core {
    /// Makes the state of an I/O thread. The calling thread is that one: it is bound to its CPUs first.
    pub(super) fn new(
        spec: &IoThreadSpec,
        orders: Receiver<Order>,
        wake: Arc<OwnedFd>,
    ) -> io::Result<Self> {
        bind(&spec.cpus)?;
        let engine = Engine::new(spec.threads_only, spec.params.start_requests)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let readable = epoll::EventFlags::IN;
        epoll::add(&epoll, &*wake, epoll::EventData::new_u64(WAKE), readable)?;
        epoll::add(
            &epoll,
            engine.fd(),
            epoll::EventData::new_u64(ENGINE),
            readable,
        )?;
        static NUMBERS: AtomicU32 = AtomicU32::new(1);
        Ok(Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            scheduler: Scheduler::new(spec.params),
            slots: Vec::new(),
            slot_of: Vec::new(),
            devices: HashMap::new(),
            engine,
            pending: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            room: Room::default(),
            results: Vec::new(),
            held: Vec::new(),
            parts: VecDeque::new(),
            touched: Vec::new(),
            owed: Vec::new(),
            at_once: 0,
            epoll,
            wake,
            orders,
            signaller: Signaller::new()?,
            faults: sigbus::faults(),
            now_ns: now_ns(),
            started_ns: now_ns(),
            stops: Stops::new(),
            cpus: spec.cpus.clone(),
            serving_ns: 0,
            asleep_ns: 0,
            stopping: false,
        })
    }

    fn clock(&mut self) {
        self.now_ns = now_ns();
    }

    pub(super) fn run(&mut self) {
        // Visits in vain since the last other one, and in a round of all queues.
        let (mut in_vain, mut round) = (0u32, 0u32);
        while !self.stopping || self.in_flight > 0 {
            match self.scheduler.next(self.now_ns) {
                Step::Visit(id) => {
                    if self.visit(id) {
                        (in_vain, round) = (0, 0);
                    } else {
                        round += 1;
                        if round >= self.scheduler.listed() {
                            // No queue has work: leave the core to its other thread.
                            round = 0;
                            std::hint::spin_loop();
                        }
                        in_vain += 1;
                        if in_vain % CLOCK_EVERY == 0 {
                            let before_ns = self.now_ns;
                            self.clock();
                            // Stops so far are not charged to the next visit.
                            self.stops.within(self.now_ns.saturating_sub(before_ns));
                        }
                    }
                    self.go_on_with_part();
                    self.reap();
                }
                Step::Events => {
                    // No part of a request is done here. It may take so long that events are due again, and no visit
                    // would come.
                    self.events(Some(0));
                }
                Step::Sleep { until_ns } => {
                    self.settle_calls();
                    self.clock();
                    let wait_ns = until_ns.map(|until_ns| until_ns.saturating_sub(self.now_ns));
                    // Starts the rest of a request that was done in part. Requests that the kernel does not take now
                    // are tried again, and held requests may wait for another thread. No event tells of either.
                    let _ = self.engine.start();
                    let limit_ns = match (self.held.is_empty(), self.engine.unstarted()) {
                        _ if !self.parts.is_empty() => Some(0),
                        (false, _) => Some(HELD_NS),
                        (true, true) => Some(RETRY_NS),
                        (true, false) => None,
                    };
                    let wait_ns = wait_ns.into_iter().chain(limit_ns).min();
                    self.events(wait_ns);
                    self.go_on_with_part();
                }
            }
            if !self.owed.is_empty() {
                self.call_late();
            }
            if sigbus::faults() != self.faults {
                self.find_broken();
            }
        }
    }

    /// Handles events; waits for one for this long, or without limit (None).
    fn events(&mut self, wait_ns: Option<u64>) {
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        let wait = wait_ns.map(|ns| Timespec {
            tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (ns % 1_000_000_000) as _,
        });
        let before_ns = self.now_ns;
        let found = epoll::wait(&self.epoll, &mut room[..], wait.as_ref());
        self.clock();
        if wait_ns != Some(0) {
            self.asleep_ns += self.now_ns.saturating_sub(before_ns);
        }
        for event in found.iter().flat_map(|(events, _)| events.iter()) {
            match event.data.u64() {
                WAKE => self.take_orders(),
                ENGINE => {}
                slot => self.notified(slot),
            }
        }
        self.reap();
    }

    /// Looks for notifications during a visit. Orders and results of the engine wait: their events stay.
    fn look_for_kicks(&mut self) {
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        let wait = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let found = epoll::wait(&self.epoll, &mut room[..], Some(&wait));
        // More events may wait than there was room for.
        let mut waits = !matches!(&found, Ok((events, _)) if events.len() < EVENTS);
        for event in found.iter().flat_map(|(events, _)| events.iter()) {
            match event.data.u64() {
                WAKE | ENGINE => waits = true,
                slot => self.notified(slot),
            }
        }
        if !waits {
            self.scheduler.looked_for_events(self.now_ns);
        }
    }

    /// Handles a kick, or a frame that arrived.
    fn notified(&mut self, slot: u64) {
        match slot & FRAMES {
            0 => self.kicked(slot as usize),
            _ => self.signalled((slot ^ FRAMES) as usize),
        }
    }

    fn take_orders(&mut self) {
        let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
        while let Ok(order) = self.orders.try_recv() {
            self.clock();
            let (from_ns, device) = (self.now_ns, order.device());
            match order {
                Order::Attach(queue) => self.attach(queue),
                Order::Detach {
                    device,
                    index,
                    back,
                } => {
                    if let Some(slot) = self.find(device, index) {
                        self.forget(slot);
                        if let Some(slot) = &mut self.slots[slot] {
                            slot.back = Some(back);
                        }
                        self.give_back(slot);
                    }
                }
                Order::Call {
                    device,
                    index,
                    call,
                } => {
                    if let Some(slot) = self.find(device, index) {
                        if let Some(slot) = &mut self.slots[slot] {
                            slot.queue.call = call;
                        }
                        // Replies may have been published while there was no descriptor.
                        self.call(slot);
                    }
                }
                Order::Terms {
                    device,
                    weight,
                    limiter,
                } => {
                    if let Some((id, _)) = self.devices.get(&device) {
                        self.scheduler.set_weight(*id, weight);
                        self.scheduler.set_limiter(*id, limiter);
                    }
                }
                Order::Stats(to) => drop(to.send(self.stats())),
                Order::Stop => {
                    self.stopping = true;
                    for slot in 0..self.slots.len() {
                        self.forget(slot);
                    }
                }
            }
            if let Some((id, _)) = device.and_then(|device| self.devices.get(&device)) {
                // As a device starts or stops, its driver may be called, which takes as long as it has waiters.
                let id = *id;
                self.clock();
                self.charge(id, from_ns);
            }
        }
    }

    fn stats(&self) -> CoreStats {
        let queues = self.slots.iter().flatten().map(|slot| {
            let now = slot.id.and_then(|id| self.scheduler.queue_counters(id));
            let polled = slot.id.is_some_and(|id| self.scheduler.polled(id));
            let (number, index) = (slot.queue.shared.number, slot.queue.index);
            let now = now.copied().unwrap_or_default();
            let mut stats = slot.queue.counted.stats(number, index, &now, polled);
            if let (Some(net), Some(frames)) = (&mut stats.net, &slot.frames) {
                net.full = frames.full();
            }
            stats.fault.clone_from(&slot.queue.fault);
            stats
        });
        let alive_ns = self.now_ns.saturating_sub(self.started_ns);
        let awake_ns = alive_ns.saturating_sub(self.asleep_ns);
        CoreStats {
            cpus: self.cpus.clone(),
            engine: self.engine.name(),
            registered_buffers: self.engine.buffers(),
            policy: *self.scheduler.counters(),
            serving_ns: self.serving_ns,
            asleep_ns: self.asleep_ns,
            polling_ns: awake_ns.saturating_sub(self.serving_ns + self.stops.found_ns),
            queues: queues.collect(),
        }
    }
}
