//! An I/O thread: it asks the policy what to do, and does it.
//!
//! Everything that it owns it reaches without locks; others talk to it by messages. It waits in one
//! epoll, and only there.

use super::notify::Guard;
use super::pending::{Outcome, Pending, reply};
use super::queue::Queue;
use super::stats::CoreStats;
use crate::blk::{ID, Request, Status};
use crate::storage::{Disk, Engine};
use elvis_policy::{Begin, DeviceId, Look, Params, QueueId, Scheduler, Step, Then, Visit};
use elvis_ring::{Chain, sigbus};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// How an I/O thread is to be.
#[derive(Debug, Clone)]
pub struct IoThreadSpec {
    /// The policy's constants.
    pub params: Params,
    /// The CPUs that it may run on; none is any.
    pub cpus: Vec<usize>,
    /// Use threads for files even where io_uring is allowed.
    pub threads_only: bool,
}

/// What others ask of an I/O thread.
enum Order {
    /// Serve a queue from now on.
    Attach(Box<Queue>),
    /// Take no more requests from a queue, and give it back when its last has ended.
    Detach {
        device: u64,
        index: u16,
        back: Sender<Box<Queue>>,
    },
    /// Use another descriptor for calls.
    Call {
        device: u64,
        index: u16,
        call: Option<OwnedFd>,
    },
    /// Say what was counted.
    Stats(Sender<CoreStats>),
    /// End.
    Stop,
}

/// A handle on an I/O thread. The thread ends when it is dropped; queues that are still attached
/// are dropped with their requests in flight waited for.
pub struct IoThread {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl IoThread {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// The thread, its descriptors or its place on the CPU can't be had.
    pub fn start(spec: &IoThreadSpec) -> io::Result<Self> {
        let (orders, receiver) = channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (spec, wakes) = (spec.clone(), Arc::clone(&wake));
        let (ready, started) = channel();
        let name = match spec.cpus[..] {
            [cpu] => format!("elvis-io-{cpu}"),
            _ => "elvis-io".to_owned(),
        };
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            match Core::new(&spec, receiver, wakes) {
                Ok(mut core) => {
                    let _ = ready.send(Ok(()));
                    core.run();
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        })?;
        let ended = || io::Error::other("the I/O thread ended while it started");
        started.recv().map_err(|_| ended())??;
        Ok(Self {
            orders,
            wake,
            thread: Some(thread),
        })
    }

    fn order(&self, order: Order) -> io::Result<()> {
        self.orders
            .send(order)
            .map_err(|_| io::Error::other("an I/O thread has ended"))?;
        // EAGAIN is a counter that is full: it is readable then.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        Ok(())
    }

    /// Hands over a queue.
    ///
    /// # Errors
    ///
    /// The thread has ended.
    pub fn attach(&self, queue: Box<Queue>) -> io::Result<()> {
        self.order(Order::Attach(queue))
    }

    /// Takes a queue back, when all requests that it had taken have ended.
    ///
    /// # Errors
    ///
    /// The thread has ended, or does not have this queue.
    pub fn detach(&self, device: u64, index: u16) -> io::Result<Box<Queue>> {
        let (back, queue) = channel();
        self.order(Order::Detach {
            device,
            index,
            back,
        })?;
        queue
            .recv()
            .map_err(|_| io::Error::other("an I/O thread does not have this queue"))
    }

    /// Gives a queue another descriptor for calls.
    ///
    /// # Errors
    ///
    /// The thread has ended.
    pub fn set_call(&self, device: u64, index: u16, call: Option<OwnedFd>) -> io::Result<()> {
        self.order(Order::Call {
            device,
            index,
            call,
        })
    }

    /// What it has counted.
    ///
    /// # Errors
    ///
    /// The thread has ended.
    pub fn stats(&self) -> io::Result<CoreStats> {
        let (sender, stats) = channel();
        self.order(Order::Stats(sender))?;
        stats
            .recv()
            .map_err(|_| io::Error::other("an I/O thread has ended"))
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        let _ = self.order(Order::Stop);
        if let Some(thread) = self.thread.take() {
            if thread.join().is_err() {
                eprintln!("elvis: an I/O thread ended by a panic");
            }
        }
    }
}

/// Epoll's names for what is ready; smaller ones are slots of queues.
const WAKE: u64 = u64::MAX;
const ENGINE: u64 = u64::MAX - 1;
/// Why a queue fails whose memory is gone.
const SHORTENED: &str = "its front-end shortened its memory";
/// Visits in vain between two looks at the clock.
const CLOCK_EVERY: u32 = 8;

/// Lets the thread that calls this run on these CPUs only; none is any.
fn bind(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = rustix::thread::CpuSet::new();
    for &cpu in cpus {
        if cpu >= rustix::thread::CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("there is no CPU {cpu}")));
        }
        set.set(cpu);
    }
    let bound = rustix::thread::sched_setaffinity(None, &set);
    bound.map_err(|error| io::Error::new(error.kind(), format!("CPUs {cpus:?}: {error}")))
}

