//! Starts requests, and replies to them.

use super::{Core, Slot, now_ns};
use crate::blk::{ID, Refused, Request, Status};
use crate::net::give::Room;
use crate::server::kind::{Blk, Kind};
use crate::server::pending::{Outcome, Pending, reply};
use crate::server::queue::Queue;
use crate::server::stats::Counted;
use crate::storage::{Disk, Engine, Registered, Syncs};
use elvis_policy::{Pace, Scheduler};
use elvis_ring::{Chain, Ring, Visited};
use std::io;

/// A request that the I/O thread does itself, part by part, so that other queues are served in between. Its own queue
/// takes no other request meanwhile.
pub(super) struct Partial {
    pub(super) chain: Chain,
    request: Request,
    done: u64,
    taken_ns: u64,
}

impl Partial {
    /// Bytes of a part, which takes some ten microseconds: more than the overhead of a visit.
    const PART: u64 = 64 << 10;

    /// Whether the I/O thread does a request to this disk part by part.
    fn wanted(disk: &Disk, request: &Request) -> bool {
        match request {
            Request::Zero { bytes, .. } | Request::Discard { bytes, .. } => {
                *bytes > 0 && !matches!(disk, Disk::File { .. })
            }
            _ => disk.copies() && request.data_bytes() > Self::PART,
        }
    }

    /// Does the next part, and returns its length in bytes. None: the engine must do the request.
    fn part(&mut self, disk: &Disk) -> (u64, Option<bool>) {
        let done = self.done;
        let bytes = (self.request.work_bytes() - done).min(Self::PART);
        self.done += bytes;
        let part = match self.request {
            Request::Read { offset, .. } => disk.read_now(&self.chain, done, offset + done, bytes),
            Request::Write { offset, .. } => {
                let skip = crate::blk::HEADER + done;
                disk.write_now(&self.chain, skip, offset + done, bytes)
            }
            Request::Zero { offset, .. } | Request::Discard { offset, .. } => {
                Some(disk.zero_now(offset + done, bytes))
            }
            Request::Flush | Request::Id => Some(false),
        };
        (bytes, part)
    }
}

/// Most memory that the requests of a queue in flight hold, in bytes, without that of the last one: the queue takes no
/// other request meanwhile. A ring has up to 32,768 requests, and each may need a bounce buffer.
const HELD: u64 = 16 << 20;

/// Number of daemons that may end, one after another, while a request is in flight. After so many the request is not
/// run again: it may be the reason.
const MOST_ENDS: u8 = 3;

/// Returns a serial number as the request for it gets it (VIRTIO 1.2, section 5.2.6).
fn id(serial: &str) -> [u8; ID] {
    let mut id = [0; ID];
    let bytes = serial.len().min(ID);
    id[..bytes].copy_from_slice(&serial.as_bytes()[..bytes]);
    id
}

/// Parts of the I/O thread that requests need, apart from the slots.
pub(super) struct Hands<'a> {
    engine: &'a mut Engine,
    pending: &'a mut Vec<Option<Pending>>,
    free: &'a mut Vec<usize>,
    in_flight: &'a mut usize,
    pub(super) spare: &'a mut Vec<Chain>,
    at_once: &'a mut u64,
    pub(super) now_ns: &'a mut u64,
    /// Longest time of a visit.
    visit_ns: u64,
}

/// Payer of the time that is spent after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// The queue that is visited pays.
    OfVisit,
    /// The request's own queue pays.
    OfQueue,
}

/// Parts of the queue's slot that requests need, apart from the ring.
pub(super) struct Owner<'a> {
    at: usize,
    /// Name of the queue's device.
    name: &'a str,
    blk: &'a Blk,
    /// Features that the driver has chosen.
    features: u64,
    counted: &'a mut Counted,
    in_flight: &'a mut u32,
    held: &'a mut u64,
    unpublished: &'a mut u64,
    pace: &'a mut Pace,
    pub(super) partial: &'a mut Option<Box<Partial>>,
    registered: &'a Registered,
}

