//! Starts requests, and replies to them.

use super::{Core, Slot};
use crate::blk::{ID, Request, Status};
use crate::server::kind::Kind;
use crate::server::pending::{Outcome, Pending, reply};
use crate::storage::Disk;
use elvis_ring::Chain;
use std::io;
use std::sync::atomic::Ordering;

/// A range that the I/O thread zeroes part by part, so that other queues are served in between. Its own queue
/// takes no other request meanwhile.
pub(super) struct Zeroing {
    pub(super) chain: Chain,
    request: Request,
    /// The rest of the range.
    offset: u64,
    left: u64,
    taken_ns: u64,
}

impl Zeroing {
    /// Bytes of a part: takes a few microseconds, more than the overhead of a visit.
    const PART: u64 = 64 << 10;
}

/// A serial number as the request for it gets it (VIRTIO 1.2, section 5.2.6).
fn id(serial: &str) -> [u8; ID] {
    let mut id = [0; ID];
    let bytes = serial.len().min(ID);
    id[..bytes].copy_from_slice(&serial.as_bytes()[..bytes]);
    id
}

impl Core {
    /// Starts one request, or does it (or its first part) at once if that does not block. Returns the
    /// bytes of data or range that were started or done.
    pub(super) fn request(&mut self, at: usize, chain: Chain) -> u64 {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return 0;
        };
        let Kind::Blk(blk) = &slot.queue.shared.kind else {
            return 0;
        };
        let disk = &blk.disk;
        let request = match Request::parse(&chain, disk.bytes(), blk.readonly) {
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
                match disk {
                    Disk::File { .. } => None,
                    _ => {
                        slot.zeroing = Some(Box::new(Zeroing {
                            chain,
                            request,
                            offset,
                            left: bytes,
                            taken_ns: self.now_ns,
                        }));
                        return self.zero_part(at);
                    }
                }
            }
            Request::Id => Some(chain.write(0, &id(&blk.serial))),
            Request::Flush => match disk {
                Disk::File { .. } => None,
                _ => Some(true),
            },
        };
        let bytes = request.work_bytes();
        match (now, disk) {
            (Some(done), _) => {
                let status = if done { Status::Ok } else { Status::IoError };
                self.at_once += 1;
                self.finish(at, chain, Some(request), status);
            }
            (None, Disk::File { align, .. }) => {
                let dsync = !blk.writeback.load(Ordering::Relaxed);
                let pending = Pending::new(at, chain, request, self.now_ns, dsync, *align);
                slot.in_flight += 1;
                self.submit(pending);
            }
            (None, _) => self.finish(at, chain, Some(request), Status::IoError),
        }
        bytes
    }

    /// Zeroes the next part of a queue's range. Returns its length in bytes.
    pub(super) fn zero_part(&mut self, at: usize) -> u64 {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return 0;
        };
        let Some(zeroing) = &mut slot.zeroing else {
            return 0;
        };
        let bytes = zeroing.left.min(Zeroing::PART);
        let Kind::Blk(blk) = &slot.queue.shared.kind else {
            return 0;
        };
        let done = blk.disk.zero_now(zeroing.offset, bytes);
        zeroing.offset += bytes;
        zeroing.left -= bytes;
        if done && zeroing.left > 0 {
            return bytes;
        }
        let status = if done { Status::Ok } else { Status::IoError };
        self.clock();
        let now_ns = self.now_ns;
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return bytes;
        };
        if let Some(zeroing) = slot.zeroing.take() {
            let latency_ns = now_ns.saturating_sub(zeroing.taken_ns);
            slot.queue.counted.latency.record(latency_ns, 1);
            self.finish(at, zeroing.chain, Some(zeroing.request), status);
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
        let Some(Some(slot)) = self.slots.get(slot) else {
            return;
        };
        let Kind::Blk(blk) = &slot.queue.shared.kind else {
            return;
        };
        let taken = match pending.job(token as u64, &blk.disk, &slot.registered) {
            // SAFETY: the pending request owns the pieces and its chain keeps their memory mapped;
            // it stays in `pending` until the result has arrived. Its slot, and with it the queue and
            // the disk's file, stays while it has requests in flight.
            Some(job) => unsafe { self.engine.submit(&job) },
            None => Err(io::ErrorKind::Unsupported.into()),
        };
        if taken.is_err() {
            self.ended(token, Status::IoError);
        }
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
        self.settle_touched();
    }

    /// Publishes what was put into rings of queues that are not being visited.
    pub(super) fn settle_touched(&mut self) {
        while let Some(at) = self.touched.pop() {
            if matches!(self.slots.get(at), Some(Some(slot)) if slot.unpublished > 0) {
                let from_ns = self.now_ns;
                self.publish(at);
                self.clock();
                self.spend(at, from_ns);
            }
            if let Some(Some(Slot { id: Some(id), .. })) = self.slots.get(at) {
                self.scheduler.completed(*id);
            }
            self.give_back(at);
        }
    }

    /// Handles the end of a request to the engine.
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
        slot.unpublished += 1;
        let counted = &mut slot.queue.counted;
        match request {
            Some(Request::Read { bytes, .. }) => counted.read_bytes += bytes,
            Some(Request::Write { bytes, .. }) => counted.written_bytes += bytes,
            _ => {}
        }
        counted.errors += u64::from(status != Status::Ok);
        self.room.spare.push(chain);
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
            // The driver has seen all earlier ones.
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
        if let Err(error) = self.guard.notify(call) {
            slot.queue.call = None;
            self.fail(at, &format!("its driver can't be called: {error}"));
        }
        // A call wakes a thread, which may take longer than the request.
        self.clock();
    }
}