struct Slot {
    queue: Box<Queue>,
    /// None where the policy no longer knows it.
    id: Option<QueueId>,
    in_flight: u32,
    /// Has replies that are not published.
    unpublished: bool,
    /// Who waits for it to end.
    back: Option<Sender<Box<Queue>>>,
}

struct Core {
    scheduler: Scheduler,
    slots: Vec<Option<Slot>>,
    /// Of a queue's id, its slot.
    slot_of: Vec<usize>,
    /// Of a device's number, its id and its attached queues.
    devices: HashMap<u64, (DeviceId, u32)>,
    engine: Engine,
    pending: Vec<Option<Pending>>,
    free: Vec<usize>,
    in_flight: usize,
    spare: Vec<Chain>,
    results: Vec<(u64, i32)>,
    /// Slots whose requests came back from the engine.
    touched: Vec<usize>,
    /// Requests done at once in the visit that lasts.
    at_once: u64,
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    orders: Receiver<Order>,
    guard: Arc<Guard>,
    faults: usize,
    start: Instant,
    now_ns: u64,
    cpus: Vec<usize>,
    serving_ns: u64,
    asleep_ns: u64,
    stopping: bool,
}

impl Core {
    fn new(spec: &IoThreadSpec, orders: Receiver<Order>, wake: Arc<OwnedFd>) -> io::Result<Self> {
        bind(&spec.cpus)?;
        let engine = Engine::new(spec.threads_only)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let readable = epoll::EventFlags::IN;
        epoll::add(&epoll, &*wake, epoll::EventData::new_u64(WAKE), readable)?;
        epoll::add(
            &epoll,
            engine.fd(),
            epoll::EventData::new_u64(ENGINE),
            readable,
        )?;
        Ok(Self {
            scheduler: Scheduler::new(spec.params),
            slots: Vec::new(),
            slot_of: Vec::new(),
            devices: HashMap::new(),
            engine,
            pending: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            spare: Vec::new(),
            results: Vec::new(),
            touched: Vec::new(),
            at_once: 0,
            epoll,
            wake,
            orders,
            guard: Guard::new()?,
            faults: sigbus::faults(),
            start: Instant::now(),
            now_ns: 1,
            cpus: spec.cpus.clone(),
            serving_ns: 0,
            asleep_ns: 0,
            stopping: false,
        })
    }

    fn clock(&mut self) {
        self.now_ns = u64::try_from(self.start.elapsed().as_nanos())
            .unwrap_or(u64::MAX)
            .max(1);
    }

    fn run(&mut self) {
        let mut in_vain = 0u32;
        while !self.stopping || self.in_flight > 0 {
            match self.scheduler.next(self.now_ns) {
                Step::Visit(id) => {
                    if self.visit(id) {
                        in_vain = 0;
                    } else {
                        in_vain += 1;
                        if in_vain % CLOCK_EVERY == 0 {
                            self.clock();
                        }
                    }
                    if self.in_flight > 0 {
                        self.reap();
                    }
                }
                Step::Events => self.events(Some(0)),
                Step::Sleep { until_ns } => {
                    self.clock();
                    self.events(until_ns.map(|until_ns| until_ns.saturating_sub(self.now_ns)));
                }
            }
            if sigbus::faults() != self.faults {
                self.find_broken();
            }
        }
    }

