//! The devices and queues of a scheduler.

use super::{Device, Queue, Scheduler};
use crate::bucket::{Limiter, RateLimit};
use crate::counters::QueueCounters;
use crate::polling::Polling;
use crate::share::Share;
use crate::terms::{DeviceId, Look, QueueId};

impl Scheduler {
    /// Adds a device. Devices that always have requests share the core (in units of work) in
    /// proportion to their weights, 1 to [`crate::MAX_WEIGHT`].
    pub fn add_device(&mut self, weight: u32, limit: &RateLimit) -> DeviceId {
        self.add_limited(weight, Limiter::new(limit))
    }

    /// Adds a device as [`Scheduler::add_device`] does, with limits that other cores may share.
    pub fn add_limited(&mut self, weight: u32, limiter: Limiter) -> DeviceId {
        let device = Device {
            share: Share::new(weight, self.round),
            limiter,
            queues: 0,
        };
        DeviceId(fill_slot(&mut self.devices, device))
    }

    /// Changes a device's weight, from the next round on.
    pub fn set_weight(&mut self, id: DeviceId, weight: u32) {
        if let Some(Some(device)) = self.devices.get_mut(id.0 as usize) {
            device.share.set_weight(weight);
        }
        self.find_heaviest();
    }

    /// Changes a device's limits. Its debt to the old ones is forgotten: its queues are visited anew.
    pub fn set_limiter(&mut self, id: DeviceId, limiter: Limiter) {
        if let Some(Some(device)) = self.devices.get_mut(id.0 as usize) {
            device.limiter = limiter;
        }
        for queue in self.queues.iter_mut().flatten() {
            if queue.device == id.0 && queue.parked_until_ns.is_some() {
                queue.parked_until_ns = Some(0);
                self.unpark_ns = 0;
            }
        }
    }

    /// Removes a device, unless it still has queues. A device that is not removed keeps its debt to the others.
    pub fn remove_device(&mut self, id: DeviceId) {
        if let Some(slot) = self.devices.get_mut(id.0 as usize) {
            if slot.as_ref().is_some_and(|device| device.queues == 0) {
                *slot = None;
            }
        }
    }

    /// Adds a queue, not polled. It is visited once soon, so that requests made before are seen. None
    /// if there is no such device.
    pub fn add_queue(&mut self, device: DeviceId, seen: Look, now_ns: u64) -> Option<QueueId> {
        self.devices.get_mut(device.0 as usize)?.as_mut()?.queues += 1;
        self.find_heaviest();
        let queue = Queue {
            device: device.0,
            pair: None,
            partner: None,
            polling: Polling::new(),
            seen,
            last_new_ns: now_ns,
            parked_until_ns: None,
            turn: 0,
            counters: QueueCounters::default(),
        };
        let id = fill_slot(&mut self.queues, queue);
        // Makes room now, so that serving the queue allocates nothing.
        self.poll.make_room(id);
        let rest = self.queues.len().saturating_sub(self.parked.len());
        self.parked.reserve(rest);
        self.work.put_last(id);
        Some(QueueId(id))
    }

    /// Marks a queue as one of a network device's pair `pair`. `sends`: the driver's frames come in it.
    pub fn carries_frames(&mut self, id: QueueId, pair: u16, sends: bool) {
        let Some(Some(queue)) = self.queues.get_mut(id.0 as usize) else {
            return;
        };
        queue.pair = Some(pair);
        if sends {
            queue.polling.counts_requests();
        }
        let device = queue.device;
        let mut all = self.queues.iter_mut().zip(0..);
        let is_of_pair = |queue: &Queue| queue.device == device && queue.pair == Some(pair);
        let partner = all.find_map(|(queue, number)| {
            let queue = queue.as_mut().filter(|queue| is_of_pair(queue))?;
            (number != id.0).then(|| {
                queue.partner = Some(id.0);
                number
            })
        });
        if let Some(Some(queue)) = self.queues.get_mut(id.0 as usize) {
            queue.partner = partner;
        }
    }

    /// Continues the polling of a queue that was polled on another core, for as long as one request
    /// earns. The caller turns its notifications off.
    pub fn keep_polled(&mut self, id: QueueId, now_ns: u64) {
        let run_ns = self.run_ns(now_ns);
        let Some(Some(queue)) = self.queues.get_mut(id.0 as usize) else {
            return;
        };
        if queue.polling.start(&self.params, run_ns) {
            self.poll.put_last(id.0);
        }
    }

    /// Polls a queue as long as it is here, whatever its load and [`crate::Params::polling`]: its driver can't kick.
    /// The caller turns its notifications off.
    pub fn poll_always(&mut self, id: QueueId) {
        if let Some(Some(queue)) = self.queues.get_mut(id.0 as usize) {
            queue.polling.never_end();
            self.poll.put_last(id.0);
        }
    }

    /// Removes a queue, and returns its counters.
    pub fn remove_queue(&mut self, id: QueueId) -> Option<QueueCounters> {
        let queue = self.queues.get_mut(id.0 as usize)?.take()?;
        if let Some(Some(partner)) = queue
            .partner
            .and_then(|id| self.queues.get_mut(id as usize))
        {
            partner.partner = None;
        }
        self.poll.remove(id.0);
        self.work.remove(id.0);
        self.parked.retain(|&parked| parked != id.0);
        if let Some(Some(device)) = self.devices.get_mut(queue.device as usize) {
            device.queues -= 1;
        }
        self.find_heaviest();
        Some(queue.counters)
    }
}

/// Puts a value into the first free slot.
fn fill_slot<T>(slots: &mut Vec<Option<T>>, value: T) -> u32 {
    let free = slots
        .iter()
        .position(Option::is_none)
        .unwrap_or(slots.len());
    if free == slots.len() {
        slots.push(None);
    }
    slots[free] = Some(value);
    u32::try_from(free).unwrap_or(u32::MAX)
}
