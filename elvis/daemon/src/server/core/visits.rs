//! Visits: serves one queue as the policy decides.

use super::frames::Frames;
use super::requests::{Hands, Owner, Time};
use super::{Core, Slot};
use elvis_policy::{Begin, DeviceId, Look, QueueId, Scheduler, Then, Visit};
use elvis_ring::{Ring, RingError, Visited};

/// Requests of a visit between two looks at the clock, at which the visit may end or pause to look for kicks.
const KICKS_EVERY: u32 = 4;

impl Core {
    pub(super) fn kicked(&mut self, at: usize) {
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

    /// Looks at a ring; None if it breaks the rules.
    pub(super) fn look(&mut self, at: usize) -> Option<Look> {
        let slot = self.slots.get_mut(at)?.as_mut()?;
        match slot.look(self.now_ns) {
            Ok(look) => Some(look),
            Err(error) => {
                self.fail(at, &error.to_string());
                None
            }
        }
    }

    /// Visits a queue. True if it was served.
    pub(super) fn visit(&mut self, id: QueueId) -> bool {
        let Some(&at) = self.slot_of.get(id.0 as usize) else {
            return false;
        };
        let Some(look) = self.look(at) else {
            return false;
        };
        if look.pending > 0 {
            self.prefetch(at);
        }
        match self.scheduler.begin(id, look, self.now_ns) {
            Begin::Empty | Begin::Wait => false,
            Begin::Arm => {
                self.arm(at);
                false
            }
            Begin::Serve(visit) => {
                self.serve(at, visit);
                true
            }
        }
    }

    /// Prefetches memory that the visit of a queue will read: of its ring, and of the ring of the queue that got its
    /// last frame.
    fn prefetch(&self, at: usize) {
        let Some(Some(slot)) = self.slots.get(at) else {
            return;
        };
        slot.queue.ring.prefetch();
        let receiver = slot.frames.as_ref().and_then(|frames| frames.receiver);
        if let Some(Some(receiver)) = receiver.and_then(|at| self.slots.get(at)) {
            receiver.queue.ring.prefetch();
        }
    }

    /// Charges the time since `from_ns`, outside of visits, to a queue and its device. A queue that is taken back may
    /// have requests in flight for long.
    pub(super) fn spend(&mut self, at: usize, from_ns: u64) {
        if let Some(Some(Slot { device, .. })) = self.slots.get(at) {
            let ns = self.charge(*device, from_ns);
            self.count(at, ns);
        }
    }

    /// Charges the time since `from_ns` to a device, without that in which the host ran other programs. Returns it in
    /// ns.
    pub(super) fn charge(&mut self, device: DeviceId, from_ns: u64) -> u64 {
        let passed_ns = self.now_ns.saturating_sub(from_ns);
        let ns = passed_ns - self.stops.within(passed_ns);
        self.scheduler.charge_time(device, ns);
        ns
    }

    /// Counts time as spent on a queue.
    fn count(&mut self, at: usize, ns: u64) {
        self.serving_ns += ns;
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            slot.queue.counted.serving_ns += ns;
            slot.queue.shared.spend(ns);
        }
    }

    fn arm(&mut self, at: usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        match &mut slot.frames {
            Some(frames) if frames.receives => frames.arm(&mut slot.queue.ring),
            _ => slot.queue.ring.arm(),
        }
        let id = slot.id;
        if let (Some(look), Some(id)) = (self.look(at), id) {
            if look.pending > 0 {
                self.scheduler.woken(id, self.now_ns);
            }
        }
    }