    /// Takes in what has happened; waits for it this long, or (None) until something does.
    fn events(&mut self, wait_ns: Option<u64>) {
        let none = epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        };
        let mut events = [none; 64];
        let wait = wait_ns.map(|ns| Timespec {
            tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (ns % 1_000_000_000) as _,
        });
        let before_ns = self.now_ns;
        let found = epoll::wait(&self.epoll, &mut events[..], wait.as_ref()).unwrap_or(0);
        self.clock();
        if wait_ns != Some(0) {
            self.asleep_ns += self.now_ns.saturating_sub(before_ns);
        }
        for event in &events[..found] {
            match event.data.u64() {
                WAKE => self.take_orders(),
                ENGINE => {}
                slot => self.kicked(slot as usize),
            }
        }
        self.reap();
    }

    fn take_orders(&mut self) {
        let _ = rustix::io::read(&*self.wake, &mut [0; 8]);
        while let Ok(order) = self.orders.try_recv() {
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
                        // Replies may have been published while there was none.
                        self.call(slot);
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
        }
    }

    fn find(&self, device: u64, index: u16) -> Option<usize> {
        self.slots.iter().position(|slot| {
            slot.as_ref()
                .is_some_and(|slot| slot.queue.shared.number == device && slot.queue.index == index)
        })
    }

    fn attach(&mut self, mut queue: Box<Queue>) {
        let number = queue.shared.number;
        let slot = self
            .slots
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        let mut id = None;
        if queue.fault.is_none() {
            let (weight, limit) = (queue.shared.weight, queue.shared.limit);
            let scheduler = &mut self.scheduler;
            let device = self
                .devices
                .entry(number)
                .or_insert_with(|| (scheduler.add_device(weight, &limit), 0));
            let seen = Look {
                avail: queue.ring.next(),
                pending: 0,
            };
            id = self.scheduler.add_queue(device.0, seen, self.now_ns);
            device.1 += 1;
            if let Some(id) = id {
                let place = id.0 as usize;
                if self.slot_of.len() <= place {
                    self.slot_of.resize(place + 1, usize::MAX);
                }
                self.slot_of[place] = slot;
            }
            // Edge-triggered, and never read: each write is told once, and costs no read.
            let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
            let data = epoll::EventData::new_u64(slot as u64);
            if let Err(error) = epoll::add(&self.epoll, &queue.kick, data, flags) {
                queue.fault = Some(format!("its kicks can't be waited for: {error}"));
            }
        }
        self.slots[slot] = Some(Slot {
            queue,
            id,
            in_flight: 0,
            unpublished: false,
            back: None,
        });
    }

    /// Takes a queue from the policy: no request of it is taken any more.
    fn forget(&mut self, at: usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        let Some(id) = slot.id.take() else { return };
        let _ = epoll::delete(&self.epoll, &slot.queue.kick);
        if let Some(counters) = self.scheduler.remove_queue(id) {
            slot.queue.counted.before = slot.queue.counted.before.plus(&counters);
        }
        let number = slot.queue.shared.number;
        if let Some(device) = self.devices.get_mut(&number) {
            device.1 -= 1;
            if device.1 == 0 {
                self.scheduler.remove_device(device.0);
                self.devices.remove(&number);
            }
        }
    }

    /// Gives a queue back to who asked for it, if nothing of it is in flight.
    fn give_back(&mut self, at: usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        if slot.in_flight > 0 || slot.back.is_none() {
            return;
        }
        self.publish(at);
        if let Some(Slot {
            queue,
            back: Some(back),
            ..
        }) = self.slots[at].take()
        {
            // They keep the memory mapped that they were last used with.
            self.spare.clear();
            let _ = back.send(queue);
        }
    }

    fn kicked(&mut self, at: usize) {
        let Some(Some(Slot {
            queue,
            id: Some(id),
            ..
        })) = self.slots.get_mut(at)
        else {
            return;
        };
        if self.scheduler.kicked(*id, self.now_ns) {
            queue.ring.disarm();
        }
    }

    /// Looks at a ring; None where it breaks the rules.
    fn look(&mut self, at: usize) -> Option<Look> {
        let slot = self.slots.get_mut(at)?.as_mut()?;
        match slot.queue.ring.look() {
            Ok(look) => Some(Look {
                avail: look.avail,
                pending: look.pending,
            }),
            Err(error) => {
                self.fail(at, &error.to_string());
                None
            }
        }
    }

    /// One visit of a queue. True where something was done.
    fn visit(&mut self, id: QueueId) -> bool {
        let Some(&at) = self.slot_of.get(id.0 as usize) else {
            return false;
        };
        let Some(look) = self.look(at) else {
            return false;
        };
        match self.scheduler.begin(id, look, self.now_ns) {
            Begin::Empty | Begin::Wait => false,
            Begin::Arm => {
                self.arm(at);
                false
            }
            Begin::Serve(visit) => {
                let from_ns = self.now_ns;
                self.serve(at, visit);
                self.serving_ns += self.now_ns.saturating_sub(from_ns);
                true
            }
        }
    }

    fn arm(&mut self, at: usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        slot.queue.ring.arm();
        let id = slot.id;
        if let (Some(look), Some(id)) = (self.look(at), id) {
            if look.pending > 0 {
                self.scheduler.woken(id, self.now_ns);
            }
        }
    }

    fn serve(&mut self, at: usize, mut visit: Visit) {
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            slot.queue.ring.disarm();
        }
        while self.scheduler.go_on(&mut visit, self.now_ns) {
            let mut chain = self.spare.pop().unwrap_or_default();
            let Some(Some(slot)) = self.slots.get_mut(at) else {
                break;
            };
            match slot.queue.ring.take(&mut chain) {
                Ok(true) => {
                    let bytes = self.request(at, chain);
                    self.scheduler.charge(&mut visit, bytes);
                }
                Ok(false) => {
                    self.spare.push(chain);
                    match self.look(at) {
                        Some(look) if look.pending > 0 => {}
                        _ => break,
                    }
                }
                Err(error) => {
                    self.fail(at, &error.to_string());
                    break;
                }
            }
            self.peek(&mut visit);
        }
        // Errors are the kernel's lack of memory; what was not started is with the next call.
        let _ = self.engine.start();
        self.publish(at);
        let from_ns = self.now_ns;
        self.clock();
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            let latency_ns = self.now_ns.saturating_sub(from_ns);
            slot.queue
                .counted
                .latency
                .record(latency_ns, std::mem::take(&mut self.at_once));
        }
        let look = self.look(at).unwrap_or(Look {
            avail: 0,
            pending: 0,
        });
        if matches!(self.slots.get(at), Some(Some(Slot { id: Some(_), .. })))
            && self.scheduler.end(visit, look, self.now_ns) == Then::Arm
        {
            self.arm(at);
        }
    }

    /// Looks at other queues, for one that is stuck.
    fn peek(&mut self, visit: &mut Visit) {
        let mut looked = false;
        while let Some(other) = self.scheduler.peek(visit) {
            if !std::mem::replace(&mut looked, true) {
                self.clock();
            }
            let Some(&at) = self.slot_of.get(other.0 as usize) else {
                continue;
            };
            if let Some(look) = self.look(at) {
                self.scheduler.peeked(visit, other, look, self.now_ns);
            }
        }
    }

    /// Starts one request, or does it where that needs no waiting. Returns its data in bytes.
    fn request(&mut self, at: usize, chain: Chain) -> u64 {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return 0;
        };
        let shared = Arc::clone(&slot.queue.shared);
        let disk = &shared.disk;
        let request = match Request::parse(&chain, disk.bytes(), shared.readonly) {
            Ok(request) => request,
            Err(status) => {
                self.at_once += 1;
                self.finish(at, chain, None, status);
                return 0;
            }
        };
        let now = match request {
            Request::Read { offset, bytes } => disk.read_now(&chain, offset, bytes),
            Request::Write { offset, bytes } => {
                disk.write_now(&chain, crate::blk::HEADER, offset, bytes)
            }
            Request::Zero { offset, bytes, .. } | Request::Discard { offset, bytes } => {
                disk.zero_now(offset, bytes)
            }
            Request::Id => {
                let mut id = [0; ID];
                let serial = shared.serial.as_bytes();
                let bytes = serial.len().min(ID);
                id[..bytes].copy_from_slice(&serial[..bytes]);
                Some(chain.write(0, &id))
            }
            Request::Flush => match disk {
                Disk::File { .. } => None,
                _ => Some(true),
            },
        };
        let bytes = request.data_bytes();
        match (now, disk) {
            (Some(done), _) => {
                let status = if done { Status::Ok } else { Status::IoError };
                self.at_once += 1;
                self.finish(at, chain, Some(request), status);
            }
            (None, Disk::File { align, .. }) => {
                let dsync = !shared.writeback.load(Ordering::Relaxed);
                let pending = Pending::new(at, chain, request, self.now_ns, dsync, *align);
                slot.in_flight += 1;
                self.submit(pending);
            }
            (None, _) => self.finish(at, chain, Some(request), Status::IoError),
        }
        bytes
    }

    fn submit(&mut self, pending: Pending) {
        let token = self.free.pop().unwrap_or(self.pending.len());
        if token == self.pending.len() {
            self.pending.push(None);
        }
        let slot = pending.slot;
        self.in_flight += 1;
        let pending = self.pending[token].insert(pending);
        let Some(Some(Slot { queue, .. })) = self.slots.get(slot) else {
            return;
        };
        let taken = match pending.job(token as u64, &queue.shared.disk) {
            // SAFETY: the pending request owns the pieces and its chain keeps their memory mapped;
            // it stays in `pending` until the result is taken. Its slot stays as long as it has
            // requests in flight, and with it the queue and the disk's file.
            Some(job) => unsafe { self.engine.submit(&job) },
            None => Err(io::ErrorKind::Unsupported.into()),
        };
        if taken.is_err() {
            self.ended(token, Status::IoError);
        }
    }

    fn reap(&mut self) {
        if self.in_flight == 0 {
            return;
        }
        let _ = self.engine.start();
        let mut results = std::mem::take(&mut self.results);
        self.engine.reap(&mut results);
        if !results.is_empty() {
            self.clock();
        }
        for (token, result) in results.drain(..) {
            let token = token as usize;
            let Some(Some(pending)) = self.pending.get_mut(token) else {
                continue;
            };
            match pending.result(result) {
                Outcome::Ended(status) => self.ended(token, status),
                Outcome::Again => {
                    if let Some(pending) = self.pending[token].take() {
                        self.free.push(token);
                        self.in_flight -= 1;
                        self.submit(pending);
                    }
                }
            }
        }
        self.results = results;
        while let Some(at) = self.touched.pop() {
            self.publish(at);
            if let Some(Some(Slot { id: Some(id), .. })) = self.slots.get(at) {
                self.scheduler.completed(*id);
            }
            self.give_back(at);
        }
    }

    /// A request that the engine had has ended.
    fn ended(&mut self, token: usize, status: Status) {
        let Some(pending) = self.pending[token].take() else {
            return;
        };
        self.free.push(token);
        self.in_flight -= 1;
        let (at, request) = (pending.slot, pending.request);
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            slot.in_flight -= 1;
            let latency_ns = self.now_ns.saturating_sub(pending.taken_ns);
            slot.queue.counted.latency.record(latency_ns, 1);
        }
        self.touched.push(at);
        self.finish(at, pending.chain, Some(request), status);
    }

    /// Puts a reply into the ring, not yet published.
    fn finish(&mut self, at: usize, chain: Chain, request: Option<Request>, status: Status) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        let written = reply(&chain, request.as_ref(), status, slot.queue.ring.log());
        slot.queue.ring.put(chain.head(), written);
        slot.unpublished = true;
        let counted = &mut slot.queue.counted;
        match request {
            Some(Request::Read { bytes, .. }) => counted.read_bytes += bytes,
            Some(Request::Write { bytes, .. }) => counted.written_bytes += bytes,
            _ => {}
        }
        counted.errors += u64::from(status != Status::Ok);
        self.spare.push(chain);
    }

    /// Tells a driver of its replies.
    fn publish(&mut self, at: usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        if !std::mem::take(&mut slot.unpublished) {
            return;
        }
        if slot.queue.ring.publish() {
            self.call(at);
        } else {
            slot.queue.counted.calls_suppressed += 1;
        }
    }

    fn call(&mut self, at: usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        let Some(call) = &slot.queue.call else { return };
        slot.queue.counted.calls += 1;
        if let Err(error) = self.guard.notify(call) {
            slot.queue.call = None;
            self.fail(at, &format!("its driver can't be called: {error}"));
        }
    }

    /// Ends the service of one queue, which its front-end is told of.
    fn fail(&mut self, at: usize, why: &str) {
        self.forget(at);
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        if slot.queue.fault.is_some() {
            return;
        }
        // Zeros in the place of lost memory look like a broken ring.
        let why = if slot.queue.ring.broken() {
            SHORTENED
        } else {
            why
        };
        let (name, index) = (&slot.queue.shared.name, slot.queue.index);
        eprintln!("elvis: {name}: queue {index} is served no longer: {why}");
        slot.queue.fault = Some(why.to_owned());
        if let Some(err) = &slot.queue.err {
            let _ = self.guard.notify(err);
        }
    }

    /// Some memory file was shortened: ends the service of the queues that lie in it.
    fn find_broken(&mut self) {
        self.faults = sigbus::faults();
        for at in 0..self.slots.len() {
            if matches!(&self.slots[at], Some(slot) if slot.queue.ring.broken()) {
                self.fail(at, SHORTENED);
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
            stats.fault.clone_from(&slot.queue.fault);
            stats
        });
        let awake_ns = self.now_ns.saturating_sub(self.asleep_ns);
        CoreStats {
            cpus: self.cpus.clone(),
            engine: self.engine.name(),
            policy: *self.scheduler.counters(),
            serving_ns: self.serving_ns,
            asleep_ns: self.asleep_ns,
            polling_ns: awake_ns.saturating_sub(self.serving_ns),
            queues: queues.collect(),
        }
    }
}
