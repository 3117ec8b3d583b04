//! State that an I/O thread has of a network device's queue, and the way in which a receive queue gets its frames.
//!
//! A receive queue has work when a frame waits and there are buffers for it; only a queue without buffers asks
//! its driver for kicks.

use super::answers::Answers;
use super::network::Flood;
use crate::net::give::{Given, Parts, Room, give, header_bytes, spill};
use crate::net::header::BYTES;
use crate::net::switch::{Place, PortQueue, Ports};
use crate::net::{Header, LONGEST, Link, Port, feature};
use crate::server::kind::{Backing, Kind, Net};
use crate::server::queue::Queue;
use crate::sys;
use elvis_policy::Look;
use elvis_ring::{Ring, RingError};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Time that a frame waits for buffers while others arrive after it, in ns. Then it is dropped: it may be larger than
/// all buffers of its driver.
const STARVE_NS: u64 = 100_000_000;

/// Longest frame that costs less if it is read into private memory and copied than if it is read into the driver's
/// buffers, in bytes. A read into several parts takes the kernel longer.
const SHORT: usize = 2048;

/// State that an I/O thread has of a network device's queue.
pub(super) struct Frames {
    pub(super) receives: bool,
    pub(super) pair: u16,
    /// Port of the device, if it is at a switch.
    pub(super) port: Option<Arc<Port>>,
    /// The ports of the switch, as of this generation.
    ports: Ports,
    generation: u64,
    /// Time of the switch when this thread's was 0, in seconds.
    start_s: u32,
    /// Whether to look for frames at the interface. If not, an event will tell of them.
    pub(super) ready: bool,
    /// Whether to look for answers at the interface when the driver has sent frames.
    pub(super) answers: Answers,
    /// Slot of the pair's other queue, when it was last looked for.
    pub(super) other: usize,
    /// Slot of the queue that got the last frame sent, if that is of this thread.
    pub(super) receiver: Option<usize>,
    /// Frames that came from the interface.
    arrived: u16,
    /// Frame that the queue sends to one receiver after another.
    pub(super) flood: Option<Box<Flood>>,
    /// Frame from the interface that waits for buffers: its header, and its length in `memory`, where it is after
    /// [`BYTES`] bytes.
    held: Option<(Header, usize)>,
    memory: Vec<u8>,
    /// Whether the last frame from the interface was short.
    short: bool,
    /// Index of the driver, and time, at which there were too few buffers for the next frame.
    starved: Option<(u16, u64)>,
}

/// Result of an attempt to receive a frame.
pub(super) enum Received {
    /// A frame of this length arrived.
    Frame(Given, usize),
    /// There is no frame.
    Nothing,
    /// The interface has an error.
    Failed,
}

impl Frames {
    pub(super) fn new(queue: &Queue, net: &Net, now_ns: u64) -> Self {
        let port = match &net.backing {
            Backing::Port(joined) => Some(Arc::clone(&joined.0)),
            Backing::Link(_) => None,
        };
        let now_s = port.as_ref().map_or(0, |port| port.switch().now_s());
        let receives = queue.index % 2 == 0;
        Self {
            receives,
            pair: queue.index / 2,
            ports: Arc::new([]),
            generation: 0,
            start_s: now_s.saturating_sub((now_ns / 1_000_000_000) as u32),
            ready: true,
            answers: Answers::default(),
            other: usize::MAX,
            receiver: None,
            arrived: 0,
            flood: None,
            held: None,
            memory: match (receives, &port) {
                (true, None) => vec![0; BYTES + LONGEST],
                _ => Vec::new(),
            },
            short: false,
            port,
            starved: None,
        }
    }

    pub(super) fn inbox(&self) -> Option<&PortQueue> {
        self.port.as_ref()?.queues.get(usize::from(self.pair))
    }

    /// Returns the ports of the switch.
    pub(super) fn ports(&mut self, port: &Port) -> Ports {
        let generation = port.switch().generation();
        if generation != self.generation {
            (self.ports, self.generation) = (port.switch().ports(), generation);
        }
        Arc::clone(&self.ports)
    }