    /// Serves a queue until its visit is over.
    fn serve(&mut self, at: usize, mut visit: Visit) {
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            slot.queue.ring.disarm();
            if let Some(frames) = &slot.frames {
                frames.disarm();
            }
        }
        // Start of all requests that are done at once, for their latency: they are replied to at the end.
        let from_ns = self.now_ns;
        loop {
            let paused = match self.slots.get(at) {
                Some(Some(slot)) if slot.frames.is_some() => self.frames(at, &mut visit),
                _ => self.requests(at, &mut visit),
            };
            match paused {
                Ok(true) => self.look_for_kicks(),
                Ok(false) => break,
                Err(error) => {
                    self.fail(at, &error.to_string());
                    break;
                }
            }
        }
        // An error means that the kernel is short of memory; the next call starts the rest.
        let _ = self.engine.start();
        self.clock();
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            let latency_ns = self.now_ns.saturating_sub(from_ns);
            slot.queue
                .counted
                .latency
                .record(latency_ns, std::mem::take(&mut self.at_once));
        }
        self.answers(at, &mut visit);
        self.settle_touched(Time::OfVisit);
        self.publish(at);
        let passed_ns = self.now_ns.saturating_sub(from_ns);
        let stopped_ns = self.stops.within(passed_ns);
        visit.stopped(stopped_ns);
        self.count(at, passed_ns - stopped_ns);
        if let Some(Some(slot)) = self.slots.get(at) {
            if let (Some(id), true) = (slot.id, slot.in_flight > 0) {
                let threads_work = self.engine.threads_work();
                // The queue's notifications are off since the visit began.
                self.scheduler
                    .stored(id, slot.in_flight, threads_work, self.now_ns);
            }
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

    /// Serves requests of a disk's queue. The layout of its ring is chosen here, once for all of them. True: the visit
    /// pauses, to look for kicks.
    fn requests(&mut self, at: usize, visit: &mut Visit) -> Result<bool, RingError> {
        let kicks = self.kicks(visit);
        let (scheduler, slot_of, slots, hands) = self.parts();
        let Some((before, rest)) = slots.split_at_mut_checked(at) else {
            return Ok(false);
        };
        let Some((Some(slot), after)) = rest.split_first_mut() else {
            return Ok(false);
        };
        let Some((ring, owner)) = slot.parts(at) else {
            return Ok(false);
        };
        let serving = Serving {
            scheduler,
            slot_of,
            at,
            before,
            after,
            hands,
            owner,
            kicks,
        };
        match ring {
            Ring::Split(ring) => serving.run(ring, visit),
            Ring::Packed(ring) => serving.run(ring, visit),
        }
    }

    /// Serves frames of a network device's queue. True: the visit pauses, to look for kicks.
    fn frames(&mut self, at: usize, visit: &mut Visit) -> Result<bool, RingError> {
        let (mut kicks, mut first) = (self.kicks(visit), true);
        while self.scheduler.go_on(visit, self.now_ns) {
            if !self.frame(at, visit)? {
                break;
            }
            let sole = std::mem::take(&mut first);
            if self.slots[at].as_ref().is_some_and(Slot::sent_all) {
                // All frames are sent: nobody waits for long. Most visits have one frame. Its receiver learns of it
                // before anything else is done.
                if sole {
                    self.settle_touched(Time::OfVisit);
                }
                continue;
            }
            if self.pauses(visit, &mut kicks) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Looks at other queues after a frame. True: the visit pauses, to look for kicks.
    pub(super) fn pauses(&mut self, visit: &mut Visit, kicks: &mut Kicks) -> bool {
        let (scheduler, slot_of, slots, hands) = self.parts();
        let clocked = peek(scheduler, slot_of, visit, hands.now_ns, |other, now_ns| {
            slots.get_mut(other)?.as_mut()?.look(now_ns).ok()
        });
        kicks.due(clocked, hands.now_ns)
    }

    /// Returns the times at which a visit that starts or goes on now looks for kicks.
    pub(super) fn kicks(&self, visit: &Visit) -> Kicks {
        let params = self.scheduler.params();
        let alone = self.slots.len() <= 1;
        Kicks {
            steps: 0,
            alone,
            after_ns: (params.stuck_rule && !alone).then(|| params.events_ns.saturating_mul(2)),
            // The time is old before the first request: the thread may have waited for long.
            from_ns: (visit.requests() > 0).then_some(self.now_ns),
        }
    }

    /// Serves one frame. False if there is none.
    fn frame(&mut self, at: usize, visit: &mut Visit) -> Result<bool, RingError> {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return Ok(false);
        };
        if slot.frames.as_ref().is_some_and(|frames| frames.receives) {
            let received = self.receive(at);
            if let Some(bytes) = received {
                self.at_once += 1;
                self.scheduler.charge(visit, bytes);
            }
            return Ok(received.is_some());
        }
        let (bytes, more) = match self.flood(at) {
            Some(part) => part,
            None => {
                let Some(Some(slot)) = self.slots.get_mut(at) else {
                    return Ok(false);
                };
                let mut chain = self.room.spare.pop().unwrap_or_default();
                if !slot.queue.ring.take(&mut chain)? {
                    self.room.spare.push(chain);
                    return Ok(slot.queue.ring.look()?.pending > 0);
                }
                if slot.queue.ring.known() > 0 {
                    slot.queue.ring.prefetch();
                }
                let (bytes, more) = self.transmit(at, chain);
                self.scheduler.charge(visit, bytes);
                (bytes, more)
            }
        };
        for _ in 0..more {
            // Each further receiver of a frame is as much work again.
            self.scheduler.charge_part(visit, bytes);
        }
        Ok(true)
    }
}

impl Slot {
    /// Whether the queue has sent all frames of which it knows.
    fn sent_all(&self) -> bool {
        let sends = |frames: &Frames| !frames.receives && frames.flood.is_none();
        self.frames.as_deref().is_some_and(sends) && self.queue.ring.known() == 0
    }

    /// Looks at the queue's ring.
    fn look(&mut self, now_ns: u64) -> Result<Look, RingError> {
        if let Some(frames) = self.frames.as_mut().filter(|frames| frames.receives) {
            return frames.look(&mut self.queue.ring, now_ns);
        }
        let look = self.queue.ring.look()?;
        let full = self.full();
        self.waits_for_room |= full && look.pending > 0;
        let pending = if full { 0 } else { look.pending };
        let floods = self.frames.as_ref().is_some_and(|it| it.flood.is_some());
        let in_part = self.partial.is_some() || floods;
        Ok(Look {
            avail: look.avail,
            pending: pending.saturating_add(in_part.into()),
        })
    }
}

/// Times at which a visit pauses, to look for kicks of queues that are not polled. Such a queue would otherwise wait
/// for the end of a long visit, and the rule on stuck queues would not see it. Between short visits all events are
/// checked in time.
pub(super) struct Kicks {
    steps: u32,
    /// Whether no other queue waits for the visit's end.
    alone: bool,
    /// Time after which kicks are looked for, in ns; None: never.
    after_ns: Option<u64>,
    /// Time from which it counts; None: the next one.
    from_ns: Option<u64>,
}

impl Kicks {
    /// Whether kicks are to be looked for, after one more step. `clocked`: the time is new.
    fn due(&mut self, clocked: bool, now_ns: &mut u64) -> bool {
        self.steps += 1;
        if self.alone || (self.from_ns.is_some() && self.steps % KICKS_EVERY != 0) {
            return false;
        }
        if !clocked {
            *now_ns = super::now_ns();
        }
        let passed_ns = now_ns.saturating_sub(*self.from_ns.get_or_insert(*now_ns));
        self.after_ns.is_some_and(|after_ns| passed_ns >= after_ns)
    }
}

/// Looks at other queues, to find one that is stuck. A queue that breaks the rules fails in its own visit. True if it
/// looked at a queue, and so at the clock.
fn peek(
    scheduler: &mut Scheduler,
    slot_of: &[usize],
    visit: &mut Visit,
    now_ns: &mut u64,
    mut look: impl FnMut(usize, u64) -> Option<Look>,
) -> bool {
    let mut looked = false;
    while let Some(other) = scheduler.peek(visit) {
        if !std::mem::replace(&mut looked, true) {
            *now_ns = super::now_ns();
        }
        let at = slot_of.get(other.0 as usize);
        if let Some(look) = at.and_then(|&at| look(at, *now_ns)) {
            scheduler.peeked(visit, other, look, *now_ns);
        }
    }
    looked
}

/// A visit to a disk's queue.
struct Serving<'a> {
    scheduler: &'a mut Scheduler,
    slot_of: &'a [usize],
    /// Slot of the queue, and the slots before and after it.
    at: usize,
    before: &'a mut [Option<Slot>],
    after: &'a mut [Option<Slot>],
    hands: Hands<'a>,
    owner: Owner<'a>,
    kicks: Kicks,
}

