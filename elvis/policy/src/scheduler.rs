//! The scheduler of one I/O core.
//!
//! The caller (an I/O thread, or the simulator) asks [`Scheduler::next`] what to do. For a visit
//! it looks at the queue and calls [`Scheduler::begin`], serves requests one by one as long as
//! [`Scheduler::go_on`] allows, and calls [`Scheduler::end`]. It reports events by
//! [`Scheduler::kicked`], [`Scheduler::woken`] and [`Scheduler::completed`].
//!
//! Times are nanoseconds of any monotonic clock.

mod members;
mod turns;

use crate::bucket::Limiter;
use crate::list::List;
use crate::polling::Polling;
use crate::share::Share;
use crate::{
    Begin, CoreCounters, DeviceId, Look, Params, QueueCounters, QueueId, Step, Then, Visit,
};

#[derive(Debug)]
struct Device {
    share: Share,
    limiter: Limiter,
    queues: u32,
}

#[derive(Debug)]
struct Queue {
    device: u32,
    /// Number of the pair in a network device, and the pair's other queue.
    pair: Option<u16>,
    partner: Option<u32>,
    polling: Polling,
    seen: Look,
    last_new_ns: u64,
    parked_until_ns: Option<u64>,
    /// Number of the queue's last visit.
    turn: u64,
    counters: QueueCounters,
}

/// The state of one I/O core.
#[derive(Debug)]
pub struct Scheduler {
    params: Params,
    devices: Vec<Option<Device>>,
    queues: Vec<Option<Queue>>,
    /// Polled queues, the next one first.
    poll: List,
    /// Queues that may have requests: kicked, woken or left over (section 3.1), the next one first.
    work: List,
    /// Visits so far.
    turns: u64,
    /// A random number, new for each poll.
    dice: u32,
    parked: Vec<u32>,
    unpark_ns: u64,
    last_events_ns: u64,
    /// Time at which the last visit ended, if its queue was empty.
    in_vain_ns: Option<u64>,
    /// Time until which the host is taken to be busy, after it stopped the thread.
    calm_ns: u64,
    /// Whether other threads of this CPU work on requests that storage has.
    storage_threads: bool,
    round: u64,
    /// Greatest weight of a device that has queues.
    heaviest: u32,
    /// Number of visits since the last one that left requests over which this round's share still allows; fewest rounds
    /// that a device visited since then must wait. After a full scan of such visits the next round starts.
    fruitless: u32,
    rounds_needed: u64,
    /// Number of times since then that the second polled queue was visited before the first. Each time the full scan
    /// takes a visit more.
    detours: u32,
    counters: CoreCounters,
}

impl Scheduler {
    /// Returns a core without devices.
    #[must_use]
    pub fn new(params: Params) -> Self {
        Self {
            params,
            devices: Vec::new(),
            queues: Vec::new(),
            poll: List::new(),
            work: List::new(),
            turns: 0,
            dice: 0,
            parked: Vec::new(),
            unpark_ns: u64::MAX,
            last_events_ns: 0,
            in_vain_ns: None,
            calm_ns: 0,
            storage_threads: false,
            round: 0,
            heaviest: 1,
            fruitless: 0,
            rounds_needed: u64::MAX,
            detours: 0,
            counters: CoreCounters::default(),
        }
    }

    /// Returns the constants in use.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the counters of a queue.
    #[must_use]
    pub fn queue_counters(&self, id: QueueId) -> Option<&QueueCounters> {
        self.queue(id.0).map(|queue| &queue.counters)
    }

    /// Returns the counters of the core.
    #[must_use]
    pub fn counters(&self) -> &CoreCounters {
        &self.counters
    }

    /// Whether a queue is polled now.
    #[must_use]
    pub fn polled(&self, id: QueueId) -> bool {
        self.queue(id.0).is_some_and(|queue| queue.polling.polled())
    }