    /// Returns the switch's time, in seconds.
    pub(super) fn now_s(&self, now_ns: u64) -> u32 {
        self.start_s.saturating_add((now_ns / 1_000_000_000) as u32)
    }

    /// Returns the descriptor that becomes readable when frames arrive.
    pub(super) fn source<'a>(&'a self, net: &'a Net) -> Option<BorrowedFd<'a>> {
        match (&net.backing, self.receives) {
            (_, false) => None,
            (Backing::Link(link), true) => link.fd(self.pair.into()),
            (Backing::Port(_), true) => self.inbox().map(|inbox| inbox.bell().as_fd()),
        }
    }

    /// Announces that a slot of this I/O thread serves the queue; None: no longer.
    pub(super) fn served_at(&self, place: Option<Place>) {
        if let (true, Some(inbox)) = (self.receives, self.inbox()) {
            inbox.want_bell(false);
            inbox.served_at(place);
        }
    }

    /// Returns the number of frames that wait for this receive queue.
    pub(super) fn waiting(&self) -> usize {
        match self.inbox() {
            Some(inbox) => inbox.waiting(),
            None => usize::from(self.ready || self.held.is_some()),
        }
    }

    /// Returns the number of frames that arrived for this receive queue so far.
    fn arrived(&self) -> u16 {
        self.inbox()
            .map_or(self.arrived, |inbox| inbox.arrived() as u16)
    }

    /// Returns the number of frames that found the inbox full.
    pub(super) fn full(&self) -> u64 {
        let inbox = self.inbox().filter(|_| self.receives);
        inbox.map_or(0, PortQueue::full)
    }

    /// Looks at a receive queue: it has as many requests as frames wait, if it has buffers for the first.
    pub(super) fn look(&mut self, ring: &mut Ring, now_ns: u64) -> Result<Look, RingError> {
        let (waiting, mut pending) = (self.waiting(), 0);
        if waiting > 0 {
            let seen = ring.look()?;
            let starves = |(avail, since_ns)| {
                avail == seen.avail && now_ns.saturating_sub(since_ns) < STARVE_NS
            };
            if seen.pending > 0 && !self.starved.is_some_and(starves) {
                pending = u16::try_from(waiting).unwrap_or(u16::MAX);
            }
        }
        Ok(Look {
            avail: self.arrived(),
            pending,
        })
    }

    /// Notes that the next frame found too few buffers. True if it waited too long.
    pub(super) fn starve(&mut self, ring: &mut Ring, now_ns: u64) -> Result<bool, RingError> {
        let avail = ring.look()?.avail;
        let since_ns = match self.starved {
            Some((_, since_ns)) => since_ns,
            None => now_ns,
        };
        let too_long = now_ns.saturating_sub(since_ns) >= STARVE_NS;
        self.starved = (!too_long).then_some((avail, since_ns));
        Ok(too_long)
    }

    /// Asks for notifications: of frames, and of buffers if frames wait for them.
    pub(super) fn arm(&mut self, ring: &mut Ring) {
        if let Some(inbox) = self.inbox() {
            inbox.want_bell(true);
        }
        if self.waiting() > 0 {
            ring.arm();
        } else {
            ring.disarm();
        }
    }

    /// Asks for no notifications of frames.
    pub(super) fn disarm(&self) {
        if let (true, Some(inbox)) = (self.receives, self.inbox()) {
            inbox.want_bell(false);
        }
    }

    /// Whether the next frame found too few buffers.
    pub(super) fn starved(&self) -> bool {
        self.starved.is_some()
    }

    /// Notes that the next frame found enough buffers.
    pub(super) fn fed(&mut self) {
        self.starved = None;
    }

    /// Drops the next frame. Returns its length.
    pub(super) fn give_up(&mut self) -> usize {
        self.starved = None;
        match self.inbox() {
            Some(inbox) => inbox.take(|_, frame| (true, frame.len())).unwrap_or(0),
            None => self.held.take().map_or(0, |(_, bytes)| bytes),
        }
    }