impl Owner<'_> {
    /// Whether the queue's requests in flight hold all the memory that they may.
    pub(super) fn full(&self) -> bool {
        *self.held >= HELD
    }

    /// Returns the request in a chain; the error is the status to reply with. `survived` daemons have ended while they
    /// ran the request.
    fn checked(&mut self, chain: &Chain, survived: u8) -> Result<Request, Status> {
        if survived >= MOST_ENDS {
            self.blk.told.survived(self.name, survived);
            return Err(Status::IoError);
        }
        if !Request::segments_fit(chain, self.features) {
            self.blk.told.segments(self.name);
            return Err(Status::IoError);
        }
        let disk = &self.blk.disk;
        let size = (disk.bytes(), &disk.blocks());
        Request::parse(chain, size, self.blk.readonly).map_err(|refused| self.refuse(refused))
    }

    /// Returns the status of a request that is refused.
    fn refuse(&mut self, refused: Refused) -> Status {
        match refused {
            Refused::With(status) => status,
            Refused::Unaligned { offset, bytes } => {
                self.counted.unaligned += 1;
                self.blk
                    .told
                    .unaligned(self.name, offset, bytes, &self.blk.disk.blocks());
                Status::IoError
            }
        }
    }
}

impl Slot {
    /// Whether the queue is full, see [`Owner::full`].
    pub(super) fn full(&self) -> bool {
        self.held >= HELD
    }

    /// Returns the ring and the rest of the slot, if the queue is a disk's.
    pub(super) fn parts(&mut self, at: usize) -> Option<(&mut Ring, Owner<'_>)> {
        let Queue {
            shared,
            features,
            ring,
            counted,
            ..
        } = &mut *self.queue;
        let Kind::Blk(blk) = &shared.kind else {
            return None;
        };
        let owner = Owner {
            at,
            name: &shared.name,
            blk,
            features: *features,
            counted,
            in_flight: &mut self.in_flight,
            held: &mut self.held,
            unpublished: &mut self.unpublished,
            pace: &mut self.pace,
            partial: &mut self.partial,
            registered: &self.registered,
        };
        Some((ring, owner))
    }
}