    /// Returns the next step. Of the first queues of both lists it visits the one whose last visit is longer ago. So
    /// every queue gets as many visits as any other, whether or not it is polled. If the lists simply alternated
    /// (section 3.1), the only polled queue of many would get half of all visits.
    pub fn next(&mut self, now_ns: u64) -> Step {
        let in_vain_ns = self.in_vain_ns.take();
        let gap_ns = now_ns.saturating_sub(in_vain_ns.unwrap_or(now_ns));
        // No step between two polls takes so long: the host did not run the thread.
        if gap_ns >= self.params.stopped_ns {
            self.counters.stopped_ns += gap_ns;
            self.calm_ns = now_ns.saturating_add(gap_ns.saturating_mul(Params::CALM));
        }
        if now_ns >= self.unpark_ns {
            self.unpark(now_ns);
        }
        let (work, poll) = (self.work.front(), self.poll.front());
        let Some(either) = work.or(poll) else {
            self.counters.sleeps += 1;
            self.last_events_ns = now_ns;
            let until_ns = (self.unpark_ns != u64::MAX).then_some(self.unpark_ns);
            return Step::Sleep { until_ns };
        };
        if now_ns.saturating_sub(self.last_events_ns) >= self.params.events_ns {
            self.last_events_ns = now_ns;
            self.in_vain_ns = in_vain_ns.map(|_| now_ns);
            return Step::Events;
        }
        let queue = match (work, poll) {
            (Some(work), Some(poll)) => {
                if self.turn_of(work) <= self.turn_of(poll) {
                    work
                } else {
                    poll
                }
            }
            (None, Some(poll)) => self.polled_next(poll),
            _ => either,
        };
        Step::Visit(QueueId(queue))
    }

    /// Returns the number of visits after which every queue that is polled or may have requests was visited, if none of
    /// them found any.
    #[must_use]
    pub fn listed(&self) -> u32 {
        self.work.len() + self.poll.len()
    }

    /// Notes that events were looked for during a visit.
    pub fn looked_for_events(&mut self, now_ns: u64) {
        self.last_events_ns = now_ns;
    }

    /// Decides whether to serve a queue after this look at it.
    pub fn begin(&mut self, id: QueueId, look: Look, now_ns: u64) -> Begin {
        self.note(id.0, look, now_ns);
        self.take_turn(id);
        if look.pending == 0 {
            return self.found_empty(id, now_ns);
        }
        let scan = scan_len(&self.work, &self.poll);
        self.work.remove(id.0);
        let Some((queue, device)) = Self::of(&mut self.queues, &mut self.devices, id) else {
            return Begin::Empty;
        };
        if let Some(until_ns) = device.limiter.wait_until(now_ns) {
            queue.counters.waits_for_rate += 1;
            queue.parked_until_ns = Some(until_ns);
            self.unpark_ns = self.unpark_ns.min(until_ns);
            self.parked.push(id.0);
            self.poll.remove(id.0);
            return Begin::Wait;
        }
        let units = self.units(id, scan);
        let Some((queue, _)) = Self::of(&mut self.queues, &mut self.devices, id) else {
            return Begin::Empty;
        };
        if units == 0 {
            queue.counters.waits_for_share += 1;
            self.relist(id.0);
            return Begin::Wait;
        }
        queue.counters.visits += 1;
        let (device, partner) = (DeviceId(queue.device), queue.partner);
        let polled = |id| u32::from(self.poll.contains(id));
        let own = polled(id.0);
        let aside = [own, own + partner.map_or(0, polled)];
        let limited = self
            .device_of(id.0)
            .is_some_and(|device| device.limiter.limits());
        let (most, unit_ns) = (units.min(self.params.max_work), self.params.unit_ns);
        let (budget, time_ns) = match unit_ns {
            0 => (most, u64::MAX),
            // The share is a time: the visit's end limits it, not the units.
            _ => (self.params.max_work, u64::from(most) * unit_ns),
        };
        Begin::Serve(Visit {
            queue: id,
            device,
            partner,
            aside,
            limited,
            budget,
            spent: 0,
            from_ns: now_ns,
            until_ns: now_ns.saturating_add(time_ns),
            stopped_ns: 0,
            requests: 0,
            bytes: 0,
            peeks_owed: 0,
            peeked: id.0,
            stuck: false,
            left_early: false,
        })
    }

