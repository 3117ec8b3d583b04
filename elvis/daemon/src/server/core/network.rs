//! Visits to queues of network devices: sends the frames that drivers transmit, and gives them those that
//! arrive.
//!
//! A frame from one device of a switch to another is copied once, from buffer to buffer, in the sender's
//! visit, if the receiver is served by the same I/O thread and has buffers. Otherwise it waits in the
//! receiver's inbox.

use super::frames::{Frames, Received};
use super::{Core, Slot};
use crate::net::give::{Given, Parts, give, header_bytes};
use crate::net::header::{BYTES, Malformed, NONE, START};
use crate::net::switch::{Learned, PortQueue};
use crate::net::{ETHERNET, Header, Mac, Port, feature};
use crate::server::kind::{Backing, Kind, Net};
use crate::server::queue::Queue;
use crate::server::stats::FrameCounts;
use elvis_policy::QueueId;
use elvis_ring::Chain;
use std::sync::Arc;

/// Bytes of an Ethernet header with a VLAN tag, which are not in an MTU.
const TAGGED: usize = ETHERNET + 4;

/// The start of a frame that a driver transmits, read once.
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

    /// The addresses of receiver and sender.
    fn addresses(&self) -> (Mac, Mac) {
        let mac = |at| std::array::from_fn(|byte| self.start[at + byte]);
        (mac(0), mac(6))
    }
}

/// A queue's counters of frames.
fn counts(queue: &mut Queue) -> &mut FrameCounts {
    queue.counted.frames.get_or_insert_default()
}

impl Core {
    /// Sends one frame. Returns its length, and to how many receivers it went beyond the first.
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
        let mut receivers = 1;
        let bytes = match Sent::read(&slot.queue, net, &chain) {
            Ok(sent) => {
                let bytes = sent.bytes as u64;
                match &net.backing {
                    Backing::Link(link) => {
                        let (pair, rest) = (frames.pair.into(), sent.parts(&chain).rest);
                        let (start, scratch) = (&sent.start[..sent.read], &mut self.room.scratch);
                        let done = link.send(pair, &sent.header, start, rest, scratch);
                        counts(&mut slot.queue).unsent += u64::from(done.is_err());
                    }
                    Backing::Port(_) => receivers = self.switch(at, &mut frames, &sent, &chain),
                }
                bytes
            }
            Err(_) => {
                counts(&mut slot.queue).malformed += 1;
                0
            }
        };
        self.at_once += 1;
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            slot.frames = Some(frames);
            slot.queue.ring.put(chain.head(), 0);
            slot.unpublished += 1;
            slot.queue.counted.written_bytes += bytes;
            counts(&mut slot.queue).frames += 1;
        }
        self.room.spare.push(chain);
        (bytes, receivers.saturating_sub(1))
    }

    /// A driver sent frames. An interface may have as many answers at once, as from the host's own kernel. Returns
    /// the queue to visit for them.
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

    /// Forwards a frame through its switch. Returns the number of receivers.
    fn switch(&mut self, at: usize, frames: &mut Frames, sent: &Sent, chain: &Chain) -> usize {
        let Some(port) = frames.port.clone() else {
            return 0;
        };
        let ((to, from), now_s) = (sent.addresses(), frames.now_s(self.now_ns));
        let (table, single) = (&port.switch().table, from[0] & 1 == 0);
        let own = single && port.may_send(from);
        if !own || table.learn(from, port.number(), now_s) == Learned::Foreign {
            if let Some(Some(slot)) = self.slots.get_mut(at) {
                counts(&mut slot.queue).foreign += 1;
            }
            return 0;
        }
        let (ports, pair) = (frames.ports(&port), frames.pair);
        let (flooded, others) = port.receivers(&ports, to, now_s);
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            counts(&mut slot.queue).flooded += u64::from(flooded);
        }
        let mut receivers = 0;
        for other in others {
            self.deliver(other, pair, sent, chain);
            receivers += 1;
        }
        receivers
    }

    /// Gives a frame to a port of a switch.
    fn deliver(&mut self, port: &Arc<Port>, hint: u16, sent: &Sent, chain: &Chain) {
        // Without a queue that is served the receiver is off.
        let Some(queue) = port.queue_for(hint) else {
            return;
        };
        let parts = sent.parts(chain);
        let here = queue.place().filter(|place| place.thread == self.number);
        let slot = here.map(|place| place.slot as usize);
        if let Some(to) = slot {
            if port.direct() && queue.waiting() == 0 && self.give_now(to, &sent.header, parts) {
                return;
            }
        }
        self.let_wait(queue, slot, &sent.header, &parts);
    }

    /// Puts a frame into an inbox, and wakes its queue.
    fn let_wait(&mut self, queue: &PortQueue, slot: Option<usize>, header: &Header, parts: &Parts) {
        // Also if it found no room: a first frame that waited too long for buffers is dropped by a visit.
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

    /// Frames may have come to a receive queue.
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