impl Hands<'_> {
    /// Starts one request, or does it (or its first part) at once if that does not block. Returns the
    /// bytes of data or range that were started or done.
    pub(super) fn request(
        &mut self,
        ring: &mut impl Visited,
        owner: &mut Owner,
        chain: Chain,
    ) -> u64 {
        let request = match owner.checked(&chain, ring.survived()) {
            Ok(request) => request,
            Err(status) => {
                *self.at_once += 1;
                self.finish(ring, owner, chain, None, status);
                return 0;
            }
        };
        let disk = &owner.blk.disk;
        if Partial::wanted(disk, &request) {
            *owner.partial = Some(Box::new(Partial {
                chain,
                request,
                done: 0,
                taken_ns: *self.now_ns,
            }));
            return self.part(ring, owner);
        }
        let now = match request {
            Request::Read { offset, bytes } => disk.read_now(&chain, 0, offset, bytes),
            Request::Write { offset, bytes } => {
                disk.write_now(&chain, crate::blk::HEADER, offset, bytes)
            }
            Request::Zero { bytes: 0, .. } | Request::Discard { bytes: 0, .. } => Some(true),
            Request::Zero { .. } | Request::Discard { .. } => None,
            Request::Id => Some(chain.write(0, &id(&owner.blk.serial))),
            Request::Flush => match disk {
                Disk::File { .. } => None,
                _ => Some(true),
            },
        };
        match now {
            Some(done) => {
                let status = if done { Status::Ok } else { Status::IoError };
                *self.at_once += 1;
                self.finish(ring, owner, chain, Some(request), status);
            }
            None => {
                if !self.begin(ring, owner, chain, request, *self.now_ns) {
                    return 0;
                }
            }
        }
        request.work_bytes()
    }

    /// Lets the engine do a request. False if there is no memory for it.
    fn begin(
        &mut self,
        ring: &mut impl Visited,
        owner: &mut Owner,
        chain: Chain,
        request: Request,
        taken_ns: u64,
    ) -> bool {
        let dsync = owner.blk.write_through(owner.features);
        let blocks = owner.blk.disk.blocks();
        let part = owner.pace.bytes();
        match Pending::new(owner.at, chain, request, taken_ns, dsync, &blocks, part) {
            Ok(pending) => {
                *owner.in_flight += 1;
                *owner.held += pending.held();
                if let Err(token) = self.submit(owner, pending) {
                    self.ended(ring, owner, token, Status::IoError);
                }
                self.start_if_due(owner.pace);
                true
            }
            Err(chain) => {
                owner.blk.told.memory(owner.name, &request);
                *self.at_once += 1;
                self.finish(ring, owner, chain, Some(request), Status::IoError);
                false
            }
        }
    }

    /// Does the next part of a queue's request. Returns its length in bytes.
    pub(super) fn part(&mut self, ring: &mut impl Visited, owner: &mut Owner) -> u64 {
        let Some(partial) = &mut *owner.partial else {
            return 0;
        };
        let (bytes, done) = partial.part(&owner.blk.disk);
        if done == Some(true) && partial.done < partial.request.work_bytes() {
            return bytes;
        }
        let Some(partial) = owner.partial.take() else {
            return 0;
        };
        let Partial {
            chain,
            request,
            taken_ns,
            ..
        } = *partial;
        let Some(done) = done else {
            self.begin(ring, owner, chain, request, taken_ns);
            return bytes;
        };
        let status = if done { Status::Ok } else { Status::IoError };
        *self.now_ns = now_ns();
        let latency_ns = self.now_ns.saturating_sub(taken_ns);
        owner.counted.latency.record(latency_ns, 1);
        self.finish(ring, owner, chain, Some(request), status);
        bytes
    }

    /// Passes a request to the engine. The error is the token of one that it did not take.
    fn submit(&mut self, owner: &Owner, pending: Pending) -> Result<(), usize> {
        let token = self.free.pop().unwrap_or(self.pending.len());
        if token == self.pending.len() {
            self.pending.push(None);
        }
        *self.in_flight += 1;
        let pending = self.pending[token].insert(pending);
        let syncs = match &owner.blk.disk {
            Disk::File { syncs, .. } if pending.syncs() => Some(syncs),
            _ => None,
        };
        pending.sync = syncs.map(Syncs::begin);
        let taken = match pending.job(token as u64, &owner.blk.disk, owner.registered) {
            // SAFETY: the pending request owns the pieces and its chain keeps their memory mapped;
            // it stays in `pending` until the result has arrived. Its slot, and with it the queue and
            // the disk's file, stays while it has requests in flight.
            Some(job) => unsafe { self.engine.submit(&job) },
            None => Err(io::ErrorKind::Unsupported.into()),
        };
        taken.map_err(|_| {
            if let (Some(syncs), Some(number)) = (syncs, pending.sync.take()) {
                // The sync did not run.
                syncs.end(number, true);
            }
            token
        })
    }

    /// Starts the queued requests, if they are enough. That may take a while, after which the visit may be over.
    fn start_if_due(&mut self, pace: &mut Pace) {
        if let Some(bytes) = self.engine.due(pace.bytes()) {
            let from_ns = now_ns();
            // An error means that the kernel is short of memory; the next call starts the rest.
            let _ = self.engine.start();
            *self.now_ns = now_ns();
            let passed_ns = self.now_ns.saturating_sub(from_ns);
            pace.took(self.visit_ns, bytes, passed_ns);
        }
    }

    /// Takes out a request that the engine has done, or did not take.
    fn take(&mut self, token: usize) -> Option<Pending> {
        let pending = self.pending.get_mut(token)?.take()?;
        self.free.push(token);
        *self.in_flight -= 1;
        Some(pending)
    }

    /// Handles the end of a request to the engine.
    fn ended(&mut self, ring: &mut impl Visited, owner: &mut Owner, token: usize, status: Status) {
        let Some(pending) = self.take(token) else {
            return;
        };
        *owner.in_flight -= 1;
        *owner.held = owner.held.saturating_sub(pending.held());
        let latency_ns = self.now_ns.saturating_sub(pending.taken_ns);
        owner.counted.latency.record(latency_ns, 1);
        self.finish(ring, owner, pending.chain, Some(pending.request), status);
    }

    /// Puts a reply into the ring, not yet published.
    fn finish(
        &mut self,
        ring: &mut impl Visited,
        owner: &mut Owner,
        chain: Chain,
        request: Option<Request>,
        status: Status,
    ) {
        let written = reply(&chain, request.as_ref(), status, ring.log());
        ring.put(chain.head(), written);
        *owner.unpublished += 1;
        let counted = &mut *owner.counted;
        match request {
            Some(Request::Read { bytes, .. }) => counted.read_bytes += bytes,
            Some(Request::Write { bytes, .. }) => counted.written_bytes += bytes,
            _ => {}
        }
        counted.errors += u64::from(status != Status::Ok);
        if self.spare.len() < Room::SPARE {
            self.spare.push(chain);
        }
    }
}

