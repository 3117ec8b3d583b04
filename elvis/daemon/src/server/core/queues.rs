//! Attaching, detaching and failing of queues.

use super::frames::Frames;
use super::{Core, FRAMES, Slot};
use crate::net::switch::Place;
use crate::server::kind::Kind;
use crate::server::queue::{Kick, Queue, Shared};
use crate::storage::Registered;
use elvis_policy::{Calls, DeviceId, Look, Pace, QueueId};
use elvis_ring::sigbus;
use rustix::event::epoll;
use std::sync::Arc;

/// Reason for which a queue fails after SIGBUS.
const SHORTENED: &str = "its front-end truncated its memory file";

impl Core {
    pub(super) fn find(&self, device: u64, index: u16) -> Option<usize> {
        (0..self.slots.len()).find(|&at| self.is_at(at, device, index))
    }

    /// Whether a slot has this queue.
    pub(super) fn is_at(&self, at: usize, device: u64, index: u16) -> bool {
        matches!(self.slots.get(at), Some(Some(slot))
            if slot.queue.shared.number == device && slot.queue.index == index)
    }

    pub(super) fn attach(&mut self, mut queue: Box<Queue>) {
        let slot = self
            .slots
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        let (device, mut id) = (self.device(&queue.shared), None);
        if queue.fault.is_none() {
            id = self.add_to_policy(&mut queue, device, slot);
            // Edge-triggered and never read: each write gives one event, without the cost of a read.
            let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
            let data = epoll::EventData::new_u64(slot as u64);
            if let Kick::Eventfd(kick) = &queue.kick {
                if let Err(error) = epoll::add(&self.epoll, kick, data, flags) {
                    queue.fault = Some(format!("can't wait for its kicks: {error}"));
                }
            }
        }
        let (registered, frames) = self.own(&queue);
        let sends = frames.as_ref().is_some_and(|frames| !frames.receives);
        self.slots[slot] = Some(Slot {
            registered,
            queue,
            device,
            id,
            in_flight: 0,
            held: 0,
            waits_for_room: false,
            unpublished: 0,
            pace: Pace::new(),
            calls: match sends {
                true => Calls::of_sent_frames(),
                false => Calls::new(),
            },
            partial: None,
            frames,
            back: None,
        });
        self.wait_for_frames(slot);
        // The last process may have died after it published replies and before it called the driver for them.
        let waits = |slot: &Slot| slot.id.is_some() && slot.queue.ring.call_wanted();
        if self.slots[slot].as_ref().is_some_and(waits) {
            self.call(slot);
        }
    }

    /// Adds a queue to the policy, polled if it was polled before, or must be.
    fn add_to_policy(
        &mut self,
        queue: &mut Queue,
        device: DeviceId,
        slot: usize,
    ) -> Option<QueueId> {
        let scheduler = &mut self.scheduler;
        let seen = Look {
            avail: queue.ring.next(),
            pending: 0,
        };
        let id = scheduler.add_queue(device, seen, self.now_ns)?;
        if let Kind::Net(_) = queue.shared.kind {
            scheduler.carries_frames(id, queue.index / 2, queue.index % 2 == 1);
        }
        match queue.kick {
            Kick::Never => scheduler.poll_always(id),
            Kick::Eventfd(_) if queue.polled => scheduler.keep_polled(id, self.now_ns),
            Kick::Eventfd(_) => {}
        }
        if scheduler.polled(id) {
            queue.ring.disarm();
        }
        let place = id.0 as usize;
        if self.slot_of.len() <= place {
            self.slot_of.resize(place + 1, usize::MAX);
        }
        self.slot_of[place] = slot;
        Some(id)
    }

    /// Returns a device's id in the policy. Devices that exist no more are forgotten when another one comes.
    fn device(&mut self, shared: &Arc<Shared>) -> DeviceId {
        if let Some((id, _)) = self.devices.get(&shared.number) {
            return *id;
        }
        let scheduler = &mut self.scheduler;
        self.devices.retain(|_, (id, device)| {
            let exists = device.strong_count() > 0;
            if !exists {
                scheduler.remove_device(*id);
            }
            exists
        });
        let terms = shared.terms();
        let id = scheduler.add_limited(terms.weight, terms.limiter.clone());
        self.devices
            .insert(shared.number, (id, Arc::downgrade(shared)));
        id
    }

