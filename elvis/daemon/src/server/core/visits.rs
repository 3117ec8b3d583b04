//! Visits: serves one queue as the policy decides.

use super::{Core, Slot};
use elvis_policy::{Begin, Look, QueueId, Then, Visit};

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
        if let Some(frames) = slot.frames.as_mut().filter(|frames| frames.receives) {
            return match frames.look(&mut slot.queue.ring, self.now_ns) {
                Ok(look) => Some(look),
                Err(error) => {
                    self.fail(at, &error.to_string());
                    None
                }
            };
        }
        match slot.queue.ring.look() {
            Ok(look) => Some(Look {
                avail: look.avail,
                pending: look.pending.saturating_add(slot.zeroing.is_some().into()),
            }),
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
        match self.scheduler.begin(id, look, self.now_ns) {
            Begin::Empty | Begin::Wait => false,
            Begin::Arm => {
                self.arm(at);
                false
            }
            Begin::Serve(visit) => {
                let from_ns = self.now_ns;
                self.serve(at, visit);
                self.spend(at, from_ns);
                true
            }
        }
    }

    /// Charges the time since `from_ns` to a queue.
    pub(super) fn spend(&mut self, at: usize, from_ns: u64) {
        let ns = self.now_ns.saturating_sub(from_ns);
        self.serving_ns += ns;
        if let Some(Some(slot)) = self.slots.get(at) {
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

    fn serve(&mut self, at: usize, mut visit: Visit) {
        if let Some(Some(slot)) = self.slots.get_mut(at) {
            slot.queue.ring.disarm();
            if let Some(frames) = &slot.frames {
                frames.disarm();
            }
        }
        while self.scheduler.go_on(&mut visit, self.now_ns) {
            if !self.step(at, &mut visit) {
                break;
            }
            self.peek(&mut visit);
        }
        // An error means that the kernel is short of memory; the next call starts the rest.
        let _ = self.engine.start();
        let from_ns = self.now_ns;
        self.clock();
        let latency_ns = self.now_ns.saturating_sub(from_ns);
        self.publish(at);
        self.settle_touched();
        if visit.spent() > 0 {
            self.expect_answer(at);
        }
        if let Some(Some(slot)) = self.slots.get_mut(at) {
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

    /// Serves one request of a queue, or a part of one. False if it has none.
    fn step(&mut self, at: usize, visit: &mut Visit) -> bool {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return false;
        };
        if slot.zeroing.is_some() {
            let bytes = self.zero_part(at);
            self.scheduler.charge_part(visit, bytes);
            return true;
        }
        let sends = match &slot.frames {
            Some(frames) if frames.receives => {
                let received = self.receive(at);
                if let Some(bytes) = received {
                    self.scheduler.charge(visit, bytes);
                }
                return received.is_some();
            }
            frames => frames.is_some(),
        };
        let mut chain = self.room.spare.pop().unwrap_or_default();
        match slot.queue.ring.take(&mut chain) {
            Ok(true) => {
                let (bytes, more) = match sends {
                    true => self.transmit(at, chain),
                    false => (self.request(at, chain), 0),
                };
                self.scheduler.charge(visit, bytes);
                for _ in 0..more {
                    // Each further receiver of a frame is as much work again.
                    self.scheduler.charge_part(visit, bytes);
                }
                true
            }
            Ok(false) => {
                self.room.spare.push(chain);
                self.look(at).is_some_and(|look| look.pending > 0)
            }
            Err(error) => {
                self.fail(at, &error.to_string());
                false
            }
        }
    }

    /// Looks at other queues, to find one that is stuck.
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
}