impl Core {
    /// Returns the scheduler with the slot of each queue, the slots, and the rest that requests need.
    pub(super) fn parts(&mut self) -> (&mut Scheduler, &[usize], &mut [Option<Slot>], Hands<'_>) {
        let hands = Hands {
            engine: &mut self.engine,
            pending: &mut self.pending,
            free: &mut self.free,
            in_flight: &mut self.in_flight,
            spare: &mut self.room.spare,
            at_once: &mut self.at_once,
            now_ns: &mut self.now_ns,
            visit_ns: self.scheduler.params().visit_ns(),
        };
        (&mut self.scheduler, &self.slot_of, &mut self.slots, hands)
    }

    pub(super) fn reap(&mut self) {
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
            self.result(token as usize, result);
        }
        self.results = results;
        self.settle_held();
        self.settle_touched(Time::OfQueue);
    }

    /// Handles a result of the engine.
    fn result(&mut self, token: usize, result: i32) {
        let Some(Some(pending)) = self.pending.get_mut(token) else {
            return;
        };
        let outcome = pending.result(result);
        if outcome == Outcome::Part {
            // Copies, and work that the engine does at once, are not done for all requests together.
            self.parts.push_back(token);
        } else {
            self.outcome(token, outcome, result);
        }
    }

    /// Goes on with one request of which the engine has done a part. Others have their turn after other queues.
    pub(super) fn go_on_with_part(&mut self) {
        let Some(token) = self.parts.pop_front() else {
            return;
        };
        self.clock();
        let from_ns = self.now_ns;
        let Some(Some(pending)) = self.pending.get_mut(token) else {
            return;
        };
        let at = pending.slot;
        let pace = |slot: &Option<Slot>| slot.as_ref().map(|slot| slot.pace.bytes());
        let most = self.slots.get(at).and_then(pace).unwrap_or(Pace::LEAST);
        let (bytes, outcome) = pending.go_on(most);
        self.outcome(token, outcome, 0);
        let _ = self.engine.start();
        self.clock();
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            let passed_ns = self.now_ns.saturating_sub(from_ns);
            slot.pace
                .took(self.scheduler.params().visit_ns(), bytes, passed_ns);
        }
        self.spend(at, from_ns);
        self.settle_touched(Time::OfQueue);
    }

    /// Ends a request of the engine, or submits the rest.
    fn outcome(&mut self, token: usize, outcome: Outcome, result: i32) {
        let (_, _, slots, mut hands) = self.parts();
        let Some(Some(pending)) = hands.pending.get_mut(token) else {
            return;
        };
        let at = pending.slot;
        let slot = slots.get_mut(at).and_then(Option::as_mut);
        let Some((ring, mut owner)) = slot.and_then(|slot| slot.parts(at)) else {
            return;
        };
        // The sync ends first: whether the request has succeeded depends on the syncs that overlap with it.
        let ended = match (&owner.blk.disk, pending.sync.take()) {
            (Disk::File { syncs, .. }, Some(number)) => {
                Some(syncs.end(number, !matches!(outcome, Outcome::Ended(Status::IoError))))
            }
            _ => None,
        };
        let status = match (outcome, ended) {
            (Outcome::Ended(Status::Ok), Some(limit)) => {
                // The sync's outcome is looked for when all results are there.
                self.held.push((token, limit));
                return;
            }
            (Outcome::Ended(status), Some(_)) => {
                owner
                    .blk
                    .told
                    .unsynced(owner.name, &pending.request, result);
                Some((token, status))
            }
            (Outcome::Ended(status), None) => {
                if status == Status::IoError {
                    owner.blk.told.failed(owner.name, &pending.request, result);
                }
                Some((token, status))
            }
            (Outcome::Again | Outcome::Part, _) => {
                let again = hands.take(token);
                let refused = again.and_then(|pending| hands.submit(&owner, pending).err());
                // Many requests may have come back.
                if hands.engine.due(owner.pace.bytes()).is_some() {
                    let _ = hands.engine.start();
                }
                refused.map(|token| (token, Status::IoError))
            }
        };
        if let Some((token, status)) = status {
            hands.ended(ring, &mut owner, token, status);
            self.touched.push(at);
        }
    }

    /// Ends the requests whose sync ended well, if the syncs that overlapped with it have ended.
    fn settle_held(&mut self) {
        for place in (0..self.held.len()).rev() {
            let (token, limit) = self.held[place];
            let (_, _, slots, mut hands) = self.parts();
            let at = match hands.pending.get(token) {
                Some(Some(pending)) => pending.slot,
                _ => continue,
            };
            let slot = slots.get_mut(at).and_then(Option::as_mut);
            let Some((ring, mut owner)) = slot.and_then(|slot| slot.parts(at)) else {
                continue;
            };
            let Disk::File { syncs, .. } = &owner.blk.disk else {
                continue;
            };
            let status = match syncs.outcome(limit) {
                Some(true) => Status::Ok,
                Some(false) => Status::IoError,
                None => continue,
            };
            hands.ended(ring, &mut owner, token, status);
            self.held.swap_remove(place);
            self.touched.push(at);
        }
    }

    /// Publishes the replies in rings of queues that are not being visited.
    pub(super) fn settle_touched(&mut self, time: Time) {
        while let Some(at) = self.touched.pop() {
            if matches!(self.slots.get(at), Some(Some(slot)) if slot.unpublished > 0) {
                let from_ns = self.now_ns;
                self.publish(at);
                if time == Time::OfQueue {
                    self.clock();
                    self.spend(at, from_ns);
                }
            }
            if let Some(Some(slot)) = self.slots.get_mut(at) {
                let goes_on = !slot.full() && std::mem::take(&mut slot.waits_for_room);
                if let Some(id) = slot.id {
                    self.scheduler.completed(id);
                    let threads_work = self.engine.threads_work();
                    if slot.frames.is_none()
                        && self
                            .scheduler
                            .stored(id, slot.in_flight, threads_work, self.now_ns)
                    {
                        slot.queue.ring.disarm();
                    }
                    if goes_on {
                        self.scheduler.woken(id, self.now_ns);
                    }
                }
            }
            self.give_back(at);
        }
    }

    /// Publishes replies, and calls the driver or notes that it is owed a call.
    pub(super) fn publish(&mut self, at: usize) {
        let (params, now_ns) = (self.scheduler.params(), self.now_ns);
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        let replies = std::mem::take(&mut slot.unpublished);
        if replies == 0 {
            return;
        }
        let was_owed = slot.calls.owed();
        if was_owed && !slot.queue.ring.call_wanted() {
            // The driver has seen all earlier replies.
            slot.calls.settle();
            slot.queue.counted.calls_suppressed += 1;
        }
        let wanted = slot.queue.ring.publish();
        let now = slot.calls.published(params, replies, wanted, now_ns);
        if now || (wanted && slot.id.is_none()) {
            // A queue that was removed from the policy gets no later call.
            slot.calls.settle();
            self.call(at);
        } else if !slot.calls.owed() {
            slot.queue.counted.calls_suppressed += 1;
        } else if !was_owed {
            self.owed.push(at);
        }
    }

    /// Makes the calls that are due.
    pub(super) fn call_late(&mut self) {
        let now_ns = self.now_ns;
        for place in (0..self.owed.len()).rev() {
            let at = self.owed[place];
            let params = self.scheduler.params();
            let Some(Some(slot)) = self.slots.get_mut(at) else {
                self.owed.swap_remove(place);
                continue;
            };
            let due = slot.calls.due(params, now_ns);
            if due && slot.queue.ring.call_wanted() {
                self.clock();
                let from_ns = self.now_ns;
                self.call(at);
                self.spend(at, from_ns);
            } else if due {
                slot.queue.counted.calls_suppressed += 1;
            } else if slot.calls.owed() {
                continue;
            }
            self.owed.swap_remove(place);
        }
    }

    /// Makes all calls that are owed, due or not.
    pub(super) fn settle_calls(&mut self) {
        while let Some(at) = self.owed.pop() {
            let Some(Some(slot)) = self.slots.get_mut(at) else {
                continue;
            };
            match (slot.calls.settle(), slot.queue.ring.call_wanted()) {
                (true, true) => self.call(at),
                (true, false) => slot.queue.counted.calls_suppressed += 1,
                (false, _) => {}
            }
        }
    }

    pub(super) fn call(&mut self, at: usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        let Some(call) = &slot.queue.call else { return };
        slot.queue.counted.calls += 1;
        if let Err(error) = self.signaller.signal(call) {
            slot.queue.call = None;
            self.fail(at, &format!("its driver can't be called: {error}"));
        }
        // A call wakes a thread, which may take longer than the request.
        self.clock();
    }
}