    /// Makes the state that this thread keeps for a queue of its kind.
    fn own(&mut self, queue: &Queue) -> (Registered, Option<Box<Frames>>) {
        match &queue.shared.kind {
            Kind::Blk(blk) if queue.fault.is_none() && blk.disk.registered_buffers() => {
                (self.engine.register(queue.ring.memory()), None)
            }
            Kind::Blk(_) => (Registered::default(), None),
            Kind::Net(net) => {
                self.room.enlarge();
                let frames = Frames::new(queue, net, self.now_ns);
                (Registered::default(), Some(Box::new(frames)))
            }
        }
    }

    /// Lets frames wake a receive queue.
    fn wait_for_frames(&mut self, at: usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        let (Kind::Net(net), Some(frames)) = (&slot.queue.shared.kind, &slot.frames) else {
            return;
        };
        let (true, true, Some(source)) = (
            slot.id.is_some(),
            slot.queue.fault.is_none(),
            frames.source(net),
        ) else {
            return;
        };
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(at as u64 | FRAMES);
        if let Err(error) = epoll::add(&self.epoll, source, data, flags) {
            self.fail(at, &format!("can't wait for frames: {error}"));
            return;
        }
        frames.served_at(u32::try_from(at).ok().map(|slot| Place {
            thread: self.number,
            slot,
        }));
    }

    /// Removes a queue from the policy: no more requests are taken from it.
    pub(super) fn forget(&mut self, at: usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        let Some(id) = slot.id.take() else { return };
        let owed = slot.calls.settle();
        if let (Kind::Net(net), Some(frames)) = (&slot.queue.shared.kind, &slot.frames) {
            frames.served_at(None);
            if let Some(source) = frames.source(net) {
                let _ = epoll::delete(&self.epoll, source);
            }
        }
        let flood = slot.frames.as_mut().and_then(|frames| frames.flood.take());
        let in_part = slot.partial.take().map(|partial| partial.chain);
        if let Some(chain) = in_part.or_else(|| flood.map(|flood| flood.chain())) {
            // The request is taken again: its rest may take long, and to do a part again is harmless.
            slot.queue.ring.untake(chain.head());
            self.room.spare.push(chain);
        }
        if let Kick::Eventfd(kick) = &slot.queue.kick {
            let _ = epoll::delete(&self.epoll, kick);
        }
        slot.queue.polled = self.scheduler.polled(id);
        if let Some(counters) = self.scheduler.remove_queue(id) {
            slot.queue.counted.before = slot.queue.counted.before.plus(&counters);
        }
        if owed {
            self.call(at);
        }
    }

    /// Gives a queue back, if that was requested and none of its requests is in flight.
    pub(super) fn give_back(&mut self, at: usize) {
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        if slot.in_flight > 0 || slot.back.is_none() {
            return;
        }
        self.publish(at);
        if let Some(Slot {
            queue,
            registered,
            back: Some(back),
            ..
        }) = self.slots[at].take()
        {
            self.engine.unregister(registered);
            // Spare chains keep the memory mapped with which they were last used.
            self.room.spare.clear();
            let _ = back.send(queue);
        }
    }

    /// Ends the service of one queue because of an error, and notifies its front-end.
    pub(super) fn fail(&mut self, at: usize, why: &str) {
        self.forget(at);
        let Some(Some(slot)) = self.slots.get_mut(at) else {
            return;
        };
        if slot.queue.fault.is_some() {
            return;
        }
        // Lost memory reads as zeros, which look like a broken ring.
        let why = if slot.queue.ring.broken() {
            slot.queue.shared.rest();
            SHORTENED
        } else {
            why
        };
        let (name, index) = (&slot.queue.shared.name, slot.queue.index);
        log::warn!("{name}: queue {index} failed: {why}");
        slot.queue.fault = Some(why.to_owned());
        if let Some(err) = &slot.queue.err {
            // If the front-end can't be notified, `stats` still has the fault.
            let _ = self.signaller.signal(err);
        }
    }

    /// Ends the service of queues in truncated memory files, after a SIGBUS.
    pub(super) fn find_broken(&mut self) {
        self.faults = sigbus::faults();
        for at in 0..self.slots.len() {
            if matches!(&self.slots[at], Some(slot) if slot.queue.ring.broken()) {
                self.fail(at, SHORTENED);
            }
        }
    }
}
