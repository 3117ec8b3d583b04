//! Visits to queues of network devices: sends the frames that drivers transmit, and gives them those that
//! arrive.
//!
//! A frame from one device of a switch to another is copied once, from buffer to buffer, in the sender's visit. That
//! requires that the same I/O thread serves the receiver, and that the receiver has buffers. Otherwise the frame waits
//! in the receiver's inbox.

use super::frames::{Frames, Received};
use super::{Core, Slot};
use crate::net::give::{Given, Parts, give, header_bytes};
use crate::net::header::{BYTES, Malformed, NONE, START};
use crate::net::switch::{Learned, PortQueue, Ports};
use crate::net::{ETHERNET, Header, Mac, Port, feature, vlan};
use crate::server::kind::{Backing, Kind, Net};
use crate::server::queue::Queue;
use crate::server::stats::FrameCounts;
use elvis_policy::{QueueId, Visit};
use elvis_ring::Chain;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of an Ethernet header with a VLAN tag, which are not in an MTU.
const TAGGED: usize = ETHERNET + 4;

/// Start of a frame that a driver transmits, read once.
struct Sent {
    header: Header,
    /// The checked header as an interface takes it, then the start of the frame.
    first: Vec<u8>,
    /// Bytes of the start.
    read: usize,
    /// Bytes of the frame.
    bytes: usize,
    /// Bytes of the chain before the rest of the frame.
    skip: u64,
}

impl Sent {
    /// Reads and checks a frame. Takes `memory` for its start, if the frame is valid.
    fn read(
        queue: &Queue,
        net: &Net,
        chain: &Chain,
        memory: &mut Vec<u8>,
    ) -> Result<Self, Malformed> {
        let before = header_bytes(queue.features) as u64;
        let bytes = chain.readable_bytes().checked_sub(before);
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or(Malformed::Length)?;
        let read = bytes.min(START);
        memory.resize(BYTES + START, 0);
        let (head, start) = memory.split_at_mut(BYTES);
        let (mut header, start) = ([0; BYTES], &mut start[..read]);
        if !chain.read(0, &mut header) || !chain.read(before, start) {
            return Err(Malformed::Length);
        }
        let header = Header::parse(&header).check(start, bytes, queue.features)?;
        head.copy_from_slice(&header.bytes(0)[..BYTES]);
        let mtu = net.mtu().filter(|_| queue.features & feature::MTU != 0);
        let long = mtu.is_some_and(|mtu| bytes > usize::from(mtu) + TAGGED);
        if long && header.gso() == NONE {
            return Err(Malformed::Length);
        }
        Ok(Self {
            header,
            first: std::mem::take(memory),
            read,
            bytes,
            skip: before + read as u64,
        })
    }

    fn parts<'a>(&'a self, chain: &'a Chain) -> Parts<'a> {
        let rest_bytes = self.bytes - self.read;
        Parts {
            start: self.start(),
            rest: (rest_bytes > 0).then_some((chain, self.skip)),
            rest_bytes,
        }
    }

    /// Returns the start of the frame.
    fn start(&self) -> &[u8] {
        &self.first[BYTES..BYTES + self.read]
    }

    /// Returns the addresses of receiver and sender.
    fn addresses(&self) -> (Mac, Mac) {
        let mac = |at| std::array::from_fn(|byte| self.first[BYTES + at + byte]);
        (mac(0), mac(6))
    }
}

/// Returns a queue's counters of frames.
fn counts(queue: &mut Queue) -> &mut FrameCounts {
    queue.counted.frames.get_or_insert_default()
}

/// Frame that a switch copies to many receivers, part by part, so that other queues are served in between. Its own
/// queue sends no other frame meanwhile.
pub(super) struct Flood {
    chain: Chain,
    sent: Sent,
    /// Number of the queue's pair.
    pair: u16,
    port: Arc<Port>,
    ports: Ports,
    /// Numbers of the ports that have not got the frame yet.
    left: Range<usize>,
}

impl Flood {
    /// Returns the chain of the frame's buffers.
    pub(super) fn chain(self) -> Chain {
        self.chain
    }

    /// Most bytes and most receivers of one part, which takes some ten microseconds.
    const BYTES: usize = 64 << 10;
    const RECEIVERS: usize = 16;