    /// Gives the driver the next frame.
    pub(super) fn receive(
        &mut self,
        queue: &mut Queue,
        room: &mut Room,
    ) -> Result<Received, RingError> {
        let Kind::Net(net) = &queue.shared.kind else {
            return Ok(Received::Nothing);
        };
        let (ring, features) = (&mut queue.ring, queue.features);
        if let Backing::Link(link) = &net.backing {
            return self.receive_from(link, ring, features, room);
        }
        let given = self.inbox().and_then(|inbox| {
            inbox.take(|header, frame| {
                let given = give(ring, features, room, &header, Parts::private(frame));
                (!matches!(given, Ok(Given::Starved)), (given, frame.len()))
            })
        });
        Ok(match given {
            Some((given, bytes)) => Received::Frame(given?, bytes),
            None => Received::Nothing,
        })
    }

    /// Gives the driver the next frame of an interface, or the one that is held.
    fn receive_from(
        &mut self,
        link: &Link,
        ring: &mut Ring,
        features: u64,
        room: &mut Room,
    ) -> Result<Received, RingError> {
        if !self.ready && self.held.is_none() {
            return Ok(Received::Nothing);
        }
        // A frame that found too few buffers is held, and goes first: frames stay in order.
        if self.held.is_none() {
            if !self.short {
                if let Some(received) = self.read_into_buffers(link, ring, features, room)? {
                    return Ok(received);
                }
            }
            match link.receive_private(self.pair.into(), &mut self.memory) {
                Ok(Some(held)) => self.held = Some(held),
                other => return Ok(self.none(other.is_err())),
            }
            self.arrived = self.arrived.wrapping_add(1);
        }
        let Some((header, bytes)) = self.held else {
            return Ok(Received::Nothing);
        };
        let given = give(
            ring,
            features,
            room,
            &header,
            Parts::private(&self.memory[BYTES..BYTES + bytes]),
        )?;
        self.short = bytes <= SHORT;
        if given != Given::Starved {
            self.held = None;
        }
        Ok(Received::Frame(given, bytes))
    }

    /// Notes that the interface has no frame: the next event says when it has.
    fn none(&mut self, failed: bool) -> Received {
        self.ready = false;
        match failed {
            true => Received::Failed,
            false => Received::Nothing,
        }
    }

    /// Reads a frame right into the driver's first buffer, if the following ones certainly have room for the
    /// longest one. None otherwise.
    fn read_into_buffers(
        &mut self,
        link: &Link,
        ring: &mut Ring,
        features: u64,
        room: &mut Room,
    ) -> Result<Option<Received>, RingError> {
        let before = header_bytes(features);
        let pending = u64::from(ring.look()?.pending);
        let mut first = room.spare.pop().unwrap_or_default();
        if link.unasked() || !ring.take(&mut first)? {
            room.spare.push(first);
            return Ok(None);
        }
        let each = first.writable_bytes();
        let merges = features & feature::MRG_RXBUF != 0;
        let most = if merges {
            each.saturating_mul(pending)
        } else {
            each
        };
        // A frame that is read can't be given back, so the driver's buffers must have room for the longest one.
        let enough = most > (LONGEST + before) as u64
            && each > before as u64
            && first.writable().len() < sys::PIECES;
        let mut scratch = std::mem::take(&mut room.scratch);
        let read = match enough {
            true => link.receive(self.pair.into(), (&first, before as u64), &mut scratch),
            false => Ok(None),
        };
        let each = usize::try_from(each).unwrap_or(usize::MAX) - before.min(each as usize);
        let received = match read {
            Ok(Some((header, bytes))) => {
                self.arrived = self.arrived.wrapping_add(1);
                self.short = bytes <= SHORT;
                let inside = bytes.min(each);
                let tail = &scratch[..bytes - inside];
                let spilt = spill(ring, features, room, (&first, &header), inside, tail);
                Some(spilt.map(|given| Received::Frame(given, bytes)))
            }
            other => {
                ring.untake(first.head());
                (enough || other.is_err()).then(|| Ok(self.none(other.is_err())))
            }
        };
        room.scratch = scratch;
        room.spare.push(first);
        received.transpose()
    }
}
