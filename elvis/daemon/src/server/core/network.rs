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
use elvis_policy::QueueId;
use elvis_ring::Chain;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of an Ethernet header with a VLAN tag, which are not in an MTU.
const TAGGED: usize = ETHERNET + 4;

/// Start of a frame that a driver transmits, read once.
struct Sent {
    header: Header,
    start: [u8; START],
    /// Valid bytes of `start`.
    read: usize,
    /// Bytes of the frame.
    bytes: usize,
    /// Bytes of the chain before the rest of the frame.
    skip: u64,
}

impl Sent {
    /// Reads and checks a frame.
    fn read(queue: &Queue, net: &Net, chain: &Chain) -> Result<Self, Malformed> {
        let before = header_bytes(queue.features) as u64;
        let bytes = chain.readable_bytes().checked_sub(before);
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or(Malformed::Length)?;
        let (mut header, mut start, read) = ([0; BYTES], [0; START], bytes.min(START));
        if !chain.read(0, &mut header) || !chain.read(before, &mut start[..read]) {
            return Err(Malformed::Length);
        }
        let header = Header::parse(&header).check(&start[..read], bytes, queue.features)?;
        let mtu = net.mtu().filter(|_| queue.features & feature::MTU != 0);
        let long = mtu.is_some_and(|mtu| bytes > usize::from(mtu) + TAGGED);
        if long && header.gso() == NONE {
            return Err(Malformed::Length);
        }
        Ok(Self {
            header,
            start,
            read,
            bytes,
            skip: before + read as u64,
        })
    }

    fn parts<'a>(&'a self, chain: &'a Chain) -> Parts<'a> {
        let rest_bytes = self.bytes - self.read;
        Parts {
            start: &self.start[..self.read],
            rest: (rest_bytes > 0).then_some((chain, self.skip)),
            rest_bytes,
        }
    }

    /// Returns the addresses of receiver and sender.
    fn addresses(&self) -> (Mac, Mac) {
        let mac = |at| std::array::from_fn(|byte| self.start[at + byte]);
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
        let Some(mut frames) = slot.frames.take() else {
            return (0, 0);
        };
        let Kind::Net(net) = &slot.queue.shared.kind else {
            return (0, 0);
        };
        let sent = match Sent::read(&slot.queue, net, &chain) {
            Ok(sent) => sent,
            Err(_) => {
                counts(&mut slot.queue).malformed += 1;
                slot.frames = Some(frames);
                self.sent(at, chain, 0);
                return (0, 0);
            }
        };
        let bytes = sent.bytes as u64;
        let Backing::Link(link) = &net.backing else {
            let Some((port, ports, left)) = route(slot, &mut frames, &sent, self.now_ns) else {
                slot.frames = Some(frames);
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
            slot.frames = Some(frames);
            let (receivers, last) = self.forward(&mut flood);
            if let Some(Some(Slot {
                frames: Some(frames),
                ..
            })) = self.slots.get_mut(at)
            {
                frames.receiver = last;
            }
            if flood.left.is_empty() {
                self.sent(at, flood.chain, bytes);
            } else {
                self.floods_on(at, Box::new(flood));
            }
            return (bytes, receivers.saturating_sub(1));
        };
        let (pair, rest) = (frames.pair.into(), sent.parts(&chain).rest);
        let (start, scratch) = (&sent.start[..sent.read], &mut self.room.scratch);
        let done = link.send(pair, &sent.header, start, rest, scratch);
        counts(&mut slot.queue).unsent += u64::from(done.is_err());
        slot.frames = Some(frames);
        self.sent(at, chain, bytes);
        (bytes, 0)
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
        if flood.left.is_empty() {
            self.sent(at, flood.chain, bytes);
        } else {
            self.floods_on(at, flood);
        }
        Some((bytes, receivers))
    }

    /// Keeps a frame that has receivers left.
    fn floods_on(&mut self, at: usize, flood: Box<Flood>) {
        if let Some(Some(Slot {
            frames: Some(frames),
            ..
        })) = self.slots.get_mut(at)
        {
            frames.flood = Some(flood);
        }
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

    /// Notes that a driver sent frames. An interface may have as many answers at once, such as those of the host's own
    /// kernel. Returns the queue to visit for them.
    pub(super) fn expect_answers(&mut self, at: usize, answers: u32) -> Option<QueueId> {
        let slot = self.slots.get(at)?.as_ref()?;
        let (Kind::Net(net), Some(frames)) = (&slot.queue.shared.kind, &slot.frames) else {
            return None;
        };
        if answers == 0 || frames.receives || !matches!(net.backing, Backing::Link(_)) {
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
        let expects = slot.frames.as_mut()?.answers.expect(answers);
        slot.id.filter(|_| expects)
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
                self.at_once += 1;
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
    slot: &mut Slot,
    frames: &mut Frames,
    sent: &Sent,
    now_ns: u64,
) -> Option<(Arc<Port>, Ports, Range<usize>)> {
    let port = frames.port.clone()?;
    let ((to, from), now_s) = (sent.addresses(), frames.now_s(now_ns));
    let (table, single) = (port.table(), from[0] & 1 == 0);
    // A device in a VLAN has no tags of its own.
    let untagged = port.vlan() == 0 || !vlan::is_tagged(&sent.start[..sent.read]);
    let own = single && untagged && port.may_send(from);
    if !own || table.learn(from, port.number(), now_s) == Learned::Foreign {
        counts(&mut slot.queue).foreign += 1;
        return None;
    }
    let ports = frames.ports(&port);
    let (flooded, left) = Port::receivers(table, &ports, to, now_s);
    counts(&mut slot.queue).flooded += u64::from(flooded);
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