    /// Returns a queue and its device.
    fn of<'a>(
        queues: &'a mut [Option<Queue>],
        devices: &'a mut [Option<Device>],
        id: QueueId,
    ) -> Option<(&'a mut Queue, &'a mut Device)> {
        let queue = queues.get_mut(id.0 as usize)?.as_mut()?;
        let device = devices.get_mut(queue.device as usize)?.as_mut()?;
        Some((queue, device))
    }

    /// Handles a visit that found no request in the queue.
    fn found_empty(&mut self, id: QueueId, now_ns: u64) -> Begin {
        let run_ns = self.run_ns(now_ns);
        self.work.remove(id.0);
        let Some(Some(queue)) = self.queues.get_mut(id.0 as usize) else {
            return Begin::Empty;
        };
        queue.counters.empty_polls += 1;
        self.fruitless = self.fruitless.saturating_add(1);
        self.in_vain_ns = Some(now_ns);
        let ends = queue.polling.found_empty(&self.params, run_ns);
        let yields = now_ns < self.calm_ns || self.storage_threads;
        if ends || (yields && queue.polling.pause()) {
            self.poll.remove(id.0);
            return Begin::Arm;
        }
        if !queue.polling.polled() {
            return Begin::Arm;
        }
        self.poll.put_last(id.0);
        Begin::Empty
    }

    /// Returns the units that a queue's device may use of its share now. `scan`: number of visits until it is this
    /// queue's turn again.
    fn units(&mut self, id: QueueId, scan: u32) -> u32 {
        let max_work = self.params.max_work;
        let Some((_, device)) = Self::of(&mut self.queues, &mut self.devices, id) else {
            return 0;
        };
        device.share.enter(self.round, max_work, self.heaviest);
        if device.share.units() == 0 {
            let wait = device.share.rounds_to_wait(max_work, self.heaviest);
            self.rounds_needed = self.rounds_needed.min(wait);
            self.fruitless = self.fruitless.saturating_add(1);
            if self.fruitless >= scan.saturating_add(self.detours) {
                // All queues were visited since then: none has both requests and quantum left.
                self.round = self.round.wrapping_add(self.rounds_needed);
                self.counters.rounds += self.rounds_needed;
                (self.fruitless, self.detours, self.rounds_needed) = (0, 0, u64::MAX);
                device.share.enter(self.round, max_work, self.heaviest);
            }
        }
        device.share.units()
    }

    /// Notes that a request with this much data was served, or the first part of one.
    pub fn charge(&mut self, visit: &mut Visit, bytes: u64) {
        self.charge_for(visit, 1, bytes);
    }

    /// Notes that a further part of a request was served. Between two parts the request still counts as
    /// waiting ([`Look::pending`]).
    pub fn charge_part(&mut self, visit: &mut Visit, bytes: u64) {
        self.charge_for(visit, 0, bytes);
    }

    /// Notes that the visit did work of another queue of the device: a request with this much data.
    pub fn charge_other(&mut self, visit: &mut Visit, id: QueueId, bytes: u64) {
        self.take(visit, 1, bytes);
        if let Some(Some(queue)) = self.queues.get_mut(id.0 as usize) {
            queue.counters.requests += 1;
            queue.counters.bytes += bytes;
        }
    }

    fn charge_for(&mut self, visit: &mut Visit, requests: u64, bytes: u64) {
        visit.requests += requests;
        visit.bytes += bytes;
        self.take(visit, requests, bytes);
    }

    /// Takes work from the visit's budget and the device's limits.
    fn take(&mut self, visit: &mut Visit, requests: u64, bytes: u64) {
        visit.spent = visit.spent.saturating_add(self.params.units(bytes));
        if self.params.stuck_rule {
            let aside = visit.aside[usize::from(self.is_short(visit))];
            visit.peeks_owed = match self.poll.len() > aside {
                true => (visit.peeks_owed + self.params.peeks).min(self.poll.len()),
                false => 0,
            };
        }
        if visit.limited {
            if let Some(device) = self.device_of(visit.queue.0) {
                device.limiter.take(requests, bytes);
            }
        }
    }

    /// Charges time that was spent on a device's queue to its share: of a visit, or outside of one, as for replies of
    /// storage. The queue may be removed by then.
    pub fn charge_time(&mut self, id: DeviceId, ns: u64) {
        let unit_ns = self.params.unit_ns;
        if unit_ns == 0 {
            return;
        }
        if let Some(Some(device)) = self.devices.get_mut(id.0 as usize) {
            device.share.charge_time(ns, unit_ns);
        }
    }

    /// Returns another queue to look at before the next request; report the look by [`Scheduler::peeked`]. Call this
    /// until it returns None.
    pub fn peek(&mut self, visit: &mut Visit) -> Option<QueueId> {
        while visit.peeks_owed > 0 && !visit.stuck {
            visit.peeks_owed -= 1;
            visit.peeked = self.poll.after(visit.peeked)?;
            if visit.peeked != visit.queue.0 && !self.waits_for_answers(visit.peeked, visit) {
                self.counters.peeks += 1;
                return Some(QueueId(visit.peeked));
            }
        }
        None
    }

    /// Notes a look at another queue.
    pub fn peeked(&mut self, visit: &mut Visit, id: QueueId, look: Look, now_ns: u64) {
        self.note(id.0, look, now_ns);
        visit.stuck |= self.is_stuck_behind(id.0, visit, now_ns);
    }

    /// Says whether the visit may serve one more request.
    pub fn go_on(&mut self, visit: &mut Visit, now_ns: u64) -> bool {
        if visit.spent >= visit.budget {
            return false;
        }
        if now_ns >= visit.until_ns && self.others_listed(visit.queue) {
            return false;
        }
        let queue = visit.queue.0;
        let waits = |device: &mut Device| device.limiter.wait_until(now_ns).is_some();
        if visit.limited && self.device_of(queue).is_none_or(waits) {
            return false;
        }
        if !self.params.stuck_rule || visit.spent < self.params.min_work {
            return true;
        }
        if let Some(first) = self
            .work
            .front()
            .filter(|&first| first != queue && !visit.stuck)
        {
            visit.stuck = self.is_stuck_behind(first, visit, now_ns);
        }
        visit.left_early = visit.stuck;
        !visit.stuck
    }

    /// Whether a queue waits for this one's visit to end.
    fn others_listed(&self, id: QueueId) -> bool {
        let own = |list: &List| u32::from(list.contains(id.0));
        self.work.len() > own(&self.work) || self.poll.len() > own(&self.poll)
    }

    /// Ends a visit: the queue goes to the end of its list.
    pub fn end(&mut self, visit: Visit, look: Look, now_ns: u64) -> Then {
        self.note(visit.queue.0, look, now_ns);
        let (max_work, heaviest) = (self.params.max_work, self.heaviest);
        if self.params.unit_ns > 0 {
            let passed_ns = now_ns.saturating_sub(visit.from_ns);
            let spent_ns = passed_ns.saturating_sub(visit.stopped_ns);
            self.charge_time(visit.device, spent_ns);
        }
        let by_units = self.params.unit_ns == 0;
        if let Some(device) = self.device_of(visit.queue.0) {
            if by_units {
                device.share.charge(visit.spent);
            }
            let (units, wait) = (
                device.share.units(),
                device.share.rounds_to_wait(max_work, heaviest),
            );
            if look.pending == 0 {
                self.fruitless = self.fruitless.saturating_add(1);
            } else if units == 0 {
                self.fruitless = self.fruitless.saturating_add(1);
                self.rounds_needed = self.rounds_needed.min(wait);
            } else {
                (self.fruitless, self.detours, self.rounds_needed) = (0, 0, u64::MAX);
            }
        }
        let Some(Some(queue)) = self.queues.get_mut(visit.queue.0 as usize) else {
            return Then::Nothing;
        };
        queue.counters.requests += visit.requests;
        queue.counters.bytes += visit.bytes;
        queue.counters.stuck_exits += u64::from(visit.left_early);
        if look.pending == 0 && !queue.polling.polled() {
            return Then::Arm;
        }
        // Requests left over count as a kick: with notifications on they would have been one.
        if look.pending > 0 && queue.polling.active(&self.params, now_ns) {
            queue.counters.polling_started += 1;
        }
        self.relist(visit.queue.0);
        Then::Nothing
    }

    /// Notes a kick. True: the queue is polled from now on, and the caller turns its notifications
    /// off.
    pub fn kicked(&mut self, id: QueueId, now_ns: u64) -> bool {
        self.notified(id, now_ns, 1)
    }

    fn notified(&mut self, id: QueueId, now_ns: u64, kicks: u64) -> bool {
        let Some(Some(queue)) = self.queues.get_mut(id.0 as usize) else {
            return false;
        };
        queue.counters.kicks += kicks;
        let starts = queue.polling.active(&self.params, now_ns);
        if starts {
            queue.counters.polling_started += 1;
        }
        if queue.parked_until_ns.is_none() {
            if starts {
                self.poll.put_last(id.0);
            }
            self.woken(id, now_ns);
        }
        starts
    }

    /// Notes a notification that is not a driver's, such as that of an arrived frame. It starts polling as kicks do.
    pub fn signalled(&mut self, id: QueueId, now_ns: u64) {
        self.notified(id, now_ns, 0);
    }

    /// Notes that a queue may have requests although there was no kick.
    pub fn woken(&mut self, id: QueueId, now_ns: u64) {
        let Some(Some(queue)) = self.queues.get_mut(id.0 as usize) else {
            return;
        };
        if queue.parked_until_ns.is_none() && !self.work.contains(id.0) {
            queue.last_new_ns = now_ns;
            self.work.put_last(id.0);
        }
    }

    /// Notes replies to earlier requests of a queue. "For fairness, any time work is done on a
    /// virtqueue for any reason, this virtqueue is moved to the end of the poll queue" (section
    /// 3.4).
    pub fn completed(&mut self, id: QueueId) {
        if self.poll.contains(id.0) {
            self.poll.put_last(id.0);
        }
    }

    /// Notes how many requests of a queue storage has, after some were started or came back. `threads_work`: other
    /// threads of this core's CPU work on requests of any queue, and a polling thread would keep the CPU from them.
    /// True: the queue is polled from now on, and the caller turns its notifications off.
    pub fn stored(&mut self, id: QueueId, in_flight: u32, threads_work: bool, now_ns: u64) -> bool {
        self.storage_threads = threads_work;
        let run_ns = self.run_ns(now_ns);
        let Some(Some(queue)) = self.queues.get_mut(id.0 as usize) else {
            return false;
        };
        let goes_on = now_ns >= self.calm_ns && !self.storage_threads;
        let starts = queue
            .polling
            .stored(&self.params, in_flight, goes_on, run_ns);
        if starts && queue.parked_until_ns.is_none() {
            self.poll.put_last(id.0);
        }
        starts
    }

    fn take_turn(&mut self, id: QueueId) {
        self.turns += 1;
        if let Some(Some(queue)) = self.queues.get_mut(id.0 as usize) {
            queue.turn = self.turns;
        }
    }

    fn turn_of(&self, id: u32) -> u64 {
        self.queue(id).map_or(0, |queue| queue.turn)
    }

    fn queue(&self, id: u32) -> Option<&Queue> {
        self.queues.get(id as usize)?.as_ref()
    }

    fn device_of(&mut self, queue: u32) -> Option<&mut Device> {
        let device = self.queue(queue)?.device;
        self.devices.get_mut(device as usize)?.as_mut()
    }

    /// Returns the time less the time in which the host did not run the thread. Polling is charged by it.
    fn run_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.counters.stopped_ns)
    }

    /// Stores a look, and the time if it shows new requests.
    fn note(&mut self, id: u32, look: Look, now_ns: u64) {
        let run_ns = self.run_ns(now_ns);
        if let Some(Some(queue)) = self.queues.get_mut(id as usize) {
            let new = look.avail.wrapping_sub(queue.seen.avail);
            if new != 0 {
                queue.last_new_ns = now_ns;
                queue.polling.earn(&self.params, new, run_ns);
            }
            queue.seen = look;
        }
    }

    /// Whether a queue is stuck behind this visit.
    fn is_stuck_behind(&mut self, id: u32, visit: &Visit, now_ns: u64) -> bool {
        !self.waits_for_answers(id, visit) && self.is_stuck(id, now_ns)
    }

    /// Whether a queue may wait for the end of this visit: it is the other one of its pair, and the visit is short. The
    /// requests that wait there are mostly answers to frames of this visit, and one call of the driver serves all
    /// answers.
    fn waits_for_answers(&self, id: u32, visit: &Visit) -> bool {
        visit.partner == Some(id) && self.is_short(visit)
    }

    fn is_short(&self, visit: &Visit) -> bool {
        visit.spent < self.params.min_work.saturating_mul(Params::PAIR_WORK)
    }

    /// Whether a queue has requests, gets no new ones, and could be served at once.
    fn is_stuck(&mut self, id: u32, now_ns: u64) -> bool {
        let listed_as_work = self.work.contains(id);
        let (round, max_work, heaviest) = (self.round, self.params.max_work, self.heaviest);
        let Some(queue) = self.queue(id) else {
            return false;
        };
        if (queue.seen.pending == 0 && !listed_as_work)
            || queue.seen.pending > self.params.stuck_pending
            || now_ns.saturating_sub(queue.last_new_ns) < self.params.stuck_ns
        {
            return false;
        }
        self.device_of(id).is_some_and(|device| {
            device.share.enter(round, max_work, heaviest);
            device.share.units() > 0 && device.limiter.wait_until(now_ns).is_none()
        })
    }

    /// Puts a queue at the end of the poll queue if it is polled, else of the work queue.
    fn relist(&mut self, id: u32) {
        if self.polled(QueueId(id)) {
            &mut self.poll
        } else {
            &mut self.work
        }
        .put_last(id);
    }

    fn unpark(&mut self, now_ns: u64) {
        let mut next_ns = u64::MAX;
        let mut parked = std::mem::take(&mut self.parked);
        parked.retain(|&id| {
            let Some(Some(queue)) = self.queues.get_mut(id as usize) else {
                return false;
            };
            match queue.parked_until_ns {
                Some(until_ns) if until_ns > now_ns => {
                    next_ns = next_ns.min(until_ns);
                    true
                }
                _ => {
                    queue.parked_until_ns = None;
                    self.work.put_last(id);
                    if self.polled(QueueId(id)) {
                        self.poll.put_last(id);
                    }
                    false
                }
            }
        });
        self.parked = parked;
        self.unpark_ns = next_ns;
    }

    fn find_heaviest(&mut self) {
        let weights = self
            .devices
            .iter()
            .flatten()
            .filter(|device| device.queues > 0)
            .map(|device| device.share.weight);
        self.heaviest = weights.max().unwrap_or(1);
    }
}

/// Returns the number of visits after which every listed queue was visited, even if some that come meanwhile go first.
fn scan_len(work: &List, poll: &List) -> u32 {
    if work.len() == 0 || poll.len() == 0 {
        return work.len() + poll.len();
    }
    2 * work.len().max(poll.len())
}