    /// Returns the most receivers of one part.
    fn part(&self) -> usize {
        (Self::BYTES / self.sent.bytes.max(1)).clamp(1, Self::RECEIVERS)
    }
}

impl Core {
    /// Sends one frame; of many receivers only the first ones get it now. Returns its length, and the number of
    /// receivers beyond the first.
    pub(super) fn transmit(&mut self, at: usize, chain: Chain) -> (u64, usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return (0, 0);
        };
        let (Kind::Net(net), Some(frames)) = (&slot.queue.shared.kind, &mut slot.frames) else {
            return (0, 0);
        };
        let Ok(sent) = Sent::read(&slot.queue, net, &chain, &mut self.room.first) else {
            counts(&mut slot.queue).malformed += 1;
            self.sent(at, chain, 0);
            return (0, 0);
        };
        let bytes = sent.bytes as u64;
        if let Backing::Link(link) = &net.backing {
            let rest = (sent.bytes > sent.read).then_some((&chain, sent.skip));
            let first = &sent.first[..BYTES + sent.read];
            let done = link.send(frames.pair.into(), first, rest, &mut self.room.scratch);
            counts(&mut slot.queue).unsent += u64::from(done.is_err());
            self.room.first = sent.first;
            self.sent(at, chain, bytes);
            return (bytes, 0);
        }
        let counts = slot.queue.counted.frames.get_or_insert_default();
        let Some((port, ports, left)) = route(counts, frames, &sent, self.now_ns) else {
            self.room.first = sent.first;
            self.sent(at, chain, bytes);
            return (bytes, 0);
        };
        let mut flood = Flood {
            chain,
            sent,
            pair: frames.pair,
            port,
            ports,
            left,
        };
        let (receivers, last) = self.forward(&mut flood);
        if let Some(Some(Slot {
            frames: Some(frames),
            ..
        })) = self.slots.get_mut(at)
        {
            frames.receiver = last;
        }
        self.flooded(at, flood);
        (bytes, receivers.saturating_sub(1))
    }

    /// Ends the sending of a frame to its receivers, or keeps it if some are left.
    fn flooded(&mut self, at: usize, flood: Flood) {
        if flood.left.is_empty() {
            self.room.first = flood.sent.first;
            self.sent(at, flood.chain, flood.sent.bytes as u64);
        } else if let Some(Some(Slot {
            frames: Some(frames),
            ..
        })) = self.slots.get_mut(at)
        {
            frames.flood = Some(Box::new(flood));
        }
    }

    /// Counts a sent frame, and puts its buffers back into the ring.
    fn sent(&mut self, at: usize, chain: Chain, bytes: u64) {
        self.at_once += 1;
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            slot.queue.ring.put(chain.head(), 0);
            slot.unpublished += 1;
            slot.queue.counted.written_bytes += bytes;
            counts(&mut slot.queue).frames += 1;
        }
        self.room.spare.push(chain);
    }

    /// Sends a frame to the next of its many receivers. Returns its length, and their number; None: there is no such
    /// frame.
    pub(super) fn flood(&mut self, at: usize) -> Option<(u64, usize)> {
        let frames = self.slots.get_mut(at)?.as_mut()?.frames.as_mut()?;
        let mut flood = frames.flood.take()?;
        let (receivers, _) = self.forward(&mut flood);
        let bytes = flood.sent.bytes as u64;
        self.flooded(at, *flood);
        Some((bytes, receivers))
    }

    /// Gives a frame to its next receivers. Returns their number, and the slot of the last one's queue if that is of
    /// this thread.
    fn forward(&mut self, flood: &mut Flood) -> (usize, Option<usize>) {
        let (to, most) = (flood.sent.addresses().0, flood.part());
        let vlan = flood.port.vlan();
        let (mut receivers, mut last) = (0, None);
        while receivers < most {
            let next = flood.port.receiver(vlan, &flood.ports, to, &mut flood.left);
            let Some(other) = next else { break };
            last = self.deliver(other, vlan, flood.pair, &flood.sent, &flood.chain);
            receivers += 1;
        }
        (receivers, last)
    }

    /// Gives a driver the answers to the frames that a visit sent to an interface, if the interface has them already, as
    /// it has those of the host's own kernel. They are part of the visit. An event tells of all other frames.
    pub(super) fn answers(&mut self, at: usize, visit: &mut Visit) {
        let (sent, from_ns) = (visit.requests(), self.now_ns);
        if sent == 0 {
            return;
        }
        let Some((other, id)) = self.answered_at(at) else {
            return;
        };
        // The driver looks for sent frames when an answer comes.
        self.publish(at);
        let (mut kicks, mut found, mut looked) = (self.kicks(visit), 0, false);
        while found < sent && self.scheduler.go_on(visit, self.now_ns) && self.has_buffers(other) {
            looked = true;
            let Some(bytes) = self.receive(other) else {
                break;
            };
            found += 1;
            self.scheduler.charge_other(visit, id, bytes);
            if self.pauses(visit, &mut kicks) {
                break;
            }
        }
        self.clock();
        let Some(Some(slot)) = self.slots.get_mut(other) else {
            return;
        };
        let latency_ns = self.now_ns.saturating_sub(from_ns);
        slot.queue.counted.latency.record(latency_ns, found);
        if let Some(frames) = &mut slot.frames {
            // Frames that are left have an event.
            frames.ready = false;
            let waits = frames.waiting() > 0;
            if looked {
                frames.answers.found(found > 0 || waits);
            }
            if waits {
                self.scheduler.woken(id, self.now_ns);
            }
        }
        if slot.unpublished > 0 {
            self.touched.push(other);
        }
    }

    /// Returns the receive queue of the pair whose other queue sends to an interface, and makes it ready for answers.
    /// None: no answers are to be looked for.
    fn answered_at(&mut self, at: usize) -> Option<(usize, QueueId)> {
        let slot = self.slots.get(at)?.as_ref()?;
        let (Kind::Net(net), Some(frames)) = (&slot.queue.shared.kind, &slot.frames) else {
            return None;
        };
        if frames.receives || !matches!(net.backing, Backing::Link(_)) {
            return None;
        }
        let (device, index) = (slot.queue.shared.number, slot.queue.index - 1);
        let other = match self.is_at(frames.other, device, index) {
            true => frames.other,
            false => self.find(device, index)?,
        };
        if let Some(frames) = self.slots.get_mut(at)?.as_mut()?.frames.as_mut() {
            frames.other = other;
        }
        let slot = self.slots.get_mut(other)?.as_mut()?;
        let (id, frames) = (slot.id?, slot.frames.as_mut()?);
        // Frames of which an event has told are for a visit of their own.
        if frames.waiting() > 0 || slot.unpublished > 0 || !frames.answers.due() {
            return None;
        }
        frames.ready = true;
        Some((other, id))
    }

    /// Whether a receive queue has a buffer.
    fn has_buffers(&mut self, at: usize) -> bool {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return false;
        };
        if slot.queue.ring.known() > 0 {
            return true;
        }
        match slot.queue.ring.look() {
            Ok(look) => look.pending > 0,
            Err(error) => {
                self.fail(at, &error.to_string());
                false
            }
        }
    }

    /// Gives a frame to a port of a switch. Returns the slot of its queue if that is of this thread.
    fn deliver(
        &mut self,
        port: &Arc<Port>,
        vlan: u16,
        hint: u16,
        sent: &Sent,
        chain: &Chain,
    ) -> Option<usize> {
        if let Some(uplink) = port.uplink() {
            let parts = sent.parts(chain);
            uplink.send(vlan, &sent.header, &parts, &mut self.room.scratch);
            return None;
        }
        // A receiver that has no served queue is off.
        let queue = port.queue_for(hint)?;
        let parts = sent.parts(chain);
        let here = queue.place().filter(|place| place.thread == self.number);
        let slot = here.map(|place| place.slot as usize);
        if let Some(to) = slot {
            if port.direct() && queue.waiting() == 0 && self.give_now(to, &sent.header, parts) {
                return slot;
            }
        }
        self.let_wait(queue, slot, &sent.header, &parts);
        slot
    }

    /// Puts a frame into an inbox, and wakes its queue.
    fn let_wait(&mut self, queue: &PortQueue, slot: Option<usize>, header: &Header, parts: &Parts) {
        // The queue is woken also if the frame found no room: a first frame that waited too long for buffers is dropped
        // by a visit.
        queue.push(*header, parts);
        if let Some(Some(Slot { id: Some(id), .. })) = slot.and_then(|at| self.slots.get(at)) {
            self.scheduler.woken(*id, self.now_ns);
        }
    }

    /// Puts a frame into the buffers of a receive queue of this thread. False if there are too few.
    fn give_now(&mut self, at: usize, header: &Header, parts: Parts) -> bool {
        let Self {
            slots,
            room,
            touched,
            ..
        } = self;
        let Some(Some(slot)) = slots
            .get_mut(at)
            .filter(|slot| slot.as_ref().is_some_and(|slot| slot.id.is_some()))
        else {
            return true;
        };
        let given = give(
            &mut slot.queue.ring,
            slot.queue.features,
            room,
            header,
            parts,
        );
        match given {
            Ok(Given::Starved) => false,
            Ok(given) => {
                // The next frame will read the ring.
                slot.queue.ring.prefetch();
                if slot.unpublished == 0 {
                    touched.push(at);
                }
                received(slot, given, parts.bytes());
                true
            }
            Err(error) => {
                self.fail(at, &error.to_string());
                true
            }
        }
    }

    /// Gives a driver the next frame that waits for it. Returns its length; None if there is none, or too few
    /// buffers.
    pub(super) fn receive(&mut self, at: usize) -> Option<u64> {
        let (now_ns, room) = (self.now_ns, &mut self.room);
        let slot = self.slots.get_mut(at)?.as_mut()?;
        let frames = slot.frames.as_mut()?;
        let starved = frames.starved();
        let done = match frames.receive(&mut slot.queue, room) {
            Ok(Received::Frame(Given::Starved, _)) => {
                match frames.starve(&mut slot.queue.ring, now_ns) {
                    Ok(true) => {
                        let bytes = frames.give_up();
                        Ok(Some((Given::TooLong, bytes)))
                    }
                    Ok(false) => Ok(None),
                    Err(error) => Err(error),
                }
            }
            Ok(Received::Frame(given, bytes)) => {
                if starved {
                    frames.fed();
                }
                Ok(Some((given, bytes)))
            }
            Ok(Received::Nothing) => Ok(None),
            Ok(Received::Failed) => {
                counts(&mut slot.queue).unsent += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        };
        match done {
            Ok(done) => {
                let (given, bytes) = done?;
                received(slot, given, bytes);
                Some(bytes as u64)
            }
            Err(error) => {
                self.fail(at, &error.to_string());
                None
            }
        }
    }

    /// Notes that frames may have come to a receive queue.
    pub(super) fn signalled(&mut self, at: usize) {
        let Some(Some(Slot {
            frames: Some(frames),
            id: Some(id),
            queue,
            ..
        })) = self.slots.get_mut(at)
        else {
            return;
        };
        frames.ready = true;
        counts(queue).signals += 1;
        self.scheduler.signalled(*id, self.now_ns);
    }
}