impl Serving<'_> {
    fn run(mut self, ring: &mut impl Visited, visit: &mut Visit) -> Result<bool, RingError> {
        while self.scheduler.go_on(visit, *self.hands.now_ns) {
            if !self.step(ring, visit)? {
                break;
            }
            let (before, after, at) = (&mut *self.before, &mut *self.after, self.at);
            let now_ns = &mut *self.hands.now_ns;
            let clocked = peek(
                self.scheduler,
                self.slot_of,
                visit,
                now_ns,
                |other, now_ns| {
                    let slot = match other.checked_sub(at + 1) {
                        Some(place) => after.get_mut(place),
                        None => before.get_mut(other),
                    };
                    slot?.as_mut()?.look(now_ns).ok()
                },
            );
            if self.kicks.due(clocked, now_ns) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Serves one request, or a part of one. False if there is none.
    fn step(&mut self, ring: &mut impl Visited, visit: &mut Visit) -> Result<bool, RingError> {
        let Self { hands, owner, .. } = self;
        if owner.partial.is_some() {
            let bytes = hands.part(ring, owner);
            self.scheduler.charge_part(visit, bytes);
            return Ok(true);
        }
        if owner.full() {
            return Ok(false);
        }
        let mut chain = hands.spare.pop().unwrap_or_default();
        if !ring.take(&mut chain)? {
            hands.spare.push(chain);
            return Ok(ring.look()?.pending > 0);
        }
        let bytes = hands.request(ring, owner, chain);
        self.scheduler.charge(visit, bytes);
        Ok(true)
    }
}