/// Returns the sender's port, and the numbers of the ports that may get its frame. None: no port, as the device may not
/// send from this address.
fn route(
    counts: &mut FrameCounts,
    frames: &mut Frames,
    sent: &Sent,
    now_ns: u64,
) -> Option<(Arc<Port>, Ports, Range<usize>)> {
    let port = frames.port.clone()?;
    let ((to, from), now_s) = (sent.addresses(), frames.now_s(now_ns));
    let (table, single) = (port.table(), from[0] & 1 == 0);
    // A device in a VLAN has no tags of its own.
    let untagged = port.vlan() == 0 || !vlan::is_tagged(sent.start());
    let own = single && untagged && port.may_send(from);
    if !own || table.learn(from, port.number(), now_s) == Learned::Foreign {
        counts.foreign += 1;
        return None;
    }
    let ports = frames.ports(&port);
    let (flooded, left) = Port::receivers(table, &ports, to, now_s);
    counts.flooded += u64::from(flooded);
    Some((port, ports, left))
}

/// Counts a frame that a driver got, or that was dropped.
fn received(slot: &mut Slot, given: Given, bytes: usize) {
    let counted = &mut slot.queue.counted;
    let frames = counted.frames.get_or_insert_default();
    match given {
        Given::Done { buffers, lost } => {
            slot.unpublished += buffers;
            counted.read_bytes += bytes as u64;
            frames.frames += 1;
            frames.no_buffers += lost;
        }
        Given::TooLong => frames.too_long += 1,
        Given::Starved => frames.no_buffers += 1,
    }
}
